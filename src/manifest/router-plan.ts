/**
 * The other side of a BGPPeer, before it is written in the words of one router: who may connect, what is accepted, and the
 * limits. Pure: the documents and what the person said in, a plan or a refusal out.
 *
 * The rule that matters most: a router that takes sessions from a whole range of addresses takes them from every pod behind a
 * node's NAT as well, so a range without a password is refused unless the person insists.
 */

import {
  type Address,
  type Family,
  formatAddress,
  formatPrefix,
  formatRouterId,
  isLinkLocal,
  type Prefix,
} from 'bgp-ts';
import type { BgpPeer } from '../model/bgp-peer.ts';
import type { IpPool } from '../model/ip-pool.ts';
import { type AcceptedRoutes, acceptedRoutes } from './accepted-routes.ts';
import { ManifestRefusal } from './refusal.ts';

export const ROUTER_KINDS = ['frr', 'bird', 'gobgp', 'openbgpd'] as const;
export type RouterKind = (typeof ROUTER_KINDS)[number];

/**
 * Routers that take a session of a range without its password, each as it was seen: no key reaches their listening socket.
 */
const UNCHECKED_RANGES: Partial<Record<RouterKind, string>> = {
  gobgp: 'GoBGP before 3.21 does not check the password of neighbours of a range',
  openbgpd: 'OpenBGPD on Linux does not check the password of sessions that it accepts',
};

/** What the person gives beside the documents. */
export interface RouterRequest {
  readonly router: RouterKind;
  /** the nodes' AS number, where the document has none */
  readonly nodeAsn?: number;
  /** the router's AS number, where the document says `external` */
  readonly routerAsn?: number;
  readonly routerId?: number;
  readonly neighbours: readonly StaticNeighbour[];
  readonly ranges: readonly Prefix[];
  /** take a range without a password */
  readonly insecure: boolean;
  /** the key itself, or a placeholder for it */
  readonly password?: string;
  /** how many nodes there can be; absent: the static neighbours, or a default for ranges */
  readonly maxNodes?: number;
  readonly restartMinutes: number;
}

export interface StaticNeighbour {
  readonly address: Address;
  readonly name?: string;
}

/** One router's side of one BGPPeer. Addresses are text: this is what is written down. */
export interface RouterPlan {
  /** the document's name */
  readonly peer: string;
  /** what all that is made for these nodes is called after */
  readonly group: string;
  readonly routerAsn: number;
  readonly nodeAsn: number;
  readonly routerId: string;
  /** absent: the routers of a range, which dial the nodes from any address of theirs */
  readonly address?: string;
  /** the port that the router listens on */
  readonly port: number;
  readonly families: readonly Family[];
  readonly neighbours: readonly { readonly address: string; readonly name?: string }[];
  readonly ranges: readonly string[];
  readonly password?: string;
  /** the nodes accept sessions too (`listen: true`) */
  readonly routerDials: boolean;
  readonly timers: BgpPeer['timers'];
  readonly hasTtlSecurity: boolean;
  readonly multihop?: number;
  readonly gracefulRestartSeconds?: number;
  /** IPv4 routes come with an IPv6 next hop (RFC 8950) */
  readonly hasExtendedNextHop: boolean;
  readonly accepted: readonly AcceptedRoutes[];
  readonly maxNodes: number;
  readonly maxRoutes: number;
  /** maxRoutes and some headroom: the node's own limit acts first and keeps the session */
  readonly prefixLimit: number;
  readonly restartMinutes: number;
}

/** A placeholder where a range's number of nodes is unknown: a rack or two. */
const DEFAULT_RANGE_NODES = 64;
const MIN_HEADROOM = 10;
/** what FRR as Debian builds it and BIRD can do at most */
const MAX_PATHS = 255;

