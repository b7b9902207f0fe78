/**
 * The agent's loop: documents, checks, the kernel and people's words become a View; `desired()` decides; the binder, the check
 * runner and the speaker make it so. Nothing is decided here but the order of things:
 *
 *   addresses are added before their route goes out, and removed after its withdrawal has been written to every neighbour;
 *   what several facts change within one turn of the event loop is decided once.
 *
 * The clock, the speaker, the kernel, the prober and the store are arguments: the fast-forward tests run this very class.
 */

import {
  type Address,
  type Clock,
  formatAddress,
  type Random,
  type Speaker,
  type SpeakerEvent,
} from 'bgp-ts';
import { CheckRunner } from '../checks/check-runner.ts';
import type { Probe } from '../checks/probe.ts';
import type { Verdict } from '../checks/verdict.ts';
import type { AddressTable } from '../linux/address-table.ts';
import type { Log } from '../log/log.ts';
import type { CheckSpec } from '../model/check-spec.ts';
import type { Documents } from '../model/documents.ts';
import type { Labels } from '../model/labels.ts';
import { Binder } from './binder.ts';
import { isAnnounced, isWantedAgain, liveDepartures } from './departures.ts';
import { type DesiredState, desired } from './desired.ts';
import { faultKey, logDocuments } from './document-log.ts';
import { flushed } from './flush.ts';
import { GateHistory } from './gate-history.ts';
import { checkKey, JOIN_KEY, type JoinCheck, joinFinding } from './health.ts';
import { Knowledge } from './knowledge.ts';
import { NamedTimers } from './named-timers.ts';
import { PasswordFiles } from './password-files.ts';
import { buildStatus, rememberGates } from './report.ts';
import type { SavedView } from './saved-view.ts';
import { SessionFacts } from './session-facts.ts';
import { logEvent } from './session-log.ts';
import type { AgentStatus, DrainAnswer } from './status.ts';
import type { View } from './view.ts';

export interface AgentOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly speaker: Pick<Speaker, 'apply' | 'status' | 'stop' | 'subscribe'>;
  /** a peer wants us to accept what it dials; may be called again */
  readonly listen: () => void;
  readonly addresses: AddressTable;
  readonly probe: Probe;
  /** text of a password file; throws what the file system says */
  readonly readPassword: (path: string) => string;
  readonly store: ViewStore;
  readonly log: Log;
  readonly node: { readonly name: string; readonly labels: Labels };
  readonly asn?: number;
  readonly routerId: number;
  /** a person chose it; otherwise the one of the saved View stands, so that a restart is the same speaker */
  readonly isRouterIdFixed: boolean;
  readonly joinCheck: JoinCheck;
  readonly maxStaleMs: number;
  /** what the documents come from, for people */
  readonly source: string;
  readonly version: string;
  readonly pid: number;
  /** sentences about this machine's settings that will surprise, given the interfaces that claims are bound to */
  readonly warnings?: (interfaces: ReadonlySet<string>) => readonly string[];
}

/** Where the last View is kept; a failure to is told by the store itself. */
export interface ViewStore {
  load(): SavedView | undefined;
  save(view: SavedView): void;
}

/** how long a withdrawal may take to be written before its address is taken off all the same */
const FLUSH_DEADLINE_MS = 1000;
const SAVE_AFTER_MS = 500;
const SAVE_AGAIN_MS = 600_000;
const PASSWORD_POLL_MS = 2000;
const RETRY_MS = 1000;

export class Agent {
  readonly #options: AgentOptions;
  readonly #knowledge: Knowledge;
  readonly #binder: Binder;
  readonly #checks: CheckRunner;
  readonly #passwords: PasswordFiles;
  readonly #timers: NamedTimers;
  readonly #history = new GateHistory();
  readonly #sessions = new SessionFacts();
  readonly #listeners = new Set<() => void>();
  readonly #startedMs: number;
  #desired: DesiredState = { plans: [], peers: [], ranges: [], claims: [], bindings: new Map() };
  #stopping: Promise<void> | undefined;
  #isUnbinding = false;
  #hasEnded = false;

