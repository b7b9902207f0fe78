/**
 * A cluster at a glance, as data: who leads, nodes and their sessions, pools, claims by phase, Services that wait. Pure; render-status.ts sets it
 * as text, and `--json` prints it as it is.
 */

import { ALLOCATED_CONDITION } from '../allocator/decision.ts';
import { cachedDocument } from '../controller/cached-document.ts';
import { CLAIM_PHASES, type ClaimPhase } from '../controller/facts.ts';
import { claimPhase } from '../model/claim-phase.ts';
import type { IpNodeSession, IpNodeStatus } from '../model/ip-node.ts';
import { RELEASED_BY_ANNOTATION } from '../model/names.ts';
import { optional } from '../model/optional.ts';
import type { KubeObject } from '../sources/kube/api.ts';
import { convertConditions } from '../sources/kube/convert-condition.ts';
import { convertPeerObject, convertPoolObject } from '../sources/kube/convert-documents.ts';
import { convertIpNode } from '../sources/kube/convert-ip-node.ts';
import { convertLease } from '../sources/kube/convert-lease.ts';
import { part, text } from '../sources/kube/loose-fields.ts';
import type { Perhaps } from './asking.ts';
import { type PoolAnswer, poolAnswer } from './explain.ts';

/** As the API gave them. */
export interface StatusObjects {
  /** for people: which cluster */
  readonly origin: string;
  readonly ipNodes: readonly KubeObject[];
  readonly pools: readonly KubeObject[];
  readonly peers: readonly KubeObject[];
  readonly claims: readonly KubeObject[];
  readonly services: Perhaps<readonly KubeObject[]>;
  readonly lease: Perhaps<KubeObject | undefined>;
}

export interface ClusterStatus {
  readonly cluster: string;
  readonly controller: ControllerAnswer;
  readonly nodes: readonly NodeStatus[];
  readonly pools: readonly PoolAnswer[];
  readonly peers: readonly PeerStatus[];
  readonly claims: Readonly<Record<ClaimPhase, number>>;
  /** the one that waits longest first; absent: Services may not be read */
  readonly waiting?: readonly WaitingService[];
  readonly notes: readonly string[];
}

export interface ControllerAnswer {
  /** `late`: whoever leads has not renewed its Lease in time */
  readonly state: 'leading' | 'late' | 'none' | 'unknown';
  readonly holder?: string;
  /** ISO */
  readonly since?: string;
  readonly renewed?: string;
}

export interface NodeStatus {
  readonly node: string;
  readonly joined?: IpNodeStatus['joined'];
  /** of the condition AgentAlive; absent: nobody has to know */
  readonly alive?: boolean;
  readonly silentSince?: string;
  readonly draining?: IpNodeStatus['draining'];
  readonly routes: number;
  readonly refused: number;
  readonly sessions: readonly IpNodeSession[];
}

export interface PeerStatus {
  readonly peer: string;
  readonly refused?: string;
}

export interface WaitingService {
  readonly service: string;
  readonly reason: string;
  readonly message: string;
  readonly since: string;
}

export function clusterStatus(objects: StatusObjects, nowMs: number): ClusterStatus {
  const { services, lease } = objects;
  return {
    cluster: objects.origin,
    controller: controllerAnswer(lease, nowMs),
    nodes: objects.ipNodes.flatMap(nodeStatus).toSorted((a, b) => (a.node < b.node ? -1 : 1)),
    pools: objects.pools.map((pool) => poolAnswer(cachedDocument(pool, convertPoolObject(pool)))),
    peers: objects.peers.map(peerStatus),
    claims: phases(objects.claims),
    ...optional('waiting', services.ok ? waitingOf(services.value) : undefined),
    notes: [services, lease].flatMap((each) => (each.ok ? [] : each.note)),
  };
}

function controllerAnswer(lease: Perhaps<KubeObject | undefined>, nowMs: number): ControllerAnswer {
  if (!lease.ok) return { state: 'unknown' };
  const read = lease.value === undefined ? undefined : convertLease(lease.value);
  if (read?.holder === undefined) return { state: 'none' };
  const { holder, renewTime, acquireTime, durationSeconds = 15 } = read;
  const ageMs = nowMs - Date.parse(renewTime ?? '');
  return {
    // twice, since its clock and ours differ by what they like
    state: ageMs <= 2000 * durationSeconds ? 'leading' : 'late',
    holder,
    ...optional('since', acquireTime),
    ...optional('renewed', renewTime),
  };
}

function nodeStatus(object: KubeObject): readonly NodeStatus[] {
  const node = convertIpNode(object);
  if (node === undefined) return [];
  const { joined, draining, routes = 0, refused = [], sessions = [] } = node.status;
  const alive = node.status.conditions?.find(({ type }) => type === 'AgentAlive');
  const isSilent = alive?.status === 'False';
  return [
    {
      node: node.name,
      ...optional('joined', joined),
      ...optional('alive', alive === undefined ? undefined : !isSilent),
      ...optional('silentSince', isSilent ? alive.lastTransitionTime : undefined),
      ...optional('draining', draining),
      routes,
      refused: refused.length + (node.status.refusedMore ?? 0),
      sessions,
    },
  ];
}

function peerStatus(object: KubeObject): PeerStatus {
  const made = cachedDocument(object, convertPeerObject(object));
  return { peer: made.meta.name, ...optional('refused', made.ok ? undefined : made.sentence) };
}

/** without converting them: there may be ten thousand */
function phases(claims: readonly KubeObject[]): Readonly<Record<ClaimPhase, number>> {
  const counts = new Map<ClaimPhase, number>(CLAIM_PHASES.map((phase) => [phase, 0]));
  for (const claim of claims) {
    const phase = phaseOf(claim);
    counts.set(phase, (counts.get(phase) ?? 0) + 1);
  }
  const of = (phase: ClaimPhase) => counts.get(phase) ?? 0;
  return {
    pending: of('pending'),
    placed: of('placed'),
    refused: of('refused'),
    withdrawn: of('withdrawn'),
    released: of('released'),
  };
}

function phaseOf(claim: KubeObject): ClaimPhase {
  if (claim.metadata.annotations?.[RELEASED_BY_ANNOTATION] !== undefined) return 'released';
  if (part(claim, 'spec')['withdrawn'] !== undefined) return 'withdrawn';
  const { labels = {} } = claim.metadata;
  const phase = claimPhase(text(part(claim, 'status'), 'phase'), labels).toLowerCase();
  return CLAIM_PHASES.find((known) => known === phase) ?? 'pending';
}

function waitingOf(services: readonly KubeObject[]): readonly WaitingService[] {
  const waiting = services.flatMap((object): readonly WaitingService[] => {
    const { name, namespace, creationTimestamp = '', deletionTimestamp } = object.metadata;
    const conditions = convertConditions(part(object, 'status'));
    const allocated = conditions.find(({ type }) => type === ALLOCATED_CONDITION);
    if (allocated?.status !== 'False' || deletionTimestamp !== undefined) return [];
    const { reason, message, lastTransitionTime: since = creationTimestamp } = allocated;
    return [{ service: `${namespace}/${name}`, reason, message, since }];
  });
  return waiting.toSorted((a, b) => (a.since < b.since ? -1 : a.since > b.since ? 1 : 0));
}
