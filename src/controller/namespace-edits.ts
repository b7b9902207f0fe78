/**
 * Edits of the labels of a Namespace: whether a pool is for it that was not, or is so no more, and
 * the job that looks again at what its Services list.
 *
 * Nobody waits for these jobs. A namespace whose labels change without a pause has one under way
 * all the time, and addresses of other namespaces have to be given out and withdrawn meanwhile.
 */

import { takesNamespace } from '../allocator/pool-choice.ts';
import type { IpPool } from '../model/ip-pool.ts';
import type { Labels } from '../model/labels.ts';
import { Slices } from '../turns/slices.ts';

export class NamespaceEdits {
  readonly #slices = new Slices('deciding');
  /** namespaces with a job in line that has not begun: it sees later edits as well */
  readonly #pending = new Set<string>();
  readonly #again: (name: string) => Generator<number, void>;

  constructor(again: (name: string) => Generator<number, void>) {
    this.#again = again;
  }

  add(name: string): void {
    if (this.#pending.has(name)) return;
    this.#pending.add(name);
    this.#slices.add(this.#job(name));
  }

  stop(): void {
    this.#slices.stop();
  }

  *#job(name: string): Generator<number, void> {
    this.#pending.delete(name);
    yield* this.#again(name);
  }
}

/** Pools that choose namespaces by labels take it now and did not before, or the other way round. */
export function changesPools(
  pools: readonly IpPool[],
  name: string,
  { now, before }: { readonly now: Labels | undefined; readonly before: Labels | undefined },
): boolean {
  return pools.some(
    (pool) => takesNamespace(pool, name, now) !== takesNamespace(pool, name, before),
  );
}
