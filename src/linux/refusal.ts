/** What stands in the way of an address or a route, in sentences that say what to do. Only the names of errors are read. */

import { type Address, formatAddress } from 'bgp-ts';
import type { KernelAddress, Refused } from './address-table.ts';
import { NetlinkError } from './netlink-calls.ts';

export interface Attempt {
  /** starts the sentence: "cannot add 192.0.2.7 to lo" */
  readonly doing: string;
  /** where one is named */
  readonly interface?: string;
  readonly family: 'ipv4' | 'ipv6';
}

/** An error that is not the kernel's is a fault of ours and thrown again. */
export function refusedBy(error: unknown, attempt: Attempt): Refused {
  if (!(error instanceof NetlinkError)) throw error;
  const { code } = error;
  const { doing, interface: name } = attempt;
  if (code === 'EPERM') {
    return {
      kind: 'not-permitted',
      code,
      sentence: `${doing}: not permitted; the process needs CAP_NET_ADMIN`,
    };
  }
  if (code === 'ENODEV' && name !== undefined) return noInterface(doing, name);
  // The kernel's answer where IPv6 is switched off for the interface
  if (code === 'EACCES' && attempt.family === 'ipv6' && name !== undefined) {
    return {
      kind: 'failed',
      code,
      sentence: `${doing}: IPv6 is disabled there; set net.ipv6.conf.${name}.disable_ipv6=0`,
    };
  }
  if (attempt.family === 'ipv6' && (code === 'EOPNOTSUPP' || code === 'EAFNOSUPPORT')) {
    return { kind: 'failed', code, sentence: `${doing}: this kernel runs without IPv6` };
  }
  return { kind: 'failed', code, sentence: `${doing}: ${error.message}` };
}

export function noInterface(doing: string, name: string): Refused {
  return {
    kind: 'no-interface',
    code: 'ENODEV',
    sentence: `${doing}: there is no interface ${name}; it is tried again when one appears`,
  };
}

/** Only on kernels that cannot mark it. */
export function unwritten(address: Address, interfaceName: string): Refused {
  const doing = `cannot add ${formatAddress(address)} to ${interfaceName} yet`;
  const sentence = `${doing}: the state folder is being told first that it is Herald's, and has not answered`;
  return { kind: 'failed', code: 'EAGAIN', sentence };
}

const describe = ({ address, prefixLength, interface: name }: KernelAddress) =>
  `${formatAddress(address)}/${prefixLength} on ${name}`;

export function foreignToAdd(present: KernelAddress, interfaceName: string): Refused {
  const doing = `cannot add ${formatAddress(present.address)} to ${interfaceName}`;
  return {
    kind: 'foreign',
    sentence:
      `${doing}: this machine has ${describe(present)} already, and not from Herald; ` +
      'remove it, or claim another address',
  };
}

export function foreignToRemove(present: KernelAddress): Refused {
  const doing = `cannot remove ${formatAddress(present.address)} from ${present.interface}`;
  return {
    kind: 'foreign',
    sentence: `${doing}: ${describe(present)} was not added by Herald and is left alone`,
  };
}
