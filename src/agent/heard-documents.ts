/**
 * What each source of documents has said last, and since when one is silent. It remembers; what follows is decided elsewhere.
 *
 * A source that cannot be read says nothing about what it would have said: its last words stand, for `maxStale` from when it was heard last.
 * What it has not shown since a restart and cannot show now (a bad object) stays as it was saved.
 */

import { type Documents, NO_DOCUMENTS } from '../model/documents.ts';
import { withFormerPools } from '../model/former-pools.ts';
import type { DocumentSource } from '../model/refusal.ts';
import { mergeDocuments } from '../sources/merge.ts';
import {
  asClaimsStand,
  type Carried,
  carriedOver,
  documentsFrom,
  type HeardTimes,
  heardAtMs,
  type SavedView,
  withCarried,
} from './saved-view.ts';
import type { StaleFact } from './view.ts';

const GIVEN_BACK =
  'the agent before this one was stopped and gave its claims of the API back, so none is announced before the API answers';

export interface HeardOptions {
  readonly sources: readonly DocumentSource[];
  readonly saved: SavedView | undefined;
  /** what the documents come from, for people */
  readonly source: string;
  readonly maxStaleMs: number;
}

/** A moment on both clocks. */
export interface Heard {
  readonly nowMs: number;
  readonly wallMs: number;
}

/** When something was heard. */
export interface HeardNow extends Heard {
  /** part of the source was heard last then, too long ago: what it would have said may be missing */
  readonly silentSince?: Heard;
}

interface Word {
  documents: Documents | undefined;
  carried: Carried;
  stale: (StaleFact & { readonly sinceWallMs: number }) | undefined;
  /** its saved claims were given back, and it has not spoken since */
  isGivenBack: boolean;
}

export class HeardDocuments {
  readonly #options: HeardOptions;
  readonly #words = new Map<DocumentSource, Word>();
  #merged: Documents | undefined;

  constructor(options: HeardOptions) {
    this.#options = options;
    for (const source of options.sources) {
      this.#words.set(source, {
        documents: undefined,
        carried: NO_DOCUMENTS,
        stale: undefined,
        isGivenBack: false,
      });
    }
  }

  /** undefined: nothing has been heard and nothing was saved */
  get documents(): Documents | undefined {
    return this.#merged;
  }

  stale(source: DocumentSource): StaleFact | undefined {
    return this.#words.get(source)?.stale;
  }

  /** wall clock, of each source: a source that is silent makes no other one older */
  heardAtMs(wallMs: number): HeardTimes {
    const times = [...this.#words].map(([source, { stale }]) => {
      return [source, stale?.sinceWallMs ?? wallMs] as const;
    });
    return Object.fromEntries(times);
  }

  /**
   * Takes up what was saved of this source, marked stale, unless the source has spoken; without
   * the claims that were given back.
   */
  restore(source: DocumentSource, { nowMs, wallMs }: Heard): void {
    const { saved } = this.#options;
    const word = this.#words.get(source);
    if (saved === undefined || word === undefined || word.documents !== undefined) return;
    // a wall clock that was set back makes it no younger than now
    const savedMs = heardAtMs(saved, source);
    const sinceMs = nowMs - Math.max(0, wallMs - savedMs);
    word.carried = documentsFrom(saved, source);
    word.isGivenBack = source === 'api' && saved.isGivenBack === true;
    const { claims } = word.carried;
    word.documents = { ...word.carried, claims: word.isGivenBack ? [] : claims, faults: [] };
    const stale = this.#staleSince({ nowMs: sinceMs, wallMs: savedMs });
    const sentence = `${stale.sentence}; ${GIVEN_BACK}`;
    word.stale = word.isGivenBack ? { ...stale, sentence } : stale;
    this.#merge();
  }

  /**
   * what was saved of it is not in force, or without its claims, and it has not spoken: on disk it
   * stays as it is
   */
  isKeptAsSaved(source: DocumentSource): boolean {
    return this.isUnheard(source) || this.#words.get(source)?.isGivenBack === true;
  }

  /** nothing of it is in force: what was saved has not been taken up, and it has not spoken */
  isUnheard(source: DocumentSource): boolean {
    const word = this.#words.get(source);
    return word !== undefined && word.documents === undefined;
  }

  /** One source has spoken. */
  learn(source: DocumentSource, documents: Documents, at: HeardNow): void {
    const word = this.#words.get(source);
    if (word === undefined) throw new Error(`${source} is no source of this agent`);
    if (documents.isOfClaimsAlone === true) this.#learnClaims(word, documents);
    else if (documents.isUnread === true && word.documents !== undefined) {
      word.documents = { ...word.documents, faults: documents.faults };
      word.stale ??= this.#staleSince(at);
    } else {
      word.carried = carriedOver(documents, word.carried);
      const now = withCarried(documents, word.carried);
      // what a file takes away is gone; a Service keeps its address when its pool goes
      word.documents = source === 'api' ? withFormerPools(now, word.documents) : now;
      word.stale = at.silentSince && this.#staleAsBefore(word, at.silentSince);
      word.isGivenBack = false;
    }
    // where nothing of any source is in force, nothing is known
    if (this.#merged !== undefined || word.documents !== undefined) this.#merge();
  }

  /** what is in force is the saved View as before, but for its claims as they stand now; each time from what was saved */
  #learnClaims(word: Word, documents: Documents): void {
    if (word.documents === undefined || word.isGivenBack) return;
    const claims = asClaimsStand(word.carried.claims, documents);
    word.documents = { ...word.documents, claims };
  }

  /** A source has fallen silent; its last words were heard then. Of a part that is heard again the age is taken back. */
  fallSilent(source: DocumentSource, since: Heard): void {
    const word = this.#words.get(source);
    if (word?.documents !== undefined) word.stale = this.#staleAsBefore(word, since);
  }

  /** It is heard again, and nothing has changed. */
  isHeard(source: DocumentSource): void {
    const word = this.#words.get(source);
    if (word !== undefined) word.stale = undefined;
  }

  /** the very fact of before while it is of the same moment */
  #staleAsBefore({ stale }: Word, since: Heard): NonNullable<Word['stale']> {
    return stale?.sinceMs === since.nowMs ? stale : this.#staleSince(since);
  }

  #staleSince({ nowMs, wallMs }: Heard): NonNullable<Word['stale']> {
    const { source, maxStaleMs } = this.#options;
    const when = new Date(wallMs).toISOString();
    const sentence = `the documents are those of ${when}; ${source} could not be read since`;
    return { sinceMs: nowMs, untilMs: nowMs + maxStaleMs, sentence, sinceWallMs: wallMs };
  }

  #merge(): void {
    this.#merged = mergeDocuments(
      this.#words.get('files')?.documents,
      this.#words.get('api')?.documents,
    );
  }
}
