/**
 * Coming back soon, or going away? (DESIGN 4, graceful restart.) Pure. Routers keep our routes only where everything proves a planned
 * restart: this very pod is being deleted, its DaemonSet is there and has a newer template, the new pod may come to this Node, and every
 * router has agreed to wait. Whatever cannot be shown is going away.
 *
 * Simple mode is a Deployment that recreates its one pod: the proof is its own ReplicaSet, which a roll-out has scaled to 0 while the
 * Deployment still asks for a replica. The new pod may come to another node; it announces beside the kept routes, less preferred.
 *
 * A machine that shuts down does not look like this: the kubelet ends pods then without deleting them, and its Node is not Ready any
 * more ("node is shutting down"). What nobody outside can know, such as a power button between two looks of the kubelet, costs the
 * router's restart time once.
 */

import type { ClusterNode, Taint } from '../../model/cluster-node.ts';
import type { LabelExpression, Labels } from '../../model/labels.ts';
import { selects } from '../../model/labels.ts';
import type { KubeObject } from '../../sources/kube/api.ts';
import { type Loose, labels, part, parts, text, texts } from '../../sources/kube/loose-fields.ts';

export interface RestartEvidence {
  /** undefined: it could not be read, or there is none */
  readonly pod: KubeObject | undefined;
  readonly daemonSet: KubeObject | undefined;
  /** of a pod in simple mode */
  readonly replicaSet?: KubeObject | undefined;
  readonly deployment?: KubeObject | undefined;
  readonly node: ClusterNode | undefined;
  readonly sessions: readonly RestartSession[];
  /** addresses that the agent has put on interfaces: the next start begins by taking them off */
  readonly boundAddresses: number;
}

/** a session that is up */
export interface RestartSession {
  readonly peer: string;
  /** both sides have said that they can */
  readonly hasGracefulRestart: boolean;
}

export type StopKind =
  | { readonly kind: 'restart'; readonly sentence: string }
  | { readonly kind: 'away'; readonly sentence: string };

export function stopKind(evidence: RestartEvidence): StopKind {
  const workload = evidence.daemonSet ?? evidence.deployment;
  const doubt =
    podDoubt(evidence) ??
    nodeDoubt(evidence.node, part(part(workload ?? {}, 'spec'), 'template')) ??
    wireDoubt(evidence);
  if (doubt !== undefined) return { kind: 'away', sentence: doubt };
  const kind = evidence.daemonSet === undefined ? 'Deployment' : 'DaemonSet';
  return { kind: 'restart', sentence: `a newer revision of its ${kind} takes its place` };
}

/** name of the object of this kind that controls this one */
export function controllerOf(object: KubeObject, kind: string): string | undefined {
  const owner = ownerOf(object, kind);
  return owner === undefined ? undefined : text(owner, 'name');
}

function ownerOf({ metadata }: KubeObject, kind: string): Loose | undefined {
  return parts(metadata, 'ownerReferences').find(
    (owner) => owner['controller'] === true && owner['kind'] === kind,
  );
}

/** counts the changes of a DaemonSet's template; the pods have it as a label from the controller that made them */
const POD_GENERATION = 'pod-template-generation';
const SET_GENERATION = 'deprecated.daemonset.template.generation';

function podDoubt(evidence: RestartEvidence): string | undefined {
  const { pod, daemonSet } = evidence;
  if (pod === undefined) return 'its pod could not be read';
  if (pod.metadata.deletionTimestamp === undefined) return 'its pod is not being deleted';
  const replicas = ownerOf(pod, 'ReplicaSet');
  if (replicas !== undefined) return replicaDoubt(replicas, evidence);
  const owner = ownerOf(pod, 'DaemonSet');
  if (owner === undefined) return 'its pod belongs to no DaemonSet and no Deployment';
  if (daemonSet === undefined) return 'its DaemonSet could not be read';
  const { uid, deletionTimestamp, annotations } = daemonSet.metadata;
  if (owner['uid'] !== uid || deletionTimestamp !== undefined) return 'its DaemonSet goes away';
  const mine = generation(pod.metadata.labels?.[POD_GENERATION]);
  const newest = generation(annotations?.[SET_GENERATION]);
  if (mine === undefined || newest === undefined) return 'its revision is not known';
  return newest > mine ? undefined : 'its DaemonSet has no newer revision';
}

