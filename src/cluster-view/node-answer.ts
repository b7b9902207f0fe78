/**
 * What one node does with one claim, by all that the API knows: its gates, and each router that should hear of it. Pure. The agent itself
 * knows more (`herald explain` on its machine); what it did not report is taken as open, and what it could not fit into its report as unknown.
 */

import { formatAddress } from 'bgp-ts';
import { EXCLUDE_TRIGGER } from '../agent/drain-gate.ts';
import type { GateName } from '../agent/gate.ts';
import { placedGate, standingOf } from '../agent/placement.ts';
import { OUR_REASONS } from '../allocator/claim-record.ts';
import type { BgpPeer } from '../model/bgp-peer.ts';
import type { ClusterNode } from '../model/cluster-node.ts';
import type { Sourced } from '../model/documents.ts';
import { outlivesPool } from '../model/former-pools.ts';
import { type IpClaim, isLocal } from '../model/ip-claim.ts';
import { cutShortOf, type IpNodeStatus, mayBeCut } from '../model/ip-node.ts';
import type { IpPool } from '../model/ip-pool.ts';
import { EXCLUDE_LABEL, levelOf } from '../model/names.ts';
import { optional } from '../model/optional.ts';
import { poolHolds } from '../model/pool-addresses.ts';
import type { NodeFacts } from './explain-facts.ts';
import { type PeerAnswer, peerAnswers } from './peer-answer.ts';

export interface ClaimCase {
  readonly claim: IpClaim;
  /** absent: none holds it, or it is not in force */
  readonly pool: IpPool | undefined;
  readonly peers: readonly BgpPeer[];
  readonly nowMs: number;
}

export interface GateAnswer {
  /** the gates of the agent, and `agent`: is it heard at all */
  readonly name: GateName | 'agent';
  readonly state: 'open' | 'draining' | 'closed' | 'unknown';
  readonly sentence: string;
  /** ISO, where it is known */
  readonly since?: string;
  readonly remedy?: string;
}

/** of all routes of a node the best: `announced` to one router is more than none */
export type RouteAnswer = 'announced' | 'draining' | 'waiting' | 'none' | 'unknown';

export interface NodeAnswer {
  readonly node: string;
  readonly route: RouteAnswer;
  readonly gates: readonly GateAnswer[];
  readonly peers: readonly PeerAnswer[];
}

export function nodeAnswer(facts: NodeFacts, subject: ClaimCase): NodeAnswer {
  const status = facts.ipNode?.status ?? {};
  const gates = [
    agentGate(facts),
    joinedGate(facts, status),
    assignedGate(facts, subject),
    pooledGate(subject),
    ...reportedGates(facts, subject, status),
  ];
  const peers = peerAnswers(facts, subject, gates);
  return { node: facts.name, route: best(peers.map(({ route }) => route)), gates, peers };
}

const BEST: readonly RouteAnswer[] = ['announced', 'draining', 'waiting', 'unknown'];

function best(routes: readonly RouteAnswer[]): RouteAnswer {
  return BEST.find((route) => routes.includes(route)) ?? 'none';
}

function agentGate({ name, ipNode, node }: NodeFacts): GateAnswer {
  const gate = (state: GateAnswer['state'], sentence: string, rest: object = {}) =>
    ({ name: 'agent', state, sentence, ...rest }) as const;
  const pods = `kubectl -n herald-system get pods -o wide --field-selector spec.nodeName=${name}`;
  if (ipNode === undefined) {
    const remedy = `see whether an agent runs there: ${pods}`;
    return gate('closed', 'no agent has told of itself there', { remedy });
  }
  if (node === 'gone') {
    const remedy = `kubectl delete ipnode ${name}, if the machine is gone for good`;
    return gate('closed', 'there is no Node of this name any more', { remedy });
  }
  const alive = ipNode.status.conditions?.find(({ type }) => type === 'AgentAlive');
  const since = optional('since', alive?.lastTransitionTime);
  if (alive?.status === 'False') {
    const remedy = `see what became of its agent: ${pods}`;
    return gate('closed', alive.message, { ...since, remedy });
  }
  if (alive?.status === 'Unknown') return gate('unknown', alive.message, since);
  if (node !== 'unknown' && node.ready === 'unknown') {
    const sentence = 'its kubelet is silent; what follows is what the agent reported last';
    return gate('unknown', sentence, { remedy: `kubectl describe node ${name}` });
  }
  return gate('open', 'its agent reports', since);
}

