/** The order in which keys `namespace/name` are taken (docs/decisions/0060). Pure. */

/** Keys that wait, each once: namespaces in turn, the first of each. */
export class NamespaceTurns {
  /** whose turn it is stands first */
  readonly #namespaces = new Map<string, Set<string>>();
  /** by waiting key: in whose turn it stands, where that is not the namespace it begins with */
  readonly #others = new Map<string, string>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  sizeOf(namespace: string): number {
    return this.#namespaces.get(namespace)?.size ?? 0;
  }

  has(key: string): boolean {
    return this.#namespaces.get(this.#turnOf(key))?.has(key) === true;
  }

  /** One that waits already stays where it is. */
  add(key: string, namespace = namespaceOf(key)): void {
    if (this.has(key)) return;
    if (namespace !== namespaceOf(key)) this.#others.set(key, namespace);
    const keys = this.#namespaces.get(namespace) ?? new Set();
    this.#namespaces.set(namespace, keys.add(key));
    this.#size += 1;
  }

  /** before the others of its namespace */
  addFirst(key: string): void {
    const namespace = this.#turnOf(key);
    const keys = this.#namespaces.get(namespace) ?? new Set();
    this.#size += keys.has(key) ? 0 : 1;
    this.#namespaces.set(namespace, new Set([key, ...keys]));
  }

  delete(key: string): void {
    const namespace = this.#turnOf(key);
    const keys = this.#namespaces.get(namespace);
    if (keys?.delete(key) !== true) return;
    this.#others.delete(key);
    this.#size -= 1;
    if (keys.size === 0) this.#namespaces.delete(namespace);
  }

  /** The next one. There must be one. */
  take(): string {
    for (const [namespace, keys] of this.#namespaces) {
      for (const key of keys) {
        keys.delete(key);
        this.#others.delete(key);
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
    this.#others.clear();
    this.#size = 0;
  }

  #turnOf(key: string): string {
    return this.#others.get(key) ?? namespaceOf(key);
  }
}

/** empty for what stands in none */
export function namespaceOf(key: string): string {
  return key.slice(0, Math.max(key.indexOf('/'), 0));
}