  constructor(options: AgentOptions) {
    this.#options = options;
    const { clock, random, probe, asn, node, joinCheck, store } = options;
    const saved = store.load();
    this.#passwords = new PasswordFiles(options.readPassword);
    const routerId = options.isRouterIdFixed
      ? options.routerId
      : (saved?.routerId ?? options.routerId);
    this.#knowledge = new Knowledge({
      node: { ...node, routerId, ...(asn === undefined ? {} : { asn }) },
      joinCheck,
      passwords: this.#passwords,
      saved,
      source: options.source,
      maxStaleMs: options.maxStaleMs,
    });
    this.#binder = new Binder(options.addresses, options.log);
    this.#timers = new NamedTimers(clock);
    const onChange = (key: string, verdict: Verdict) => this.#onVerdict(key, verdict);
    this.#checks = new CheckRunner({ clock, random, probe, onChange });
    this.#startedMs = clock.now();
  }

  /** when the objects of the saved View were first seen, by `Kind/name`: a restart makes nothing younger */
  get firstSeen(): ReadonlyMap<string, number> {
    return this.#knowledge.firstSeen;
  }

  /** Cleans what a crash left, begins the join check, and takes up the saved View until documents come. */
  start(): void {
    const { speaker, addresses, clock, log, maxStaleMs } = this.#options;
    this.#binder.release(new Map());
    this.#knowledge.ownAddresses = this.#binder.ownAddresses();
    speaker.subscribe((event) => this.#onSpeaker(event));
    addresses.subscribe(() => this.#onKernel());
    this.#knowledge.restore(clock.now(), clock.wallTimeMs());
    const { stale } = this.#view();
    if (stale !== undefined) log.info('agent.stale', { reason: stale.sentence }, 'saved View');
    this.#applyChecks();
    this.#refresh();
    // how old a saved View is counts from when its source could be read last, not from when it changed last
    this.#timers.every('save-again', Math.min(maxStaleMs / 10, SAVE_AGAIN_MS), () => this.#save());
    this.#timers.every('passwords', PASSWORD_POLL_MS, () => {
      if (this.#passwords.refresh(this.#knowledge.peers)) this.#schedule();
    });
  }

  /** The source has been read; from here on nothing is stale. */
  setDocuments(documents: Documents): void {
    if (this.#stopping !== undefined) return;
    const known = new Set((this.#knowledge.documents?.faults ?? []).map(faultKey));
    const { clock, log } = this.#options;
    this.#knowledge.learn(documents, this.#desired, clock.now(), clock.wallTimeMs());
    logDocuments(log, documents, known);
    this.#refresh();
    this.#saveSoon();
  }

  /** undefined = the whole node */
  drain(address: Address | undefined, reason: string): DrainAnswer {
    const drain = { sinceMs: this.#options.clock.now(), reason: `drained by hand: ${reason}` };
    if (address === undefined) {
      if (this.#knowledge.nodeDrain === undefined) this.#knowledge.drainNode(drain);
      return this.#intent('draining this node: routes leave after the wait of their pool');
    }
    const claim = this.#knowledge.claimAt(address);
    if (claim === undefined) return notClaimed(address);
    if (!this.#knowledge.isDrained(claim.name)) this.#knowledge.drainClaim(claim.name, drain);
    return this.#intent(
      `draining ${formatAddress(address)}: its route leaves after the wait of its pool`,
    );
  }

  undrain(address: Address | undefined): DrainAnswer {
    if (this.#stopping !== undefined) {
      return { ok: false, sentence: 'the agent is stopping; start it again instead' };
    }
    if (address === undefined) {
      this.#knowledge.drainNode(undefined);
      return this.#intent('this node is not draining any more');
    }
    const claim = this.#knowledge.claimAt(address);
    if (claim === undefined) return notClaimed(address);
    this.#knowledge.drainClaim(claim.name, undefined);
    const node = this.#knowledge.nodeDrain === undefined ? '' : '; the node as a whole still is';
    return this.#intent(`${formatAddress(address)} is not draining any more${node}`);
  }

  status(): AgentStatus {
    const { clock, node, version, pid, source, speaker } = this.#options;
    const view = this.#view();
    const timeOf = (atMs: number) =>
      new Date(clock.wallTimeMs() - (view.nowMs - atMs)).toISOString();
    return buildStatus({
      desired: this.#desired,
      sessions: speaker.status(),
      refusal: (session, family) => this.#sessions.refusal(session, family),
      history: this.#history,
      view,
      identity: { node, version, pid, source, startedMs: this.#startedMs },
      timeOf,
      warnings: this.#warnings(),
    });
  }

  /** said after something that `status()` shows may have changed */
  subscribe(onChange: () => void): () => void {
    this.#listeners.add(onChange);
    return () => this.#listeners.delete(onChange);
  }

  /** Drain, withdraw, unbind, Cease, in that order. Resolves when nothing of ours is left on the wire or on an interface. */
  stop(reason: string): Promise<void> {
    this.#stopping ??= this.#stop(reason);
    return this.#stopping;
  }

  async #stop(reason: string): Promise<void> {
    const { clock, speaker, log, node, addresses } = this.#options;
    log.info('agent.stop', { reason }, 'draining');
    this.#timers.cancel('save');
    this.#save();
    const isHeard = speaker.status().some(({ state }) => state === 'established');
    // with nobody to hear it there is nothing to wait for
    const wait = isHeard ? {} : { waitMs: 0 };
    const why = `the agent stops (${reason})`;
    this.#knowledge.stopDrain = { sinceMs: clock.now(), reason: why, ...wait };
    this.#refresh();
    while (this.#desired.claims.some(isAnnounced)) await this.#nextChange();
    await flushed(speaker, clock, FLUSH_DEADLINE_MS);
    // from here on nothing is decided any more: the kernel tells of our own removals, too
    this.#hasEnded = true;
    this.#timers.cancelAll();
    this.#checks.stop();
    this.#binder.release(new Map());
    // the withdrawals are out: who has not read them by now does not keep the others from hearing the Cease
    const text = `herald on ${node.name} stops: ${reason}`;
    await speaker.stop({ kind: 'shutdown', text, deadlineMs: FLUSH_DEADLINE_MS });
    addresses.close();
    log.info('agent.stop', { reason }, 'stopped');
  }

  /** resolves after something has changed */
  #nextChange(): Promise<void> {
    return new Promise((resolve) => {
      const end = this.subscribe(() => {
        end();
        resolve();
      });
    });
  }

  #view(): View {
    return this.#knowledge.view(this.#options.clock.now());
  }

  /** Decide and make it so. */
  #refresh(): void {
    if (this.#hasEnded) return;
    this.#timers.cancel('refresh');
    const knowledge = this.#knowledge;
    if (knowledge.documents === undefined) return;
    const before = this.#view();
    knowledge.departures = liveDepartures(before, (name) => isWantedAgain(before, name));
    let view: View = { ...before, departures: knowledge.departures };
    let next = desired(view);
    // addresses first: a route never points to a machine that would not answer
    if (this.#binder.ensure(next.bindings)) {
      knowledge.bindings = this.#binder.facts;
      view = this.#view();
      next = desired(view);
    }
    this.#desired = next;
    knowledge.rememberAnnounced(next);
    this.#applyChecks();
    this.#applySpeaker(next);
    this.#unbindAfterFlush();
    if (this.#binder.isBehind) this.#timers.start('kernel', RETRY_MS, () => this.#onKernel());
    // what was decided is on its way by then
    this.#timers.start('remember', 0, () => rememberGates(next, view, this.#history));
    const { wakeAtMs } = next;
    if (wakeAtMs === undefined) this.#timers.cancel('wake');
    else this.#timers.start('wake', wakeAtMs - view.nowMs, () => this.#refresh());
    this.#notify();
  }

  #applySpeaker({ peers, ranges }: DesiredState): void {
    const dynamic = ranges.map(({ name, range, template, routes }) => ({
      range,
      settings: { ...template, name },
      routes,
    }));
    const isListening =
      dynamic.length > 0 || peers.some(({ settings }) => settings.listen === true);
    try {
      this.#options.speaker.apply({ peers, ranges: dynamic });
      if (isListening) this.#options.listen();
    } catch (error) {
      // settings that no session can be made of: the schema should have said so; what runs goes on
      if (!(error instanceof RangeError)) throw error;
      this.#options.log.error(
        'bgp.refused',
        { reason: error.message },
        'sessions left as they were',
      );
    }
  }

  #applyChecks(): void {
    const { joinCheck } = this.#options;
    const wanted = new Map<string, CheckSpec>();
    if (joinCheck !== undefined && joinCheck !== 'none') wanted.set(JOIN_KEY, joinCheck);
    for (const { subject, gates } of this.#desired.claims) {
      if (gates.assigned.state === 'closed' || gates.pooled.state === 'closed') continue;
      const { object } = subject.claim;
      for (const [index, spec] of object.checks.entries())
        wanted.set(checkKey(object, index), spec);
    }
    const { verdicts } = this.#knowledge;
    for (const key of verdicts.keys()) if (!wanted.has(key)) verdicts.delete(key);
    this.#checks.apply(wanted);
  }

  #onVerdict(key: string, verdict: Verdict): void {
    const { verdicts } = this.#knowledge;
    const before = verdicts.get(key);
    verdicts.set(key, verdict);
    if (key === JOIN_KEY && (before?.open ?? false) !== verdict.open) {
      const { sentence } = joinFinding(this.#options.joinCheck, verdicts);
      this.#options.log.info(
        'agent.join',
        { reason: sentence },
        verdict.open ? 'joined' : 'not joined',
      );
    }
    // a check that is new on an announced claim closes it by a failure that changes nothing in its own verdict
    const isDecisive = before?.open !== verdict.open || !verdict.open;
    if (isDecisive) this.#schedule();
    else this.#notify();
  }

  #onSpeaker(event: SpeakerEvent): void {
    logEvent(this.#options.log, event);
    this.#sessions.take(event);
    this.#notify();
  }

  #onKernel(): void {
    this.#knowledge.ownAddresses = this.#binder.ownAddresses();
    this.#schedule();
  }

  #intent(sentence: string): DrainAnswer {
    this.#options.log.info('agent.drain', { reason: sentence }, 'as asked');
    this.#refresh();
    this.#saveSoon();
    return { ok: true, sentence };
  }

  /** what is not wanted on an interface any more goes as soon as no neighbour waits for a withdrawal */
  #unbindAfterFlush(): void {
    const { speaker, clock } = this.#options;
    if (this.#isUnbinding || !this.#binder.hasLeftovers(this.#desired.bindings)) return;
    this.#isUnbinding = true;
    void flushed(speaker, clock, FLUSH_DEADLINE_MS).then(() => {
      this.#isUnbinding = false;
      if (!this.#hasEnded) this.#binder.release(this.#desired.bindings);
    });
  }

  /** facts of one turn of the event loop are decided on once */
  #schedule(): void {
    if (!this.#hasEnded) this.#timers.startOnce('refresh', 0, () => this.#refresh());
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  #warnings(): readonly string[] {
    const wishes = [...this.#desired.bindings.values()];
    const interfaces = new Set(wishes.map((wish) => wish.interface));
    const { listenProblem } = this.#sessions;
    const listen = listenProblem === undefined ? [] : [listenProblem];
    return [...(this.#options.warnings?.(interfaces) ?? []), ...listen];
  }

  #saveSoon(): void {
    if (this.#stopping === undefined)
      this.#timers.startOnce('save', SAVE_AFTER_MS, () => this.#save());
  }

  #save(): void {
    const view = this.#knowledge.toSave(this.#options.clock.wallTimeMs());
    if (view !== undefined) this.#options.store.save(view);
  }
}

function notClaimed(address: Address): DrainAnswer {
  return { ok: false, sentence: `no document claims ${formatAddress(address)} on this node` };
}