function replicaDoubt(
  owner: Loose,
  { replicaSet, deployment }: RestartEvidence,
): string | undefined {
  if (replicaSet === undefined || deployment === undefined)
    return 'its ReplicaSet or its Deployment could not be read';
  const above = ownerOf(replicaSet, 'Deployment');
  const { uid, deletionTimestamp } = deployment.metadata;
  const isOurs = owner['uid'] === replicaSet.metadata.uid && above?.['uid'] === uid;
  if (!isOurs || deletionTimestamp !== undefined) return 'its Deployment goes away';
  if (replicasOf(deployment) === 0) return 'its Deployment asks for no replica';
  return replicasOf(replicaSet) === 0 ? undefined : 'its Deployment rolls nothing out';
}

function replicasOf({ spec }: KubeObject): number {
  const wanted = part({ spec }, 'spec')['replicas'];
  return typeof wanted === 'number' ? wanted : 1;
}

function generation(value: string | undefined): number | undefined {
  return value !== undefined && /^[0-9]{1,15}$/.test(value) ? Number(value) : undefined;
}

function nodeDoubt(node: ClusterNode | undefined, template: Loose): string | undefined {
  if (node === undefined) return 'its Node is not known';
  if (node.isBeingDeleted) return 'its Node is being deleted';
  if (node.isUnschedulable) return 'its Node is cordoned';
  if (node.ready !== 'true') return 'its Node is not Ready';
  const spec = part(template, 'spec');
  if (!isSelected(spec, node)) return 'its pod template selects this Node no more';
  const tolerations = parts(spec, 'tolerations');
  const barred = node.taints.find((taint) => !isTolerated(taint, tolerations));
  return barred === undefined
    ? undefined
    : `its pod template does not tolerate taint ${barred.key}`;
}

function isSelected(spec: Loose, { name, labels: own }: ClusterNode): boolean {
  if (!selects({ matchLabels: labels(spec, 'nodeSelector') }, own)) return false;
  const affinity = part(part(spec, 'affinity'), 'nodeAffinity');
  const required = part(affinity, 'requiredDuringSchedulingIgnoredDuringExecution');
  if (required['nodeSelectorTerms'] === undefined) return true;
  return parts(required, 'nodeSelectorTerms').some(
    (term) =>
      fits(term['matchExpressions'], own) && fits(term['matchFields'], { 'metadata.name': name }),
  );
}

/** what is not understood does not fit */
function fits(expressions: unknown, own: Labels): boolean {
  if (expressions === undefined) return true;
  if (!Array.isArray(expressions)) return false;
  return parts({ expressions }, 'expressions').every((one) => {
    const key = text(one, 'key');
    const operator = OPERATORS.find((known) => known === one['operator']);
    if (key === undefined || operator === undefined) return false;
    return selects({ matchExpressions: [{ key, operator, values: texts(one, 'values') }] }, own);
  });
}

const OPERATORS: readonly LabelExpression['operator'][] = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

function isTolerated({ key, value = '', effect }: Taint, tolerations: readonly Loose[]): boolean {
  if (effect === 'PreferNoSchedule') return true;
  return tolerations.some((one) => {
    const ofKey = text(one, 'key') ?? '';
    const ofEffect = text(one, 'effect') ?? '';
    const isAny = one['operator'] === 'Exists';
    if (ofEffect !== '' && ofEffect !== effect) return false;
    if (ofKey === '') return isAny;
    return ofKey === key && (isAny || (text(one, 'value') ?? '') === value);
  });
}

function wireDoubt({ sessions, boundAddresses }: RestartEvidence): string | undefined {
  if (sessions.length === 0) return 'no session is up, so no router keeps anything';
  const unable = sessions.find(({ hasGracefulRestart }) => !hasGracefulRestart);
  if (unable !== undefined)
    return `${unable.peer} and this node have not agreed on graceful restart`;
  return boundAddresses === 0 ? undefined : 'addresses on interfaces go with the process';
}
