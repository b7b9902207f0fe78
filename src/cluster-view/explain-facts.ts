/**
 * Reads what `herald explain` needs of a cluster and no more: a Service's claims by their names, the holder of an exclusive one by its name,
 * all nodes only where all may announce. Ten thousand claims cost nothing as long as they are somebody else's.
 */

import { type Address, formatAddress, parseAddress } from 'bgp-ts';
import { type CachedDocument, cachedDocument } from '../controller/cached-document.ts';
import type { BgpPeer } from '../model/bgp-peer.ts';
import { formatClaimName } from '../model/claim-name.ts';
import type { ClusterNode } from '../model/cluster-node.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import type { IpNode } from '../model/ip-node.ts';
import type { IpPool } from '../model/ip-pool.ts';
import { ANNOTATION, ANYCAST_LABEL, isNodeLabel } from '../model/names.ts';
import { optional } from '../model/optional.ts';
import type { Service } from '../model/service.ts';
import type { KubeApi, KubeObject } from '../sources/kube/api.ts';
import {
  convertClaimObject,
  convertPeerObject,
  convertPoolObject,
} from '../sources/kube/convert-documents.ts';
import { convertIpNode } from '../sources/kube/convert-ip-node.ts';
import { convertNode } from '../sources/kube/convert-node.ts';
import { convertService } from '../sources/kube/convert-service.ts';
import {
  BGP_PEERS,
  IP_CLAIMS,
  IP_NODES,
  IP_POOLS,
  inNamespace,
  NODES,
  SERVICES,
} from '../sources/kube/resources.ts';
import { CannotLook, getOther, getOwn, listOther, listOwn } from './asking.ts';

export type Subject =
  | { readonly kind: 'service'; readonly namespace: string; readonly name: string }
  | { readonly kind: 'address'; readonly address: Address };

export interface ExplainFacts {
  readonly subject: Subject;
  /** those behind the claims; that of the subject first */
  readonly services: readonly Service[];
  readonly claims: readonly CachedDocument<IpClaim>[];
  readonly pools: readonly CachedDocument<IpPool>[];
  readonly peers: readonly CachedDocument<BgpPeer>[];
  /** that have an agent, or a part in a claim */
  readonly nodes: readonly NodeFacts[];
  /** Nodes without an agent; absent: nobody looked */
  readonly agentless?: readonly string[];
  /** what could not be read */
  readonly notes: readonly string[];
}

export interface NodeFacts {
  readonly name: string;
  readonly ipNode?: IpNode;
  /** `unknown`: it may not be read */
  readonly node: ClusterNode | 'gone' | 'unknown';
}

/** more Services than this behind one address are counted, not read */
const MOST_SERVICES = 20;

export async function readExplainFacts(api: KubeApi, subject: Subject): Promise<ExplainFacts> {
  const [pools, peers, found] = await Promise.all([
    listOwn(api, IP_POOLS),
    listOwn(api, BGP_PEERS),
    subject.kind === 'service' ? ofService(api, subject) : ofAddress(api, subject.address),
  ]);
  const claims = found.claims.map((object) => cachedDocument(object, convertClaimObject(object)));
  const nodes = await readNodes(api, claims);
  return {
    subject,
    services: found.services,
    claims,
    pools: pools.map((object) => cachedDocument(object, convertPoolObject(object))),
    peers: peers.map((object) => cachedDocument(object, convertPeerObject(object))),
    ...nodes,
    notes: [...found.notes, ...nodes.notes],
  };
}

interface Found {
  readonly services: readonly Service[];
  readonly claims: readonly KubeObject[];
  readonly notes: readonly string[];
}

