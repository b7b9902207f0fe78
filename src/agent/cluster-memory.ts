/**
 * What the agent has learnt of its own Node, and what follows from it: may the claims of the API be announced here (gate 1, `joined`),
 * and what drains them. Pure.
 *
 * Ready counts once per boot. A Node that still says Ready after a reboot says it of the boot before, so the boot id of its status is held
 * against the machine's own; and once this boot has been Ready, a kubelet that stops talking takes nothing away (KEP-3458).
 */

import { type ClusterNode, isOutOfService } from '../model/cluster-node.ts';
import { EXCLUDE_LABEL, OUT_OF_SERVICE_TAINT } from '../model/names.ts';
import { EXCLUDE_TRIGGER } from './drain-gate.ts';
import type { ClusterFacts, Drain, Finding } from './view.ts';

export interface ClusterMemory {
  /** as it was seen last, also when it is gone */
  readonly node?: ClusterNode;
  /** the API says that there is no such Node */
  readonly isGone: boolean;
  /** the boot in which it was seen Ready last */
  readonly readyBoot?: string;
  readonly drains: ReadonlyMap<string, Drain>;
}

/** What outlives a restart of the agent. */
export interface SavedCluster {
  readonly node: ClusterNode;
  readonly readyBoot?: string;
}

export interface ClusterContext {
  readonly nodeName: string;
  /** of this machine; undefined where it cannot be read */
  readonly bootId?: string;
  /** agent and controller of a one-node cluster: the exclude label would leave nobody */
  readonly ignoresExcludeLabel: boolean;
}

export const NO_CLUSTER_MEMORY: ClusterMemory = { isGone: false, drains: new Map() };

export interface Moment {
  readonly nowMs: number;
  /** something is announced, so there is something to drain */
  readonly isAnnouncing: boolean;
}

/** `node` undefined: the API says there is none. */
export function learnNode(
  memory: ClusterMemory,
  node: ClusterNode | undefined,
  context: ClusterContext,
  moment: Moment,
): ClusterMemory {
  if (node === undefined) return { ...memory, isGone: true };
  const readyBoot = isReadyInThisBoot(node, context) ? bootOf(node, context) : memory.readyBoot;
  return {
    node,
    isGone: false,
    ...(readyBoot === undefined ? {} : { readyBoot }),
    drains: drainsOf(node, memory.drains, context, moment),
  };
}

/** A drain that was on when the agent ended is long over. */
export function restoreCluster(
  { node, readyBoot }: SavedCluster,
  context: ClusterContext,
  nowMs: number,
): ClusterMemory {
  return {
    node,
    isGone: false,
    ...(readyBoot === undefined ? {} : { readyBoot }),
    drains: drainsOf(node, new Map(), context, { nowMs, isAnnouncing: false }),
  };
}

function bootOf(node: ClusterNode, { bootId }: ClusterContext): string {
  return bootId ?? node.bootId ?? 'unknown';
}

function isReadyInThisBoot(node: ClusterNode, { bootId }: ClusterContext): boolean {
  if (node.ready !== 'true') return false;
  return bootId === undefined || node.bootId === undefined || node.bootId === bootId;
}

function drainsOf(
  node: ClusterNode,
  before: ReadonlyMap<string, Drain>,
  { ignoresExcludeLabel }: ClusterContext,
  { nowMs, isAnnouncing }: Moment,
): ReadonlyMap<string, Drain> {
  const reasons = new Map<string, string>();
  if (EXCLUDE_LABEL in node.labels && !ignoresExcludeLabel) {
    reasons.set(EXCLUDE_TRIGGER, `Node ${node.name} has the label ${EXCLUDE_LABEL}`);
  }
  if (node.isUnschedulable) reasons.set('cordon', `Node ${node.name} is cordoned`);
  for (const { key } of node.taints) {
    reasons.set(`taint:${key}`, `Node ${node.name} has the taint ${key}`);
  }
  const start = isAnnouncing ? { sinceMs: nowMs } : { sinceMs: nowMs, waitMs: 0 };
  return new Map(
    [...reasons].map(([trigger, reason]) => [trigger, before.get(trigger) ?? { ...start, reason }]),
  );
}

export function clusterFacts(memory: ClusterMemory, context: ClusterContext): ClusterFacts {
  return {
    joined: clusterJoined(memory, context),
    isReady: memory.node?.ready === 'true',
    drains: memory.drains,
    addresses: memory.node?.addresses ?? [],
  };
}

/** Ready once in this boot of the machine, whatever else is the matter with its Node. */
export function hasBeenReady(
  { node, readyBoot }: Pick<ClusterMemory, 'node' | 'readyBoot'>,
  context: ClusterContext,
): boolean {
  return node !== undefined && readyBoot === bootOf(node, context);
}

export function clusterJoined(memory: ClusterMemory, context: ClusterContext): Finding {
  const { node, isGone } = memory;
  const { nodeName } = context;
  if (isGone) {
    const remedy = "wait for the kubelet to register it, or set --node-name to the Node's name";
    return { isOpen: false, sentence: `the cluster has no Node ${nodeName}`, remedy };
  }
  if (node === undefined) {
    const sentence = `Node ${nodeName} has not been read from the API yet`;
    return { isOpen: false, sentence, isUnknown: true };
  }
  if (node.isBeingDeleted) return { isOpen: false, sentence: `Node ${nodeName} is being deleted` };
  if (isOutOfService(node)) {
    const remedy = `remove the taint ${OUT_OF_SERVICE_TAINT} when the machine is back`;
    return { isOpen: false, sentence: `Node ${nodeName} is out of service`, remedy };
  }
  if (hasBeenReady(memory, context)) {
    return { isOpen: true, sentence: `Node ${nodeName} has been Ready in this boot` };
  }
  const isOld = node.ready === 'true';
  const sentence = isOld
    ? `Node ${nodeName} was Ready in an earlier boot of this machine, not in this one yet`
    : `Node ${nodeName} has not been Ready in this boot yet`;
  return { isOpen: false, sentence, remedy: 'see why the kubelet is not Ready' };
}
