/** What is written to a Service: its status, its condition, the external IPs that we add and take out. Pure. */

import { type Address, addressEquals, formatAddress, parseAddress } from 'bgp-ts';
import { AddressSet } from '../allocator/address-set.ts';
import { ALLOCATED_CONDITION, type ServiceDecision } from '../allocator/decision.ts';
import type { Service } from '../model/service.ts';
import type { KubeObject } from '../sources/kube/api.ts';
import { filledText, part, parts } from '../sources/kube/loose-fields.ts';
import { changedCondition } from './conditions.ts';

/**
 * The patch of /status, merged by the type of conditions so that those of others are not touched; undefined: it says all that already.
 * Guarded by the version that was looked at: an ingress that somebody else has written since is never written over.
 */
export function statusPatch(
  service: Service,
  { ingress, verdict }: ServiceDecision,
  nowMs: number,
): object | undefined {
  const status = {
    ...(ingress !== undefined &&
      !sameAddresses(ingress, service.ingress) && {
        loadBalancer: { ingress: ingress.map((address) => ({ ip: formatAddress(address) })) },
      }),
    ...conditionPart(service, verdict, nowMs),
  };
  if (Object.keys(status).length === 0) return undefined;
  return { metadata: guard(service), status };
}

function conditionPart(
  { conditions }: Service,
  verdict: ServiceDecision['verdict'],
  nowMs: number,
): { readonly conditions?: readonly object[] } {
  if (verdict === undefined) {
    const isThere = conditions.some(({ type }) => type === ALLOCATED_CONDITION);
    return isThere ? { conditions: [{ type: ALLOCATED_CONDITION, $patch: 'delete' }] } : {};
  }
  const change = changedCondition(conditions, { type: ALLOCATED_CONDITION, ...verdict }, nowMs);
  return change === undefined ? {} : { conditions: [change] };
}

/**
 * The JSON patch of /status that takes this address out and nothing else, whichever version it meets: each entry is compared before it is removed.
 * undefined: it is not there, or the Service is another one by now.
 */
export function withoutIngress(
  object: KubeObject,
  uid: string,
  address: Address,
): readonly object[] | undefined {
  if (object.metadata.uid !== uid) return undefined;
  const entries = parts(part(part(object, 'status'), 'loadBalancer'), 'ingress');
  const operations = entries.flatMap((entry, index) => {
    const written = filledText(entry, 'ip') ?? '';
    const found = parseAddress(written);
    if (found === undefined || !addressEquals(found, address)) return [];
    const path = `/status/loadBalancer/ingress/${index}`;
    return [
      [
        { op: 'test', path: `${path}/ip`, value: written },
        { op: 'remove', path },
      ],
    ];
  });
  if (operations.length === 0) return undefined;
  // from the end, so that the places of those before stay as they are
  return [{ op: 'test', path: '/metadata/uid', value: uid }, ...operations.toReversed().flat()];
}

/** The patch of spec.externalIPs; the rest of the list, and its order, is the user's. A list that was not read to its end is left alone. */
export function externalIpsPatch(
  service: Service,
  { externalIps: { add, drop } }: ServiceDecision,
): object | undefined {
  if (service.moreExternalIps !== undefined) return undefined;
  const dropped = new AddressSet(drop);
  const kept = service.externalIps.filter((text) => {
    const address = parseAddress(text);
    return address === undefined || !dropped.has(address);
  });
  const present = new AddressSet(kept.flatMap((text) => parseAddress(text) ?? []));
  const missing = add.filter((address) => !present.has(address));
  if (missing.length === 0 && kept.length === service.externalIps.length) return undefined;
  const externalIPs = [...kept, ...missing.map(formatAddress)];
  return { metadata: guard(service), spec: { externalIPs } };
}

function guard({ uid, resourceVersion }: Service): object {
  return { uid, resourceVersion };
}

/** in whatever order */
export function sameAddresses(a: readonly Address[], b: readonly Address[]): boolean {
  if (a.length !== b.length) return false;
  const others = new AddressSet(b);
  return a.every((each) => others.has(each));
}
