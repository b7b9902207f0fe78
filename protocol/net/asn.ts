/** AS numbers and BGP identifiers. RFC 6793 (four octets), RFC 7607 (0 is never valid), RFC 6286 (identifiers). */

/** The two-octet stand-in for an AS number that does not fit in two octets (RFC 6793 §9). */
export const AS_TRANS = 23456;
const MAX_ASN = 0xffffffff;

/**
 * True for a number that may stand as an AS number in a session: not 0 (RFC 7607), at most 32 bits.
 *
 * @example
 * isUsableAsn(0); // false
 */
export function isUsableAsn(asn: number): boolean {
  return Number.isInteger(asn) && asn > 0 && asn <= MAX_ASN;
}
