/**
 * Keeps the kernel's table what the router's is: one multipath route per prefix, all next hops that are in use. What the kernel refuses
 * is kept as a sentence and tried again each second, later each ten seconds, and at once when a link or an address changes; what the
 * kernel dropped by itself (a link went down) or somebody removed is found by looking, then and every ten seconds.
 *
 * One next hop that cannot be reached does not cost the others: the route is installed with those that the kernel takes, and the
 * rest is tried again without touching what works.
 *
 * However much changes or is refused at once, one turn of the clock asks the kernel for so much and no more, by counted next hops
 * (shares.ts); then timers and neighbours have their turn. Next hops that nobody announces any more go first, and have the largest
 * share while others wait: a neighbour that withdraws and announces without a pause keeps out nobody's new routes, and no retries.
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
import type { Refused } from '../linux/address-table.ts';
import { NetlinkError } from '../linux/netlink-calls.ts';
import type { KernelNextHop, RouteTable } from '../linux/route-table.ts';
import type { RibNextHop, RibRoute } from './rib.ts';
import { Queue, SharedTurn } from './shares.ts';

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
/** how often those that are refused are looked through while there is always other work */
const BUSY_RETRY_MS = 250;
/** of the time for which it has been refused: a gateway that comes back soon is found soon */
const RETRY_SHARE = 0.25;
/** what a call costs besides its next hops */
const CALL_HOPS = 9;
const NONE: ReadonlySet<string> = new Set();

interface Wanted {
  readonly prefix: Prefix;
  /** each once */
  readonly hops: ReadonlyMap<string, KernelNextHop>;
  /** keys of those that the kernel has */
  installed: ReadonlySet<string>;
  /** the kernel, to write it; it may have a part of what it refused */
  wasAsked: boolean;
  /** the kernel has others than was told last */
  isUntold: boolean;
  problem?: string;
  /** on its way, a call to the kernel each; ends with what is in the way */
  steps?: Generator<void, string | undefined>;
}

interface Trouble {
  readonly sinceMs: number;
  readonly dueMs: number;
}

export class RouteSync {
  readonly #options: RouteSyncOptions;
  readonly #wanted = new Map<PrefixKey, Wanted>();
  /** wanted no more, and not known to be gone */
  readonly #unwanted = new Map<PrefixKey, Pick<Wanted, 'prefix' | 'installed'>>();
  /** what the kernel refuses to write or to remove */
  readonly #troubled = new Map<PrefixKey, Trouble>();
  /** to be written or removed, in this turn or one of the next: the kernel has next hops that nobody announces any more */
  readonly #stale = new Queue(10 / 16);
  /** those that are not begun */
  readonly #fresh = new Queue(4 / 16);
  /** of some hops the kernel does not take, which is found out one by one */
  readonly #refused = new Queue(1 / 16);
  /** troubled for long enough to be tried again */
  readonly #due = new Queue(1 / 16);
  readonly #turn: SharedTurn;
  /** troubled ones are looked through then, although others are busy */
  #retryMs = 0;
  #timer: Timer | undefined;
  #timerMs = 0;
  #checkMs = 0;
  #unwatch: (() => void) | undefined;

  constructor(options: RouteSyncOptions) {
    this.#options = options;
    const queues = [this.#stale, this.#fresh, this.#refused, this.#due];
    this.#turn = new SharedTurn(options.clock, queues);
  }

  /** Removes what a crash left, then keeps watch. A sentence where the kernel does not let us. */
  start(): string | undefined {
    const problem = this.#clear();
    if (problem !== undefined) return problem;
    this.#checkMs = this.#options.clock.now() + CHECK_MS;
    this.#unwatch = this.#options.watch(() => {
      this.#look();
      for (const key of this.#troubled.keys()) this.#enqueue(key);
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
    this.#turn.clear();
    // what a router that never started finds there may be another's that runs
    const problem = this.#unwatch === undefined ? undefined : this.#clear();
    this.#options.table.close();
    return problem;
  }

  #set({ prefix, nextHops }: RibRoute): void {
    const key = prefixKey(prefix);
    const hops = hopsOf(nextHops);
    const before = this.#wanted.get(key);
    if (hops.size === 0) {
      if (before !== undefined) this.#unset(key, before);
      return;
    }
    if (before !== undefined && hasSameKeys(before.hops, hops)) return;
    const left = this.#unwanted.get(key);
    this.#unwanted.delete(key);
    const installed = (before ?? left)?.installed ?? NONE;
    const isUntold = before?.isUntold ?? left !== undefined;
    const wasAsked = before?.wasAsked ?? left !== undefined;
    this.#wanted.set(key, { prefix, hops, installed, wasAsked, isUntold });
    this.#troubled.delete(key);
    this.#enqueue(key);
  }

  #unset(key: PrefixKey, before: Wanted): void {
    this.#wanted.delete(key);
    this.#troubled.delete(key);
    if (before.wasAsked || before.installed.size > 0) {
      this.#unwanted.set(key, before);
      this.#enqueue(key);
    } else {
      this.#turn.move(key);
    }
  }

