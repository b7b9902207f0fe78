/**
 * An answer that is worked out at most once in a time, however many ask for it: who asks in between gets the last one, who asks while it is
 * worked out gets that one. One that fails is not kept.
 */

export class AtMostEach<T> {
  readonly #make: () => T | Promise<T>;
  readonly #everyMs: number;
  #last: { readonly made: Promise<T>; untilMs: number } | undefined;

  constructor(make: () => T | Promise<T>, everyMs: number) {
    this.#make = make;
    this.#everyMs = everyMs;
  }

  get(): Promise<T> {
    if (this.#last !== undefined && performance.now() < this.#last.untilMs) return this.#last.made;
    const made = (async () => await this.#make())();
    // while it is being made it is nobody's turn to make another
    const entry = { made, untilMs: Number.POSITIVE_INFINITY };
    this.#last = entry;
    made.then(
      () => {
        entry.untilMs = performance.now() + this.#everyMs;
      },
      () => {
        entry.untilMs = 0;
      },
    );
    return made;
  }
}
