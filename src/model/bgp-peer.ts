/**
 * BGPPeer: a router, or a range of routers, that selected nodes peer with. What is here has passed the schema of
 * deploy/crds; addresses are values, defaults are filled in. No secret is ever part of it: only where the key is kept.
 */

import {
  type Address,
  type Family,
  formatAddress,
  formatPrefix,
  type Ipv4Address,
  type Ipv6Address,
  type Prefix,
} from 'bgp-ts';
import { type LabelSelector, type Labels, selects } from './labels.ts';

export interface BgpPeer {
  readonly name: string;
  readonly labels: Labels;
  readonly target: PeerTarget;
  readonly port: number;
  readonly asn: number | 'external' | 'internal';
  /** absent: the agent's own setting */
  readonly localAsn?: number;
  readonly families: readonly Family[];
  readonly timers: {
    readonly holdSeconds: number;
    readonly keepaliveSeconds: number;
    readonly connectRetrySeconds: number;
  };
  readonly password?: PasswordReference;
  /** GTSM: packets from at most one hop away */
  readonly ttlSecurity: boolean;
  /** hops that an external session may cross; absent = directly connected */
  readonly multihop?: number;
  readonly sourceAddress?: Address;
  readonly sourceInterface?: string;
  readonly nextHop: { readonly ipv4?: Ipv4Address; readonly ipv6?: Ipv6Address };
  /** IPv4 routes with an IPv6 next hop on a session over IPv6 (RFC 8950) */
  readonly extendedNextHop?: true;
  /** also accept what this neighbour dials */
  readonly listen: boolean;
  readonly maxRoutes: number;
  readonly gracefulRestart?: { readonly restartSeconds: number };
  /** absent = all nodes */
  readonly nodeSelector?: LabelSelector;
  /** the first whose selector matches counts */
  readonly overrides: readonly PeerOverride[];
}

export type PeerTarget =
  | { readonly kind: 'address'; readonly address: Address; readonly zone?: string }
  /** routers that dial us from this range; needs `listen` */
  | { readonly kind: 'range'; readonly range: Prefix };

/** where the TCP-MD5 key is kept: a file in files mode, a Secret of herald-system in the cluster */
export type PasswordReference =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'secret'; readonly name: string };

export interface PeerOverride {
  readonly nodeSelector?: LabelSelector;
  readonly address?: Address;
  readonly zone?: string;
  readonly localAsn?: number;
  readonly sourceAddress?: Address;
  /** as an unsigned 32-bit number */
  readonly routerId?: number;
}

/** What is different on a node with these labels. */
export function overrideFor({ overrides }: BgpPeer, labels: Labels): PeerOverride | undefined {
  return overrides.find(({ nodeSelector }) => selects(nodeSelector, labels));
}

/**
 * Two peers with one key are one session: the far end, its port, and where we dial from. Routers of a range dial us, so that their range is all
 * there is.
 */
export function peerSessionKey({ target, port, sourceAddress, sourceInterface }: BgpPeer): string {
  if (target.kind === 'range') return formatPrefix(target.range);
  const remote = `${formatAddress(target.address)}%${target.zone ?? ''}`;
  const source = sourceAddress === undefined ? '' : formatAddress(sourceAddress);
  return [remote, port, source, sourceInterface ?? ''].join(' ');
}
