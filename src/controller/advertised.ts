/**
 * The condition `herald.dev/Advertised` of a Service: "advertised by 3 of 3 nodes to 2 of 2 peers", or why not. Pure: a claim, what its
 * pool reaches (reach.ts), and which nodes refuse this very address.
 *
 * The reason is what machines and writes go by: it changes seldom. Numbers are in the message.
 */

import { type Family, formatAddress } from 'bgp-ts';
import type { ClaimCore } from '../model/claim-core.ts';
import { type IpClaim, isLocal } from '../model/ip-claim.ts';
import { type IpNodeRefusal, mayBeCut } from '../model/ip-node.ts';
import { levelOf } from '../model/names.ts';
import { isProxyWait } from '../model/proxy-wait.ts';
import type { WantedCondition } from './conditions.ts';
import type { NodeReach, Reach } from './reach.ts';

export const ADVERTISED = 'herald.dev/Advertised';

/** from best to worst: of several addresses the worst one counts */
const REASONS = [
  'Advertised',
  'PartlyAdvertised',
  'NotKnown',
  'NotPlaced',
  'Waiting',
  'NoEndpoint',
  'Refused',
  'NoSession',
  'NoPeer',
  'NoNode',
  'NoPool',
  'Withdrawn',
] as const;
export type AdvertisedReason = (typeof REASONS)[number];

export interface ClaimVerdict {
  readonly address: string;
  readonly reason: AdvertisedReason;
  readonly message: string;
}

/** Nodes that refuse an address, and why. */
export type Refusers = ReadonlyMap<string, IpNodeRefusal>;

export interface AdvertisedClaim {
  readonly claim: IpClaim;
  readonly isExclusive: boolean;
  /** absent: there is no pool for it, or it cannot be used */
  readonly reach: Reach | undefined;
  readonly refusers: Refusers;
}

export function claimVerdict({
  claim,
  isExclusive,
  reach,
  refusers,
}: AdvertisedClaim): ClaimVerdict {
  const address = formatAddress(claim.address);
  const verdict = (reason: AdvertisedReason, message: string) => ({ address, reason, message });
  if (claim.withdrawn !== undefined) return verdict('Withdrawn', claim.withdrawn.reason);
  if (reach === undefined) {
    const which =
      claim.pool === undefined ? 'no pool holds it' : `pool ${claim.pool} cannot be used`;
    return verdict('NoPool', `${NOT_ADVERTISED}${which}`);
  }
  if (isExclusive) return { address, ...exclusiveVerdict(claim, reach, refusers) };
  return { address, ...anycastVerdict(claim, reach, refusers) };
}

/** Of a claim that cannot be read: agents that have had a good form of it announce that, and nobody else can. */
export function unreadVerdict(claim: ClaimCore, sentence: string): ClaimVerdict {
  const address = formatAddress(claim.address);
  if (claim.withdrawn !== undefined) {
    return { address, reason: 'Withdrawn', message: claim.withdrawn.reason };
  }
  const message = `not known whether it is advertised: IPClaim ${claim.name} cannot be read (${sentence})`;
  return { address, reason: 'NotKnown', message };
}

const NOT_ADVERTISED = 'not advertised: ';

type Words = Omit<ClaimVerdict, 'address'>;

/** What its holder does; and where that announces nothing, who else still does while the claim moves. */
function exclusiveVerdict(claim: IpClaim, reach: Reach, refusers: Refusers): Words {
  const words = holderVerdict(claim, reach, refusers);
  if (isUp(words.reason)) return words;
  for (const [name, { reached, wanted, cutShort }] of reach.nodes) {
    const hasPart = name !== claim.node && levelOf(claim.labels, name) !== undefined;
    if (!hasPart || reached.length === 0 || refusers.has(name)) continue;
    if (mayBeCut(cutShort, claim)) continue;
    const who = `node ${name} to ${ofPeers(reached.length, wanted)}`;
    const why = words.message.replace(NOT_ADVERTISED, '');
    const message = `advertised by ${who} until another does; ${why}`;
    return { reason: 'PartlyAdvertised', message };
  }
  return words;
}

