/**
 * The agent's loop: documents, checks, the kernel and people's words become a View; `desired()` decides; the binder, the check
 * runner and the speaker make it so. Nothing is decided here but the order of things:
 *
 *   addresses are added before their route goes out, and removed after its withdrawal has been written to every neighbour;
 *   what several facts change within one turn of the event loop is decided once.
 *
 * The clock, the speaker, the kernel, the prober and the store are arguments: the fast-forward tests run this very class.
 */

import type { Address, PeerStatus, SpeakerEvent } from 'bgp-ts';
import type { ClusterNode } from '../model/cluster-node.ts';
import type { Documents } from '../model/documents.ts';
import { optional } from '../model/optional.ts';
import type { DocumentSource } from '../model/refusal.ts';
import { labelled } from '../turns/work-labels.ts';
import { AgentChecks } from './agent-checks.ts';
import type { AgentOptions } from './agent-options.ts';
import { documentOf, type StatusParts, statusOf } from './agent-status.ts';
import { FLUSH_DEADLINE_MS, PASSWORD_POLL_MS, SAVE_PATIENCE_MS, SETTLE_MS } from './agent-times.ts';
import type { Announced, AnnouncedState } from './announced.ts';
import { announcedStateOf } from './announced-state-of.ts';
import { isUndecided } from './claim-gates.ts';
import { isAnnounced, liveDepartures } from './departures.ts';
import { type DesiredState, desired, NOTHING_DESIRED } from './desired.ts';
import { logDocuments, logJoined, logRestored } from './document-log.ts';
import { drain, STOPPING, stopDrain, undrain } from './drain-orders.ts';
import { flushed, nextChange } from './flush.ts';
import { GateHistory } from './gate-history.ts';
import type { Heard, HeardNow } from './heard-documents.ts';
import { KernelSide, PREPARATIONS } from './kernel-side.ts';
import type { Knowledge } from './knowledge.ts';
import { knowledgeOf } from './knowledge-of.ts';
import { NamedTimers } from './named-timers.ts';
import { PasswordFiles } from './password-files.ts';
import { rememberGates } from './report.ts';
import { SessionFacts } from './session-facts.ts';
import { SessionLog } from './session-log.ts';
import type { AgentStatus, DrainAnswer, StatusDocument } from './status.ts';
import { tellSpeaker } from './tell-speaker.ts';
import type { PasswordFact, View } from './view.ts';
import { ViewSaver } from './view-saver.ts';

export class Agent {
  readonly #options: AgentOptions;
  readonly #knowledge: Knowledge;
  readonly #kernel: KernelSide;
  readonly #checks: AgentChecks;
  readonly #passwords: PasswordFiles;
  readonly #timers: NamedTimers;
  readonly #saver: ViewSaver;
  readonly #history = new GateHistory();
  readonly #sessions = new SessionFacts();
  readonly #sessionLog: SessionLog;
  readonly #announced: AnnouncedState;
  readonly #listeners = new Set<() => void>();
  readonly #startedMs: number;
  #desired: DesiredState = NOTHING_DESIRED;
  #stopping: Promise<void> | undefined;
  #isSettling: boolean;
  #hasEnded = false;
  readonly #hasHeard = new Set<DocumentSource>();
  #guard: () => void = () => undefined;
  readonly #wanted = () => {
    return { ...this.#desired, isSettling: this.#isSettling, hasEnded: this.#hasEnded };
  };

