/**
 * What all neighbours have announced, and which next hops follow from it. Takes UPDATEs as they come, looks again only at the
 * prefixes that they touch, and hands out those whose next hops are others than before, as many at a time as the owner has time
 * for. Pure: no clock, no socket; whether an address is our own is asked of the owner.
 *
 * An announcement replaces what its neighbour said before of that prefix, also where it cannot be used: a loop, or a next hop that
 * leads nowhere (RFC 4271 §9.1.2, §5.1.3). Limits are not here: the speaker counts before it tells.
 */

import {
  type Address,
  addressEquals,
  comparePrefix,
  formatAddress,
  formatPrefix,
  isLinkLocal,
  type Nlri,
  type PathAttributes,
  type Prefix,
  type PrefixKey,
  prefixKey,
  type UpdateMessage,
} from 'bgp-ts';
import {
  compareTies,
  isSamePath,
  type Path,
  type PathPeer,
  pathOf,
  selectPaths,
} from './best-path.ts';

export interface RibSettings {
  readonly localAsn: number;
  /** a next hop of ours would lead a packet round in a circle */
  readonly isOwnAddress: (address: Address) => boolean;
}

export interface RibNextHop {
  readonly address: Address;
  /** interface, for a link-local address */
  readonly zone?: string;
  /** name of the neighbour that announced it */
  readonly peer: string;
  /** it is used; several are where they are equally good */
  readonly best: boolean;
}

export interface RibRoute {
  readonly prefix: Prefix;
  /** those in use first, the best one before all; empty = the route is gone */
  readonly nextHops: readonly RibNextHop[];
}

/** What a neighbour announced and we cannot use. */
export interface RejectedRoutes {
  readonly count: number;
  /** why, of the last one */
  readonly last?: string;
}

/** Of one UPDATE: prefixes that are not used, for one reason. */
export interface Rejection {
  readonly prefixes: readonly Prefix[];
  readonly reason: string;
}

interface Neighbour {
  readonly peer: PathPeer;
  readonly prefixes: Map<PrefixKey, Prefix>;
  rejected: RejectedRoutes;
}

interface Entry {
  readonly prefix: Prefix;
  readonly paths: Map<string, Path>;
  shown: RibRoute;
}

const NOTHING: readonly RibNextHop[] = [];
const NOTHING_REJECTED: readonly Rejection[] = [];
const NO_NEXT_HOP = 'it has no next hop';
/** of what `changes()` looks at, for those that have lost a path while others wait */
const LOST_SHARE = 0.75;

export class Rib {
  readonly #settings: RibSettings;
  readonly #neighbours = new Map<string, Neighbour>();
  readonly #table = new Map<PrefixKey, Entry>();
  /** prefixes that have lost a path, or have another in its place, since `changes()` looked at them; with the number of that loss */
  readonly #lost = new Map<PrefixKey, number>();
  #losses = 0;
  /** paths that were looked at beyond the share of those */
  #overdrawn = 0;
  /** prefixes that have got a path since then */
  readonly #touched = new Set<PrefixKey>();

  constructor(settings: RibSettings) {
    this.#settings = settings;
  }

  /** A session begins, with nothing announced. */
  up(peer: PathPeer): void {
    this.down(peer.name);
    this.#neighbours.set(peer.name, { peer, prefixes: new Map(), rejected: { count: 0 } });
  }

  /** A session is over, and its routes with it. */
  down(name: string): void {
    const neighbour = this.#neighbours.get(name);
    if (neighbour === undefined) return;
    this.#neighbours.delete(name);
    for (const key of neighbour.prefixes.keys()) this.#lose(name, key);
  }

