/** A discovery.k8s.io/v1 EndpointSlice as the API gives it → EndpointSlice. Never throws. */

import type { Family } from 'bgp-ts';
import type { EndpointSlice } from '../../model/endpoint-slice.ts';
import { nodeKey } from '../../model/node-key.ts';
import { optional } from '../../model/optional.ts';
import type { KubeObject } from './api.ts';
import { filledText, isLoose, items, type Loose, part } from './loose-fields.ts';

const SERVICE_NAME = 'kubernetes.io/service-name';

export function convertEndpointSlice(object: KubeObject): EndpointSlice | undefined {
  const { name, namespace } = object.metadata;
  if (namespace === undefined || typeof name !== 'string') return undefined;
  const usable = items(object, 'endpoints').filter(isUsable);
  const names = new Set(usable.flatMap((endpoint) => filledText(endpoint, 'nodeName') ?? []));
  return {
    namespace,
    name,
    ...optional('service', filledText(part(object.metadata, 'labels'), SERVICE_NAME)),
    ...optional('family', familyOf(object['addressType'])),
    usable: usable.length,
    ...(names.size > 0 && { nodes: Float64Array.from(names, nodeKey).sort() }),
  };
}

function familyOf(type: unknown): Family | undefined {
  if (type === 'IPv4') return 'ipv4';
  return type === 'IPv6' ? 'ipv6' : undefined;
}

/** `ready` that nobody has set counts as ready, by the API's own words */
function isUsable(endpoint: unknown): endpoint is Loose {
  if (!isLoose(endpoint)) return false;
  const conditions = part(endpoint, 'conditions');
  if (conditions['ready'] !== false) return true;
  return conditions['serving'] === true && conditions['terminating'] === true;
}
