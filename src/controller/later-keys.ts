/** Keys `namespace/name` that are put off, each once, and taken together: those of one namespace, or all. */

import { splitKey } from '../sources/kube/object-key.ts';

export class LaterKeys {
  readonly #byNamespace = new Map<string, Set<string>>();

  get size(): number {
    let size = 0;
    for (const keys of this.#byNamespace.values()) size += keys.size;
    return size;
  }

  add(key: string): void {
    const { namespace = '' } = splitKey(key);
    const keys = this.#byNamespace.get(namespace) ?? new Set();
    this.#byNamespace.set(namespace, keys.add(key));
  }

  takeOf(namespace: string): Iterable<string> {
    const keys = this.#byNamespace.get(namespace) ?? [];
    this.#byNamespace.delete(namespace);
    return keys;
  }

  takeAll(): Iterable<string> {
    const keys = [...this.#byNamespace.values()].flatMap((each) => [...each]);
    this.#byNamespace.clear();
    return keys;
  }

  clear(): void {
    this.#byNamespace.clear();
  }
}