  /** What of it cannot be used, and why. What a neighbour that is not `up` says is not heard. */
  update(name: string, { withdrawn, nlri, attributes }: UpdateMessage): readonly Rejection[] {
    const neighbour = this.#neighbours.get(name);
    if (neighbour === undefined) return NOTHING_REJECTED;
    const { mpReach, mpUnreach } = attributes;
    this.#withdraw(neighbour, withdrawn);
    if (mpUnreach?.kind === 'prefixes') this.#withdraw(neighbour, mpUnreach.withdrawn);
    const { nextHop } = attributes;
    const hops = nextHop === undefined ? [] : [nextHop];
    const first = this.#announce(neighbour, nlri, attributes, hops);
    const isUnicast = mpReach?.kind === 'prefixes' && mpReach.safi === UNICAST;
    const second = isUnicast
      ? this.#announce(neighbour, mpReach.nlri, attributes, mpReach.nextHops)
      : undefined;
    if (first === undefined && second === undefined) return NOTHING_REJECTED;
    return [first, second].filter((each) => each !== undefined);
  }

  withdraw(name: string, prefixes: readonly Prefix[]): void {
    const neighbour = this.#neighbours.get(name);
    if (neighbour !== undefined) this.#withdraw(neighbour, prefixes);
  }

  /**
   * Routes whose next hops are others than when this was last asked, each as it is now; first those that have lost a path, which
   * have three quarters while others wait: a neighbour that changes all that it has without a pause keeps out nobody's new routes.
   * Ends when it has looked at so many paths, at the end of a prefix; `isSettled` says whether that was all.
   */
  changes(mostPaths = Infinity): readonly RibRoute[] {
    const changed: RibRoute[] = [];
    const share = mostPaths * LOST_SHARE - this.#overdrawn;
    const lost = this.#lookAt(this.#lost, share, changed);
    this.#overdrawn = Math.max(lost - share, 0);
    const left = mostPaths - lost;
    const rest = left - this.#lookAt(this.#touched, left, changed);
    if (this.#touched.size > 0) return changed;
    this.#overdrawn = 0;
    this.#lookAt(this.#lost, rest, changed);
    return changed;
  }

  /** `changes()` has nothing left to look at */
  get isSettled(): boolean {
    return this.#lost.size === 0 && this.#touched.size === 0;
  }

  /** how many times a prefix that had been looked at has lost a path, or got another in its place */
  get losses(): number {
    return this.#losses;
  }

  /** whether `changes()` has told what became of all that was lost when `losses` was this */
  hasLookedAt(losses: number): boolean {
    const [oldest] = this.#lost.values();
    return oldest === undefined || oldest > losses;
  }

  /** How many paths it has looked at. */
  #lookAt(
    waiting: Pick<ReadonlySet<PrefixKey>, 'keys'>,
    mostPaths: number,
    changed: RibRoute[],
  ): number {
    let paths = 0;
    for (const key of waiting.keys()) {
      if (paths >= mostPaths) break;
      this.#lost.delete(key);
      this.#touched.delete(key);
      const entry = this.#table.get(key);
      if (entry === undefined) continue;
      paths += Math.max(entry.paths.size, 1);
      const route = this.#look(key, entry);
      if (route !== undefined) changed.push(route);
    }
    return paths;
  }

