/**
 * The lowest free number in a few spans, without ever looking from the start again: a cursor below which all are taken, and a heap of
 * those below it that came back. Each taken number is passed once, so a pool of 2^64 costs what is taken of it and no more.
 */

/** both ends belong to it */
export interface Span {
  readonly first: bigint;
  readonly last: bigint;
}

export class FreeNumbers {
  readonly #spans: readonly Span[];
  readonly #isTaken: (number: bigint) => boolean;
  readonly #returned = new NumberHeap();
  #index = 0;
  #next: bigint;

  /** spans that do not overlap, in ascending order */
  constructor(spans: readonly Span[], isTaken: (number: bigint) => boolean) {
    this.#spans = spans;
    this.#isTaken = isTaken;
    this.#next = spans[0]?.first ?? 0n;
  }

  /** It stays the lowest until it is taken. */
  lowest(): bigint | undefined {
    for (let top = this.#returned.lowest; top !== undefined; top = this.#returned.lowest) {
      if (!this.#isTaken(top)) return top;
      this.#returned.pop();
    }
    for (let span = this.#spans[this.#index]; span !== undefined; span = this.#spans[this.#index]) {
      while (this.#next <= span.last && this.#isTaken(this.#next)) this.#next += 1n;
      if (this.#next <= span.last) return this.#next;
      this.#index += 1;
      this.#next = this.#spans[this.#index]?.first ?? this.#next;
    }
    return undefined;
  }

  /** a number of these spans is free again */
  giveBack(number: bigint): void {
    if (this.#index >= this.#spans.length || number < this.#next) this.#returned.push(number);
  }
}

/** each number once */
class NumberHeap {
  readonly #items: bigint[] = [];
  readonly #present = new Set<bigint>();

  get lowest(): bigint | undefined {
    return this.#items[0];
  }

  push(number: bigint): void {
    if (this.#present.has(number)) return;
    this.#present.add(number);
    let at = this.#items.length;
    this.#items.push(number);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#at(parent) <= number) break;
      this.#items[at] = this.#at(parent);
      at = parent;
    }
    this.#items[at] = number;
  }

  pop(): void {
    const [top] = this.#items;
    const moved = this.#items.pop();
    if (top === undefined || moved === undefined) return;
    this.#present.delete(top);
    if (this.#items.length > 0) this.#sink(moved);
  }

  #sink(number: bigint): void {
    const size = this.#items.length;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= size) break;
      if (child + 1 < size && this.#at(child + 1) < this.#at(child)) child += 1;
      if (this.#at(child) >= number) break;
      this.#items[at] = this.#at(child);
      at = child;
    }
    this.#items[at] = number;
  }

  #at(index: number): bigint {
    const item = this.#items[index];
    if (item === undefined) throw new Error(`the heap has no item ${index}`);
    return item;
  }
}
