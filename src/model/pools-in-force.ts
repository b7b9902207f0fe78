/**
 * Which pools of the API are in force on a node: those that the controller gives addresses out of, by the same rule over the same objects, so that an agent
 * need not wait for its word and is not held up where it is away. Where the two differ for a moment, since they have seen things in another order,
 * the condition Ready decides. Pure but for its memory of what was accepted.
 *
 * A pool that is edited into another one is refused in its new form and stays in its last accepted form for the claims there are: nothing that was well
 * is withdrawn. That form keeps no other pool out, as the controller does not know it any more.
 */

import { checkPools } from './check-documents.ts';
import type { DocumentFault, Sourced } from './documents.ts';
import type { IpPool } from './ip-pool.ts';

/** What an object says of itself beside its spec. */
export interface PoolFacts {
  readonly uid: string;
  readonly generation: number;
  /** condition Ready of exactly this generation */
  readonly ready: 'true' | 'false' | 'unknown';
  readonly isBeingDeleted: boolean;
  /** its present form; false: what there is of it is an earlier one */
  readonly isReadable: boolean;
}

export interface PoolsNow {
  readonly pools: readonly Sourced<IpPool>[];
  /** that can be read and are not in force, in the form that was refused */
  readonly conflicting: readonly Sourced<IpPool>[];
  readonly faults: readonly DocumentFault[];
}

interface Accepted {
  readonly uid: string;
  readonly generation: number;
  readonly pool: Sourced<IpPool>;
}

export class PoolsInForce {
  readonly #accepted = new Map<string, Accepted>();

  choose(known: readonly Sourced<IpPool>[], factsOf: (name: string) => PoolFacts): PoolsNow {
    const each = known.map((pool) => ({ pool, facts: factsOf(pool.object.name) }));
    const isJudged = ({ facts }: (typeof each)[number]) =>
      facts.isReadable && !facts.isBeingDeleted;
    const judged = each.filter(isJudged);
    const conflicts = new Map(
      checkPools(
        judged.map(({ pool, facts }) => ({
          object: pool.object,
          createdMs: pool.createdMs,
          isStanding: facts.ready === 'true' || this.#hasAccepted(pool, facts),
          isRefused: facts.ready === 'false',
        })),
      ).map(({ object, sentence }) => [object, sentence]),
    );
    this.#remember(judged.filter(({ pool }) => !conflicts.has(pool.object)));
    const refused = judged.filter(({ pool }) => conflicts.has(pool.object));
    const earlier = refused.flatMap(({ pool, facts }) => this.#earlier(pool, facts) ?? []);
    const names = new Set(known.map(({ object }) => object.name));
    for (const name of [...this.#accepted.keys()])
      if (!names.has(name)) this.#accepted.delete(name);
    const accepted = judged.filter(({ pool }) => !conflicts.has(pool.object));
    const leaving = each.filter((one) => !isJudged(one));
    return {
      // an address is looked up in the first that holds it
      pools: [...accepted, ...leaving].map(({ pool }) => pool).concat(earlier),
      conflicting: refused.map(({ pool }) => pool),
      faults: refused.map(({ pool }) => ({
        file: 'API',
        subject: `IPPool/${pool.object.name}`,
        sentence: conflicts.get(pool.object) ?? '',
        keepsLastGood: this.#accepted.has(pool.object.name),
      })),
    };
  }

  #hasAccepted({ object }: Sourced<IpPool>, { uid, generation }: PoolFacts): boolean {
    const before = this.#accepted.get(object.name);
    return before?.uid === uid && before.generation === generation;
  }

  #remember(
    accepted: readonly { readonly pool: Sourced<IpPool>; readonly facts: PoolFacts }[],
  ): void {
    for (const { pool, facts } of accepted) {
      const { uid, generation } = facts;
      this.#accepted.set(pool.object.name, { uid, generation, pool });
    }
  }

  /** what was accepted and is refused now in the very same form was never the controller's to give out of */
  #earlier({ object }: Sourced<IpPool>, facts: PoolFacts): Sourced<IpPool> | undefined {
    const before = this.#accepted.get(object.name);
    if (before === undefined) return undefined;
    if (before.uid === facts.uid && before.generation !== facts.generation) return before.pool;
    this.#accepted.delete(object.name);
    return undefined;
  }
}
