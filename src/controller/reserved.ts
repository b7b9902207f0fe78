/** What is nobody else's because a Service has it in its status, or because it is a node's own. Pure. */

import { type Address, addressKey, parseAddress } from 'bgp-ts';
import type { Holder } from '../allocator/address-book.ts';
import type { ClusterNode } from '../model/cluster-node.ts';
import { type Service, serviceKey } from '../model/service.ts';

export interface Reserved {
  readonly address: Address;
  readonly holder: Holder;
}

export function reservedKey({ address, holder }: Reserved): string {
  return `${holder.kind} ${addressKey(address)}`;
}

/** a route to it would take the node's own traffic, API and kubelet included */
export function ownOf(node: ClusterNode | undefined): readonly Reserved[] {
  return (node?.addresses ?? []).flatMap((text) => {
    const address = parseAddress(text);
    const holder = { kind: 'node', by: node?.name ?? '' } as const;
    return address === undefined ? [] : [{ address, holder }];
  });
}

export function toldOf(service: Service): readonly Reserved[] {
  const holder = { kind: 'ingress', by: serviceKey(service) } as const;
  return service.ingress.map((address) => ({ address, holder }));
}
