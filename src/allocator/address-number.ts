/** Addresses as numbers, for counting through a pool. Pure. A bigint, since an IPv6 pool may have 2^64 of them and more. */

import type { Address, Family } from 'bgp-ts';

const WORD = 32n;
const ALL_BITS = 0xffff_ffffn;

export function addressNumber(address: Address): bigint {
  if (address.family === 'ipv4') return BigInt(address.bits >>> 0);
  const { w0, w1, w2, w3 } = address;
  const high = (BigInt(w0 >>> 0) << WORD) | BigInt(w1 >>> 0);
  const low = (BigInt(w2 >>> 0) << WORD) | BigInt(w3 >>> 0);
  return (high << (2n * WORD)) | low;
}

/** The number must be one that the family has. */
export function numberedAddress(family: Family, number: bigint): Address {
  const word = (index: bigint) => Number((number >> (index * WORD)) & ALL_BITS) | 0;
  if (family === 'ipv4') return { family, bits: word(0n) };
  return { family, w0: word(3n), w1: word(2n), w2: word(1n), w3: word(0n) };
}
