/**
 * Follows the IPClaims that concern one node: two filtered watches, and a GET where they leave open whether a claim has gone or only
 * changed filters (claim-union.ts has the rule). It tells which names have changed and how far everything is known.
 */

import type { Clock, Random } from 'bgp-ts';
import type { Log } from '../../log/log.ts';
import { ANYCAST_LABEL, isStraight, nodeLabel } from '../../model/names.ts';
import { isNotFound, type KubeApi, type KubeObject } from './api.ts';
import { CLAIM_FILTERS, type ClaimFilter, ClaimUnion, type VersionedClaim } from './claim-union.ts';
import { type ConvertedClaim, convertClaimObject } from './convert-documents.ts';
import { Informer } from './informer.ts';
import { DONE, KeyQueue } from './key-queue.ts';
import { part } from './loose-fields.ts';
import { versionNumber } from './object-key.ts';
import { IP_CLAIMS } from './resources.ts';

export interface ClaimObject extends VersionedClaim {
  readonly converted: ConvertedClaim;
  readonly createdMs: number;
}

export interface ClaimWatchOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly nodeName: string;
  /** something may have changed: a name, or how far all is known */
  readonly onNews: () => void;
}

const ASK_AT_ONCE = 8;
/** every node sees an anycast claim go at the same moment */
const ASK_SHARED_AFTER_MS = { least: 0, most: 200 };
/** of many at once only those that no proof has answered by then are asked about one by one */
const ASK_MANY_AFTER_MS = { least: 2000, most: 3000 };
/** a watch that nothing happens on says where it is once a minute; a small one can be looked through sooner */
const PROOF_AFTER_MS = { least: 300, most: 1000 };
const PROOF_AT_MOST = 500;

export class ClaimWatch {
  readonly #options: ClaimWatchOptions;
  readonly #informers: Readonly<Record<ClaimFilter, Informer<ClaimObject>>>;
  readonly #questions: KeyQueue;
  readonly #proofs: KeyQueue;
  readonly #abort = new AbortController();
  /** of the informers, when they had their last word */
  readonly #versions: Record<ClaimFilter, bigint> = { anycast: 0n, node: 0n };
  #union = new ClaimUnion<ClaimObject>();
  #heldPlaced = false;

