/**
 * What is announced: N host routes, either all with one set of attributes or each with communities of its own. The same
 * addresses for every sender, in ascending order, from the benchmarking range 198.18.0.0/15 (RFC 2544): 131,072 of them.
 */

const firstAddress = 198 * 2 ** 24 + 18 * 2 ** 16;
const rangeSize = 2 ** 17;

export type LoadKind = 'shared' | 'communities';

export type BenchRoute = {
  /** unsigned 32-bit IPv4 address of a /32 */
  readonly address: number;
  /** RFC 1997 communities as [high, low] */
  readonly communities: readonly Community[];
};

export type Community = readonly [high: number, low: number];

export type Load = { readonly kind: LoadKind; readonly routes: readonly BenchRoute[] };

const communityHigh = 65002;

/** No two routes share a set: the first two communities spell the index, the third fills up to a usual size. */
const ownCommunities = (index: number): Community[] => [
  [communityHigh, 1000 + (index % 1000)],
  [communityHigh, 2000 + Math.floor(index / 1000)],
  [communityHigh, 64000 + (index % 7)],
];

export function makeLoad(kind: LoadKind, count: number): Load {
  if (count > rangeSize) throw new Error(`at most ${rangeSize} routes, ${count} asked for`);
  const routes = Array.from({ length: count }, (_, index) => ({
    address: firstAddress + index,
    communities: kind === 'communities' ? ownCommunities(index) : [],
  }));
  return { kind, routes };
}

export const dotted = (address: number): string =>
  [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join('.');

export const prefixText = (route: BenchRoute): string => `${dotted(route.address)}/32`;

export const communityText = ([high, low]: Community): string => `${high}:${low}`;

export const communityNumber = ([high, low]: Community): number => high * 65536 + low;

/** One line per route: the address, then its communities as numbers. What the small programs of the bench read. */
export const routesText = (load: Load): string =>
  load.routes
    .map(
      (route) =>
        `${[dotted(route.address), ...route.communities.map(communityNumber)].join(' ')}\n`,
    )
    .join('');
