/**
 * What an informer knows: converted objects by key, and the version up to which it knows everything. Pure but for its own maps; raw
 * objects are not kept. Answers with the changes that it made, so that whoever is told of one finds the cache complete.
 */

import type { KubeList, KubeObject } from './api.ts';
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

  /** The list is the whole truth: what is not in it is gone, though nobody said so. */
  replace(list: KubeList): readonly CacheChange<T>[] {
    const changes: CacheChange<T>[] = [];
    const present = new Set<string>();
    // the store was put back from a copy: its versions say nothing about ours
    const isOtherHistory = versionNumber(list.resourceVersion) < this.#version;
    for (const object of list.items) {
      const key = objectKey(object);
      present.add(key);
      const isKnown = this.#versions.get(key) === object.metadata.resourceVersion;
      if (isOtherHistory || !isKnown) this.#put(object, changes);
    }
    for (const key of this.#versions.keys()) {
      if (!present.has(key)) this.#drop(key, changes);
    }
    this.#version = versionNumber(list.resourceVersion);
    return changes;
  }

  put(object: KubeObject): readonly CacheChange<T>[] {
    const changes: CacheChange<T>[] = [];
    this.advance(object.metadata.resourceVersion);
    this.#put(object, changes);
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

  #put(object: KubeObject, changes: CacheChange<T>[]): void {
    const key = objectKey(object);
    const before = this.#items.get(key);
    const now = this.#convert(object);
    this.#versions.set(key, object.metadata.resourceVersion);
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