function joinedGate({ name }: NodeFacts, { joined }: IpNodeStatus): GateAnswer {
  const gate = { name: 'joined' } as const;
  if (joined === undefined) {
    return { ...gate, state: 'unknown', sentence: 'its agent has not reported yet' };
  }
  const { open, message, since } = joined;
  if (open) return { ...gate, state: 'open', sentence: message, since };
  const remedy = `see why: kubectl describe node ${name}, and the log of its agent`;
  return { ...gate, state: 'closed', sentence: message, since, remedy };
}

function assignedGate({ name, node }: NodeFacts, { claim, pool }: ClaimCase): GateAnswer {
  const labels = typeof node === 'string' ? undefined : node.labels;
  const told: Sourced<IpClaim> = { object: claim, origin: '', createdMs: 0, source: 'api' };
  const view = { node: { name, labels: labels ?? {}, routerId: 0 } };
  const standing = standingOf(told, pool, view);
  if (labels === undefined && claim.withdrawn === undefined && isSelective(standing)) {
    const sentence = 'its placement has a nodeSelector, and the labels of this Node are not known';
    return { name: 'assigned', state: 'unknown', sentence };
  }
  const { state, sentence, remedy } = placedGate(told, standing, view);
  const gate = { name: 'assigned', state, sentence } as const;
  const [behind] = claim.services;
  const isEmpty = claim.withdrawn?.reason.startsWith(OUR_REASONS.noEndpoints) === true;
  if (!isEmpty || behind === undefined) return { ...gate, ...optional('remedy', remedy) };
  const { namespace, name: service } = behind;
  const look = `kubectl -n ${namespace} get endpointslices -l kubernetes.io/service-name=${service}`;
  return { ...gate, remedy: `bring up a pod that is ready: ${look}` };
}

function isSelective({ placement, level }: ReturnType<typeof standingOf>): boolean {
  return level === undefined && placement.nodeSelector !== undefined;
}

function pooledGate({ claim, pool }: ClaimCase): GateAnswer {
  const isHeld = pool !== undefined && poolHolds(pool, claim.address);
  if (isHeld) return { name: 'allowed', state: 'open', sentence: `pool ${pool.name} holds it` };
  if (outlivesPool(claim)) {
    const stays = 'it stays until its Services leave it';
    const sentence =
      pool === undefined
        ? `pool ${claim.pool} is gone; ${stays}, on nodes that knew the pool`
        : `pool ${pool.name} does not hold it any more; ${stays}`;
    return { name: 'allowed', state: 'open', sentence };
  }
  const sentence =
    claim.pool === undefined ? 'no pool holds it' : `pool ${claim.pool} does not hold it`;
  const remedy = 'add it to the addresses of an IPPool; kubectl get ippools';
  return { name: 'allowed', state: 'closed', sentence, remedy };
}

/** what agents list when it is shut: an address that is not listed has it open */
const REPORTED = ['allowed', 'healthy', 'bound', 'not-draining'] as const;

