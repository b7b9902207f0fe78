/**
 * Whether a Service may share the address of a claim with those that have it. Pure.
 *
 * What kube-proxy cannot keep apart is refused: the same port twice, or Services of which one is Local and the other is not.
 */

import type { ClaimService } from '../model/ip-claim.ts';
import type { Labels } from '../model/labels.ts';
import { type Service, type ServicePort, serviceKey } from '../model/service.ts';
import { type ClaimRecord, MAX_SERVICES, othersOn } from './claim-record.ts';

export interface SharingRules {
  /** namespaces whose Services may share with each other */
  readonly shareAcross: readonly string[];
  readonly service: (key: string) => Service | undefined;
}

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

function whyNotBeside(
  service: Service,
  entry: ClaimService,
  { shareAcross, service: find }: SharingRules,
): string | undefined {
  const key = serviceKey(entry);
  const namespaces = [service.namespace, entry.namespace];
  const isAcross = service.namespace !== entry.namespace;
  if (isAcross && !namespaces.every((each) => shareAcross.includes(each))) {
    return `belongs to Service ${key}, and sharing stays within a namespace unless the pool's shareAcross lists both`;
  }
  const other = find(key);
  // gone, or another one of the same name: its entry is about to go
  if (other === undefined || (entry.uid !== undefined && other.uid !== entry.uid)) return undefined;
  const port = samePort(service, other);
  if (port !== undefined) {
    return `has port ${port.port}/${port.protocol} in use by Service ${key}; choose another port or another address`;
  }
  if (service.isLocal !== other.isLocal) {
    return `is used by Service ${key} with another externalTrafficPolicy; Services that share an address need the same`;
  }
  if (service.isLocal && !sameLabels(service.selector, other.selector)) {
    return `is used by Service ${key} with another selector; with externalTrafficPolicy Local those that share need the same pods`;
  }
  return undefined;
}

function samePort(a: Service, b: Service): ServicePort | undefined {
  const taken = portsOf(b);
  return a.ports.find((port) => taken.has(portNumber(port)));
}

/** a Service may have thousands, and is compared with all that share its address */
const portSets = new WeakMap<readonly ServicePort[], ReadonlySet<number>>();

function portsOf({ ports }: Service): ReadonlySet<number> {
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

function sameLabels(a: Labels, b: Labels): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}
