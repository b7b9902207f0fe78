/** The address before another, and the one behind it; undefined at the ends of the family. Pure. */

import type { Address } from 'bgp-ts';
import { addressNumber, numberedAddress } from '../allocator/address-number.ts';

export function next(address: Address): Address | undefined {
  const end = address.family === 'ipv4' ? 2n ** 32n - 1n : 2n ** 128n - 1n;
  const number = addressNumber(address);
  return number === end ? undefined : numberedAddress(address.family, number + 1n);
}

export function previous(address: Address): Address | undefined {
  const number = addressNumber(address);
  return number === 0n ? undefined : numberedAddress(address.family, number - 1n);
}