  /** From its beginning, also where it is on its way. */
  #enqueue(key: PrefixKey): void {
    const wanted = this.#wanted.get(key);
    delete wanted?.steps;
    this.#turn.move(key, wanted === undefined || hasStale(wanted) ? this.#stale : this.#fresh);
  }

  #remove(prefix: Prefix): void {
    const problem = this.#callRemove(prefix);
    const key = prefixKey(prefix);
    if (problem === undefined) this.#unwanted.delete(key);
    this.#judge(key, problem);
    this.#options.onOutcome(prefix, [], problem);
  }

  /** All of them, else those that the kernel has and takes, one by one; none where somebody else's stands. What works is never taken away to try. */
  *#install(wanted: Wanted): Generator<void, string | undefined> {
    const keys = [...wanted.hops.keys()];
    const refused = this.#callReplace(wanted, keys);
    let problem = refused?.sentence;
    if (refused === undefined || refused.kind === 'foreign') return problem;
    if (hasStale(wanted)) yield* this.#takeAway(wanted);
    for (const key of keys) {
      if (wanted.installed.has(key) || keys.length === 1) continue;
      yield;
      const taken = keys.filter((each) => each === key || wanted.installed.has(each));
      const one = this.#callReplace(wanted, taken);
      if (one?.kind === 'foreign') return one.sentence;
      if (one !== undefined) problem = `${one.sentence} (next hop ${hopText(wanted, key)})`;
    }
    return problem;
  }

  /** Next hops that nobody announces any more, for those that stay; for the first one that is taken, where these are not. */
  *#takeAway(wanted: Wanted): Generator<void, void> {
    const keys = [...wanted.hops.keys()];
    const kept = keys.filter((key) => wanted.installed.has(key));
    const ways = kept.length > 1 && kept.length < keys.length ? [kept] : [];
    const others = keys.filter((key) => !wanted.installed.has(key));
    if (keys.length > 1) for (const key of [...kept, ...others]) ways.push([key]);
    for (const way of ways) {
      yield;
      const refused = this.#callReplace(wanted, way);
      if (refused === undefined || refused.kind === 'foreign') return;
    }
    yield;
    if (this.#callRemove(wanted.prefix) === undefined) setInstalled(wanted, []);
  }

  #callReplace(wanted: Wanted, keys: readonly string[]): Refused | undefined {
    const { prefix, hops } = wanted;
    const nextHops = keys.flatMap((key) => hops.get(key) ?? []);
    this.#turn.spend(CALL_HOPS + nextHops.length);
    wanted.wasAsked = true;
    const outcome = this.#options.table.replace({ prefix, nextHops });
    if (outcome.kind === 'done') setInstalled(wanted, keys);
    // said only where none of ours stands
    if (outcome.kind === 'foreign') setInstalled(wanted, []);
    return outcome.kind === 'done' ? undefined : outcome;
  }

  #callRemove(prefix: Prefix): string | undefined {
    this.#turn.spend(CALL_HOPS + 1);
    const outcome = this.#options.table.remove(prefix);
    return outcome.kind === 'done' ? undefined : outcome.sentence;
  }

  #note(wanted: Wanted, problem: string | undefined): void {
    const isNews = wanted.isUntold || wanted.problem !== problem;
    wanted.isUntold = false;
    if (problem === undefined) delete wanted.problem;
    else wanted.problem = problem;
    this.#judge(prefixKey(wanted.prefix), problem);
    if (!isNews) return;
    const gateways = Array.from(wanted.installed, (key) => wanted.hops.get(key)?.gateway ?? []);
    this.#options.onOutcome(wanted.prefix, gateways.flat(), problem);
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
    this.#turn.begin();
    const nowMs = this.#options.clock.now();
    if (nowMs >= this.#checkMs) this.#look();
    if (this.#turn.isIdle || nowMs >= this.#retryMs) this.#retry(nowMs);
    this.#work();
  }

  #retry(nowMs: number): void {
    this.#retryMs = nowMs + BUSY_RETRY_MS;
    // they have their share already
    if (this.#due.keys.size > 0) return;
    for (const [key, { dueMs }] of this.#troubled) {
      if (dueMs <= nowMs && !this.#turn.isWaiting(key)) this.#turn.move(key, this.#due);
    }
  }

  /** What the kernel has is read again; what differs is put right, but what is refused as before waits for its time. */
  #look(): void {
    const present = this.#present();
    const nowMs = this.#options.clock.now();
    this.#checkMs = nowMs + (present === undefined ? RETRY_MS : CHECK_MS);
    if (present === undefined) return;
    for (const [key, wanted] of this.#wanted) {
      const installed = present.get(key) ?? NONE;
      const isOnItsWay = wanted.steps !== undefined || this.#troubled.has(key);
      if (hasSameKeys(wanted.installed, installed)) {
        if (isOnItsWay) continue;
      } else {
        wanted.installed = installed;
        wanted.isUntold = true;
      }
      if (!hasSameKeys(wanted.hops, installed)) this.#enqueue(key);
    }
  }

  #work(): void {
    this.#turn.work((key, queue) => this.#step(key, queue));
    this.#plan();
  }

  /** One call to the kernel; what comes next may belong to another queue. */
  #step(key: PrefixKey, queue: Queue): void {
    const wanted = this.#wanted.get(key);
    if (wanted === undefined) {
      this.#turn.move(key);
      const unwanted = this.#unwanted.get(key);
      if (unwanted !== undefined) this.#remove(unwanted.prefix);
      return;
    }
    wanted.steps ??= this.#install(wanted);
    const { done, value } = wanted.steps.next();
    if (done) {
      this.#turn.move(key);
      delete wanted.steps;
      this.#note(wanted, value ?? undefined);
      return;
    }
    const next = hasStale(wanted) ? this.#stale : this.#refused;
    if (next !== queue) this.#turn.move(key, next);
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
    // a turn in which the kernel was asked for something ends with the next tick
    const isBusy = this.#turn.isBegun || !this.#turn.isIdle;
    const dueMs = isBusy ? nowMs : Math.min(retryMs, this.#checkMs);
    if (this.#timer !== undefined && this.#timerMs <= dueMs) return;
    this.#timer?.cancel();
    this.#timerMs = dueMs;
    this.#timer = clock.startTimer(dueMs - nowMs, () => this.#tick());
  }
}