  #look(key: PrefixKey, entry: Entry): RibRoute | undefined {
    const before = entry.shown.nextHops;
    const nextHops = nextHopsOf([...entry.paths.values()]);
    if (nextHops.length === 0) this.#table.delete(key);
    if (areEqual(before, nextHops)) return undefined;
    entry.shown = { prefix: entry.prefix, nextHops };
    return entry.shown;
  }

  /** As of the last `changes()`, in order of prefixes, IPv4 first. */
  routes(): readonly RibRoute[] {
    return [...this.#table.values()]
      .map(({ shown }) => shown)
      .filter(({ nextHops }) => nextHops.length > 0)
      .toSorted((a, b) => comparePrefix(a.prefix, b.prefix));
  }

  /** how many routes of this neighbour are held */
  count(name: string): number {
    return this.#neighbours.get(name)?.prefixes.size ?? 0;
  }

  rejected(name: string): RejectedRoutes {
    return this.#neighbours.get(name)?.rejected ?? { count: 0 };
  }

  #announce(
    neighbour: Neighbour,
    nlri: readonly Nlri[],
    attributes: PathAttributes,
    nextHops: readonly Address[],
  ): Rejection | undefined {
    const [first] = nlri;
    if (first === undefined) return undefined;
    const { peer } = neighbour;
    const problem =
      this.#loopProblem(attributes) ?? this.#nextHopProblem(first, nextHops, peer.zone);
    const [nextHop] = nextHops;
    if (problem !== undefined || nextHop === undefined) {
      this.#withdraw(neighbour, nlri);
      const reason = problem ?? NO_NEXT_HOP;
      const last = `${formatPrefix(first)}: ${reason}`;
      neighbour.rejected = { count: neighbour.rejected.count + nlri.length, last };
      return { prefixes: nlri, reason };
    }
    const path = pathOf(peer, nextHop, attributes);
    for (const each of nlri) this.#set(neighbour, each, path);
    return undefined;
  }

  #loopProblem({ asPath }: PathAttributes): string | undefined {
    const { localAsn } = this.#settings;
    const isLoop = asPath?.some(({ asns }) => asns.includes(localAsn)) === true;
    return isLoop ? `our AS ${localAsn} is in its path already` : undefined;
  }

  #nextHopProblem(
    { family }: Prefix,
    [nextHop]: readonly Address[],
    zone: string | undefined,
  ): string | undefined {
    if (nextHop === undefined || isUnspecified(nextHop)) return NO_NEXT_HOP;
    const text = formatAddress(nextHop);
    if (nextHop.family !== family) return `its next hop ${text} is of the other family`;
    if (this.#settings.isOwnAddress(nextHop)) return `its next hop ${text} is our own address`;
    if (isLinkLocal(nextHop) && family === 'ipv6' && zone === undefined) {
      return `its next hop ${text} is link-local, and the session does not say on which interface`;
    }
    return undefined;
  }

  #set(neighbour: Neighbour, { pathId: _, ...prefix }: Nlri, path: Path): void {
    const key = prefixKey(prefix);
    let entry = this.#table.get(key);
    if (entry === undefined) {
      entry = { prefix, paths: new Map(), shown: { prefix, nextHops: NOTHING } };
      this.#table.set(key, entry);
    }
    const { name } = neighbour.peer;
    const before = entry.paths.get(name);
    // to say the same again is no work for anybody
    if (before !== undefined && isSamePath(before, path)) return;
    if (before === undefined) this.#touched.add(key);
    else this.#markLost(key);
    entry.paths.set(name, path);
    neighbour.prefixes.set(key, prefix);
  }

  #withdraw(neighbour: Neighbour, prefixes: readonly Prefix[]): void {
    for (const prefix of prefixes) {
      const key = prefixKey(prefix);
      if (neighbour.prefixes.delete(key)) this.#lose(neighbour.peer.name, key);
    }
  }

  #lose(name: string, key: PrefixKey): void {
    this.#table.get(key)?.paths.delete(name);
    this.#markLost(key);
  }

  #markLost(key: PrefixKey): void {
    if (this.#lost.has(key)) return;
    this.#losses += 1;
    this.#lost.set(key, this.#losses);
  }
}

/** SAFI (RFC 4760 §6) */
const UNICAST = 1;

function nextHopsOf(paths: readonly Path[]): readonly RibNextHop[] {
  const used = new Set(selectPaths(paths));
  const rest = paths.filter((path) => !used.has(path)).toSorted(compareTies);
  return [
    ...Array.from(used, (path) => nextHopOf(path, true)),
    ...rest.map((path) => nextHopOf(path, false)),
  ];
}

function nextHopOf({ nextHop: address, peer }: Path, best: boolean): RibNextHop {
  const zone = isLinkLocal(address) && address.family === 'ipv6' ? peer.zone : undefined;
  return { address, ...(zone === undefined ? {} : { zone }), peer: peer.name, best };
}

function areEqual(a: readonly RibNextHop[], b: readonly RibNextHop[]): boolean {
  return a.length === b.length && a.every((each, at) => isSame(each, b[at]));
}

function isSame(a: RibNextHop, b: RibNextHop | undefined): boolean {
  return (
    b !== undefined &&
    a.peer === b.peer &&
    a.best === b.best &&
    a.zone === b.zone &&
    addressEquals(a.address, b.address)
  );
}

function isUnspecified(address: Address): boolean {
  return address.family === 'ipv4'
    ? address.bits === 0
    : (address.w0 | address.w1 | address.w2 | address.w3) === 0;
}