  constructor(options: AgentOptions) {
    this.#options = options;
    const { clock, store } = options;
    const saved = store.load();
    this.#passwords = new PasswordFiles(options.readPassword);
    this.#knowledge = knowledgeOf(options, saved, this.#passwords);
    this.#kernel = new KernelSide(options, this.#knowledge, FLUSH_DEADLINE_MS);
    this.#sessionLog = new SessionLog(options.log, clock);
    this.#timers = new NamedTimers(clock);
    const start = { ...options, saved, timers: this.#timers, agent: this };
    this.#announced = announcedStateOf(start, () => this.#notify());
    const view = (wallMs: number) => this.#announced.toSave(this.#knowledge.toSave(wallMs));
    this.#saver = new ViewSaver({ clock, store, timers: this.#timers, view });
    this.#checks = new AgentChecks({
      world: options,
      knowledge: this.#knowledge,
      onDecisive: () => this.#schedule(),
      onNews: () => this.#notify(),
    });
    this.#startedMs = clock.now();
    this.#isSettling = options.isBack === true;
  }

  /** of the saved View: a restart makes no object younger, and no edit good that was refused */
  get earlier() {
    return this.#knowledge.earlier;
  }

  /** Cleans what a crash left, begins the join check, and takes up the saved View until documents come. */
  start(): void {
    const { speaker, addresses, maxStaleMs } = this.#options;
    this.#kernel.start();
    this.#kernel.watch(this.#timers, () => this.#onKernel());
    speaker.subscribe((event) => this.#onSpeaker(event));
    addresses.subscribe(() => this.#onKernel());
    this.#options.announcer?.subscribe(() => this.#schedule());
    this.#knowledge.restore(this.#now());
    this.#takeUp();
    if (this.#isSettling)
      this.#timers.start('settle', SETTLE_MS, () => {
        this.#isSettling = false;
        this.#refresh();
      });
    this.#saver.again(maxStaleMs / 10);
    this.#timers.every('passwords', PASSWORD_POLL_MS, () => this.refreshPasswords());
  }

  #takeUp(): void {
    logRestored(this.#options.log, this.#view(), this.#knowledge.foreign);
    this.#checks.applySavedServices();
    this.#checks.apply(this.#desired, this.#view());
    this.#refresh();
  }

  /** The way to the API is there: from here on `clusterIdentity` says which cluster it leads to. */
  clusterIsKnown(): void {
    if (this.#hasEnded || this.#stopping !== undefined) return;
    this.#knowledge.restoreCluster(this.#now());
    this.#takeUp();
  }

  /** Looks at the password files; called too when one of them turns out to have another text. */
  refreshPasswords(): void {
    if (!this.#hasEnded && this.#passwords.refresh(this.#knowledge.peers)) this.#schedule();
  }

  /** A source has been read; from here on its documents are not stale, unless part of it is silent since then. */
  setDocuments(documents: Documents, source: DocumentSource = 'files', silentSince?: Heard): void {
    if (this.#hasEnded) return;
    const at = { ...this.#now(), ...optional('silentSince', silentSince) };
    if (this.#stopping === undefined) this.#learn(source, documents, at);
    else this.#knowledge.learnAtLast(source, documents, this.#desired, at);
    this.#checks.applyServices();
    this.#refresh();
    this.#saver.soon();
  }

  #learn(source: DocumentSource, documents: Documents, at: HeardNow): void {
    const known = this.#knowledge.documents?.faults ?? [];
    this.#knowledge.learn(source, documents, this.#desired, at);
    if (documents.isOfClaimsAlone === true) return;
    logDocuments(this.#options.log, documents, { known, isQuiet: this.#hasHeard.has(source) });
    // an API tells of every claim by itself
    if (source === 'api') this.#hasHeard.add(source);
  }

  /** All changes of IPClaims up to this resourceVersion are in the documents that were set last; `isBehind`: so are some later ones. */
  setObservedClaims(resourceVersion: bigint, isBehind = false): void {
    // what comes after the end is decided on by nobody, so nobody answers for it
    if (this.#hasEnded) return;
    this.#announced.observed(resourceVersion, isBehind);
    this.#notify();
  }

  /** The API was heard last then, and has been silent too long; undefined: it is heard. */
  setApiSilence(since: Heard | undefined): void {
    if (!this.#knowledge.setSilence(since)) return;
    const reason = this.#view().staleApi?.sentence ?? 'the API is heard again';
    this.#options.log.info('agent.stale', { reason }, 'API');
    this.#schedule();
    this.#saver.soon();
  }

  /** This machine's own Node; undefined: the API says that there is none. */
  setNodeFacts(node: ClusterNode | undefined): void {
    if (this.#stopping !== undefined) return;
    const { clock, log } = this.#options;
    const before = this.#view().cluster?.joined;
    this.#knowledge.learnNode(node, clock.now());
    this.#checks.nodeIsKnown();
    logJoined(log, before, this.#view().cluster?.joined);
    this.#schedule();
    this.#saver.soon();
  }

  /** The Lease was renewed last then, too long ago; undefined: it is renewed. */
  setFenced(sinceMs: number | undefined, hasLapsed = true): void {
    if (this.#knowledge.setFence(sinceMs, hasLapsed)) this.#schedule();
  }

  /** Called before every decision: whoever fences this agent looks at the clock then. */
  guard(check: () => void): void {
    this.#guard = check;
  }

  /** Another machine is this node, says the cluster: nothing of the API is announced here; undefined: it is us. */
  setObjection(sentence: string | undefined): void {
    if (this.#knowledge.objection === sentence) return;
    this.#knowledge.objection = sentence;
    this.#schedule();
  }

  /** TCP-MD5 keys that Secrets hold, by peer name; kept in memory alone. */
  setSecrets(facts: ReadonlyMap<string, PasswordFact>): void {
    // whoever removes all of us removes keys too, and the farewell needs them
    if (this.#stopping !== undefined) return;
    this.#knowledge.secrets = facts;
    this.#schedule();
  }

  /** what every neighbour that is up has had written; `subscribe` tells of changes */
  get announced(): Announced {
    return this.#announced.current;
  }

  get carriers() {
    return this.#sessions.carriers(this.sessions);
  }

  /** undefined: nothing has been heard and nothing was saved */
  get documents(): Documents | undefined {
    return this.#knowledge.documents;
  }

  /** the last decision */
  get decided(): DesiredState {
    return this.#desired;
  }

  get sessions(): readonly PeerStatus[] {
    return this.#options.speaker.status();
  }

  /** this machine's Node, as it was seen last */
  get clusterNode(): ClusterNode | undefined {
    return this.#knowledge.clusterNode;
  }

  /** its own and those of its Node, as it selects BGPPeers by them */
  get nodeLabels() {
    return this.#knowledge.node.labels;
  }

  /** undefined = the whole node */
  drain(address: Address | undefined, reason: string): DrainAnswer {
    return this.#intent(() => drain(this.#knowledge, address, reason, this.#options.clock.now()));
  }

  undrain(address: Address | undefined): DrainAnswer {
    return this.#intent(() => undrain(this.#knowledge, address));
  }

  /** Whether what a person has said is kept for the next start; asked at once after it. */
  isKept(): Promise<boolean> {
    return this.#saver.now(SAVE_PATIENCE_MS);
  }

  status({ claims = true }: { readonly claims?: boolean } = {}): AgentStatus {
    return labelled('status', () => statusOf(this.#options, this.#parts(), claims));
  }

  statusDocument(): StatusDocument {
    return labelled('status', () => documentOf(this.#options, this.#parts()));
  }

  #parts(): StatusParts {
    const facts = { sessions: this.#sessions, history: this.#history, startedMs: this.#startedMs };
    const problems = { foreign: this.#knowledge.foreign, kernelProblem: this.#kernel.problem };
    const decided = { view: this.#view(), desired: this.#desired, kept: this.#announced.kept };
    return { ...decided, ...facts, ...problems };
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

  /** After `stop`: the next start announces none of the API's claims unasked. True: it is on disk. */
  giveBack(isGivenBack: boolean): Promise<boolean> {
    return this.#saver.giveBack(isGivenBack, SAVE_PATIENCE_MS);
  }

  /** For a planned restart: ends without a word, so that routers keep the routes until we are back (RFC 4724). */
  stopForRestart(): Promise<void> {
    this.#stopping ??= this.#stopSilently();
    return this.#stopping;
  }

  async #stopSilently(): Promise<void> {
    const { speaker, addresses, log } = this.#options;
    this.#saver.last();
    this.#end();
    await speaker.stop({ kind: 'restart' });
    this.#sessionLog.close();
    await this.#saver.settled(SAVE_PATIENCE_MS);
    // its routes stay: routers still send here
    this.#kernel.close();
    addresses.close();
    log.info('agent.restart', {}, 'stopped; routers keep the routes');
  }

  async #stop(reason: string): Promise<void> {
    const { clock, speaker, log, node, addresses } = this.#options;
    log.info('agent.stop', { reason }, 'draining');
    this.#saver.last();
    this.#knowledge.stopDrain = stopDrain(this.#options, reason);
    this.#refresh();
    while (this.#desired.claims.some(isAnnounced)) await nextChange(this);
    await flushed(speaker, clock, FLUSH_DEADLINE_MS);
    // from here on nothing is decided any more: the kernel tells of our own removals, too
    this.#end();
    this.#kernel.releaseAll();
    // the withdrawals are out: who has not read them by now does not keep the others from hearing the Cease
    const text = `herald on ${node.name} stops: ${reason}`;
    await speaker.stop({ kind: 'shutdown', text, deadlineMs: FLUSH_DEADLINE_MS });
    this.#sessionLog.close();
    await this.#saver.settled(SAVE_PATIENCE_MS);
    addresses.close();
    log.info('agent.stop', { reason }, 'stopped');
  }

  #end(): void {
    this.#hasEnded = true;
    this.#timers.close();
    this.#checks.stop();
  }

  #now(): Heard {
    return { nowMs: this.#options.clock.now(), wallMs: this.#options.clock.wallTimeMs() };
  }

  #view(): View {
    return this.#knowledge.view(this.#options.clock.now());
  }

  /** Decide and make it so. */
  #refresh(): void {
    if (!this.#hasEnded) labelled('deciding', () => this.#decide());
  }

  #decide(): void {
    // before anything is decided: this process may have been frozen
    this.#guard();
    this.#timers.cancel('refresh');
    const knowledge = this.#knowledge;
    if (knowledge.documents === undefined) this.#kernel.follow(this.#wanted);
    if (knowledge.documents === undefined) return;
    const before = this.#view();
    knowledge.departures = liveDepartures(before);
    let view: View = { ...before, departures: knowledge.departures };
    let next = desired(view);
    // the kernel first: an address there may allow an aggregate, and that needs a route there
    for (let round = 0; round < PREPARATIONS && this.#kernel.prepare(next); round += 1) {
      view = this.#view();
      next = desired(view);
    }
    this.#desired = next;
    knowledge.rememberAnnounced(next);
    this.#isSettling &&= next.claims.some(isUndecided);
    // before all that could fail for another reason: what is taken back leaves
    tellSpeaker(next, this.#options, this.#isSettling);
    this.#announced.decided(next);
    this.#checks.apply(next, this.#view());
    this.#kernel.follow(this.#wanted);
    // in a turn of its own, behind the timers that are due: what was decided is on its way by then
    const remember = () => rememberGates(next, view, this.#history);
    this.#timers.start('remember', 1, () => labelled('deciding', remember));
    const { wakeAtMs } = next;
    if (wakeAtMs === undefined) this.#timers.cancel('wake');
    else this.#timers.start('wake', wakeAtMs - view.nowMs, () => this.#refresh());
    this.#notify();
  }

  #onSpeaker(event: SpeakerEvent): void {
    this.#sessionLog.take(event);
    this.#sessions.take(event);
    this.#announced.take(event);
    this.#notify();
  }

  #onKernel(): void {
    labelled('kernel', () => this.#kernel.read());
    this.#schedule();
  }

  #intent(order: () => DrainAnswer): DrainAnswer {
    // what is said now would be forgotten with this process
    const answer = this.#stopping === undefined ? order() : STOPPING;
    if (!answer.ok) return answer;
    this.#options.log.info('agent.drain', { reason: answer.sentence }, 'as asked');
    this.#refresh();
    this.#saver.soon();
    return answer;
  }

  /** facts of one turn of the event loop are decided on once */
  #schedule(): void {
    if (!this.#hasEnded) this.#timers.startOnce('refresh', 0, () => this.#refresh());
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
