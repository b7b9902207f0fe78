/**
 * What an informer knows: converted objects by key, and the version up to which it knows everything. Pure but for its own maps; raw
 * objects are not kept. Answers with the changes that it made, so that whoever is told of one finds the cache complete.
 */

import type { KubeObject } from './api.ts';
import { ListDraft } from './list-draft.ts';
import { objectKey, versionNumber } from './object-key.ts';

export interface CacheChange<T> {
  readonly key: string;
  readonly now: T | undefined;
  readonly before: T | undefined;
}

export class ObjectCache<T> {
  readonly #convert: (object: KubeObject) => T | undefined;
  readonly #items = new Map<string, T>();
  /** of every object, also of those that convert to nothing */
  readonly #versions = new Map<string, string>();
  #version = 0n;

  constructor(convert: (object: KubeObject) => T | undefined) {
    this.#convert = convert;
  }

  get items(): ReadonlyMap<string, T> {
    return this.#items;
  }

  /** everything up to here is in the cache */
  get version(): bigint {
    return this.#version;
  }

  /** A list at this version begins to come. The cache stays as it is until `replace`. */
  draft(resourceVersion: string): ListDraft<T> {
    // the store was put back from a copy: its versions say nothing about ours
    const isOtherHistory = versionNumber(resourceVersion) < this.#version;
    const isKnown = (key: string, version: string) =>
      !isOtherHistory && this.#versions.get(key) === version;
    return new ListDraft(resourceVersion, this.#convert, isKnown);
  }

  /** The list is the whole truth: what is not in it is gone, though nobody said so. */
  replace({ entries, resourceVersion }: ListDraft<T>): readonly CacheChange<T>[] {
    const changes: CacheChange<T>[] = [];
    for (const [key, drafted] of entries) {
      if (drafted !== undefined) this.#set(key, drafted.version, drafted.now, changes);
    }
    for (const key of this.#versions.keys()) {
      if (!entries.has(key)) this.#drop(key, changes);
    }
    this.#version = versionNumber(resourceVersion);
    return changes;
  }

  put(object: KubeObject): readonly CacheChange<T>[] {
    const changes: CacheChange<T>[] = [];
    this.advance(object.metadata.resourceVersion);
    const { resourceVersion } = object.metadata;
    this.#set(objectKey(object), resourceVersion, this.#convert(object), changes);
    return changes;
  }

  /** of an object in the state in which it went: its version is that of the end */
  remove(object: KubeObject): readonly CacheChange<T>[] {
    const changes: CacheChange<T>[] = [];
    this.advance(object.metadata.resourceVersion);
    this.#drop(objectKey(object), changes);
    return changes;
  }

  advance(resourceVersion: string): void {
    const version = versionNumber(resourceVersion);
    if (version > this.#version) this.#version = version;
  }

  #set(key: string, version: string, now: T | undefined, changes: CacheChange<T>[]): void {
    const before = this.#items.get(key);
    this.#versions.set(key, version);
    if (now === undefined) this.#items.delete(key);
    else this.#items.set(key, now);
    if (now !== undefined || before !== undefined) changes.push({ key, now, before });
  }

  #drop(key: string, changes: CacheChange<T>[]): void {
    const before = this.#items.get(key);
    this.#versions.delete(key);
    this.#items.delete(key);
    if (before !== undefined) changes.push({ key, now: undefined, before });
  }
}
