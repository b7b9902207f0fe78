/** What a Service asks for, read from its annotations and its spec. Pure. What cannot be read becomes a sentence, never a guess. */

import { type Address, formatAddress, parseAddress } from 'bgp-ts';
import { ANNOTATION, LOAD_BALANCER_CLASS } from '../model/names.ts';
import { LONGEST_ANNOTATION, MOST_EXTERNAL_IPS, type Service } from '../model/service.ts';
import { unique } from './address-set.ts';
import { unknownAnnotations } from './unknown-annotations.ts';

/** that a Service may name, and pools likewise */
export const MOST_ADDRESSES = 16;
/** it stands in every claim that is shared under it, and every agent has those */
const LONGEST_WORD = 253;
/** how IPv4-mapped IPv6 addresses begin (RFC 5952) */
const MAPPED = '::ffff:';

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
  const pools = [...new Set(words(annotations[ANNOTATION.pool]))];
  const shareKey = annotations[ANNOTATION.share]?.trim();
  const external = annotations[ANNOTATION.externalIp];
  const tooMuch = excess(service, pools, shareKey);
  const { addresses, fault } =
    tooMuch === undefined ? wantedAddresses(service) : { addresses: [], fault: tooMuch };
  const warnings = [
    ...(external === undefined || external === 'auto' ? [] : [notAuto(external)]),
    ...(service.moreExternalIps === undefined ? [] : [unread(service)]),
    ...unknownAnnotations(annotations),
  ];
  return {
    addresses,
    pools: tooMuch === undefined ? pools : [],
    ...(shareKey !== undefined &&
      shareKey.length <= LONGEST_WORD &&
      shareKey !== '' && { shareKey }),
    wantsExternal: external === 'auto',
    ...(fault !== undefined && { fault }),
    warnings,
  };
}

function wantedAddresses(service: Service): Pick<ServiceRequest, 'addresses' | 'fault'> {
  const { where, texts } = namedAddresses(service);
  const addresses: Address[] = [];
  let fault: string | undefined;
  for (const text of texts) {
    const address = parseAddress(text);
    if (address === undefined) fault ??= notAnAddress(text, where);
    else addresses.push(address);
  }
  return { addresses: unique(addresses), ...(fault !== undefined && { fault }) };
}

interface NamedAddresses {
  /** where they stand, for a sentence */
  readonly where: string;
  readonly texts: readonly string[];
  /** there is more, which has not been read */
  readonly isCut: boolean;
}

/** by the annotation, or where that names none by spec.loadBalancerIP, in which nothing keeps a user from a list either */
function namedAddresses({ annotations, loadBalancerIp }: Service): NamedAddresses {
  const listed = annotations[ANNOTATION.addresses];
  const texts = words(listed);
  const where = `the annotation ${ANNOTATION.addresses}`;
  if (texts.length > 0) return { where, texts, isCut: isCutOff(listed) };
  const others = words(loadBalancerIp);
  return { where: 'spec.loadBalancerIP', texts: others, isCut: isCutOff(loadBalancerIp) };
}

function isCutOff(text: string | undefined): boolean {
  return (text?.length ?? 0) > LONGEST_ANNOTATION;
}

/** Says that there is more than a Service may carry; none of it is looked at then. */
function excess(
  service: Service,
  pools: readonly string[],
  shareKey: string | undefined,
): string | undefined {
  const { annotations } = service;
  const { where, texts, isCut } = namedAddresses(service);
  const how = `a Service may name ${MOST_ADDRESSES}`;
  if (texts.length > MOST_ADDRESSES || isCut) {
    return `${where} names more than ${MOST_ADDRESSES} addresses, and ${how}; use several Services`;
  }
  if (pools.length > MOST_ADDRESSES || isCutOff(annotations[ANNOTATION.pool])) {
    return `the annotation ${ANNOTATION.pool} names more than ${MOST_ADDRESSES} pools, and ${how}; name fewer`;
  }
  if (shareKey !== undefined && shareKey.length > LONGEST_WORD) {
    return `the annotation ${ANNOTATION.share} is longer than ${LONGEST_WORD} characters; use a shorter word`;
  }
  return undefined;
}

function unread({ moreExternalIps = 0 }: Service): string {
  const all = MOST_EXTERNAL_IPS + moreExternalIps;
  return `spec.externalIPs lists ${all} addresses, of which Herald reads the first ${MOST_EXTERNAL_IPS}: the others are neither reserved nor announced, and Herald writes nothing into the list`;
}

function words(text: string | undefined): readonly string[] {
  if (text === undefined) return [];
  return text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

function notAnAddress(text: string, where: string): string {
  return `'${start(text)}' in ${where} is not an address; write one such as 192.0.2.7 or 2001:db8::7, several with commas between them`;
}

function notAuto(text: string): string {
  return `the annotation ${ANNOTATION.externalIp} knows only the value 'auto', so '${start(text)}' is ignored`;
}

/** as much of it as a sentence can carry */
function start(text: string): string {
  return text.length <= 64 ? text : `${text.slice(0, 64)}…`;
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
  return unique(service.externalIps.flatMap((text) => listedAddress(text) ?? []));
}

/** As kube-proxy reads it, which obeys the list: octets may begin with zeros, and an IPv4-mapped IPv6 address is the IPv4 address. */
function listedAddress(text: string): Address | undefined {
  const dotted = text.slice(text.lastIndexOf(':') + 1);
  const plain = dotted.includes('.') ? dotted.replace(/(?<=^|\.)0+(?=\d)/g, '') : dotted;
  const address = parseAddress(text.slice(0, text.length - dotted.length) + plain);
  if (address?.family !== 'ipv6') return address;
  const written = formatAddress(address);
  const isMapped = written.startsWith(MAPPED) && written.includes('.');
  return isMapped ? parseAddress(written.slice(MAPPED.length)) : address;
}

/**
 * Only a LoadBalancer has the healthCheckNodePort by which a node knows whether it has an endpoint; without it every node would announce
 * the address, and most would drop what comes.
 */
export function isLocalUntold({ isLocal, isLoadBalancer }: Service): boolean {
  return isLocal && !isLoadBalancer;
}