async function ofService(
  api: KubeApi,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<Found> {
  const asked = await getOther(api, inNamespace(SERVICES, namespace), name);
  if (!asked.ok) throw new CannotLook(asked.note);
  const service = asked.value === undefined ? undefined : convertService(asked.value);
  if (service === undefined) {
    throw new CannotLook(`there is no Service ${name} in namespace ${namespace}`);
  }
  const isIts = (claim: KubeObject) => namesService(claim, namespace, name);
  const named = await claimsAt(api, addressesOf(service));
  const its = named.filter(isIts);
  // between its claim and its status there is a moment; and who waits may still have an old one
  const isUntold = its.length === 0 && service.isLoadBalancer;
  const claims = isUntold ? (await listOwn(api, IP_CLAIMS)).filter(isIts) : its;
  return { services: [service], claims, notes: [] };
}

async function ofAddress(api: KubeApi, address: Address): Promise<Found> {
  const claims = await claimsAt(api, [address]);
  const made = claims.map((claim) => convertClaimObject(claim));
  const refs = made.flatMap((claim) => (claim.ok ? claim.object.services : []));
  const asked = await Promise.all(
    refs
      .slice(0, MOST_SERVICES)
      .map(({ namespace, name }) => getOther(api, inNamespace(SERVICES, namespace), name)),
  );
  const services = asked.flatMap((each) =>
    each.ok && each.value !== undefined ? (convertService(each.value) ?? []) : [],
  );
  const notes = new Set(asked.flatMap((each) => (each.ok ? [] : each.note)));
  return { services, claims, notes: [...notes] };
}

async function claimsAt(api: KubeApi, addresses: readonly Address[]) {
  const names = new Set(addresses.map(formatClaimName));
  const claims = await Promise.all([...names].map((name) => getOwn(api, IP_CLAIMS, name)));
  return claims.filter((claim) => claim !== undefined);
}

/** where it is, and where it wants to be */
function addressesOf({ ingress, externalIps, loadBalancerIp, annotations }: Service) {
  const wanted = (annotations[ANNOTATION.addresses] ?? '').split(',').map((text) => text.trim());
  const texts = [...externalIps, ...wanted, loadBalancerIp ?? ''];
  return [...ingress, ...texts.flatMap((text) => parseAddress(text) ?? [])];
}

function namesService(claim: KubeObject, namespace: string, name: string): boolean {
  const made = convertClaimObject(claim);
  return (
    made.ok &&
    made.object.services.some((each) => each.namespace === namespace && each.name === name)
  );
}

type Nodes = Pick<ExplainFacts, 'nodes' | 'notes' | 'agentless'>;

async function readNodes(api: KubeApi, claims: readonly CachedDocument<IpClaim>[]): Promise<Nodes> {
  if (claims.length === 0) return { nodes: [], notes: [] };
  const holders = claims.map(holdersOf);
  const isOfFew = holders.every((names) => names !== undefined);
  if (isOfFew) return await nodesByName(api, [...new Set(holders.flatMap((names) => names ?? []))]);
  const [ipNodes, nodes] = await Promise.all([listOwn(api, IP_NODES), listOther(api, NODES)]);
  const known = new Map(
    (nodes.ok ? nodes.value : []).flatMap((object) => pairOf(convertNode(object))),
  );
  const withAgent = new Map(ipNodes.flatMap((object) => pairOf(convertIpNode(object))));
  const facts = [...withAgent].map(([name, ipNode]): NodeFacts => {
    const node = nodes.ok ? (known.get(name) ?? 'gone') : 'unknown';
    return { name, ipNode, node };
  });
  const agentless = [...known.keys()].filter((name) => !withAgent.has(name));
  return {
    nodes: facts.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    ...(nodes.ok ? { agentless: agentless.toSorted() } : {}),
    notes: nodes.ok ? [] : [`${nodes.note}: labels and taints of Nodes are not known here`],
  };
}

function pairOf<T extends { readonly name: string }>(value: T | undefined): [string, T][] {
  return value === undefined ? [] : [[value.name, value]];
}

/** The nodes that alone matter to a claim that is placed; undefined: all do. */
function holdersOf(claim: CachedDocument<IpClaim>): readonly string[] | undefined {
  const { labels } = claim.meta;
  if (!claim.ok || ANYCAST_LABEL in labels) return undefined;
  const { node } = claim.object;
  const labelled = Object.keys(labels).filter(isNodeLabel);
  // a long name is shortened in its label: such nodes are looked for among all
  const names = labelled.map((label) => label.slice(label.indexOf('/') + 1));
  if (names.some((name) => name.length >= 63)) return undefined;
  return node === undefined && names.length === 0
    ? undefined
    : [...(node === undefined ? [] : [node]), ...names];
}

async function nodesByName(api: KubeApi, names: readonly string[]): Promise<Nodes> {
  const read = await Promise.all(
    names.map(async (name) => ({
      name,
      ipNode: await getOwn(api, IP_NODES, name),
      node: await getOther(api, NODES, name),
    })),
  );
  const notes = new Set(read.flatMap(({ node }) => (node.ok ? [] : node.note)));
  const nodes = read.map(({ name, ipNode, node }): NodeFacts => {
    const own = ipNode === undefined ? undefined : convertIpNode(ipNode);
    const made = node.ok && node.value !== undefined ? convertNode(node.value) : undefined;
    return {
      name,
      ...optional('ipNode', own),
      node: node.ok ? (made ?? 'gone') : 'unknown',
    };
  });
  return { nodes, notes: [...notes] };
}

export function subjectText(subject: Subject): string {
  return subject.kind === 'service'
    ? `${subject.namespace}/${subject.name}`
    : formatAddress(subject.address);
}