/** those in use */
function hopsOf(nextHops: readonly RibNextHop[]): ReadonlyMap<string, KernelNextHop> {
  const hops = new Map<string, KernelNextHop>();
  for (const { address, zone, best } of nextHops) {
    if (!best) continue;
    const hop = { gateway: address, ...(zone === undefined ? {} : { interface: zone }) };
    hops.set(hopKey(hop), hop);
  }
  return hops;
}

/** the kernel has next hops that nobody announces any more */
function hasStale({ installed, hops }: Wanted): boolean {
  for (const key of installed) if (!hops.has(key)) return true;
  return false;
}

function setInstalled(wanted: Wanted, keys: readonly string[]): void {
  const installed = new Set(keys);
  if (hasSameKeys(wanted.installed, installed)) return;
  wanted.installed = installed;
  wanted.isUntold = true;
}

/** fe80::1 on eth0 is another next hop than fe80::1 on eth1; of all others the kernel knows the interface by itself */
function hopKey({ gateway, interface: name }: KernelNextHop): string {
  if (gateway === undefined) return `${name}`;
  return isLinkLocal(gateway) ? `${addressKey(gateway)}%${name}` : addressKey(gateway);
}

function hopText({ hops }: Wanted, key: string): string {
  const gateway = hops.get(key)?.gateway;
  return gateway === undefined ? 'none' : formatAddress(gateway);
}

type Keys = Pick<ReadonlySet<string>, 'size' | 'has' | 'keys'>;

function hasSameKeys(a: Keys, b: Keys): boolean {
  if (a.size !== b.size) return false;
  for (const key of a.keys()) if (!b.has(key)) return false;
  return true;
}
