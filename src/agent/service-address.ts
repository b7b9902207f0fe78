/** Which addresses of a machine are for a service rather than the machine's own, where nothing else tells. Pure. */

import { hostLength, type KernelAddress } from '../linux/address-table.ts';

type Place = Pick<KernelAddress, 'interface' | 'address' | 'prefixLength'>;

/** a host address on `lo`: there is where people put service addresses by hand */
export function isServiceAddress({ interface: name, address, prefixLength }: Place): boolean {
  return name === 'lo' && prefixLength === hostLength(address);
}
