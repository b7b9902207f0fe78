/**
 * Keeps a cache of one kind of object: lists once, then follows a watch, for ever. Whatever happens to the connection, the cache ends up
 * as the server is, and whoever listens is told of every difference once, also of objects that went while nobody looked.
 *
 * - a watch that ended (the server ends each after minutes) is opened again from where it was; nothing is listed again for that
 * - a version that the server has forgotten (410) means a new list; the differences to the cache are told as changes
 * - failures wait with back-off; a resource that does not exist (its CRD is not installed yet) is waited for, and said once
 * - the cache never goes back in time: a list from a server that lags is taken again from the store itself
 * - a list in pages is of one moment, and counts when all of it is there; if the server forgets that moment on the way (410) it begins again
 */

import type { Clock, Random } from 'bgp-ts';
import type { Log } from '../../log/log.ts';
import { labelled } from '../../turns/work-labels.ts';
import {
  ApiError,
  ApiUnreachable,
  isNotFound,
  type KubeApi,
  type KubeObject,
  type Resource,
  type Selection,
  type WatchEnd,
  type WatchEvent,
} from './api.ts';
import { backOffMs, WATCH_BACK_OFF } from './back-off.ts';
import { deepFreeze } from './deep-freeze.ts';
import { InformerLog } from './informer-log.ts';
import type { ListDraft } from './list-draft.ts';
import { ListPages } from './list-pages.ts';
import { type CacheChange, ObjectCache } from './object-cache.ts';
import { versionNumber } from './object-key.ts';
import { pause } from './pause.ts';

export interface InformerOptions<T> {
  readonly api: KubeApi;
  readonly resource: Resource;
  readonly selection?: Selection;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** undefined: this object is none of ours; never throws. Only its result is kept */
  readonly convert: (object: KubeObject) => T | undefined;
  /** The cache is complete when it is called; it does no work but to note the key. */
  readonly onChange: (key: string, now: T | undefined, before: T | undefined) => void;
  /** once, after the changes of the first list */
  readonly onSynced?: () => void;
  /** every event and bookmark, after its change: `resourceVersion` has moved */
  readonly onProgress?: () => void;
  /** asked before each watch; true: whether the server still feeds it is to be known within seconds, which costs a watch every 8 s */
  readonly isPressing?: () => boolean;
  /**
   * Lists in pages of so many at the most, each converted when it comes: for kinds of which there may be a hundred thousand. Servers hand out pages from the store
   * only, so it is for the few that ask seldom, not for a thousand agents; absent: whole, from the server's memory (docs/decisions/0029).
   */
  readonly pageSize?: number;
  /** in tests and development: who changes what it found in the cache throws */
  readonly freeze?: boolean;
}

/** the server ends a watch after so long; spread, since watches that began together would end together */
const WATCH_SECONDS = { least: 240, most: 300 };
/** a server sends a bookmark two seconds before it ends a watch: on these something comes at least every 7 s */
const PRESSING_SECONDS = { least: 7, most: 8 };
const PRESSING_SILENT_MS = 8000;
/** after an outage everybody is back at the same moment */
const RETURN_SPREAD_MS = 1000;
/** a watch that ends sooner and has said nothing counts as a failure, else a broken server would be asked without a pause */
const SHORTEST_WATCH_MS = 1000;

export class Informer<T> {
  readonly #options: InformerOptions<T>;
  readonly #cache: ObjectCache<T>;
  readonly #say: InformerLog;
  readonly #waiters = new Set<() => void>();
  #abort: AbortController | undefined;
  /** ends the watch that is open */
  #reopen: (() => void) | undefined;
  #hasSynced = false;
  #lastHeardMs = Number.NEGATIVE_INFINITY;
  #failures = 0;
  /** how often in a row the version was too old */
  #gone = 0;
  /** why the next step is a list: undefined = it is a watch from the cache's version */
  #listFrom: 'cache' | 'store' | undefined = 'cache';

