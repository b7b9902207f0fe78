/** Looks into routers again and again while something else is done: what they have in between, and not only before and after. */

import { setTimeout as delay } from 'node:timers/promises';
import type { Lab } from './lab.ts';
import type { RouterTable } from './router-tables.ts';

export interface Sample {
  readonly router: string;
  readonly table: RouterTable;
}

const EVERY_MS = 50;

export class TableWatch {
  readonly #samples: Sample[] = [];
  readonly #watching: Promise<void>;
  #isOver = false;

  constructor(lab: Pick<Lab, 'table'>, routers: readonly string[], prefix: string) {
    this.#watching = this.#watch(lab, routers, prefix);
    // told by stop()
    this.#watching.catch(() => undefined);
  }

  async #watch(lab: Pick<Lab, 'table'>, routers: readonly string[], prefix: string): Promise<void> {
    while (!this.#isOver) {
      for (const router of routers) {
        this.#samples.push({ router, table: await lab.table(router, prefix) });
      }
      await delay(EVERY_MS);
    }
  }

  /** As often as one likes. */
  async stop(): Promise<readonly Sample[]> {
    this.#isOver = true;
    await this.#watching;
    return this.#samples;
  }
}

/** Throws with the first sample that has fewer or more ways. Pure. */
export function expectWays(
  samples: readonly Sample[],
  router: string,
  { atLeast = 1, atMost }: { readonly atLeast?: number; readonly atMost: number },
): void {
  const own = samples.filter((each) => each.router === router);
  if (own.length < 2) throw new Error(`${router} was not looked into while it happened`);
  const index = own.findIndex(({ table: { paths } }) => {
    return paths.length < atLeast || paths.length > atMost;
  });
  if (index < 0) return;
  const hops = own[index]?.table.paths.map(({ nextHop }) => nextHop).join(', ');
  throw new Error(
    `look ${index + 1} of ${own.length} into ${router}: the ways were: ${hops === '' ? 'none' : hops}`,
  );
}
