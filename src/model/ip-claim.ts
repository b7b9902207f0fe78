/** IPClaim: one address in use. Its name is the address (claim-name.ts). Has passed the schema; defaults filled in. */

import type { Address } from 'bgp-ts';
import type { CheckSpec } from './check-spec.ts';
import type { Placement } from './ip-pool.ts';
import type { Labels } from './labels.ts';

export interface IpClaim {
  /** the document's name: dotted IPv4, or eight dashed groups of IPv6 */
  readonly name: string;
  readonly address: Address;
  readonly labels: Labels;
  /** absent: whichever pool holds the address */
  readonly pool?: string;
  readonly services: readonly ClaimService[];
  /** the holder of an exclusive claim */
  readonly node?: string;
  /** how often a node was told to hold it; absent: no controller has counted */
  readonly epoch?: number;
  readonly withdrawn?: { readonly reason: string };
  /** absent: the pool's */
  readonly placement?: Partial<Placement>;
  readonly bind?: { readonly interface: string };
  readonly checks: readonly CheckSpec[];
}

export interface ClaimService {
  readonly namespace: string;
  readonly name: string;
  readonly uid?: string;
  readonly healthCheckNodePort?: number;
}

/** whom it counts for where namespaces take turns or have shares (docs/decisions/0060): that of its first Service; absent: it is for none */
export function namespaceInTurn({ services }: Pick<IpClaim, 'services'>): string | undefined {
  return services[0]?.namespace;
}

/** Services behind it with externalTrafficPolicy Local: kube-proxy tells on a port of their own which nodes serve them. */
export function localServices({ services }: Pick<IpClaim, 'services'>): readonly ClaimService[] {
  return services.filter(({ healthCheckNodePort }) => healthCheckNodePort !== undefined);
}

export function isLocal(claim: Pick<IpClaim, 'services'>): boolean {
  return localServices(claim).length > 0;
}
