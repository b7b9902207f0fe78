/**
 * Address families: the pair of numbers that the wire has (AFI and SAFI, RFC 4760 §3), and the two of them that a speaker's own
 * routes belong to, IPv4 and IPv6 unicast. Which families a session speaks is negotiate.ts.
 */

import type { Family } from '../net/address.ts';
import { Afi, Safi } from './codes.ts';

/** An address family as the wire names it. */
export interface FamilyId {
  readonly afi: number;
  readonly safi: number;
}

/** The families that routes of our own are of. */
export const FAMILIES: readonly Family[] = ['ipv4', 'ipv6'];

export const IPV4_UNICAST: FamilyId = { afi: Afi.ipv4, safi: Safi.unicast };
const IPV6_UNICAST: FamilyId = { afi: Afi.ipv6, safi: Safi.unicast };

/** The unicast family of these addresses. */
export function familyId(family: Family): FamilyId {
  return family === 'ipv4' ? IPV4_UNICAST : IPV6_UNICAST;
}

/** The other way round; undefined for all but the two. Multicast prefixes look the same and mean something else. */
export function unicastFamily({ afi, safi }: FamilyId): Family | undefined {
  if (safi !== Safi.unicast) return undefined;
  if (afi === Afi.ipv4) return 'ipv4';
  return afi === Afi.ipv6 ? 'ipv6' : undefined;
}

/** True where the list (of a session's families, of those with add-path …) holds this one. */
export function hasFamily(families: readonly FamilyId[], afi: number, safi: number): boolean {
  for (let i = 0; i < families.length; i++) {
    const family = families[i];
    if (family !== undefined && family.afi === afi && family.safi === safi) return true;
  }
  return false;
}

/** The same for the unicast family of these addresses. */
export function hasUnicast(families: readonly FamilyId[], family: Family): boolean {
  const { afi, safi } = familyId(family);
  return hasFamily(families, afi, safi);
}

/** Families whose NLRI are prefixes to us: IPv4 and IPv6, unicast and multicast. All others are opaque bytes. */
export function isPrefixFamily(afi: number, safi: number): boolean {
  return (
    (afi === Afi.ipv4 || afi === Afi.ipv6) && (safi === Safi.unicast || safi === Safi.multicast)
  );
}