  constructor(options: ClaimWatchOptions) {
    this.#options = options;
    const { clock, random } = options;
    this.#informers = { anycast: this.#informer('anycast'), node: this.#informer('node') };
    this.#questions = new KeyQueue({
      clock,
      random,
      concurrency: ASK_AT_ONCE,
      work: (name) => this.#ask(name),
    });
    this.#proofs = new KeyQueue({ clock, random, concurrency: 1, work: () => this.#prove() });
  }

  start(): void {
    for (const filter of CLAIM_FILTERS) this.#informers[filter].start();
  }

  stop(): void {
    this.#abort.abort();
    for (const filter of CLAIM_FILTERS) this.#informers[filter].stop();
    this.#questions.stop();
    this.#proofs.stop();
  }

  get hasSynced(): boolean {
    return CLAIM_FILTERS.every((filter) => this.#informers[filter].hasSynced);
  }

  /** of the watch that was heard less lately */
  get lastHeardMs(): number {
    return Math.min(...CLAIM_FILTERS.map((filter) => this.#informers[filter].lastHeardMs));
  }

  /** when the watch of the claims that are placed here had its last word; undefined: none is, so nobody has to know */
  get placedHeardMs(): number | undefined {
    return this.#holdsPlaced ? this.#informers.node.lastHeardMs : undefined;
  }

  get items(): ReadonlyMap<string, ClaimObject> {
    return this.#union.items;
  }

  takeChanged(): ReadonlySet<string> {
    return this.#union.takeChanged();
  }

  /** Everything up to this version is in `items`, as far as this node could be announcing it. Whoever asks counts on it. */
  observe(): bigint {
    const { observed } = this.#union;
    this.#union.report(observed);
    this.#proveSoon();
    return observed;
  }

  /** Somebody waits for the answer to these claims of this node; true: `observe` does not answer for them yet. */
  await(names: readonly string[]): boolean {
    if (names.length === 0) return false;
    this.#union.await(names);
    this.#proveSoon();
    return this.#union.isBehind;
  }

  /** `items` holds something newer than what `observe` answers for */
  get isBehind(): boolean {
    return this.#union.isBehind;
  }

  #informer(filter: ClaimFilter): Informer<ClaimObject> {
    const { api, clock, random, log } = this.#options;
    return new Informer<ClaimObject>({
      api,
      clock,
      random,
      log,
      resource: IP_CLAIMS,
      selection: { labelSelector: this.#selector(filter) },
      convert: (object) => this.#read(object),
      onChange: (name, now) => {
        if (now !== undefined) this.#union.put(filter, now);
        else this.#union.remove(filter, name, this.#informers[filter].resourceVersion);
      },
      // an exclusive claim that is taken away is to be known of in seconds, whatever becomes of one API server
      isPressing: () => filter === 'node' && this.#holdsPlaced,
      onSynced: () => this.#news(filter),
      onProgress: () => this.#news(filter),
    });
  }

  #selector(filter: ClaimFilter): string {
    return filter === 'anycast' ? ANYCAST_LABEL : nodeLabel(this.#options.nodeName);
  }

  #read(object: KubeObject): ClaimObject {
    const { name, resourceVersion, creationTimestamp, labels = {} } = object.metadata;
    const createdMs = Date.parse(creationTimestamp ?? '');
    const { withdrawn, services } = part(object, 'spec');
    return {
      name,
      version: versionNumber(resourceVersion),
      isActive: withdrawn === undefined,
      hasServices: Array.isArray(services) && services.length > 0,
      isStraight: isStraight(labels, this.#options.nodeName),
      filters: CLAIM_FILTERS.filter((filter) => this.#selector(filter) in labels),
      converted: convertClaimObject(object),
      createdMs: Number.isNaN(createdMs) ? 0 : createdMs,
    };
  }

  get #holdsPlaced(): boolean {
    return this.#union.claimsIn('node').size > 0;
  }

  #news(filter: ClaimFilter): void {
    if (this.#holdsPlaced && !this.#heldPlaced) this.#informers.node.reopen();
    this.#heldPlaced = this.#holdsPlaced;
    const { resourceVersion } = this.#informers[filter];
    // not the union's version: a proof may be ahead of what its watch brings after it
    if (resourceVersion < this.#versions[filter]) this.#startOver();
    this.#versions[filter] = resourceVersion;
    this.#union.progress(filter, resourceVersion);
    this.#askSoon();
    this.#options.onNews();
  }

  /** each question once: what has come since the last time */
  #askSoon(): void {
    const names = this.#union.takeNewQuestions();
    if (names.size === 0) return;
    const isProved = this.#union.hasManyQuestions && this.#provable !== undefined;
    for (const name of names) this.#questions.add(name, this.#askAfterMs(name, isProved));
    if (isProved) this.#proveSoon();
  }

  /** one that was this node's alone is asked about at once, however many there are */
  #askAfterMs(name: string, isProved: boolean): number {
    const isForAll = this.#union.items.get(name)?.filters.includes('anycast') === true;
    if (!isForAll) return 0;
    return between(isProved ? ASK_MANY_AFTER_MS : ASK_SHARED_AFTER_MS, this.#options.random);
  }

  /** The store was put back from a copy: versions of before say nothing any more. */
  #startOver(): void {
    const union = new ClaimUnion<ClaimObject>();
    for (const filter of CLAIM_FILTERS) {
      for (const claim of this.#informers[filter].items.values()) union.put(filter, claim);
    }
    // whatever was there before may have changed or gone
    union.touch(this.#union.items.keys());
    this.#union = union;
  }

  async #ask(name: string): Promise<typeof DONE> {
    const question = this.#union.questions.get(name);
    if (question === undefined) return DONE;
    const union = this.#union;
    let found: ClaimObject | undefined;
    try {
      const { signal } = this.#abort;
      found = this.#read(await this.#options.api.get(IP_CLAIMS, name, { signal }));
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    union.answer(name, question, found);
    // an answer that came too late leaves a question, and nothing else may happen that would ask it
    this.#askSoon();
    if (!this.#abort.signal.aborted) this.#options.onNews();
    return DONE;
  }

  /** the watch to look through; undefined: none is behind, or it has too much */
  get #provable(): ClaimUnion<ClaimObject>['laggard'] {
    const { laggard } = this.#union;
    if (laggard === undefined) return undefined;
    return this.#union.claimsIn(laggard.filter).size > PROOF_AT_MOST ? undefined : laggard;
  }

  #proveSoon(): void {
    if (this.#provable === undefined) return;
    this.#proofs.add('', between(PROOF_AFTER_MS, this.#options.random));
  }

  /** Looks through what a silent watch should have: if that is what we have, it has missed nothing up to then. */
  async #prove(): Promise<typeof DONE> {
    const union = this.#union;
    const laggard = this.#provable;
    if (laggard === undefined) return DONE;
    const list = await this.#options.api.list(IP_CLAIMS, {
      labelSelector: this.#selector(laggard.filter),
      resourceVersion: String(laggard.version),
      signal: this.#abort.signal,
    });
    const known = union.claimsIn(laggard.filter);
    const isSame =
      list.items.length === known.size &&
      list.items.every(({ metadata }) => {
        return known.get(metadata.name)?.version === versionNumber(metadata.resourceVersion);
      });
    if (!isSame || this.#abort.signal.aborted) return DONE;
    union.progress(laggard.filter, versionNumber(list.resourceVersion));
    this.#askSoon();
    this.#options.onNews();
    return DONE;
  }
}

function between(
  { least, most }: { readonly least: number; readonly most: number },
  random: Random,
): number {
  return least + random.next() * (most - least);
}
