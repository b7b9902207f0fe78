/**
 * What was worked out for a key, as long as somebody asks for it: an entry that nobody looked at for a while is forgotten, by a timer, so
 * that what checks and peers no longer name (texts of files, passwords among them, parsed certificates) does not stay in memory.
 */

export class RecentMap<Value> {
  readonly #keepMs: number;
  /** by key, the one that was looked at longest ago first */
  readonly #entries = new Map<string, { readonly value: Value; readonly usedMs: number }>();
  #timer: NodeJS.Timeout | undefined;

  constructor(keepMs = 60_000) {
    this.#keepMs = keepMs;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry !== undefined) this.set(key, entry.value);
    return entry?.value;
  }

  set(key: string, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, usedMs: performance.now() });
    this.#timer ??= setTimeout(() => this.#forget(), this.#keepMs).unref();
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  #forget(): void {
    this.#timer = undefined;
    const nowMs = performance.now();
    for (const [key, { usedMs }] of this.#entries) {
      const leftMs = usedMs + this.#keepMs - nowMs;
      if (leftMs > 0) {
        this.#timer = setTimeout(() => this.#forget(), leftMs).unref();
        return;
      }
      this.#entries.delete(key);
    }
  }
}