function holderVerdict(claim: IpClaim, reach: Reach, refusers: Refusers): Words {
  const { node, address } = claim;
  if (node === undefined) {
    return { reason: 'NotPlaced', message: `${NOT_ADVERTISED}no node holds it yet` };
  }
  const holder = reach.nodes.get(node);
  if (holder === undefined) {
    const why = `node ${node}, which holds it, has not joined or is not heard of`;
    return { reason: 'NoNode', message: `${NOT_ADVERTISED}${why}` };
  }
  const refusal = refusers.get(node);
  if (refusal !== undefined) return refused(new Map([[node, refusal]]));
  const { wanted } = holder;
  if (holder.reached.length === 0) {
    return holder.isConnected ? noFamily(address.family) : nobodyReached(wanted, `node ${node}`);
  }
  if (mayBeCut(holder.cutShort, claim)) return notKnown(`node ${node}`);
  const isWhole = holder.reached.length === wanted;
  return {
    reason: isWhole ? 'Advertised' : 'PartlyAdvertised',
    message: `advertised by node ${node} to ${ofPeers(holder.reached.length, wanted)}`,
  };
}

function anycastVerdict(claim: IpClaim, reach: Reach, refusers: Refusers): Words {
  const { expected, announcing, peers, peersReached, withoutEndpoint, unknown } = without(
    reach,
    refusers,
    claim,
  );
  if (reach.expected === 0) {
    const why = 'no node that may announce it has joined; kubectl get ipnodes tells why';
    return { reason: 'NoNode', message: `${NOT_ADVERTISED}${why}` };
  }
  if (announcing === 0 && unknown > 0) return notKnown(ofNodes(unknown));
  if (expected === 0) {
    const why = `none of ${ofNodes(reach.expected)} has a ready endpoint`;
    return { reason: 'NoEndpoint', message: `${NOT_ADVERTISED}${why}` };
  }
  if (announcing === 0) {
    if (reach.connected === 0) return nobodyReached(peers, ofNodes(expected));
    return refusers.size > 0 ? refused(refusers) : noFamily(claim.address.family);
  }
  const isWhole = announcing === expected && peersReached === peers;
  const local = withoutEndpoint === 0 ? '' : `; ${withoutEndpoint} more without a ready endpoint`;
  const numbers = `${announcing} of ${ofNodes(expected)} to ${ofPeers(peersReached, peers)}`;
  const open = unknown === 0 ? '' : `; not known of ${unknown} more`;
  return {
    reason: isWhole ? 'Advertised' : 'PartlyAdvertised',
    message: `advertised by ${numbers}${local}${open}${isWhole ? '' : why(refusers, claim)}`,
  };
}

interface Counts {
  readonly expected: number;
  readonly announcing: number;
  readonly peers: number;
  readonly peersReached: number;
  readonly withoutEndpoint: number;
  /** nodes that may refuse it without having room to say so */
  readonly unknown: number;
}

/** What is left of a pool's reach for an address that some nodes refuse, or may refuse; costs as much as there are such nodes. */
function without(reach: Reach, refusers: Refusers, claim: IpClaim): Counts {
  const refusing = [...refusers].flatMap(([node, { gate }]) => {
    const at = reach.nodes.get(node);
    return at?.isExpected === true ? [{ at, gate }] : [];
  });
  const unknown = reach.cutShort
    .filter((node) => !refusers.has(node))
    .flatMap((node) => reach.nodes.get(node) ?? [])
    .filter(({ cutShort }) => mayBeCut(cutShort, claim));
  const withoutEndpoint = isLocal(claim)
    ? refusing.filter(({ gate }) => gate === 'healthy').length
    : 0;
  const lost = [...refusing.map(({ at }) => at), ...unknown];
  return {
    expected: reach.expected - withoutEndpoint - unknown.length,
    announcing: reach.announcing - lost.filter(({ reached }) => reached.length > 0).length,
    peers: reach.peers.size,
    peersReached: peersReachedWithout(lost, reach),
    withoutEndpoint,
    unknown: unknown.length,
  };
}

