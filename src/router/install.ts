/**
 * Keeps the kernel's table what the router's is: one multipath route per prefix, all next hops that are in use. What the kernel refuses
 * is kept as a sentence and tried again each second, later each ten seconds, and at once when a link or an address changes; what the
 * kernel dropped by itself (a link went down) or somebody removed is found by looking, then and every ten seconds. A hundred
 * thousand routes are written in pieces, between which timers and neighbours have their turn.
 *
 * One next hop that cannot be reached does not cost the others: the route is installed with those that the kernel takes, and the
 * rest is tried again without touching what works.
 */

import {
  type Address,
  addressKey,
  type Clock,
  formatAddress,
  isLinkLocal,
  type Prefix,
  type PrefixKey,
  prefixKey,
  type Timer,
} from 'bgp-ts';
import { NetlinkError } from '../linux/netlink-calls.ts';
import type { KernelNextHop, KernelRoute, RouteTable } from '../linux/route-table.ts';
import type { RibRoute } from './rib.ts';

export interface RouteSyncOptions {
  readonly table: RouteTable;
  readonly clock: Clock;
  /** tells when a link or an address may have changed; the result ends it */
  readonly watch: (onChange: () => void) => () => void;
  /** a route has become what it should be, or why it has not; undefined = it is as it should be */
  readonly onOutcome: (prefix: Prefix, nextHops: readonly Address[], problem?: string) => void;
}

const RETRY_MS = 1000;
const CHECK_MS = 10_000;
/** of the time for which it has been refused: a gateway that comes back soon is found soon */
const RETRY_SHARE = 0.25;
/** each change of a route, and each tick, writes at most so many; the rest waits for the next turn */
const PIECE = 200;
const NONE: ReadonlySet<string> = new Set();

interface Wanted {
  readonly prefix: Prefix;
  /** each once */
  readonly hops: ReadonlyMap<string, KernelNextHop>;
  /** keys of those that the kernel has */
  installed: ReadonlySet<string>;
  problem?: string;
}

interface Trouble {
  readonly sinceMs: number;
  readonly dueMs: number;
}

export class RouteSync {
  readonly #options: RouteSyncOptions;
  readonly #wanted = new Map<PrefixKey, Wanted>();
  /** wanted no more, and not known to be gone */
  readonly #unwanted = new Map<PrefixKey, Prefix>();
  /** what the kernel refuses to write or to remove */
  readonly #troubled = new Map<PrefixKey, Trouble>();
  /** to be written or removed, in this turn or one of the next */
  readonly #queue = new Set<PrefixKey>();
  #timer: Timer | undefined;
  #timerMs = 0;
  #checkMs = 0;
  #unwatch: (() => void) | undefined;

  constructor(options: RouteSyncOptions) {
    this.#options = options;
  }

