/** The order in which keys `namespace/name` are taken (docs/decisions/0060). Pure. */

/** Keys that wait, each once: namespaces in turn, the first of each. */
export class NamespaceTurns {
  /** whose turn it is stands first */
  readonly #namespaces = new Map<string, Set<string>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  sizeOf(namespace: string): number {
    return this.#namespaces.get(namespace)?.size ?? 0;
  }

  has(key: string): boolean {
    return this.#namespaces.get(namespaceOf(key))?.has(key) === true;
  }

  add(key: string): void {
    const namespace = namespaceOf(key);
    const keys = this.#namespaces.get(namespace) ?? new Set();
    if (keys.has(key)) return;
    this.#namespaces.set(namespace, keys.add(key));
    this.#size += 1;
  }

  /** before the others of its namespace */
  addFirst(key: string): void {
    const namespace = namespaceOf(key);
    const keys = this.#namespaces.get(namespace) ?? new Set();
    this.#size += keys.has(key) ? 0 : 1;
    this.#namespaces.set(namespace, new Set([key, ...keys]));
  }

  delete(key: string): void {
    const namespace = namespaceOf(key);
    const keys = this.#namespaces.get(namespace);
    if (keys?.delete(key) !== true) return;
    this.#size -= 1;
    if (keys.size === 0) this.#namespaces.delete(namespace);
  }

  /** The next one. There must be one. */
  take(): string {
    for (const [namespace, keys] of this.#namespaces) {
      for (const key of keys) {
        keys.delete(key);
        this.#namespaces.delete(namespace);
        if (keys.size > 0) this.#namespaces.set(namespace, keys);
        this.#size -= 1;
        return key;
      }
    }
    throw new Error('nothing waits');
  }

  clear(): void {
    this.#namespaces.clear();
    this.#size = 0;
  }
}

/** empty for what stands in none */
export function namespaceOf(key: string): string {
  return key.slice(0, Math.max(key.indexOf('/'), 0));
}