function peersReachedWithout(lost: readonly NodeReach[], { peers, peersReached }: Reach): number {
  const missing = new Map<string, number>();
  for (const { reached } of lost) {
    for (const peer of reached) missing.set(peer, (missing.get(peer) ?? 0) + 1);
  }
  const isLost = ([peer, count]: readonly [string, number]) => peers.get(peer) === count;
  return peersReached - [...missing].filter(isLost).length;
}

/** `herald explain` says the same of such a node */
function notKnown(who: string): Words {
  const verb = who.endsWith('nodes') ? 'refuse' : 'refuses';
  const message = `not known whether it is advertised: ${who} ${verb} more addresses than fit into a report`;
  return { reason: 'NotKnown', message };
}

function nobodyReached(peers: number, who: string): Words {
  if (peers === 0) {
    const what =
      'no BGPPeer is meant for it; see advertisements of its pool and nodeSelector of peers';
    return { reason: 'NoPeer', message: `${NOT_ADVERTISED}${what}` };
  }
  const message = `${NOT_ADVERTISED}${who} ${who.endsWith('nodes') ? 'have' : 'has'} no session with a router; kubectl get bgppeers tells why`;
  return { reason: 'NoSession', message };
}

/** the nodes themselves say why, at each session and, once they have tried, of the address */
function noFamily(family: Family): Words {
  const what = `no session with a router carries ${family} routes; kubectl describe ipnodes tells why`;
  return { reason: 'Refused', message: `${NOT_ADVERTISED}${what}` };
}

function refused(refusers: Refusers): Words {
  const [first] = refusers;
  const words = first === undefined ? 'it is refused' : `${first[0]}: ${first[1].message}`;
  const more = refusers.size > 1 ? ` (and ${ofMoreNodes(refusers.size - 1)})` : '';
  const isWait = [...refusers.values()].every(({ message }) => isProxyWait(message));
  if (isWait) return { reason: 'Waiting', message: `not advertised yet: node ${words}${more}` };
  return { reason: 'Refused', message: `${NOT_ADVERTISED}node ${words}${more}` };
}

function why(refusers: Refusers, claim: IpClaim): string {
  for (const [node, { gate, message }] of refusers) {
    if (gate !== 'healthy' || !isLocal(claim)) return `; node ${node}: ${message}`;
  }
  return '';
}

function ofNodes(count: number): string {
  return `${count} ${count === 1 ? 'node' : 'nodes'}`;
}

function ofMoreNodes(count: number): string {
  return `${count} more ${count === 1 ? 'node' : 'nodes'}`;
}

function ofPeers(reached: number, wanted: number): string {
  return `${reached} of ${wanted} ${wanted === 1 ? 'peer' : 'peers'}`;
}

/** One condition of all addresses of a Service. */
export function advertisedCondition(
  verdicts: readonly ClaimVerdict[],
): WantedCondition | undefined {
  const [first, ...rest] = verdicts.toSorted((a, b) => badness(b) - badness(a));
  if (first === undefined) return undefined;
  const isServed = verdicts.some(({ reason }) => isUp(reason));
  const isOpen = verdicts.some(({ reason }) => reason === 'NotKnown');
  const { reason } = first;
  return {
    type: ADVERTISED,
    status: isServed ? 'True' : isOpen ? 'Unknown' : 'False',
    // one address of two is more than none
    reason: isServed && !isUp(reason) ? 'PartlyAdvertised' : reason,
    message: messageOf(first, rest),
  };
}

function messageOf(first: ClaimVerdict, rest: readonly ClaimVerdict[]): string {
  if (rest.every(({ message }) => message === first.message)) return first.message;
  return [first, ...rest].map(({ address, message }) => `${address}: ${message}`).join('; ');
}

function isUp(reason: AdvertisedReason): boolean {
  return reason === 'Advertised' || reason === 'PartlyAdvertised';
}

function badness({ reason }: ClaimVerdict): number {
  return REASONS.indexOf(reason);
}
