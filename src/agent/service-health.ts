/**
 * Asks kube-proxy on this node about the Services behind claims: its health-check port of each Local Service, and its own health, by one
 * question for all claims. Keeps what was answered; service-gate.ts has what it means.
 *
 * A thousand Local Services are a thousand ports: they are asked in turn, each every quarter of a second while they are few, and all of
 * them together never more than some hundred times a second.
 */

import type { Clock, Timer } from 'bgp-ts';
import type { AskHttp } from '../checks/ask-http.ts';
import type { Sourced } from '../model/documents.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import { NodePorts } from './node-ports.ts';
import { hasSyncedSince, type ProxyHealth, parseProxyHealth } from './proxy-health.ts';
import type { ServiceFacts } from './view.ts';

export interface ServiceHealthOptions {
  readonly clock: Clock;
  readonly ask: AskHttp;
  /** of kube-proxy's own health; undefined: nobody to ask */
  readonly proxyUrl: string | undefined;
  readonly onChange: () => void;
}

/** the longest that a new claim waits for kube-proxy's rules */
const LONGEST_WAIT_MS = 2000;
const ASK_WAITING_MS = 50;
const ASK_IDLE_MS = 1000;
const TIMEOUT_MS = 1000;
/** one late sync is no illness */
const UNWELL_AFTER_MS = 3000;

interface Seen {
  readonly claim: IpClaim;
  readonly nowMs: number;
  readonly wallMs: number;
}

export class ServiceHealth {
  readonly #options: ServiceHealthOptions;
  readonly #ports: NodePorts;
  /** names of claims whose rules are known to be written, or whose wait is over */
  readonly #settled = new Set<string>();
  readonly #waiting = new Map<string, Seen>();
  #facts: ServiceFacts = { ports: new Map(), waiting: new Map(), isProxyUnwell: false };
  #failingSinceMs: number | undefined;
  #timer: Timer | undefined;
  #asking: { cancel(): void } | undefined;
  #hasServices = false;
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

  /** What there is; `areOld`: their rules have been written long ago. */
  apply(claims: readonly Sourced<IpClaim>[], areOld = false): void {
    const { served, ports } = servedBy(claims);
    for (const name of this.#settled) if (!served.has(name)) this.#settled.delete(name);
    for (const name of this.#waiting.keys()) if (!served.has(name)) this.#waiting.delete(name);
    for (const claim of served.values()) this.#see(claim, areOld);
    this.#hasServices = served.size > 0;
    this.#ports.apply(ports);
    this.#publish();
    this.#schedule();
  }

  #see(claim: IpClaim, isOld: boolean): void {
    const { clock, proxyUrl } = this.#options;
    if (this.#settled.has(claim.name) || this.#waiting.has(claim.name)) return;
    if (isOld || proxyUrl === undefined) this.#settled.add(claim.name);
    else {
      const seen = { claim, nowMs: clock.now(), wallMs: clock.wallTimeMs() };
      this.#waiting.set(claim.name, seen);
    }
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
    const waitMs = this.#waiting.size > 0 ? ASK_WAITING_MS : ASK_IDLE_MS;
    this.#timer = clock.startTimer(waitMs, () => this.#ask(proxyUrl));
  }

  #ask(url: string): void {
    this.#asking = this.#options.ask(url, TIMEOUT_MS, (answer) => {
      this.#asking = undefined;
      const health =
        answer.kind === 'answered' ? parseProxyHealth(answer.status, answer.body) : undefined;
      this.#take(health);
      this.#schedule();
    });
  }

  /** undefined: unknown, which changes nothing but that waits come to their end */
  #take(health: ProxyHealth | undefined): void {
    const { clock } = this.#options;
    const nowMs = clock.now();
    if (health !== undefined) {
      this.#failingSinceMs = health.isHealthy ? undefined : (this.#failingSinceMs ?? nowMs);
    }
    for (const [name, { claim, nowMs: sinceMs, wallMs }] of this.#waiting) {
      const ageMs = nowMs - sinceMs;
      const { family } = claim.address;
      const isWritten = health !== undefined && hasSyncedSince(health, family, { wallMs, ageMs });
      if (!isWritten && ageMs < LONGEST_WAIT_MS) continue;
      this.#waiting.delete(name);
      this.#settled.add(name);
    }
    this.#become();
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
      before.isProxyUnwell === isProxyUnwell &&
      before.waiting.size === this.#waiting.size &&
      [...before.waiting.keys()].every((name) => this.#waiting.has(name));
    if (isSame) return false;
    const waiting = [...this.#waiting].map(([name, { nowMs }]) => {
      return [name, nowMs + LONGEST_WAIT_MS] as const;
    });
    this.#facts = { ports: answers, waiting: new Map(waiting), isProxyUnwell };
    return true;
  }
}

/** Claims with Services behind them, by name, and the ports of those that are Local. */
function servedBy(claims: readonly Sourced<IpClaim>[]): {
  readonly served: ReadonlyMap<string, IpClaim>;
  readonly ports: ReadonlySet<number>;
} {
  const served = new Map<string, IpClaim>();
  const ports = new Set<number>();
  for (const { object, source } of claims) {
    const { name, services, withdrawn } = object;
    if (source !== 'api' || services.length === 0 || withdrawn !== undefined) continue;
    served.set(name, object);
    for (const { healthCheckNodePort: port } of services) if (port !== undefined) ports.add(port);
  }
  return { served, ports };
}
