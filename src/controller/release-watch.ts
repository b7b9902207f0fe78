/**
 * How long this process has seen each released claim released, by its own monotonic clock: what `maxStale` is counted by. A standby looks too, so that
 * a change of leader costs nothing. Time stamps of others are for people: a clock that is a day ahead must free nothing.
 */

import type { Clock } from 'bgp-ts';
import type { ClaimRecord } from '../allocator/claim-record.ts';
import { RELEASED_AT_ANNOTATION, RELEASED_BY_ANNOTATION } from '../model/names.ts';
import type { CachedDocument, DocumentMeta } from './cached-document.ts';
import type { ControllerCaches } from './caches.ts';

type Released = Pick<DocumentMeta & ClaimRecord, 'name' | 'uid' | 'annotations'>;

interface Sight {
  readonly release: string;
  readonly sinceMs: number;
}

export class ReleaseWatch {
  readonly #caches: Pick<ControllerCaches, 'claims' | 'subscribe'>;
  readonly #clock: Clock;
  readonly #sights = new Map<string, Sight>();
  #end: (() => void) | undefined;

  constructor({
    caches,
    clock,
  }: {
    readonly caches: Pick<ControllerCaches, 'claims' | 'subscribe'>;
    readonly clock: Clock;
  }) {
    this.#caches = caches;
    this.#clock = clock;
  }

  start(): void {
    if (this.#end !== undefined) return;
    this.#end = this.#caches.subscribe('claims', (name, now) => this.#look(name, now));
    for (const [name, document] of this.#caches.claims.items) this.#look(name, document);
  }

  stop(): void {
    this.#end?.();
    this.#end = undefined;
  }

  /** 0: it was not seen before */
  seenForMs(claim: Released): number {
    const nowMs = this.#clock.now();
    const sight = this.#sights.get(claim.name);
    if (sight !== undefined && sight.release === releaseOf(claim)) return nowMs - sight.sinceMs;
    this.#sights.set(claim.name, { release: releaseOf(claim), sinceMs: nowMs });
    return 0;
  }

  #look(name: string, document: CachedDocument<unknown> | undefined): void {
    if (document?.meta.annotations[RELEASED_BY_ANNOTATION] === undefined) this.#sights.delete(name);
    else this.seenForMs(document.meta);
  }
}

/** this very one: an address that was taken back and given up again has another */
function releaseOf({ uid, annotations }: Released): string {
  const at = annotations[RELEASED_AT_ANNOTATION] ?? '';
  return `${uid} ${annotations[RELEASED_BY_ANNOTATION] ?? ''} ${at}`;
}
