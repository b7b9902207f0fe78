/**
 * A list that comes in pages, as far as it has come: each page is converted when it is there, and the raw objects are forgotten. Pure but for its own map.
 */

import type { KubeList, KubeObject } from './api.ts';
import { objectKey } from './object-key.ts';

/** undefined: the cache has it at this version already */
export type Drafted<T> = { readonly version: string; readonly now: T | undefined } | undefined;

export class ListDraft<T> {
  /** of the whole list: all pages are of one moment */
  readonly resourceVersion: string;
  readonly entries = new Map<string, Drafted<T>>();
  readonly #convert: (object: KubeObject) => T | undefined;
  readonly #isKnown: (key: string, version: string) => boolean;

  constructor(
    resourceVersion: string,
    convert: (object: KubeObject) => T | undefined,
    isKnown: (key: string, version: string) => boolean,
  ) {
    this.resourceVersion = resourceVersion;
    this.#convert = convert;
    this.#isKnown = isKnown;
  }

  add({ items }: Pick<KubeList, 'items'>): void {
    for (const object of items) {
      const key = objectKey(object);
      const { resourceVersion: version } = object.metadata;
      const isKnown = this.#isKnown(key, version);
      this.entries.set(key, isKnown ? undefined : { version, now: this.#convert(object) });
    }
  }
}
