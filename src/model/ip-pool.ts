/** IPPool: addresses that may be claimed, and how they are placed, advertised and drained. Has passed the schema; defaults filled in. */

import type { Address, LargeCommunity } from 'bgp-ts';
import { type LabelSelector, type Labels, selects } from './labels.ts';

export interface IpPool {
  readonly name: string;
  readonly labels: Labels;
  readonly ranges: readonly AddressRange[];
  readonly avoidFirstLast: boolean;
  readonly autoAssign: boolean;
  /** the highest is tried first */
  readonly priority: number;
  /** whose Services may use it; absent = all namespaces */
  readonly namespaces?: NamespaceChoice;
  readonly serviceSelector?: LabelSelector;
  /** namespaces whose Services may share an address with each other; empty = only within one */
  readonly shareAcross: readonly string[];
  readonly allowExternalIps: boolean;
  readonly ignoreExcludeLabel: boolean;
  readonly placement: Placement;
  /** empty = all peers, plain routes */
  readonly advertisements: readonly Advertisement[];
  readonly drain: { readonly on: readonly string[]; readonly waitSeconds: number };
  readonly notReady: 'keep' | 'withdraw';
  /** by the controller's word: some claims of it are exclusive by their own words, whatever the pool's mode is */
  readonly hasExclusiveClaims?: true;
}

/** names and selector add up */
export interface NamespaceChoice {
  readonly names: readonly string[];
  readonly selector?: LabelSelector;
  /** that the Services of one namespace may have of the pool; alone it closes the pool to nobody */
  readonly maxAddresses?: number;
}

/** Both ends belong to it; of one family. A CIDR is its first to its last address. */
export interface AddressRange {
  readonly first: Address;
  readonly last: Address;
  /** as it was written, for messages */
  readonly text: string;
  /** the CIDR was not aligned and was masked; for a warning */
  readonly masked?: boolean;
}

export interface Placement {
  readonly mode: 'anycast' | 'exclusive';
  readonly nodeFilter: 'fair' | 'first-alive';
  /** how many more times our AS number is put in front per level of preference */
  readonly prependStep: number;
  readonly nodeSelector?: LabelSelector;
}

export interface Advertisement {
  readonly peerSelector?: LabelSelector;
  readonly nodeSelector?: LabelSelector;
  readonly communities: readonly number[];
  readonly largeCommunities: readonly LargeCommunity[];
  readonly localPref?: number;
  readonly med?: number;
  readonly prepend?: number;
  readonly aggregationLength?: { readonly ipv4?: number; readonly ipv6?: number };
  readonly discardRoute: boolean;
}

/** of the holder of an exclusive claim: with less its six levels of preference would meet */
export const LEAST_LOCAL_PREF = 48;

/** Whether a node with these labels announces anything of the pool at all; to which peers is another question. */
export function isAdvertisedOn(
  { advertisements }: Pick<IpPool, 'advertisements'>,
  labels: Labels,
): boolean {
  return (
    advertisements.length === 0 ||
    advertisements.some(({ nodeSelector }) => selects(nodeSelector, labels))
  );
}

export const DEFAULT_PLACEMENT: Placement = {
  mode: 'anycast',
  nodeFilter: 'fair',
  prependStep: 3,
};
