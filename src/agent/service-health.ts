/**
 * Asks kube-proxy on this node about the Services behind claims: its health-check port of each Local Service, and its own health, by one
 * question for all claims. Keeps what was answered; service-gate.ts has what it means.
 *
 * The wait for the rules of a claim counts from when it was seen, and not before this node may announce at all: kube-proxy starts with the
 * machine, as the kubelet does, and what it says before that is of a machine that is still coming up.
 *
 * A thousand Local Services are a thousand ports: they are asked in turn, each every quarter of a second while they are few, and all of
 * them together never more than some hundred times a second.
 */

import type { Clock, Timer } from 'bgp-ts';
import type { AskHttp, HttpAnswer } from '../checks/ask-http.ts';
import type { Sourced } from '../model/documents.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import { NodePorts } from './node-ports.ts';
import { type ProxyHealth, parseProxyHealth } from './proxy-health.ts';
import { parseProxyMetrics } from './proxy-metrics.ts';
import {
  followSyncs,
  isWrittenByHealth,
  isWrittenBySyncs,
  type SyncStarts,
  type Wanted,
} from './proxy-sync.ts';
import type { ServiceFacts } from './view.ts';

export interface ServiceHealthOptions {
  readonly clock: Clock;
  readonly ask: AskHttp;
  /** of kube-proxy's own health; undefined: nobody to ask */
  readonly proxyUrl: string | undefined;
  /** of its metrics, which tell more; undefined: not to be asked */
  readonly metricsUrl?: string | undefined;
  readonly onChange: () => void;
}

/** the longest that a claim waits for kube-proxy's rules, and for a kube-proxy that does not answer */
const LONGEST_WAIT_MS = 5000;
const SILENT_WAIT_MS = 2000;
/** the status of a Service follows its new claim, and kube-proxy learns of the address from it */
const TOLD_MS = 1000;
/** an older claim has been told of; but its endpoints may have come just now */
const HEARD_MS = 100;
const NEW_MS = 15_000;
const ASK_WAITING_MS = 50;
const ASK_IDLE_MS = 1000;
/** metrics that nobody serves are not asked for again so soon */
const NO_METRICS_MS = 60_000;
const TIMEOUT_MS = 1000;
/** one late sync is no illness */
const UNWELL_AFTER_MS = 3000;

interface Seen {
  readonly claim: Sourced<IpClaim>;
  /** since this node may announce it */
  readonly since?: { readonly wanted: Wanted; readonly nowMs: number };
}

