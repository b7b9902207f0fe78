/**
 * Where a node stands with the claims of one group: may it be given one, may it keep what it has, must it give it back, is it gone? Pure.
 * Every answer but yes has its sentence.
 *
 * A node that can still speak gives back in an orderly move; one that is dead, or has no session left over which anybody could reach
 * it, is not waited for. What nobody knows yet moves nothing.
 */

import type { Family } from 'bgp-ts';
import { type ClusterNode, isOutOfService } from '../model/cluster-node.ts';
import type { IpNode, IpNodeSession } from '../model/ip-node.ts';
import { type IpPool, isAdvertisedOn, type Placement } from '../model/ip-pool.ts';
import { selects } from '../model/labels.ts';
import { EXCLUDE_LABEL, HOSTNAME_LABEL } from '../model/names.ts';
import { keptAfterMs } from '../model/router-memory.ts';
import type { NodeGroup } from './assign.ts';
import type { Life } from './liveness.ts';

export interface NodeFacts {
  readonly name: string;
  readonly life: Life;
  readonly node?: ClusterNode;
  readonly ipNode?: IpNode;
  /** how long it has had no session; 0 where it has one */
  readonly cutMs: number;
}

/** What the claims of one group ask of a node. */
export interface ClaimDemand {
  readonly placement: Placement;
  /** of the pool: where its routes go out at all */
  readonly advertisements: IpPool['advertisements'];
  readonly drainOn: readonly string[];
  readonly ignoreExcludeLabel: boolean;
  readonly notReady: IpPool['notReady'];
  /** the exclude label is about Services, not about what a person claimed */
  readonly isForService: boolean;
  /** a session that does not carry it is none for these claims */
  readonly family: Family;
}

export type Standing =
  | { readonly kind: 'eligible' }
  /** keeps what it has, is given nothing */
  | { readonly kind: 'keeps'; readonly sentence: string }
  /** gives back what it has, one step after the other */
  | { readonly kind: 'leaves'; readonly sentence: string }
  /** nobody waits for it */
  | { readonly kind: 'gone'; readonly sentence: string };

const ELIGIBLE: Standing = { kind: 'eligible' };
/** a session that is back within this time moves nothing */
export const CUT_MS = 3000;

export function standing(facts: NodeFacts, demand: ClaimDemand): Standing {
  const ofItself = ofLife(facts) ?? ofNode(facts.node) ?? ofAgent(facts);
  return ofItself ?? ofFamily(facts.ipNode, demand) ?? ofDemand(facts, demand);
}

/** The nodes of a group, in the order of their names. */
export function groupOf(nodes: Iterable<NodeFacts>, demand: ClaimDemand): NodeGroup {
  const eligible: string[] = [];
  const keeps = new Set<string>();
  for (const facts of nodes) {
    const { kind } = standing(facts, demand);
    if (kind === 'eligible') eligible.push(facts.name);
    if (kind === 'keeps') keeps.add(facts.name);
  }
  return { eligible: eligible.sort(), keeps };
}

/** why nobody is eligible, for people: each reason once, with how many nodes it is true of */
export function whyNobody(nodes: Iterable<NodeFacts>, demand: ClaimDemand): string {
  const reasons = new Map<string, number>();
  for (const facts of nodes) {
    const state = standing(facts, demand);
    if (state.kind === 'eligible') continue;
    reasons.set(state.sentence, (reasons.get(state.sentence) ?? 0) + 1);
  }
  if (reasons.size === 0) return 'no agent has told of itself yet';
  return [...reasons].map(([sentence, count]) => `${count} × ${sentence}`).join('; ');
}

function ofLife({ life }: NodeFacts): Standing | undefined {
  switch (life) {
    case 'alive':
      return undefined;
    case 'unproven':
      return {
        kind: 'keeps',
        sentence: 'its agent has not been seen to renew its Lease twice yet',
      };
    case 'unheard':
      return {
        kind: 'keeps',
        sentence: 'its agent is silent, but so are most others: the controller may be blind',
      };
    case 'silent':
      return {
        kind: 'keeps',
        sentence: 'its agent is silent, but its routers may still have its routes',
      };
    case 'dead':
      return { kind: 'gone', sentence: 'its agent does not renew its Lease' };
    case 'released':
      return { kind: 'gone', sentence: 'its agent has stopped' };
  }
}

function ofNode(node: ClusterNode | undefined): Standing | undefined {
  if (node === undefined) return { kind: 'leaves', sentence: 'its Node is gone' };
  if (node.isBeingDeleted) return { kind: 'leaves', sentence: 'its Node is being deleted' };
  if (!isOutOfService(node)) return undefined;
  return { kind: 'leaves', sentence: 'its Node is out of service' };
}

