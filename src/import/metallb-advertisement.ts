/** MetalLB's BGPAdvertisements → `advertisements` of the pools that they are about. Pure. */

import { type LabelSelector, type Labels, selects } from '../model/labels.ts';
import {
  items,
  type Loose,
  labels,
  part,
  parts,
  texts,
  wholeNumber,
} from '../sources/kube/loose-fields.ts';
import { nameOf } from './foreign-objects.ts';
import { anyOf } from './selectors.ts';

/** on the BGPPeers that an import makes, since advertisements here select peers by label and there by name */
export const PEER_LABEL = 'herald.dev/imported-peer';

export interface AdvertisedPool {
  readonly pool: Loose;
  readonly advertisements: readonly Loose[];
  readonly communities: ReadonlyMap<string, string>;
}

export interface PoolAdvertisements {
  readonly entries: readonly Loose[];
  readonly gaps: readonly string[];
}

export function advertisementsOf({
  pool,
  advertisements,
  communities,
}: AdvertisedPool): PoolAdvertisements {
  const own = advertisements.filter((each) => isAbout(part(each, 'spec'), pool));
  const about = `IPAddressPool ${nameOf(pool)}`;
  if (own.length === 0) {
    const sentence = `${about}: no BGPAdvertisement is about it, so MetalLB does not announce it by BGP; Herald would, to all peers: leave the pool out if that is not meant`;
    return { entries: [], gaps: [sentence] };
  }
  const read = own.map((each) => entriesOf(each, communities));
  const entries = read.flatMap((each) => each.entries);
  const isPlain = entries.every((entry) => Object.keys(entry).length === 0);
  return {
    entries: isPlain ? [] : entries,
    gaps: [...read.flatMap(({ gaps }) => gaps), ...severalFor(own, about)],
  };
}

/** There every advertisement makes a route of its own; here a peer gets one route, by the first entry that selects it. */
function severalFor(own: readonly Loose[], about: string): readonly string[] {
  const open = own.filter((each) => texts(part(each, 'spec'), 'peers').length === 0);
  if (own.length < 2 || open.length === 0) return [];
  const names = own.map(nameOf).join(', ');
  return [
    `${about}: ${names} are about it; MetalLB puts them together, here a peer gets the first that selects it: put the most particular one first`,
  ];
}

function isAbout(spec: Loose, pool: Loose): boolean {
  const names = texts(spec, 'ipAddressPools');
  const selectors = parts(spec, 'ipAddressPoolSelectors');
  if (names.length === 0 && selectors.length === 0) return true;
  const own = labels(part(pool, 'metadata'), 'labels');
  return names.includes(nameOf(pool)) || selectors.some((each) => selects(readSelector(each), own));
}

const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist'] as const;

function readSelector(selector: Loose): LabelSelector {
  const matchLabels: Labels = labels(selector, 'matchLabels');
  const matchExpressions = parts(selector, 'matchExpressions').flatMap((each) => {
    const operator = OPERATORS.find((known) => known === each['operator']);
    const { key } = each;
    if (operator === undefined || typeof key !== 'string') return [];
    return { key, operator, values: texts(each, 'values') };
  });
  return { matchLabels, matchExpressions };
}

function entriesOf(object: Loose, communities: ReadonlyMap<string, string>): PoolAdvertisements {
  const spec = part(object, 'spec');
  const about = `BGPAdvertisement ${nameOf(object)}`;
  const peers = texts(spec, 'peers');
  const values = texts(spec, 'communities').map((text) => communityOf(text, communities, about));
  const localPref = wholeNumber(spec, 'localPref');
  const written = values.flatMap(({ value }) => value ?? []);
  const shared = {
    ...(peers.length === 0
      ? {}
      : {
          peerSelector: { matchExpressions: [{ key: PEER_LABEL, operator: 'In', values: peers }] },
        }),
    ...(written.length === 0 ? {} : { communities: written }),
    ...(localPref === undefined ? {} : { localPref }),
    ...aggregation(spec),
  };
  const nodes = anyOf(items(spec, 'nodeSelectors'));
  return {
    entries:
      nodes.length === 0 ? [shared] : nodes.map((nodeSelector) => ({ ...shared, nodeSelector })),
    gaps: values.flatMap(({ gaps }) => gaps),
  };
}

function aggregation(spec: Loose): Loose {
  const ipv4 = wholeNumber(spec, 'aggregationLength') ?? 32;
  const ipv6 = wholeNumber(spec, 'aggregationLengthV6') ?? 128;
  const lengths = { ...(ipv4 === 32 ? {} : { ipv4 }), ...(ipv6 === 128 ? {} : { ipv6 }) };
  if (Object.keys(lengths).length === 0) return {};
  return { aggregationLength: lengths, discardRoute: true };
}

const PLAIN = /^\d{1,5}:\d{1,5}$/;
const LARGE = /^large:(\d+:\d+:\d+)$/;

function communityOf(
  text: string,
  communities: ReadonlyMap<string, string>,
  about: string,
): { readonly value?: string; readonly gaps: readonly string[] } {
  const value = communities.get(text) ?? text;
  if (PLAIN.test(value)) return { value, gaps: [] };
  const large = LARGE.exec(value)?.[1];
  if (large !== undefined) return { value: large, gaps: [] };
  return { gaps: [`${about}: no Community says what '${text}' is; it is left out`] };
}
