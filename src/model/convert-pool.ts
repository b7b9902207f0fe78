/** An IPPool document that has passed the schema → IpPool. Says what a schema cannot. Pure. */

import { type LargeCommunity, parseCommunity, parseLargeCommunity } from 'bgp-ts';
import { parseAddressRange, rangesOverlap } from './address-range.ts';
import { Fields } from './fields.ts';
import { noHostRouteIn } from './host-route.ts';
import type { AddressRange, Advertisement, IpPool, NamespaceChoice, Placement } from './ip-pool.ts';
import { optional } from './optional.ts';
import { type Converted, converted, Refusal } from './refusal.ts';

export const PLACEMENT_MODES = ['anycast', 'exclusive'] as const;
export const NODE_FILTERS = ['fair', 'first-alive'] as const;

export function convertPool(document: unknown): Converted<IpPool> {
  return converted(() => poolOf(new Fields(document)));
}

function poolOf(document: Fields): IpPool {
  const metadata = document.object('metadata');
  const spec = document.object('spec');
  const drain = spec.object('drain');
  return {
    name: metadata.text('name'),
    labels: metadata.labels('labels'),
    ranges: rangesOf(spec),
    avoidFirstLast: spec.flag('avoidFirstLast'),
    autoAssign: spec.flag('autoAssign'),
    priority: spec.number('priority'),
    ...optional('namespaces', namespacesOf(spec.optionalObject('namespaces'))),
    ...optional('serviceSelector', spec.selector('serviceSelector')),
    shareAcross: spec.texts('shareAcross'),
    allowExternalIps: spec.flag('allowExternalIPs'),
    ignoreExcludeLabel: spec.flag('ignoreExcludeLabel'),
    placement: placementOf(spec.object('placement')),
    advertisements: spec.objects('advertisements').map(advertisementOf),
    drain: { on: drain.texts('on'), waitSeconds: drain.number('waitSeconds') },
    notReady: spec.word('notReady', ['keep', 'withdraw']),
  };
}

function namespacesOf(choice: Fields | undefined): NamespaceChoice | undefined {
  return (
    choice && {
      names: choice.texts('names'),
      ...optional('selector', choice.selector('selector')),
      ...optional('maxAddresses', choice.optionalNumber('maxAddresses')),
    }
  );
}

function rangesOf(spec: Fields): readonly AddressRange[] {
  const ranges: AddressRange[] = [];
  for (const [index, text] of spec.texts('addresses').entries()) {
    const range = parseAddressRange(text);
    const at = [...spec.path, 'addresses', index];
    if (typeof range === 'string') throw new Refusal(at, range);
    const wrong = noHostRouteIn(range);
    if (wrong !== undefined) {
      const why = `'${text}' reaches into ${wrong.block}: ${wrong.what} is none that a router takes a route to`;
      throw new Refusal(at, `${why}; leave it out`);
    }
    const other = ranges.find((each) => rangesOverlap(each, range));
    if (other !== undefined) {
      throw new Refusal(at, `'${text}' overlaps '${other.text}' of the same pool; remove one`);
    }
    ranges.push(range);
  }
  return ranges;
}

function placementOf(placement: Fields): Placement {
  return {
    mode: placement.word('mode', PLACEMENT_MODES),
    nodeFilter: placement.word('nodeFilter', NODE_FILTERS),
    prependStep: placement.number('prependStep'),
    ...optional('nodeSelector', placement.selector('nodeSelector')),
  };
}

function advertisementOf(entry: Fields): Advertisement {
  const communities: number[] = [];
  const largeCommunities: LargeCommunity[] = [];
  for (const [index, text] of entry.texts('communities').entries()) {
    const community = parseCommunity(text) ?? parseLargeCommunity(text);
    if (community === undefined) {
      const how = 'write 65000:100, 65000:1:2 or a well-known name such as no-export';
      const at = [...entry.path, 'communities', index];
      throw new Refusal(at, `'${text}' is not a community; ${how}`);
    }
    if (typeof community === 'number') communities.push(community);
    else largeCommunities.push(community);
  }
  return {
    ...optional('peerSelector', entry.selector('peerSelector')),
    ...optional('nodeSelector', entry.selector('nodeSelector')),
    communities,
    largeCommunities,
    ...optional('localPref', entry.optionalNumber('localPref')),
    ...optional('med', entry.optionalNumber('med')),
    ...optional('prepend', entry.optionalNumber('prepend')),
    ...optional('aggregationLength', aggregationOf(entry)),
    discardRoute: entry.flag('discardRoute'),
  };
}

function aggregationOf(entry: Fields): Advertisement['aggregationLength'] {
  if (!entry.has('aggregationLength')) return undefined;
  const length = entry.object('aggregationLength');
  return {
    ...optional('ipv4', length.optionalNumber('ipv4')),
    ...optional('ipv6', length.optionalNumber('ipv6')),
  };
}