function ofAgent({ ipNode, cutMs }: NodeFacts): Standing | undefined {
  const status = ipNode?.status;
  if (status?.joined === undefined) {
    return { kind: 'keeps', sentence: 'its agent has not reported yet' };
  }
  const { joined, draining, sessions } = status;
  if (!joined.open) return { kind: 'leaves', sentence: `it has not joined: ${joined.message}` };
  if (draining !== undefined) {
    return { kind: 'leaves', sentence: `it is draining: ${draining.reason}` };
  }
  if (sessions === undefined) return { kind: 'keeps', sentence: 'it has not told of its sessions' };
  if (hasSession(ipNode)) return undefined;
  const sentence = 'none of its BGP sessions is up';
  if (cutMs < CUT_MS) return { kind: 'keeps', sentence };
  if (cutMs >= keptAfterMs(sessions)) return { kind: 'gone', sentence };
  return { kind: 'keeps', sentence: `${sentence}, but its routers may still have its routes` };
}

export function hasSession(ipNode: IpNode | undefined): boolean {
  return ipNode?.status.sessions?.some(({ state }) => state === 'Established') === true;
}

/**
 * How a node stands with the routers that have the holder's path: `all` of them hear it, or it `lacks` one that it has a session with, which is
 * down or carries nothing of this family. Nodes elsewhere have `others`: how those are reached is for the routers to know.
 */
export function reachOf(
  node: IpNode | undefined,
  holder: IpNode | undefined,
  family: Family,
): 'all' | 'lacks' | 'others' {
  const own = node?.status.sessions ?? [];
  const had = (holder?.status.sessions ?? []).filter((session) => isCarrying(session, family));
  const found = had.map(({ peer, address }) =>
    own.find((session) => session.peer === peer && session.address === address),
  );
  const isDown = found.some((session) => session !== undefined && !isCarrying(session, family));
  if (isDown) return 'lacks';
  return found.includes(undefined) ? 'others' : 'all';
}

function isCarrying({ state, cannotCarry = [] }: IpNodeSession, family: Family): boolean {
  return state === 'Established' && !cannotCarry.some((each) => each.family === family);
}

/** It can speak, but nobody hears of these addresses from it: another one may be heard. */
function ofFamily(ipNode: IpNode | undefined, { family }: ClaimDemand): Standing | undefined {
  const up = ipNode?.status.sessions?.filter(({ state }) => state === 'Established') ?? [];
  const isCarried = up.some((session) => isCarrying(session, family));
  if (up.length === 0 || isCarried) return undefined;
  const name = family === 'ipv4' ? 'IPv4' : 'IPv6';
  return { kind: 'leaves', sentence: `none of its BGP sessions carries ${name}` };
}

function ofDemand({ node, ipNode }: NodeFacts, demand: ClaimDemand): Standing {
  if (node === undefined) return ELIGIBLE;
  const unselected = ofSelectors(node, demand);
  if (unselected !== undefined) return { kind: 'leaves', sentence: unselected };
  const isIgnored = demand.ignoreExcludeLabel || ipNode?.status.ignoresExcludeLabel === true;
  const isExcludable = demand.isForService && !isIgnored;
  for (const trigger of demand.drainOn) {
    if (trigger === 'exclude-label' && isExcludable && EXCLUDE_LABEL in node.labels) {
      return { kind: 'leaves', sentence: `its Node has the label ${EXCLUDE_LABEL}` };
    }
    if (trigger === 'cordon' && node.isUnschedulable) {
      return { kind: 'leaves', sentence: 'its Node is cordoned' };
    }
    if (node.taints.some(({ key }) => trigger === `taint:${key}`)) {
      return { kind: 'leaves', sentence: `its Node has the taint ${trigger.slice(6)}` };
    }
  }
  if (demand.notReady === 'withdraw' && node.ready !== 'true') {
    return {
      kind: 'leaves',
      sentence: 'its Node is not ready, and the pool says notReady: withdraw',
    };
  }
  return ELIGIBLE;
}

/** why it is none of the nodes that placement and advertisements are for */
function ofSelectors({ name, labels }: ClusterNode, demand: ClaimDemand): string | undefined {
  if (!selects(demand.placement.nodeSelector, labels)) {
    return 'the nodeSelector of the placement does not select it';
  }
  if (isAdvertisedOn(demand, { [HOSTNAME_LABEL]: name, ...labels })) return undefined;
  return 'no advertisement of the pool selects it';
}