export function planRouter(
  peer: BgpPeer,
  pools: readonly IpPool[],
  request: RouterRequest,
): RouterPlan {
  const address = routerAddress(peer);
  checkNeighbours(peer, request, address);
  const nodeAsn = nodeAsnOf(peer, request);
  const accepted = acceptedRoutes(peer, pools);
  if (accepted.length === 0) {
    throw new ManifestRefusal(
      `no pool has addresses for BGPPeer ${peer.name} (families ${peer.families.join(', ')}), so the router would accept nothing; add an IPPool whose advertisements select it`,
    );
  }
  return {
    peer: peer.name,
    group: groupOf(peer, nodeAsn),
    routerAsn: routerAsnOf(peer, request, nodeAsn),
    nodeAsn,
    routerId: routerIdOf(request, address),
    ...(address === undefined ? {} : { address: formatAddress(address) }),
    port: peer.port,
    families: peer.families,
    neighbours: request.neighbours.map(({ address: of, name }) => ({
      address: formatAddress(of),
      ...(name === undefined ? {} : { name }),
    })),
    ranges: request.ranges.map(formatPrefix),
    ...(request.password === undefined ? {} : { password: request.password }),
    routerDials: peer.listen,
    timers: peer.timers,
    hasTtlSecurity: peer.ttlSecurity,
    ...(peer.multihop === undefined ? {} : { multihop: peer.multihop }),
    ...(peer.gracefulRestart === undefined
      ? {}
      : { gracefulRestartSeconds: peer.gracefulRestart.restartSeconds }),
    hasExtendedNextHop: hasExtendedNextHop(peer, request),
    accepted,
    maxNodes: maxNodesOf(request),
    maxRoutes: peer.maxRoutes,
    prefixLimit: peer.maxRoutes + Math.max(MIN_HEADROOM, Math.ceil(peer.maxRoutes / 10)),
    restartMinutes: request.restartMinutes,
  };
}

/** Only what was seen to work is written. */
function hasExtendedNextHop(
  { name, extendedNextHop }: BgpPeer,
  { router }: RouterRequest,
): boolean {
  if (extendedNextHop === undefined) return false;
  if (router === 'frr' || router === 'bird') return true;
  throw new ManifestRefusal(
    `BGPPeer ${name} has extendedNextHop (RFC 8950), which manifest router writes for frr and bird only`,
  );
}

/** The plan's accepted routes of one family. */
export function acceptedOf(plan: RouterPlan, family: Family): readonly AcceptedRoutes[] {
  return plan.accepted.filter((each) => each.family === family);
}

/** What is true of every router's file, as comment lines without the comment sign. */
export function headerLines(plan: RouterPlan, where: string): string[] {
  const secret = plan.password !== undefined;
  return [
    `The router's side of BGPPeer ${plan.peer}, written by: herald manifest router`,
    where,
    ...(secret ? ['It holds the TCP-MD5 key: keep it readable for root only.'] : []),
    ...(plan.ranges.length > 0 && !secret
      ? [
          'WARNING: a range without a password. Every pod behind the NAT of a node can dial it and inject',
          'routes for the pools; TTL security does not stop that, a TCP-MD5 password does.',
        ]
      : []),
  ];
}

/** What the hold time means for a node that says nothing any more, as a comment line without the comment sign. */
export function silenceLine({ timers: { holdSeconds } }: RouterPlan): string {
  return holdSeconds === 0
    ? 'no hold time: a node that dies in silence is not noticed'
    : `a node that dies in silence is gone after ${holdSeconds} s`;
}

function routerAddress({ name, target }: BgpPeer): Address | undefined {
  if (target.kind === 'range') return undefined;
  if (isLinkLocal(target.address)) {
    throw new ManifestRefusal(
      `BGPPeer ${name} has the link-local address ${formatAddress(target.address)}; manifest router writes sessions between global addresses only`,
    );
  }
  return target.address;
}

