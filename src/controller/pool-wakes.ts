/**
 * Services that wait for a pool are looked at when addresses of it become free: once for all that
 * is freed in one turn. Decides nothing.
 */

import { FAMILIES } from 'bgp-ts';
import type { AddressBook } from '../allocator/address-book.ts';
import type { Waiting } from '../allocator/waiting.ts';

export class PoolWakes {
  readonly #book: AddressBook;
  readonly #waiting: Waiting;
  readonly #due: (key: string) => void;
  readonly #pools = new Set<string>();
  #isDue = false;

  constructor(book: AddressBook, waiting: Waiting, due: (key: string) => void) {
    this.#book = book;
    this.#waiting = waiting;
    this.#due = due;
  }

  freed(pool: string): void {
    this.#pools.add(pool);
    if (this.#isDue || this.#waiting.size === 0) return;
    this.#isDue = true;
    queueMicrotask(() => this.#wake());
  }

  /** as many as there are free addresses, the oldest first */
  #wake(): void {
    this.#isDue = false;
    for (const pool of this.#pools) {
      for (const family of FAMILIES) {
        const free = this.#book.freeIn(pool, family);
        if (free === 0n) continue;
        for (const key of this.#waiting.forPool(pool, family, free)) this.#due(key);
      }
    }
    this.#pools.clear();
  }
}
