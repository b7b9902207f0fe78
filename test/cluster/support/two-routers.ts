/**
 * What two routers make of one cluster's addresses, one of another AS and one of the same: who has
 * a path to what, by what each of them would choose, and what is wrong with that. An exclusive
 * address never has two equal paths, and no address is ever without one.
 */

import type { BirdRoute, BirdRouter } from './bird.ts';
import type { Sample } from './full-run.ts';

/** what a router would choose by, of a path */
export interface Seen {
  readonly node: string;
  readonly rank: string;
}

/** by router and address, `far 198.18.0.1` */
export type Table = ReadonlyMap<string, readonly Seen[]>;

export interface Watched {
  /** of another AS */
  readonly far: BirdRouter;
  /** of the nodes' own */
  readonly near: BirdRouter;
  /** the node that dials from this address */
  readonly nodeOf: (from: string) => string;
  readonly exclusive: readonly string[];
  readonly anycast: readonly string[];
}

const ROUTERS = ['far', 'near'] as const;
/** of the one who is to have the packets */
const BEST = { far: '1 0', near: '200 0' };

export class TwoRouters {
  readonly #watched: Watched;

  constructor(watched: Watched) {
    this.#watched = watched;
  }

  async look(): Promise<Table> {
    const [far, near] = await Promise.all(ROUTERS.map((each) => this.#watched[each].routes()));
    const table = new Map<string, Seen[]>();
    const take = (route: BirdRoute, router: string, rank: string) => {
      const key = `${router} ${route.prefix.split('/')[0]}`;
      const path = { node: this.#watched.nodeOf(route.from), rank };
      table.set(key, [...(table.get(key) ?? []), path]);
    };
    for (const each of far ?? [])
      take(each, 'far', `${each.asPath.split(' ').length} ${each.med ?? 0}`);
    for (const each of near ?? []) take(each, 'near', `${each.localPref} ${each.med ?? 0}`);
    return table;
  }

  /** Addresses not at rest: an exclusive one has one path, of one of these, an anycast one all. */
  async unsettled(nodes: readonly string[]): Promise<string[]> {
    const { exclusive, anycast } = this.#watched;
    const table = await this.look();
    const isHeld = (router: (typeof ROUTERS)[number], address: string) => {
      const [path, ...others] = table.get(`${router} ${address}`) ?? [];
      const isIts = path !== undefined && nodes.includes(path.node) && path.rank === BEST[router];
      return isIts && others.length === 0;
    };
    const isEverywhere = (address: string) => {
      const found = table.get(`far ${address}`) ?? [];
      return found.length === nodes.length && found.every(({ rank }) => rank === BEST.far);
    };
    return [
      ...exclusive.filter((address) => !ROUTERS.every((router) => isHeld(router, address))),
      ...anycast.filter((address) => !isEverywhere(address)),
    ];
  }

  /** What the routers had and may not have, each with its first and last time. */
  wrongIn(samples: readonly Sample<Table>[]): string[] {
    const found = new Map<string, number[]>();
    const startMs = samples[0]?.atMs ?? 0;
    for (const { atMs, paths } of samples) {
      for (const each of this.#wrong(paths)) {
        found.set(each, [...(found.get(each) ?? []), Math.round(atMs - startMs)]);
      }
    }
    return [...found].map(([each, times]) => `${each} from ${times[0]} to ${times.at(-1)} ms`);
  }

  #wrong(table: Table): string[] {
    const { exclusive, anycast } = this.#watched;
    const found = (router: string, address: string) => table.get(`${router} ${address}`) ?? [];
    return ROUTERS.flatMap((router) => {
      const equal = exclusive
        .map((address) => found(router, address))
        .filter((paths) => new Set(paths.map(({ rank }) => rank)).size < paths.length);
      const none = [...exclusive, ...anycast].filter((each) => found(router, each).length === 0);
      return [
        ...equal.map((paths) => `equal at ${router}: ${JSON.stringify(paths)}`),
        ...none.map((address) => `none at ${router}: ${address}`),
      ];
    });
  }
}