function reportedGates(
  facts: NodeFacts,
  subject: ClaimCase,
  status: IpNodeStatus,
): readonly GateAnswer[] {
  const { claim } = subject;
  const address = formatAddress(claim.address);
  const refusal = status.refused?.find((each) => each.address === address);
  const isComplete = facts.ipNode !== undefined && !mayBeCut(cutShortOf(status), claim);
  return REPORTED.flatMap((name): readonly GateAnswer[] => {
    if (refusal?.gate === name) {
      // what the Node drains for is to be taken from the Node, also when the drain is over
      const ofNode =
        name === 'not-draining' ? drainAnswer(facts, subject, status).remedy : undefined;
      const remedy = ofNode ?? remedyOf(name, facts.name, claim);
      return [{ name, state: 'closed', sentence: refusal.message, remedy }];
    }
    if (name === 'not-draining') return [drainAnswer(facts, subject, status)];
    // the half of it that the API knows stands above
    if (name === 'allowed') return [];
    if (refusal === undefined && !isComplete) {
      const sentence = 'its agent reports more refusals than fit into its report';
      return [{ name, state: 'unknown', sentence }];
    }
    return [{ name, state: 'open', sentence: 'its agent does not refuse it' }];
  });
}

function remedyOf(gate: (typeof REPORTED)[number], node: string, claim: IpClaim): string {
  switch (gate) {
    case 'allowed':
      return 'see maxRoutes and nextHop of the BGPPeers, and the addresses of the node itself';
    case 'healthy':
      return isLocal(claim)
        ? 'none needed where no pod of it runs; else see why the pod there is not ready'
        : "bring up what the claim's checks ask";
    case 'bound':
      return `see the log of the agent on ${node}`;
    case 'not-draining':
      return `herald undrain ${formatAddress(claim.address)}, on ${node}`;
  }
}

const NOT_DRAINING: GateAnswer = {
  name: 'not-draining',
  state: 'open',
  sentence: 'nobody drains it',
};

/** While it drains the route is still out, with GRACEFUL_SHUTDOWN; what has been taken back is in the agent's list of refusals. */
function drainAnswer(
  { name, node }: NodeFacts,
  { claim, pool, nowMs }: ClaimCase,
  { draining, ignoresExcludeLabel = false }: IpNodeStatus,
): GateAnswer {
  const gate = { name: 'not-draining' } as const;
  if (draining !== undefined) {
    const { reason, since } = draining;
    // what is placed there stays until another node has it
    const isPlaced = levelOf(claim.labels, name) !== undefined;
    const waitMs = (pool?.drain.waitSeconds ?? 0) * 1000;
    const isOver = !isPlaced && nowMs >= Date.parse(since) + waitMs;
    const remedy = `herald undrain, on ${name}, where a person drained it`;
    return { ...gate, state: isOver ? 'closed' : 'draining', sentence: reason, since, remedy };
  }
  if (typeof node === 'string') return NOT_DRAINING;
  const isIgnored = ignoresExcludeLabel || pool?.ignoreExcludeLabel !== false;
  const isExcludable = claim.services.length > 0 && !isIgnored;
  for (const trigger of pool?.drain.on ?? []) {
    const found = triggered(node, trigger, isExcludable);
    if (found !== undefined) return { ...gate, state: 'draining', ...found };
  }
  return NOT_DRAINING;
}

/** what of a Node a pool drains on */
function triggered(
  { name, labels, taints, isUnschedulable }: ClusterNode,
  trigger: string,
  isExcludable: boolean,
): { readonly sentence: string; readonly remedy: string } | undefined {
  if (trigger === EXCLUDE_TRIGGER) {
    if (!isExcludable || !(EXCLUDE_LABEL in labels)) return undefined;
    const remedy = `kubectl label node ${name} ${EXCLUDE_LABEL}-`;
    return { sentence: `its Node has the label ${EXCLUDE_LABEL}`, remedy };
  }
  if (trigger === 'cordon' && isUnschedulable) {
    return { sentence: 'its Node is cordoned', remedy: `kubectl uncordon ${name}` };
  }
  const taint = taints.find(({ key }) => trigger === `taint:${key}`);
  if (taint === undefined) return undefined;
  const remedy = `kubectl taint node ${name} ${taint.key}-`;
  return { sentence: `its Node has the taint ${taint.key}`, remedy };
}
