/** A claim as the placement loop looks at it: its pool, how it is placed, what it asks of a node. Pure. */

import { formatAddress } from 'bgp-ts';
import { type IpClaim, namespaceInTurn } from '../model/ip-claim.ts';
import type { IpPool, Placement } from '../model/ip-pool.ts';
import { isNodeLabel, type PreferenceLevel, parseLevel } from '../model/names.ts';
import type { ClaimDemand } from '../scheduler/eligible.ts';
import type { CachedDocument, DocumentMeta } from './cached-document.ts';
import type { PlacementVerdict } from './placement-status.ts';

export interface PlacementSubject {
  readonly name: string;
  readonly meta: DocumentMeta;
  readonly claim: IpClaim;
  readonly placement: Placement;
  readonly demand: ClaimDemand;
  /** claims with the same key find the same nodes */
  readonly group: string;
}

export type Looked =
  | { readonly kind: 'subject'; readonly subject: PlacementSubject }
  | { readonly kind: 'refused'; readonly verdict: PlacementVerdict }
  /** it waits for what others do: a pool that is not there yet, or no longer */
  | { readonly kind: 'waits'; readonly verdict: PlacementVerdict };

export function lookAt(
  document: CachedDocument<IpClaim>,
  poolOf: (claim: IpClaim) => IpPool | undefined,
): Looked {
  if (!document.ok) {
    const { sentence } = document;
    return { kind: 'refused', verdict: { phase: 'Refused', reason: 'Invalid', message: sentence } };
  }
  const { meta, object: claim } = document;
  const pool = poolOf(claim);
  if (pool === undefined) return { kind: 'waits', verdict: noPool(claim) };
  const placement = { ...pool.placement, ...claim.placement };
  const demand: ClaimDemand = {
    placement,
    advertisements: pool.advertisements,
    drainOn: pool.drain.on,
    ignoreExcludeLabel: pool.ignoreExcludeLabel,
    notReady: pool.notReady,
    isForService: claim.services.length > 0,
    family: claim.address.family,
  };
  const own = claim.placement === undefined ? '' : JSON.stringify(placement);
  const group = `${pool.name} ${demand.family} ${demand.isForService} ${own}`;
  return {
    kind: 'subject',
    subject: { name: meta.name, meta, claim, placement, demand, group },
  };
}

function noPool({ pool, address }: IpClaim): PlacementVerdict {
  const message =
    pool === undefined
      ? `no IPPool that is in force holds ${formatAddress(address)}; add the address to one`
      : `there is no IPPool ${pool} that is in force; make it, see why it is not Ready, or name another in spec.pool`;
  return { phase: 'Refused', reason: 'NoPool', message };
}

/** `namespace/claim`, by the namespace of its first Service: how it stands in line (docs/decisions/0060) */
export function inTurnAs(claim: Pick<IpClaim, 'name' | 'services'>): string {
  return `${namespaceInTurn(claim) ?? ''}/${claim.name}`;
}

/** of each node label, by the label's key */
export function levelsOf({ labels }: IpClaim): ReadonlyMap<string, PreferenceLevel> {
  return new Map(
    Object.entries(labels)
      .filter(([key]) => isNodeLabel(key))
      .map(([key, value]) => [key, parseLevel(value)]),
  );
}
