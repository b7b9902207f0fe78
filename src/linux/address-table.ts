/**
 * The addresses of this machine's interfaces, as the agent sees and changes them. An interface with two implementations: the
 * kernel (rtnetlink-address-table.ts) and memory (memory-address-table.ts); test/compliance/address-table.ts holds both to it.
 *
 * What Herald adds carries a mark, so that the next process knows what a crash of the last one left:
 * - the address protocol (IFA_PROTO, Linux 5.18) is 72, 'H'. 0 to 3 are the kernel's own;
 * - an IPv4 address is labelled `<interface>:herald` besides, where that fits the 15 characters of a name;
 * - on older kernels, a file says which (owned-addresses.ts).
 * An address without the mark is somebody's: it is never removed, and never doubled by one of ours, whatever its mask and
 * whichever interface it is on.
 *
 * IPv6 addresses are deprecated from the start (preferred lifetime 0, valid for ever): they answer, and are not chosen as the source
 * of what the machine itself begins. One without it, left by the crash of a version before this rule, stays as it is until it is removed.
 *
 * Always /32 and /128. With a longer subnet the kernel makes all but the first address secondary, and drops them with the first.
 */

import type { Address } from 'bgp-ts';
import type { Link } from './link-message.ts';

export type { Link } from './link-message.ts';

/** The mark in IFA_PROTO. */
export const ADDRESS_PROTOCOL = 72;

const LABEL_SUFFIX = ':herald';
const MAX_LABEL_LENGTH = 15;

export interface KernelAddress {
  readonly address: Address;
  readonly prefixLength: number;
  /** the interface's name */
  readonly interface: string;
  /** the interface's number */
  readonly index: number;
  readonly label?: string;
  readonly protocol?: number;
  /** IFA_F_*, see AddressFlag */
  readonly flags: number;
  /** added by Herald: by this process or one before it */
  readonly ours: boolean;
}

export type Outcome =
  /** it is as asked; `changed` is false when it was before */
  { readonly kind: 'done'; readonly changed: boolean } | Refused;

export interface Refused {
  readonly kind: 'foreign' | 'no-interface' | 'not-permitted' | 'failed';
  /** what is wrong and what to do, without a full stop */
  readonly sentence: string;
  /** the kernel's name for it, such as ENOBUFS */
  readonly code?: string;
}

export interface AddressTable {
  /** All addresses of all interfaces, as they are now. Throws a NetlinkError where the kernel cannot be asked. */
  list(): readonly KernelAddress[];
  links(): readonly Link[];
  /** Puts the address on the interface as /32 or /128, marked as ours. Refused with EAGAIN: subscribers are told when to ask again. */
  add(address: Address, interfaceName: string): Outcome;
  /** Takes off one of ours; where there is none it is done already. */
  remove(address: Address, interfaceName: string): Outcome;
  /**
   * Tells when an address or an interface may have changed, ours or not, by whomever: later, never within a call, and once for
   * changes that come together. Where the kernel cannot be heard yet, that is tried again, and told when it can. The result ends it.
   */
  subscribe(onChange: () => void): () => void;
  close(): void;
}

/** undefined where it would be longer than the kernel allows */
export function labelFor(interfaceName: string): string | undefined {
  const label = `${interfaceName}${LABEL_SUFFIX}`;
  return label.length > MAX_LABEL_LENGTH ? undefined : label;
}

export const hostLength = (address: Address) => (address.family === 'ipv4' ? 32 : 128);