export class ServiceHealth {
  readonly #options: ServiceHealthOptions;
  readonly #ports: NodePorts;
  /** names of claims whose rules are known to be written, or whose wait is over */
  readonly #settled = new Set<string>();
  readonly #waiting = new Map<string, Seen>();
  #trusted: ServiceFacts['trusted'] = new Map();
  #facts: ServiceFacts = {
    ports: new Map(),
    trusted: this.#trusted,
    waiting: new Map(),
    isProxyUnwell: false,
  };
  #failingSinceMs: number | undefined;
  #health: ProxyHealth | undefined;
  #healthAskedMs = Number.NEGATIVE_INFINITY;
  #starts: SyncStarts | undefined;
  #noMetricsUntilMs = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;
  #asking: { cancel(): void } | undefined;
  #hasServices = false;
  #isJoined = true;
  #isStopped = false;

  constructor(options: ServiceHealthOptions) {
    this.#options = options;
    const { clock, ask } = options;
    this.#ports = new NodePorts({ clock, ask, onChange: () => this.#become() });
  }

  get facts(): ServiceFacts {
    return this.#facts;
  }

  /** where this node may be asked beside loopback */
  set addresses(addresses: readonly string[]) {
    this.#ports.hosts = ['127.0.0.1', ...addresses];
  }

  /** This node may announce claims of its cluster. Waits begin with that, and those that are over are not begun again. */
  set isJoined(isJoined: boolean) {
    if (this.#isJoined === isJoined) return;
    this.#isJoined = isJoined;
    for (const [name, { claim }] of this.#waiting) this.#waiting.set(name, this.#seen(claim));
    // how long a writing took is known from two looks that follow each other
    this.#starts = undefined;
    this.#publish();
    this.#schedule();
  }

  /** What there is; `areOld`: their rules have been written long ago. `isAnnounced`, by name: this node announces it now. */
  apply(
    claims: readonly Sourced<IpClaim>[],
    areOld = false,
    isAnnounced: (name: string) => boolean = () => false,
  ): void {
    const { served, ports } = servedBy(claims);
    for (const name of this.#settled) if (!served.has(name)) this.#settled.delete(name);
    for (const name of this.#waiting.keys()) if (!served.has(name)) this.#waiting.delete(name);
    for (const claim of served.values()) this.#see(claim, areOld);
    if (this.#waiting.size === 0) this.#starts = undefined;
    this.#hasServices = served.size > 0;
    this.#ports.apply(ports);
    const silent = new Set([...ports.keys()].filter((port) => !this.#ports.answers.has(port)));
    this.#trust(served, silent, isAnnounced);
    this.#publish();
    this.#schedule();
  }

  #see(claim: Sourced<IpClaim>, isOld: boolean): void {
    const { name } = claim.object;
    if (this.#settled.has(name) || this.#waiting.has(name)) return;
    if (isOld || this.#options.proxyUrl === undefined) this.#settled.add(name);
    else this.#waiting.set(name, this.#seen(claim));
  }

  #seen(claim: Sourced<IpClaim>): Seen {
    if (!this.#isJoined) return { claim };
    const { clock } = this.#options;
    const { family } = claim.object.address;
    const seenMs = clock.wallTimeMs();
    const heardMs = seenMs + (seenMs - claim.createdMs < NEW_MS ? TOLD_MS : HEARD_MS);
    return { claim, since: { wanted: { family, seenMs, heardMs }, nowMs: clock.now() } };
  }

  get #isWaiting(): boolean {
    return this.#isJoined && this.#waiting.size > 0;
  }

  /** A Service that becomes Local, or joins an address, has a port that kube-proxy opens a moment later: until then the others go on. */
  #trust(
    served: ReadonlyMap<string, Sourced<IpClaim>>,
    silent: ReadonlySet<number>,
    isAnnounced: (name: string) => boolean,
  ): void {
    const trusted = new Map<string, ReadonlySet<number>>();
    for (const [name, { object }] of silent.size === 0 ? [] : served) {
      const own = object.services.flatMap(({ healthCheckNodePort: port }) =>
        port === undefined || !silent.has(port) ? [] : [port],
      );
      if (own.length > 0 && isAnnounced(name)) trusted.set(name, new Set(own));
    }
    if (trusted.size > 0 || this.#trusted.size > 0) this.#trusted = trusted;
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#asking?.cancel();
    this.#ports.stop();
  }

  /** soon while somebody waits, now and then otherwise */
  #schedule(): void {
    const { clock, proxyUrl } = this.#options;
    if (this.#isStopped || this.#asking !== undefined || proxyUrl === undefined) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (!this.#hasServices) return;
    const waitMs = this.#isWaiting ? ASK_WAITING_MS : ASK_IDLE_MS;
    this.#timer = clock.startTimer(waitMs, () => this.#ask(proxyUrl));
  }

  /** The metrics while somebody waits, and its health once a second, or in their place. */
  #ask(proxyUrl: string): void {
    const { clock, ask, metricsUrl } = this.#options;
    const nowMs = clock.now();
    const isHealthDue = nowMs - this.#healthAskedMs >= ASK_IDLE_MS;
    const hasMetrics = metricsUrl !== undefined && nowMs >= this.#noMetricsUntilMs;
    const isForMetrics = hasMetrics && this.#isWaiting && !isHealthDue;
    if (!isForMetrics) this.#healthAskedMs = nowMs;
    this.#asking = ask(isForMetrics ? metricsUrl : proxyUrl, TIMEOUT_MS, (answer) => {
      this.#asking = undefined;
      if (isForMetrics) this.#takeMetrics(answer);
      else this.#takeHealth(answer);
      this.#settle();
      this.#become();
      this.#schedule();
    });
  }

  /** no answer is unknown, which changes nothing but that waits come to their end */
  #takeHealth(answer: HttpAnswer): void {
    const nowMs = this.#options.clock.now();
    this.#health =
      answer.kind === 'answered' ? parseProxyHealth(answer.status, answer.body) : undefined;
    if (this.#health === undefined) return;
    this.#failingSinceMs = this.#health.isHealthy ? undefined : (this.#failingSinceMs ?? nowMs);
  }

  #takeMetrics(answer: HttpAnswer): void {
    const isAnswer = answer.kind === 'answered' && answer.status === 200;
    const metrics = isAnswer ? parseProxyMetrics(answer.body) : undefined;
    if (metrics === undefined) {
      this.#starts = undefined;
      this.#noMetricsUntilMs = this.#options.clock.now() + NO_METRICS_MS;
    } else this.#starts = followSyncs(this.#starts ?? {}, metrics);
  }

  #settle(): void {
    const { clock } = this.#options;
    const nowMs = clock.now();
    const isSilent = this.#health === undefined && this.#starts === undefined;
    const longestMs = isSilent ? SILENT_WAIT_MS : LONGEST_WAIT_MS;
    for (const [name, { since }] of this.#waiting) {
      if (since === undefined) continue;
      const isOver = nowMs - since.nowMs >= longestMs;
      if (!isOver && !this.#isWritten(since.wanted, clock.wallTimeMs())) continue;
      this.#waiting.delete(name);
      this.#settled.add(name);
    }
    // how long a writing took is known from two looks that follow each other
    if (this.#waiting.size === 0) this.#starts = undefined;
  }

  #isWritten(wanted: Wanted, wallMs: number): boolean {
    if (this.#starts !== undefined) return isWrittenBySyncs(this.#starts, wanted, wallMs);
    return this.#health !== undefined && isWrittenByHealth(this.#health, wanted, wallMs);
  }

  #become(): void {
    if (this.#publish()) this.#options.onChange();
  }

  #publish(): boolean {
    const before = this.#facts;
    const { clock } = this.#options;
    const failingMs = this.#failingSinceMs === undefined ? 0 : clock.now() - this.#failingSinceMs;
    const isProxyUnwell = failingMs >= UNWELL_AFTER_MS;
    const { answers } = this.#ports;
    const isSame =
      before.ports === answers &&
      before.trusted === this.#trusted &&
      before.isProxyUnwell === isProxyUnwell &&
      before.waiting.size === this.#waiting.size &&
      [...this.#waiting].every(([name, seen]) => before.waiting.get(name) === untilMs(seen));
    if (isSame) return false;
    const waiting = [...this.#waiting].map(([name, seen]) => [name, untilMs(seen)] as const);
    const trusted = this.#trusted;
    this.#facts = { ports: answers, trusted, waiting: new Map(waiting), isProxyUnwell };
    return true;
  }
}

function untilMs({ since }: Seen): number {
  return since === undefined ? Number.POSITIVE_INFINITY : since.nowMs + LONGEST_WAIT_MS;
}

/** Claims with Services behind them, by name, and the ports of those that are Local. */
function servedBy(claims: readonly Sourced<IpClaim>[]): {
  readonly served: ReadonlyMap<string, Sourced<IpClaim>>;
  /** and the namespace of each */
  readonly ports: ReadonlyMap<number, string>;
} {
  const served = new Map<string, Sourced<IpClaim>>();
  const ports = new Map<number, string>();
  for (const claim of claims) {
    const { object, source } = claim;
    const { name, services, withdrawn } = object;
    if (source !== 'api' || services.length === 0 || withdrawn !== undefined) continue;
    served.set(name, claim);
    for (const { namespace, healthCheckNodePort: port } of services) {
      if (port !== undefined) ports.set(port, namespace);
    }
  }
  return { served, ports };
}
