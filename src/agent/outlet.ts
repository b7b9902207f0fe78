/**
 * A peer while claims are decided on: what is announced to it so far, and who has a place there. Claims come oldest first, and a peer takes
 * `maxRoutes` of them. Those that keep their place (kept-places.ts) have it whichever come before them.
 */

import type { Route } from 'bgp-ts';
import { type Aggregate, AggregateRoutes } from './aggregates.ts';
import type { PeerStep } from './decision-memo.ts';
import type { PeerDecision } from './desired.ts';
import type { KeptPlaces } from './kept-places.ts';
import { type PeerPlan, planKey } from './peer-settings.ts';

export class Outlet {
  readonly plan: PeerPlan;
  readonly routes: Route[] = [];
  readonly aggregates = new AggregateRoutes();
  #places = 0;
  /** names of claims that keep their place and have not come yet */
  readonly #reserved: Set<string>;
  /** of those that came, who has taken it */
  readonly #taken = new Set<string>();
  #isUnused = false;
  #isShort = false;
  /** the last decision: thousands of claims in a row get the same, and share it */
  last?: PeerDecision;

  /** of the session, as in `KeptPlaces`; empty: it cannot be */
  readonly key: string;

  constructor(plan: PeerPlan, kept: KeptPlaces | undefined) {
    this.plan = plan;
    this.key = plan.kind === 'refused' ? '' : planKey(plan);
    this.#reserved = new Set(kept?.get(this.key));
  }

  hasRoom(name: string, aggregate: Aggregate | undefined): boolean {
    if (aggregate !== undefined && this.aggregates.has(aggregate)) return true;
    const others = this.#reserved.has(name) ? 0 : this.#reserved.size;
    return this.#places + others < this.plan.peer.maxRoutes;
  }

  /** what it wishes this machine to discard */
  take(name: string, step: PeerStep): Aggregate | undefined {
    const { takesPlace, isFull, aggregate, route, isDraining = false, wish } = step;
    if (isFull) this.#isShort = true;
    if (this.#reserved.delete(name)) {
      if (takesPlace) this.#taken.add(name);
      else this.#isUnused = true;
    }
    if (aggregate === undefined) {
      if (takesPlace) this.#places += 1;
      if (route !== undefined) this.routes.push(route);
      return wish;
    }
    if (!this.aggregates.has(aggregate)) this.#places += 1;
    this.aggregates.add(aggregate, route, isDraining);
    return wish;
  }

  /** After all claims: one was refused for a place that was kept and not taken. */
  get isWasteful(): boolean {
    return this.#isShort && (this.#isUnused || this.#reserved.size > 0);
  }

  /** of those that keep their place, who has taken it */
  get taken(): ReadonlySet<string> {
    return this.#taken;
  }
}

export function routesOf({ routes, aggregates }: Outlet): readonly Route[] {
  return [...routes, ...aggregates.routes];
}
