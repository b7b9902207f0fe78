/**
 * Whether a Service may share the address of a claim with those that have it, and who leaves when that is no longer so. Pure.
 *
 * What kube-proxy cannot keep apart is refused: the same port twice, or Services of which one is Local and the other is not. Local ones have the same
 * pods, or the address of one would be announced by a node on which only the other has any.
 */

import type { ClaimService } from '../model/ip-claim.ts';
import type { Labels } from '../model/labels.ts';
import { type Service, type ServicePort, serviceKey } from '../model/service.ts';
import { unforgeableHash } from '../model/short-hash.ts';
import { type ClaimRecord, MAX_SERVICES, othersOn } from './claim-record.ts';
import { hasChanged } from './share-terms.ts';

export interface SharingRules {
  /** namespaces whose Services may share with each other */
  readonly shareAcross: readonly string[];
  readonly service: (key: string) => Service | undefined;
  readonly compared: Compared;
}

/**
 * The first port of the Service that is decided on which another one has too, by the ports of that
 * one. It lasts for one decision: in that one 64 Services that share are compared several times on
 * each claim. Pairs that are kept for longer are as many as Services that share times Services that
 * wait for the same sharing key, and cost the controller its memory.
 */
export type Compared = Map<Ports, ServicePort | undefined>;

/** Why not, as the second half of a sentence that begins with the address; undefined: it may. */
export function whyNotShared(
  service: Service,
  claim: ClaimRecord,
  rules: SharingRules,
): string | undefined {
  const others = othersOn(claim, serviceKey(service));
  if (others.length >= MAX_SERVICES) {
    return `is shared by ${others.length} Services already, and more cannot be`;
  }
  for (const entry of others) {
    const why = whyNotBeside(service, entry, rules);
    if (why !== undefined) return why;
  }
  return undefined;
}

/** What has become of a Service that has the address together with others: all is well, it stays and is warned, or it has to leave. */
export type Standing = undefined | { readonly kind: 'warned' | 'leaves'; readonly why: string };

/**
 * Rules that held at the door hold inside too. Where kube-proxy could no longer tell the Services apart, the one that has changed since it was let in
 * leaves; where that does not decide, the one that came later. A pool that no longer lets their namespaces share moves nobody.
 */
export function standingBeside(
  service: Service,
  claim: ClaimRecord,
  rules: SharingRules,
): Standing {
  const own = claim.services.findIndex((entry) => serviceKey(entry) === serviceKey(service));
  let warned: Standing;
  for (const [index, entry] of claim.services.entries()) {
    if (index === own || serviceKey(entry) === serviceKey(service)) continue;
    const why = whyNotTogether(service, entry, rules);
    const other = rules.service(serviceKey(entry));
    if (why !== undefined && other !== undefined) {
      const hasOther = hasChanged(claim, other);
      const isMine = hasChanged(claim, service) === hasOther ? own > index : !hasOther;
      if (isMine) return { kind: 'leaves', why };
    }
    const across = whyNotAcross(service, entry, rules);
    if (across !== undefined) warned ??= { kind: 'warned', why: across };
  }
  return warned;
}

function whyNotBeside(
  service: Service,
  entry: ClaimService,
  rules: SharingRules,
): string | undefined {
  return whyNotAcross(service, entry, rules) ?? whyNotTogether(service, entry, rules);
}

function whyNotAcross(
  service: Service,
  entry: ClaimService,
  { shareAcross }: SharingRules,
): string | undefined {
  const namespaces = [service.namespace, entry.namespace];
  const isAcross = service.namespace !== entry.namespace;
  if (isAcross && !namespaces.every((each) => shareAcross.includes(each))) {
    return `belongs to ${nameFor(service, entry)}, and sharing stays within a namespace unless the pool's shareAcross lists both`;
  }
  return undefined;
}

function whyNotTogether(
  service: Service,
  entry: ClaimService,
  { service: find, compared }: SharingRules,
): string | undefined {
  const other = find(serviceKey(entry));
  // gone, or another one of the same name: its entry is about to go
  if (other === undefined || (entry.uid !== undefined && other.uid !== entry.uid)) return undefined;
  const port = samePort(service, other, compared);
  if (port !== undefined) {
    return `has port ${port.port}/${port.protocol} in use by ${nameFor(service, entry)}; choose another port or another address`;
  }
  if (service.isLocal !== other.isLocal) {
    return `is used by ${nameFor(service, entry)} with another externalTrafficPolicy; Services that share an address need the same`;
  }
  // the same words select other pods in another namespace
  if (service.isLocal && service.namespace !== other.namespace) {
    return `is used by ${nameFor(service, entry)} with other pods; with externalTrafficPolicy Local those that share need the same, so they share within a namespace only`;
  }
  if (service.isLocal && !sameLabels(service.selector, other.selector)) {
    return `is used by ${nameFor(service, entry)} with another selector; with externalTrafficPolicy Local those that share need the same pods`;
  }
  return undefined;
}

/** What a Service may be called in a sentence that the owner of another one reads: namespaces do not tell each other's names. */
export function nameFor(
  { namespace }: Pick<Service, 'namespace'>,
  other: Pick<Service, 'namespace' | 'name'>,
): string {
  const isOwn = other.namespace === namespace;
  return isOwn ? `Service ${serviceKey(other)}` : 'a Service of another namespace';
}

type Ports = readonly ServicePort[];

function samePort(
  { ports }: Service,
  { ports: others }: Service,
  compared: Compared,
): ServicePort | undefined {
  if (!compared.has(others)) compared.set(others, firstOfBoth(ports, others));
  return compared.get(others);
}

function firstOfBoth(a: Ports, b: Ports): ServicePort | undefined {
  const [few, many] = a.length <= b.length ? [a, b] : [b, a];
  const taken = portNumbers(many);
  return few.find((port) => taken.has(portNumber(port)));
}

const portSets = new WeakMap<Ports, ReadonlySet<number>>();

function portNumbers(ports: Ports): ReadonlySet<number> {
  const known = portSets.get(ports) ?? new Set(ports.map(portNumber));
  portSets.set(ports, known);
  return known;
}

const PROTOCOL_NUMBER: Readonly<Record<ServicePort['protocol'], number>> = {
  TCP: 0,
  UDP: 1,
  SCTP: 2,
};

function portNumber({ protocol, port }: ServicePort): number {
  return port * 4 + PROTOCOL_NUMBER[protocol];
}

/** Hashes, made once: one decision compares the selectors of 64 Services for each of 16 claims, and a selector may have 1,700 labels. */
const labelHashes = new WeakMap<Labels, string>();

function sameLabels(a: Labels, b: Labels): boolean {
  return labelHash(a) === labelHash(b);
}

function labelHash(labels: Labels): string {
  const known = labelHashes.get(labels);
  if (known !== undefined) return known;
  const names = Object.keys(labels).toSorted();
  const made = unforgeableHash(JSON.stringify(names.map((name) => [name, labels[name]])));
  labelHashes.set(labels, made);
  return made;
}
