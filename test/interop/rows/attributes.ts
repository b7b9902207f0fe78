/**
 * Attributes arrive as sent, compared one by one with what the router shows. The canary announces a MED one higher than the
 * comparison expects; if that passes, the comparison is worth nothing.
 */

import { type Cell, ourAsn, theirAsn } from '../cell.ts';
import { evidence } from '../evidence.ts';
import type { Route } from '../routers/router.ts';
import type { Row } from './row.ts';

type Expected = Omit<Route, 'peer' | 'isStale' | 'pathId'>;

const sent = {
  prefix: '192.0.2.0/24',
  origin: 'incomplete',
  asPath: [65_010, 4_200_000_010],
  prepend: 2,
  med: 77,
  communities: ['65001:7', '65535:65281'],
  largeCommunities: ['4200000001:1:2', '65001:3:4'],
  extendedCommunities: ['rt:65001:9', 'link-bandwidth:65001:1.25e8'],
} as const;

const localPref = 300;

const sorted = (values: readonly unknown[]) => values.map(String).toSorted().join(' ');

/** What differs, one sentence each; communities are sets, paths and next hops are lists. */
export function differences(expected: Expected, seen: Route): string[] {
  const pairs: readonly (readonly [string, unknown, unknown])[] = [
    ['prefix', expected.prefix, seen.prefix],
    ['origin', expected.origin, seen.origin],
    ['AS path', expected.asPath.join(' '), seen.asPath.join(' ')],
    ['MED', expected.med, seen.med],
    ['next hops', expected.nextHops.join(' '), seen.nextHops.join(' ')],
    ['communities', sorted(expected.communities), sorted(seen.communities)],
    ['large communities', sorted(expected.largeCommunities), sorted(seen.largeCommunities)],
    [
      'extended communities',
      sorted(expected.extendedCommunities),
      sorted(seen.extendedCommunities),
    ],
    ...(expected.localPref === undefined
      ? []
      : [['LOCAL_PREF', expected.localPref, seen.localPref] as const]),
  ];
  return pairs
    .filter(([, wanted, shown]) => wanted !== shown)
    .map(([name, wanted, shown]) => `${name}: expected ${wanted}, the router shows ${shown}`);
}

const localPrefFilter = 'bgp.update.path_attribute.local_pref';

/**
 * OpenBGPD 7.7 drops the link bandwidth community of an external neighbour, since it is not transitive, and shows zeros in the
 * place of the value where it keeps it. What it cannot show is not compared.
 */
function shown(cell: Cell, extendedCommunities: readonly string[]): readonly string[] {
  if (cell.kind !== 'openbgpd') return extendedCommunities;
  return extendedCommunities.filter((each) => !each.startsWith('link-bandwidth'));
}

function judge(cell: Cell, expected: Expected, seen: Route): void {
  const found = differences(
    { ...expected, extendedCommunities: shown(cell, expected.extendedCommunities) },
    { ...seen, extendedCommunities: shown(cell, seen.extendedCommunities) },
  );
  if (found.length > 0) throw new Error(found.join('; '));
}

async function external(cell: Cell, med: number): Promise<readonly string[]> {
  await cell.connect({ routes: [{ ...sent, med, localPref }] });
  const seen = await cell.route('ipv4', sent.prefix);
  judge(
    cell,
    {
      ...sent,
      asPath: [ourAsn, ourAsn, ourAsn, ...sent.asPath],
      nextHops: [cell.ourAddress],
    },
    seen,
  );
  // LOCAL_PREF has no place on an external session (RFC 4271 §5.1.5).
  const filter = `${localPrefFilter} && ${cell.fromUs}`;
  const frames = await cell.capture.frames(filter, ['frame.number']);
  if (frames.length > 0) throw new Error('LOCAL_PREF was sent on an external session');
  return [evidence.table(cell.kind, 'ipv4'), `${evidence.wire(filter)}: none`];
}

async function internal(cell: Cell): Promise<readonly string[]> {
  const peer = { localAsn: theirAsn, peerAsn: theirAsn, routes: [{ ...sent, localPref }] };
  await cell.connect(peer, { asn: theirAsn });
  const seen = await cell.route('ipv4', sent.prefix);
  judge(cell, { ...sent, localPref, nextHops: [cell.ourAddress] }, seen);
  return [evidence.table(cell.kind, 'ipv4')];
}

const canaryMed = sent.med + 1;

export const attributeRows: readonly Row[] = [
  { name: 'attributes arrive as sent', run: (cell) => external(cell, sent.med) },
  { name: 'attributes and LOCAL_PREF on an internal session', run: internal },
];

/** Not in the table: it has to fail. */
export const canaryRow: Row = {
  name: 'canary: MED one higher than expected',
  run: (cell) => external(cell, canaryMed),
};