  constructor(options: InformerOptions<T>) {
    this.#options = options;
    const { convert, freeze = false } = options;
    this.#cache = new ObjectCache(
      freeze ? (object) => deepFreeze(convert(deepFreeze(object))) : convert,
    );
    this.#say = new InformerLog(options.log, options.resource);
  }

  /** there has been a list; from then on `items` is the truth of some moment that only moves forward */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  get items(): ReadonlyMap<string, T> {
    return this.#cache.items;
  }

  get(key: string): T | undefined {
    return this.#cache.items.get(key);
  }

  /** everything that was written up to this version is in `items` */
  get resourceVersion(): bigint {
    return this.#cache.version;
  }

  /** monotonic time of the last word from the server: a list, a watch taken up, an event or a bookmark; -Infinity before the first */
  get lastHeardMs(): number {
    return this.#lastHeardMs;
  }

  start(): void {
    if (this.#abort !== undefined) return;
    this.#abort = new AbortController();
    void this.#run(this.#abort.signal);
  }

  /** For good. The cache stays readable. */
  stop(): void {
    this.#abort?.abort();
    this.#wake();
  }

  /** `isPressing` has changed: the watch that is open was opened without it. */
  reopen(): void {
    this.#reopen?.();
  }

  /** true when everything up to that version is in the cache; false when the signal or a stop came first */
  async waitFor(resourceVersion: bigint, signal?: AbortSignal): Promise<boolean> {
    while (!this.#hasSynced || this.#cache.version < resourceVersion) {
      if (signal?.aborted === true || this.#abort?.signal.aborted === true) return false;
      await new Promise<void>((resolve) => {
        const wake = () => {
          this.#waiters.delete(wake);
          signal?.removeEventListener('abort', wake);
          resolve();
        };
        this.#waiters.add(wake);
        signal?.addEventListener('abort', wake);
      });
    }
    return true;
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const error = await this.#step(signal);
      if (signal.aborted) return;
      if (error === undefined) continue;
      this.#failures += 1;
      this.#say.failed(error, this.#failures);
      await pause(this.#options.clock, this.#delayMs(error), signal);
    }
  }

  /** one list or one watch; the error that makes the next one wait */
  async #step(signal: AbortSignal): Promise<Error | undefined> {
    if (this.#listFrom === undefined) return await this.#watch(signal);
    try {
      await this.#list(this.#listFrom, signal);
      return undefined;
    } catch (error) {
      if (!(error instanceof ApiError || error instanceof ApiUnreachable)) throw error;
      // a version that the server has not reached yet, or no longer knows
      if (error instanceof ApiError && error.status === 410) this.#listFrom = 'store';
      return error;
    }
  }

  async #list(from: 'cache' | 'store', signal: AbortSignal): Promise<void> {
    const { api, resource, selection, pageSize: limit } = this.#options;
    const isFromMemory = from === 'cache' && limit === undefined;
    const wanted = { ...selection, ...(isFromMemory && { resourceVersion: '0' }), signal };
    const pages = new ListPages(api, resource, limit);
    let page = await pages.ask(wanted);
    if (isFromMemory && versionNumber(page.resourceVersion) < this.#cache.version) {
      this.#listFrom = 'store';
      return;
    }
    // the first page says of which moment all are
    const draft = this.#cache.draft(page.resourceVersion);
    labelled('api', () => draft.add(page));
    while (page.continueToken !== undefined && !signal.aborted) {
      page = await pages.ask({ ...wanted, continueToken: page.continueToken });
      labelled('api', () => draft.add(page));
    }
    if (signal.aborted) return;
    this.#listFrom = undefined;
    this.#touch();
    labelled('api', () => this.#take(draft));
  }

  #take(list: ListDraft<T>): void {
    const changes = this.#cache.replace(list);
    const isFirst = !this.#hasSynced;
    this.#hasSynced = true;
    this.#say.listed(list.entries.size, changes.length);
    this.#tell(changes);
    if (isFirst) this.#options.onSynced?.();
  }

  async #watch(signal: AbortSignal): Promise<Error | undefined> {
    const { api, resource, selection, clock, random, isPressing } = this.#options;
    const isShortLived = isPressing?.() === true;
    const { least, most } = isShortLived ? PRESSING_SECONDS : WATCH_SECONDS;
    const ending = new AbortController();
    this.#reopen = () => ending.abort();
    let openedMs = Number.POSITIVE_INFINITY;
    let heard = 0;
    const end = await api.watch(resource, {
      ...selection,
      resourceVersion: String(this.#cache.version),
      timeoutSeconds: Math.round(least + random.next() * (most - least)),
      ...(isShortLived && { silentAfterMs: PRESSING_SILENT_MS }),
      signal: AbortSignal.any([signal, ending.signal]),
      onOpen: () => {
        openedMs = clock.now();
        this.#touch();
      },
      onEvent: (event) => {
        if (signal.aborted || ending.signal.aborted) return;
        heard += 1;
        if (!labelled('api', () => this.#follow(event))) ending.abort();
      },
    });
    const isShort = heard === 0 && !(clock.now() - openedMs >= SHORTEST_WATCH_MS);
    if (!isShort) this.#follows();
    return this.#ended(end, isShort && !ending.signal.aborted);
  }

  /** false: this watch tells an older story than the one we know */
  #follow(event: WatchEvent): boolean {
    this.#touch();
    this.#follows();
    const isMark = event.kind === 'bookmark';
    const text = isMark ? event.resourceVersion : event.object.metadata.resourceVersion;
    const version = versionNumber(text);
    if (version < this.#cache.version && !isMark) {
      this.#listFrom = 'store';
      return false;
    }
    if (version > this.#cache.version) this.#tell(this.#changesOf(event));
    return true;
  }

  #changesOf(event: WatchEvent): readonly CacheChange<T>[] {
    switch (event.kind) {
      case 'bookmark':
        this.#cache.advance(event.resourceVersion);
        return [];
      case 'deleted':
        return this.#cache.remove(event.object);
      case 'added':
      case 'modified':
        return this.#cache.put(event.object);
    }
  }

  #ended(end: WatchEnd, isTooShort: boolean): Error | undefined {
    switch (end.kind) {
      case 'gone':
        return this.#isGone();
      case 'silent':
        return undefined;
      case 'closed':
        return isTooShort ? new Error('the watch ended as soon as it began') : undefined;
      case 'failed':
        // it has been uninstalled: what comes back under its name has another history
        if (isNotFound(end.error)) this.#listFrom = 'cache';
        return end.error;
    }
  }

  /** The first list goes at once; again and again, or after an outage that everybody had, it does not. */
  #isGone(): Error | undefined {
    const isPaced = this.#gone > 0 || this.#failures > 0;
    // what the server's cache lists may be what it no longer knows how to follow
    this.#listFrom = this.#gone > 0 ? 'store' : 'cache';
    this.#failures = this.#gone;
    this.#gone += 1;
    return isPaced ? new Error('the version to go on from is too old') : undefined;
  }

  #tell(changes: readonly CacheChange<T>[]): void {
    for (const { key, now, before } of changes) this.#options.onChange(key, now, before);
    this.#options.onProgress?.();
    this.#wake();
  }

  #touch(): void {
    this.#lastHeardMs = this.#options.clock.now();
  }

  /** a list alone is no sign that all is well: what counts is to follow */
  #follows(): void {
    if (this.#failures > 0) this.#say.recovered();
    this.#failures = 0;
    this.#gone = 0;
  }

  #wake(): void {
    for (const wake of [...this.#waiters]) wake();
  }

  #delayMs(error: Error): number {
    const { random } = this.#options;
    const askedMs = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
    const delayMs = Math.max(backOffMs(this.#failures, random, WATCH_BACK_OFF), askedMs);
    // the list of everything is what a thousand agents must not ask for in the same moment
    const isReturn = this.#hasSynced && this.#listFrom !== undefined && !isNotFound(error);
    return delayMs + (isReturn ? random.next() * RETURN_SPREAD_MS : 0);
  }
}
