/**
 * What an agent tells its cluster, and what it needs of it to hold exclusive claims: its IPNode, its Lease, and at the end how to go.
 * Built once by the shell; everything in here goes on for as long as the agent does, whatever the API does.
 */

import type { Clock, Random } from 'bgp-ts';
import type { Log } from '../../log/log.ts';
import { LONGEST_LEASE_SECONDS, leaseTimes } from '../../model/lease-times.ts';
import { optional } from '../../model/optional.ts';
import type { KubeApi } from '../../sources/kube/api.ts';
import { areAsBelieved } from './claims-as-they-stand.ts';
import { objection } from './instance.ts';
import { IpNodeObject } from './ip-node-object.ts';
import type { ReportFacts } from './ip-node-status.ts';
import { IpNodeWriter } from './ip-node-writer.ts';
import { NodeLease } from './node-lease.ts';
import { needsLease, ownLevels, type ReportedAgent, reportFacts } from './report-facts.ts';
import { UnsettledLevels } from './unsettled-levels.ts';

export interface KubeReportOptions {
  readonly api: KubeApi;
  readonly agent: ReportedAgent;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly node: string;
  /** of this machine, the same after a restart (machine-memory.ts) */
  readonly instance: string;
  /** simple mode: the controller and people are to know it */
  readonly ignoresExcludeLabel?: boolean;
  /** of the Lease; default 15 */
  readonly leaseSeconds?: number;
  /** when the watch of the exclusive claims here had its last word; undefined: there are none */
  readonly claimsHeardMs?: () => number | undefined;
  /** the controller waits for the answer to these claims; true: what was observed does not answer for them yet */
  readonly awaitClaims?: (names: readonly string[]) => boolean;
}

/** For metrics and probes. */
export interface ReportHealth {
  /** undefined: no exclusive claim can come here, so there is none */
  readonly lease?: { readonly isFenced: boolean; readonly ageMs?: number };
  /** why this machine is not taken for its node */
  readonly objection?: string;
}

export interface KubeReport {
  readonly health: ReportHealth;
  /**
   * After the agent has stopped. `away`: nothing of this node is announced any more, and its name is free; `restart`: the next process goes
   * on where this one ended. Bounded.
   */
  stop(how: 'away' | 'restart'): Promise<void>;
}

export function startKubeReport(options: KubeReportOptions): KubeReport {
  return new Report(options);
}

class Report implements KubeReport {
  readonly #options: KubeReportOptions;
  readonly #object: IpNodeObject;
  readonly #writer: IpNodeWriter;
  readonly #lease: NodeLease;
  readonly #levels: UnsettledLevels;
  readonly #unsubscribe: () => void;
  readonly #leaseSeconds: number;
  #nodeUid: string | undefined;
  #need: { documents: unknown; node: unknown; isThere: boolean } | undefined;
  #wasOurs = false;
  #end: { readonly at: string } | undefined;

