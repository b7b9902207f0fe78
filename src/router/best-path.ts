/**
 * Which of several paths to one prefix are used: RFC 4271 §9.1.2.2, and every path that is as good as the best up to the
 * tie-breaks is used beside it (ECMP). Paths of different AS numbers share too, as long as they are equally long. Pure.
 *
 * Left out, since it has no meaning here: the cost to reach the next hop (there is no IGP behind this router), confederations,
 * and the length of CLUSTER_LIST.
 */

import {
  type Address,
  type AsPathSegment,
  addressEquals,
  compareAddress,
  type PathAttributes,
  WellKnownCommunity,
} from 'bgp-ts';

export interface PathPeer {
  /** unique */
  readonly name: string;
  readonly address: Address;
  /** interface of the session, where its addresses are link-local */
  readonly zone?: string;
  readonly asn: number;
  readonly routerId: number;
  readonly isInternal: boolean;
}

/** One neighbour's way to a prefix, with what the choice needs. */
export interface Path {
  readonly peer: PathPeer;
  readonly nextHop: Address;
  readonly localPref: number;
  readonly asPathLength: number;
  readonly originRank: number;
  readonly neighbourAsn: number;
  readonly med: number;
  /** of the speaker that brought the route into the AS (RFC 4456 §9) */
  readonly routerId: number;
}

const DEFAULT_LOCAL_PREF = 100;
const ORIGIN_RANK = { igp: 0, egp: 1, incomplete: 2 } as const;

export function pathOf(peer: PathPeer, nextHop: Address, attributes: PathAttributes): Path {
  const { asPath = [], origin = 'incomplete', med = 0, originatorId } = attributes;
  return {
    peer,
    nextHop,
    localPref: localPref(peer, attributes),
    asPathLength: asPathLength(asPath),
    originRank: ORIGIN_RANK[origin],
    neighbourAsn: neighbourAsn(peer, asPath),
    // RFC 4271 §9.1.2.2 c: no MED is the lowest one
    med,
    routerId:
      peer.isInternal && originatorId !== undefined ? originatorId.bits >>> 0 : peer.routerId,
  };
}

/** RFC 8326 §4.2: a path that is about to go is the last one to use, and still used where it is the only one. */
function localPref(peer: PathPeer, attributes: PathAttributes): number {
  const leaves = attributes.communities?.includes(WellKnownCommunity['graceful-shutdown']);
  if (leaves === true) return 0;
  return peer.isInternal ? (attributes.localPref ?? DEFAULT_LOCAL_PREF) : DEFAULT_LOCAL_PREF;
}

/** An AS_SET counts as one, whatever is in it; confederations do not count (RFC 5065 §5.3). */
function asPathLength(asPath: readonly AsPathSegment[]): number {
  let length = 0;
  for (const { type, asns } of asPath) {
    if (type === 'sequence') length += asns.length;
    if (type === 'set') length += 1;
  }
  return length;
}

/** Whose MED it is; a path that began in our own AS has our neighbour's, which is ours. */
function neighbourAsn(peer: PathPeer, asPath: readonly AsPathSegment[]): number {
  const [first] = asPath;
  return first?.type === 'sequence' ? (first.asns[0] ?? peer.asn) : peer.asn;
}

/** Of one neighbour: the choice is the same with either. */
export function isSamePath(a: Path, b: Path): boolean {
  return (
    a.localPref === b.localPref &&
    a.asPathLength === b.asPathLength &&
    a.originRank === b.originRank &&
    a.neighbourAsn === b.neighbourAsn &&
    a.med === b.med &&
    a.routerId === b.routerId &&
    addressEquals(a.nextHop, b.nextHop)
  );
}

/** The paths to use, the best one first; empty only for no paths at all. */
export function selectPaths(paths: readonly Path[]): readonly Path[] {
  let left = lowest(paths, (path) => -path.localPref);
  left = lowest(left, (path) => path.asPathLength);
  left = lowest(left, (path) => path.originRank);
  left = withoutWorseMed(left);
  left = lowest(left, (path) => (path.peer.isInternal ? 1 : 0));
  return left.toSorted(compareTies);
}

/** Who would be preferred if nothing else differed. */
export function compareTies(a: Path, b: Path): number {
  if (a.routerId !== b.routerId) return a.routerId - b.routerId;
  const byAddress = compareAddress(a.peer.address, b.peer.address);
  if (byAddress !== 0) return byAddress;
  if (a.peer.name === b.peer.name) return 0;
  return a.peer.name < b.peer.name ? -1 : 1;
}

function lowest(paths: readonly Path[], rank: (path: Path) => number): readonly Path[] {
  let best = Infinity;
  let worst = -Infinity;
  for (const path of paths) {
    const each = rank(path);
    if (each < best) best = each;
    if (each > worst) worst = each;
  }
  // most often they are all alike
  return best === worst ? paths : paths.filter((path) => rank(path) === best);
}

function withoutWorseMed(paths: readonly Path[]): readonly Path[] {
  const [first] = paths;
  if (paths.every(({ med }) => med === first?.med)) return paths;
  const best = new Map<number, number>();
  for (const { neighbourAsn: asn, med } of paths) {
    best.set(asn, Math.min(med, best.get(asn) ?? med));
  }
  return paths.filter(({ neighbourAsn: asn, med }) => best.get(asn) === med);
}