  /** Removes what a crash left, then keeps watch. A sentence where the kernel does not let us. */
  start(): string | undefined {
    const problem = this.#clear();
    if (problem !== undefined) return problem;
    this.#checkMs = this.#options.clock.now() + CHECK_MS;
    this.#unwatch = this.#options.watch(() => {
      this.#look();
      for (const key of this.#troubled.keys()) this.#queue.add(key);
      this.#work();
    });
    this.#plan();
    return undefined;
  }

  /** Routes as they are now; one without a next hop in use goes. */
  set(routes: readonly RibRoute[]): void {
    for (const route of routes) this.#set(route);
    this.#work();
  }

  problem(prefix: Prefix): string | undefined {
    return this.#wanted.get(prefixKey(prefix))?.problem;
  }

  /** Nothing of ours is left, or a sentence says why. Without a start nothing is touched. */
  stop(): string | undefined {
    this.#unwatch?.();
    this.#timer?.cancel();
    this.#wanted.clear();
    this.#troubled.clear();
    this.#unwanted.clear();
    this.#queue.clear();
    // what a router that never started finds there may be another's that runs
    const problem = this.#unwatch === undefined ? undefined : this.#clear();
    this.#options.table.close();
    return problem;
  }

  #set({ prefix, nextHops }: RibRoute): void {
    const key = prefixKey(prefix);
    const hops = new Map<string, KernelNextHop>();
    for (const { address, zone, best } of nextHops) {
      if (!best) continue;
      const hop = { gateway: address, ...(zone === undefined ? {} : { interface: zone }) };
      hops.set(hopKey(hop), hop);
    }
    const before = this.#wanted.get(key);
    if (hops.size === 0) {
      if (before === undefined) return;
      this.#wanted.delete(key);
      this.#unwanted.set(key, prefix);
    } else {
      if (before !== undefined && hasSameKeys(before.hops, hops)) return;
      this.#unwanted.delete(key);
      this.#wanted.set(key, { prefix, hops, installed: before?.installed ?? NONE });
    }
    this.#troubled.delete(key);
    this.#queue.add(key);
  }

  #remove(prefix: Prefix): void {
    const outcome = this.#options.table.remove(prefix);
    const problem = outcome.kind === 'done' ? undefined : outcome.sentence;
    const key = prefixKey(prefix);
    if (problem === undefined) this.#unwanted.delete(key);
    this.#judge(key, problem);
    this.#options.onOutcome(prefix, [], problem);
  }

  /** All of them, else those that the kernel has and takes, one by one: what works is never taken away to try. */
  #install(wanted: Wanted): void {
    const { table } = this.#options;
    const all = table.replace(routeOf(wanted, [...wanted.hops.keys()]));
    if (all.kind === 'done') {
      this.#note(wanted, [...wanted.hops.keys()], undefined);
      return;
    }
    const kept = [...wanted.hops.keys()].filter((key) => wanted.installed.has(key));
    const taken = [...kept];
    let problem = all.sentence;
    for (const key of wanted.hops.keys()) {
      if (taken.includes(key) || wanted.hops.size === 1) continue;
      const outcome = table.replace(routeOf(wanted, [...taken, key]));
      if (outcome.kind === 'done') taken.push(key);
      else problem = `${outcome.sentence} (next hop ${hopText(wanted.hops.get(key))})`;
    }
    if (taken.length === kept.length && kept.length < wanted.installed.size) {
      // next hops that nobody announces any more are still there
      if (kept.length > 0) table.replace(routeOf(wanted, kept));
      else table.remove(wanted.prefix);
    }
    this.#note(wanted, taken, problem);
  }

  #note(wanted: Wanted, installed: readonly string[], problem: string | undefined): void {
    const isNews =
      wanted.problem !== problem ||
      installed.length !== wanted.installed.size ||
      installed.some((key) => !wanted.installed.has(key));
    wanted.installed = new Set(installed);
    if (problem === undefined) delete wanted.problem;
    else wanted.problem = problem;
    this.#judge(prefixKey(wanted.prefix), problem);
    if (!isNews) return;
    const gateways = installed.flatMap((key) => wanted.hops.get(key)?.gateway ?? []);
    this.#options.onOutcome(wanted.prefix, gateways, problem);
  }

  #judge(key: PrefixKey, problem: string | undefined): void {
    if (problem === undefined) {
      this.#troubled.delete(key);
      return;
    }
    const nowMs = this.#options.clock.now();
    const sinceMs = this.#troubled.get(key)?.sinceMs ?? nowMs;
    const waitMs = Math.min(Math.max((nowMs - sinceMs) * RETRY_SHARE, RETRY_MS), CHECK_MS);
    this.#troubled.set(key, { sinceMs, dueMs: nowMs + waitMs });
  }

  #tick(): void {
    this.#timer = undefined;
    const nowMs = this.#options.clock.now();
    if (nowMs >= this.#checkMs) this.#look();
    if (this.#queue.size === 0) {
      for (const [key, { dueMs }] of this.#troubled) if (dueMs <= nowMs) this.#queue.add(key);
    }
    this.#work();
  }

  /** What the kernel has is read again; what differs is put right, but what is refused as before waits for its time. */
  #look(): void {
    const present = this.#present();
    const nowMs = this.#options.clock.now();
    this.#checkMs = nowMs + (present === undefined ? RETRY_MS : CHECK_MS);
    if (present === undefined) return;
    for (const [key, wanted] of this.#wanted) {
      const installed = present.get(key) ?? NONE;
      const isAsBefore = this.#troubled.has(key) && hasSameKeys(wanted.installed, installed);
      wanted.installed = installed;
      if (!isAsBefore && !hasSameKeys(wanted.hops, installed)) this.#queue.add(key);
    }
  }

  #work(): void {
    let left = PIECE;
    for (const key of this.#queue) {
      if (left === 0) break;
      left -= 1;
      this.#queue.delete(key);
      const wanted = this.#wanted.get(key);
      const unwanted = this.#unwanted.get(key);
      if (wanted !== undefined) this.#install(wanted);
      else if (unwanted !== undefined) this.#remove(unwanted);
    }
    this.#plan();
  }

  /** undefined where the kernel could not be asked just now */
  #present(): ReadonlyMap<PrefixKey, ReadonlySet<string>> | undefined {
    const present = new Map<PrefixKey, ReadonlySet<string>>();
    try {
      for (const { prefix, nextHops } of this.#options.table.list()) {
        present.set(prefixKey(prefix), new Set(nextHops.map(hopKey)));
      }
      return present;
    } catch (error) {
      if (error instanceof NetlinkError) return undefined;
      throw error;
    }
  }

  #clear(): string | undefined {
    try {
      const outcome = this.#options.table.clear();
      return outcome.kind === 'done' ? undefined : outcome.sentence;
    } catch (error) {
      if (error instanceof NetlinkError) return `cannot read the kernel's routes: ${error.message}`;
      throw error;
    }
  }

  #plan(): void {
    const { clock } = this.#options;
    const nowMs = clock.now();
    const retryMs = this.#troubled.size > 0 ? nowMs + RETRY_MS : this.#checkMs;
    const dueMs = this.#queue.size > 0 ? nowMs : Math.min(retryMs, this.#checkMs);
    if (this.#timer !== undefined && this.#timerMs <= dueMs) return;
    this.#timer?.cancel();
    this.#timerMs = dueMs;
    this.#timer = clock.startTimer(dueMs - nowMs, () => this.#tick());
  }
}

function routeOf({ prefix, hops }: Wanted, keys: readonly string[]): KernelRoute {
  return { prefix, nextHops: keys.flatMap((key) => hops.get(key) ?? []) };
}

/** fe80::1 on eth0 is another next hop than fe80::1 on eth1; of all others the kernel knows the interface by itself */
function hopKey({ gateway, interface: name }: KernelNextHop): string {
  if (gateway === undefined) return `${name}`;
  return isLinkLocal(gateway) ? `${addressKey(gateway)}%${name}` : addressKey(gateway);
}

function hopText(hop: KernelNextHop | undefined): string {
  return hop?.gateway === undefined ? 'none' : formatAddress(hop.gateway);
}

type Keys = Pick<ReadonlySet<string>, 'size' | 'has' | 'keys'>;

function hasSameKeys(a: Keys, b: Keys): boolean {
  if (a.size !== b.size) return false;
  for (const key of a.keys()) if (!b.has(key)) return false;
  return true;
}