  constructor(options: KubeReportOptions) {
    this.#options = options;
    const { api, agent, clock, random, log, node, instance } = options;
    const { leaseSeconds = LONGEST_LEASE_SECONDS } = options;
    this.#leaseSeconds = leaseSeconds;
    this.#levels = new UnsettledLevels(node);
    const nodeUid = () => agent.clusterNode?.uid;
    this.#object = new IpNodeObject({ api, clock, node, instance, nodeUid });
    this.#writer = new IpNodeWriter({
      object: this.#object,
      clock,
      random,
      log,
      facts: () => this.#facts(),
      onStanding: () => this.#onStanding(),
    });
    this.#lease = new NodeLease({
      api,
      clock,
      random,
      log,
      node,
      instance,
      nodeUid,
      times: leaseTimes(leaseSeconds),
      isNeeded: () => this.#needsLease(),
      hasCaughtUp: (signal) => areAsBelieved(api, node, ownLevels(agent.documents, node), signal),
      ...optional('claimsHeardMs', options.claimsHeardMs),
      onFence: (isFenced, hasLapsed) =>
        agent.setFenced(isFenced ? clock.now() : undefined, hasLapsed),
    });
    // down from the beginning: what a saved View says of exclusive claims may not be true any more
    this.#lease.check();
    agent.guard(() => this.#lease.check());
    this.#unsubscribe = agent.subscribe(() => this.#onChange());
    this.#writer.start();
    this.#onChange();
  }

  get health(): ReportHealth {
    const { isRunning, isFenced, ageMs } = this.#lease;
    const why = this.#objection();
    return {
      ...(isRunning ? { lease: { isFenced, ...(ageMs === undefined ? {} : { ageMs }) } } : {}),
      ...(why === undefined ? {} : { objection: why }),
    };
  }

  async stop(how: 'away' | 'restart'): Promise<void> {
    this.#unsubscribe();
    if (how === 'restart') {
      await Promise.all([this.#writer.stop('keep'), this.#lease.stop(this.#lastWord(how))]);
      return;
    }
    await this.#leave();
  }

  /**
   * A controller that reads that nothing is announced here gives the addresses to others without
   * asking this node. So it is on disk first that the next process must not announce them unasked;
   * where the disk does not take it, or the API not the other, all is as after a crash. So it is
   * where a router could not be told: it may still send traffic here.
   */
  async #leave(): Promise<void> {
    const { agent, clock } = this.#options;
    const { keptMs = 0 } = agent.announced;
    const isKept = keptMs === 0 && (await agent.giveBack(true));
    if (isKept) this.#end = { at: new Date(clock.wallTimeMs()).toISOString() };
    const [isWritten] = await Promise.all([
      this.#writer.stop('leave'),
      this.#lease.stop(this.#lastWord('away')),
    ]);
    if (!isKept || !isWritten) await agent.giveBack(false);
  }

  /** The routes are withdrawn by now, and who gets the claims next is alone with them: unless a router could not be told. */
  #lastWord(how: 'away' | 'restart'): 'release' | { readonly restartingSeconds: number } {
    const { keptMs = 0 } = this.#options.agent.announced;
    const keptSeconds = Math.ceil(keptMs / 1000);
    if (how === 'restart')
      return { restartingSeconds: Math.max(this.#restartSeconds(), keptSeconds) };
    return keptMs === 0 ? 'release' : { restartingSeconds: keptSeconds };
  }

  /** the longest that a router waits for the next process */
  #restartSeconds(): number {
    const { plans } = this.#options.agent.decided;
    return Math.max(0, ...plans.map(({ peer }) => peer.gracefulRestart?.restartSeconds ?? 0));
  }

  /** cheap, since the agent says it often */
  #onChange(): void {
    this.#lease.poke();
    const uid = this.#options.agent.clusterNode?.uid;
    if (uid !== this.#nodeUid) {
      this.#nodeUid = uid;
      this.#writer.nodeChanged();
    }
    this.#writer.poke();
  }

  /** asked with every word of the agent, of which few are about documents */
  #needsLease(): boolean {
    const { documents, clusterNode } = this.#options.agent;
    const last = this.#need;
    if (last?.documents === documents && last?.node === clusterNode) return last?.isThere === true;
    const isThere = needsLease(documents, clusterNode);
    this.#need = { documents, node: clusterNode, isThere };
    return isThere;
  }

  #onStanding(): void {
    if (this.#object.standing?.kind === 'ours') this.#wasOurs = true;
    this.#options.agent.setObjection(this.#objection());
  }

  /** Who was this node until now goes on while it asks: whoever was here in between may be gone again. */
  #objection(): string | undefined {
    const { standing } = this.#object;
    if (standing?.kind === 'asking' && this.#wasOurs) return undefined;
    return objection(standing, this.#options.node);
  }

  #facts(): ReportFacts | undefined {
    const { agent, clock, ignoresExcludeLabel = false } = this.#options;
    const known = reportFacts(agent, this.#levels, clock.now());
    if (known === undefined) return undefined;
    const lasts = this.#lease.isRunning ? { leaseSeconds: this.#leaseSeconds } : {};
    const isBehind = this.#options.awaitClaims?.(known.refusedStraight) ?? false;
    const isCurrent = known.isCurrent && !isBehind;
    const facts = { ...known, ignoresExcludeLabel, ...lasts, isCurrent };
    if (this.#end === undefined) return facts;
    const sentence = 'the agent has stopped; nothing is announced';
    return { ...facts, joined: { isOpen: false, sentence, since: this.#end.at }, levels: [] };
  }
}