function checkNeighbours(
  peer: BgpPeer,
  { router, neighbours, ranges, password, insecure }: RouterRequest,
  address: Address | undefined,
): void {
  if (neighbours.length === 0 && ranges.length === 0) {
    throw new ManifestRefusal(
      'say which machines may connect: --neighbor ADDRESS for each whose address is known (safer), or --neighbor-range CIDR',
    );
  }
  if (ranges.length > 0 && peer.target.kind === 'range') {
    throw new ManifestRefusal(
      `the routers of BGPPeer ${peer.name} dial the nodes (addressRange), so they need each node's address: use --neighbor, not --neighbor-range`,
    );
  }
  if (ranges.length > 0 && password === undefined && !insecure) {
    throw new ManifestRefusal(
      `a neighbour range without a password lets every pod behind the NAT of a node dial the router and inject routes; TTL security does not stop that (FRR does not check it for a range), a TCP-MD5 password does: set password.file in BGPPeer ${peer.name}, or use --neighbor, or insist with --insecure`,
    );
  }
  const unchecked = UNCHECKED_RANGES[router];
  if (ranges.length > 0 && unchecked !== undefined && !insecure) {
    throw new ManifestRefusal(
      `${unchecked}, so every pod behind the NAT of a node could dial the router and inject routes: use --neighbor ADDRESS for each node, or insist with --insecure`,
    );
  }
  if (address === undefined) return;
  const others = [
    ...neighbours.map((each) => ({
      family: each.address.family,
      text: formatAddress(each.address),
    })),
    ...ranges.map((range) => ({ family: range.family, text: formatPrefix(range) })),
  ];
  const stranger = others.find((each) => each.family !== address.family);
  if (stranger !== undefined) {
    throw new ManifestRefusal(
      `${stranger.text} cannot dial ${formatAddress(address)}, the address of BGPPeer ${peer.name}: one is IPv4, the other IPv6`,
    );
  }
}

function nodeAsnOf(peer: BgpPeer, { nodeAsn, routerAsn }: RouterRequest): number {
  if (nodeAsn !== undefined) return nodeAsn;
  const others = peer.overrides.flatMap((each) => each.localAsn ?? []);
  const known = new Set([...(peer.localAsn === undefined ? [] : [peer.localAsn]), ...others]);
  if (known.size > 1) {
    throw new ManifestRefusal(
      `the nodes of BGPPeer ${peer.name} have the AS numbers ${[...known].join(', ')}; choose one with --asn and write one file for each; where one router loads several of them, give --max-nodes for the nodes of all`,
    );
  }
  if (peer.localAsn !== undefined) return peer.localAsn;
  if (peer.asn === 'internal' && routerAsn !== undefined) return routerAsn;
  throw new ManifestRefusal(
    `BGPPeer ${peer.name} has no localASN; give the nodes' AS number with --asn N, as for herald agent`,
  );
}

/** Files for several AS numbers can meet in one router, where a second group of the same name would change the first. */
function groupOf({ name, overrides }: BgpPeer, nodeAsn: number): string {
  const isOneOfSeveral = overrides.some((each) => each.localAsn !== undefined);
  return `herald-${name}${isOneOfSeveral ? `-as${nodeAsn}` : ''}`;
}

function routerAsnOf(peer: BgpPeer, { routerAsn }: RouterRequest, nodeAsn: number): number {
  if (peer.asn === 'internal') {
    if (routerAsn === undefined || routerAsn === nodeAsn) return nodeAsn;
    throw new ManifestRefusal(
      `BGPPeer ${peer.name} is internal, so the router's AS number is that of the nodes, ${nodeAsn}, and not ${routerAsn}`,
    );
  }
  if (peer.asn === 'external') {
    if (routerAsn === undefined) {
      throw new ManifestRefusal(
        `BGPPeer ${peer.name} says asn: external; give the router's own AS number with --router-asn N`,
      );
    }
    if (routerAsn !== nodeAsn) return routerAsn;
    throw new ManifestRefusal(
      `BGPPeer ${peer.name} says asn: external, but the router and the nodes would both have ${nodeAsn}`,
    );
  }
  if (routerAsn !== undefined && routerAsn !== peer.asn) {
    throw new ManifestRefusal(
      `BGPPeer ${peer.name} says asn: ${peer.asn}, not ${routerAsn}; the nodes would refuse the session`,
    );
  }
  return peer.asn;
}

function routerIdOf({ routerId }: RouterRequest, address: Address | undefined): string {
  if (routerId !== undefined) return formatRouterId(routerId);
  if (address?.family === 'ipv4') return formatAddress(address);
  throw new ManifestRefusal(
    "the router's BGP identifier cannot be taken from an IPv4 address of the document; give it with --router-id, like 192.0.2.1",
  );
}

function maxNodesOf({ maxNodes, neighbours, ranges }: RouterRequest): number {
  const fallback =
    ranges.length === 0 ? Math.max(1, neighbours.length) : DEFAULT_RANGE_NODES + neighbours.length;
  return Math.min(MAX_PATHS, maxNodes ?? fallback);
}
