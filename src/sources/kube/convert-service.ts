/** A core/v1 Service as the API gives it → Service. Never throws: what cannot be understood at all gives undefined. */

import { type Address, type Family, parseAddress } from 'bgp-ts';
import type { Labels } from '../../model/labels.ts';
import { ANNOTATION } from '../../model/names.ts';
import { optional } from '../../model/optional.ts';
import {
  LONGEST_ANNOTATION,
  LONGEST_LABELS,
  MOST_EXTERNAL_IPS,
  MOST_INGRESS,
  type Service,
  type ServicePort,
} from '../../model/service.ts';
import { unforgeableHash } from '../../model/short-hash.ts';
import type { KubeObject } from './api.ts';
import { convertConditions } from './convert-condition.ts';
import {
  filledText,
  type Loose,
  labels,
  part,
  parts,
  text,
  texts,
  wholeNumber,
  word,
} from './loose-fields.ts';

const POLICIES = ['SingleStack', 'PreferDualStack', 'RequireDualStack'] as const;
const PROTOCOLS = ['TCP', 'UDP', 'SCTP'] as const;
const NO_ANNOTATIONS: Labels = {};
/** beside the ones that Herald knows: of others only the names matter, and a few of them */
const MOST_OTHERS = 16;
const KNOWN: ReadonlySet<string> = new Set(Object.values(ANNOTATION));

export function convertService(object: KubeObject): Service | undefined {
  const { metadata } = object;
  const { name, namespace, uid, resourceVersion } = metadata;
  if (namespace === undefined || typeof name !== 'string') return undefined;
  const spec = part(object, 'spec');
  const status = part(object, 'status');
  const ingress = ingressOf(part(status, 'loadBalancer'));
  const listed = texts(spec, 'externalIPs');
  return {
    namespace,
    name,
    uid,
    resourceVersion,
    createdMs: createdMsOf(metadata.creationTimestamp),
    labels: firstLabels(metadata),
    annotations: annotationsOf(labels(metadata, 'annotations')),
    isBeingDeleted: metadata.deletionTimestamp !== undefined,
    isLoadBalancer: spec['type'] === 'LoadBalancer',
    ...optional('loadBalancerClass', filledText(spec, 'loadBalancerClass')),
    ...loadBalancerIpOf(spec),
    externalIps: listed.slice(0, MOST_EXTERNAL_IPS).map(shortAddress),
    ...(listed.length > MOST_EXTERNAL_IPS && {
      moreExternalIps: listed.length - MOST_EXTERNAL_IPS,
    }),
    families: familiesOf(spec),
    familyPolicy: word(spec, 'ipFamilyPolicy', POLICIES) ?? 'SingleStack',
    isLocal: spec['externalTrafficPolicy'] === 'Local',
    ...optional('healthCheckNodePort', portNumber(spec, 'healthCheckNodePort')),
    ports: parts(spec, 'ports').flatMap(portOf),
    selector: selectorOf(labels(spec, 'selector')),
    ingress: ingress.addresses,
    hasForeignIngress: ingress.hasForeign,
    conditions: convertConditions(status),
  };
}

/** 0 where it cannot be read: such an object counts as old */
export function createdMsOf(creationTimestamp: unknown): number {
  const ms = typeof creationTimestamp === 'string' ? Date.parse(creationTimestamp) : 0;
  return Number.isFinite(ms) ? ms : 0;
}

/** A tenant may write 256 kB of them into each of its Services; what is not ours is not kept. */
function annotationsOf(all: Labels): Labels {
  let ours: Record<string, string> | undefined;
  let others = 0;
  for (const name in all) {
    if (!name.includes('herald')) continue;
    if (!KNOWN.has(name) && ++others > MOST_OTHERS) continue;
    ours ??= {};
    ours[name] = bounded(all[name] ?? '');
  }
  return ours ?? NO_ANNOTATIONS;
}

/** the API server takes any text there, a megabyte too */
function loadBalancerIpOf(spec: Loose): Pick<Service, 'loadBalancerIp'> {
  const written = filledText(spec, 'loadBalancerIP');
  return written === undefined ? {} : { loadBalancerIp: bounded(written) };
}

/** The API server takes a megabyte of labels; which pools a Service is for is not hidden in so many, and no more are read. */
function firstLabels(metadata: Loose): Labels {
  const all = part(metadata, 'labels');
  let length = 0;
  const kept: Record<string, string> = {};
  for (const name in all) {
    const value = text(all, name);
    length += name.length + (value ?? '').length;
    if (length > LONGEST_LABELS) return kept;
    if (value !== undefined) kept[name] = value;
  }
  return labels(metadata, 'labels');
}

/** Selectors are compared and nothing else, so of a long one a hash does. */
function selectorOf(all: Labels): Labels {
  let length = 0;
  for (const name in all) length += name.length + (all[name] ?? '').length;
  if (length <= LONGEST_LABELS) return all;
  const pairs = Object.entries(all).map(([name, value]) => `${name}=${value}`);
  return { '': unforgeableHash(pairs.toSorted().join()) };
}

const LONGEST_ADDRESS = 64;

/** The API server takes as many leading zeros as there is room for; kube-proxy goes by the address without them. */
function shortAddress(written: string): string {
  if (written.length <= LONGEST_ADDRESS) return written;
  return bounded(written.replace(/\b0+(?=\d)/g, ''));
}

/** through bytes, since a part of a long text would keep all of it in memory */
function bounded(value: string): string {
  if (value.length <= LONGEST_ANNOTATION) return value;
  return Buffer.from(value.slice(0, LONGEST_ANNOTATION + 1)).toString();
}

/** An API server always fills them in; an object that has none is taken by its cluster address. */
function familiesOf(spec: Loose): readonly Family[] {
  const families = texts(spec, 'ipFamilies').flatMap(familyOf);
  if (families.length > 0) return families;
  return text(spec, 'clusterIP')?.includes(':') === true ? ['ipv6'] : ['ipv4'];
}

function familyOf(word: string): readonly Family[] {
  return word === 'IPv4' ? ['ipv4'] : word === 'IPv6' ? ['ipv6'] : [];
}

function portOf(port: Loose): readonly ServicePort[] {
  const number = portNumber(port, 'port');
  if (number === undefined) return [];
  return [knownPort(word(port, 'protocol', PROTOCOLS) ?? 'TCP', number)];
}

const knownPorts = new Map<string, ServicePort>();

/** the same object for the same port: thousands of Services may have thousands of them */
function knownPort(protocol: ServicePort['protocol'], port: number): ServicePort {
  const key = `${port}/${protocol}`;
  const known = knownPorts.get(key) ?? { protocol, port };
  knownPorts.set(key, known);
  return known;
}

/** 0 stands for none */
function portNumber(of: Loose, key: string): number | undefined {
  const port = wholeNumber(of, key);
  return port !== undefined && port > 0 && port <= 65_535 ? port : undefined;
}

function ingressOf(loadBalancer: Loose): {
  readonly addresses: readonly Address[];
  readonly hasForeign: boolean;
} {
  const addresses: Address[] = [];
  let hasForeign = false;
  const entries = parts(loadBalancer, 'ingress');
  // nobody needs so many, and Herald writes nothing over what it has not read
  if (entries.length > MOST_INGRESS) hasForeign = true;
  for (const entry of entries.slice(0, MOST_INGRESS)) {
    const written = filledText(entry, 'ip');
    const address = written === undefined ? undefined : parseAddress(written);
    if (address === undefined) hasForeign = true;
    else addresses.push(address);
    if (filledText(entry, 'hostname') !== undefined) hasForeign = true;
  }
  return { addresses, hasForeign };
}
