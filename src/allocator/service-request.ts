/** What a Service asks for, read from its annotations and its spec. Pure. What cannot be read becomes a sentence, never a guess. */

import { type Address, addressEquals, parseAddress } from 'bgp-ts';
import { ANNOTATION, LOAD_BALANCER_CLASS } from '../model/names.ts';
import type { Service } from '../model/service.ts';

export interface ServiceRequest {
  /** by name, in order, each once; empty: any */
  readonly addresses: readonly Address[];
  /** by name, in order; empty: any that assigns by itself */
  readonly pools: readonly string[];
  readonly shareKey?: string;
  /** an address shall be written into spec.externalIPs */
  readonly wantsExternal: boolean;
  /** the request cannot be understood: what is wrong and what to do */
  readonly fault?: string;
  /** what is ignored and why */
  readonly warnings: readonly string[];
}

export function serviceRequest(service: Service): ServiceRequest {
  const { annotations } = service;
  const listed = annotations[ANNOTATION.addresses];
  const texts = words(listed).length > 0 ? words(listed) : words(service.loadBalancerIp);
  const addresses: Address[] = [];
  let fault: string | undefined;
  for (const text of texts) {
    const address = parseAddress(text);
    if (address === undefined) fault ??= notAnAddress(text, listed !== undefined);
    else if (!addresses.some((each) => addressEquals(each, address))) addresses.push(address);
  }
  const shareKey = annotations[ANNOTATION.share]?.trim();
  const external = annotations[ANNOTATION.externalIp];
  return {
    addresses,
    pools: [...new Set(words(annotations[ANNOTATION.pool]))],
    ...(shareKey !== undefined && shareKey !== '' && { shareKey }),
    wantsExternal: external === 'auto',
    ...(fault !== undefined && { fault }),
    warnings: external === undefined || external === 'auto' ? [] : [notAuto(external)],
  };
}

function words(text: string | undefined): readonly string[] {
  if (text === undefined) return [];
  return text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

function notAnAddress(text: string, isAnnotation: boolean): string {
  const where = isAnnotation ? `the annotation ${ANNOTATION.addresses}` : 'spec.loadBalancerIP';
  return `'${text}' in ${where} is not an address; write one such as 192.0.2.7 or 2001:db8::7, several with commas between them`;
}

function notAuto(text: string): string {
  return `the annotation ${ANNOTATION.externalIp} knows only the value 'auto', so '${text}' is ignored`;
}

/** A load balancer that Herald serves. Without a class it is ours when Herald is the default, or when it has an address of ours. */
export function isOurs(
  service: Service,
  { isDefaultClass, hasClaim }: { readonly isDefaultClass: boolean; readonly hasClaim: boolean },
): boolean {
  if (!service.isLoadBalancer) return false;
  if (service.loadBalancerClass !== undefined) {
    return service.loadBalancerClass === LOAD_BALANCER_CLASS;
  }
  // a flag that somebody forgot at an upgrade must not take the addresses of everybody
  return isDefaultClass || hasClaim;
}

/** spec.externalIPs that can be read, each once */
export function externalAddresses(service: Service): readonly Address[] {
  const addresses: Address[] = [];
  for (const text of service.externalIps) {
    const address = parseAddress(text);
    if (address === undefined) continue;
    if (!addresses.some((each) => addressEquals(each, address))) addresses.push(address);
  }
  return addresses;
}

/**
 * Only a LoadBalancer has the healthCheckNodePort by which a node knows whether it has an endpoint; without it every node would announce
 * the address, and most would drop what comes.
 */
export function isLocalUntold({ isLocal, isLoadBalancer }: Service): boolean {
  return isLocal && !isLoadBalancer;
}
