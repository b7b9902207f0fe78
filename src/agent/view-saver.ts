/**
 * When the View goes to disk: soon after a change, and seldom enough that a burst of changes is not one of writing. While the disk takes its time
 * nothing more is made for it, but for a person and at a stop: one that hangs for days would otherwise have a View, and a promise that never
 * settles, for each change.
 */

import type { Clock } from 'bgp-ts';
import type { ViewStore } from './agent-options.ts';
import type { NamedTimers } from './named-timers.ts';
import type { SavedView } from './saved-view.ts';

const SAVE_AFTER_MS = 500;
/** of the time, at most, goes into saving */
const SAVE_SHARE = 0.02;
/** … but a slow disk does not put it off for longer */
const SAVE_AFTER_AT_MOST_MS = 10_000;
const AGAIN_MS = 600_000;

export interface ViewSaverOptions {
  readonly clock: Clock;
  readonly store: ViewStore;
  readonly timers: NamedTimers;
  /** undefined while there is nothing worth saving */
  readonly view: (wallMs: number) => SavedView | undefined;
}

export class ViewSaver {
  readonly #options: ViewSaverOptions;
  #afterMs = SAVE_AFTER_MS;
  #isOver = false;
  /** how many have been given to the disk that it has not answered */
  #underWay = 0;
  /** there is something newer than what it was given */
  #isDue = false;
  /** what was given to the disk last */
  #last: SavedView | undefined;
  /** true: what was given to the disk last is there */
  #saving: Promise<boolean> = Promise.resolve(true);

  constructor(options: ViewSaverOptions) {
    this.#options = options;
  }

  soon(): void {
    if (this.#isOver) return;
    this.#options.timers.startOnce('save', this.#afterMs, () => this.#saveInTurn());
  }

  /** At once, for a person who is told whether it is kept. False: it is not, or the disk is too slow to be waited for. */
  async now(patienceMs: number): Promise<boolean> {
    if (this.#isOver) return false;
    this.#options.timers.cancel('save');
    return this.#save() && (await this.settled(patienceMs));
  }

  /** How old a saved View is counts from when its source could be read last, not from when it changed last. */
  again(everyMs: number): void {
    this.#options.timers.every('save-again', Math.min(everyMs, AGAIN_MS), () => {
      if (!this.#isOver) this.#saveInTurn();
    });
  }

  /** What is said from here on is of the stop, and not for the next start. */
  last(): void {
    this.#isOver = true;
    this.#options.timers.cancel('save');
    this.#save();
  }

  /**
   * After `last`: the same View, with the word that its claims of the API are given back, or as it
   * was. True: it is on disk, or there is none.
   */
  async giveBack(isGivenBack: boolean, patienceMs: number): Promise<boolean> {
    if (this.#last === undefined) return true;
    this.#keep(isGivenBack ? { ...this.#last, isGivenBack } : this.#last);
    return await this.settled(patienceMs);
  }

  /** What was given to the disk is there (true), cannot be, or the disk is too slow to be waited for. */
  settled(patienceMs: number): Promise<boolean> {
    const { clock } = this.#options;
    return new Promise((resolve) => {
      const timer = clock.startTimer(patienceMs, () => resolve(false));
      void this.#saving.then((isKept) => {
        timer.cancel();
        resolve(isKept);
      });
    });
  }

  #saveInTurn(): void {
    if (this.#underWay > 0) this.#isDue = true;
    else this.#save();
  }

  /** false: there is nothing to save yet */
  #save(): boolean {
    const { clock, view } = this.#options;
    const startMs = clock.now();
    const saved = view(clock.wallTimeMs());
    if (saved === undefined) return false;
    this.#isDue = false;
    this.#last = saved;
    this.#keep(saved, startMs);
    return true;
  }

  #keep(saved: SavedView, startMs = this.#options.clock.now()): void {
    const { clock, store } = this.#options;
    const saving = store.save(saved);
    if (saving === undefined) return;
    this.#underWay += 1;
    // ten thousand claims take their time
    this.#saving = saving.then((isKept) => {
      const wishMs = (clock.now() - startMs) / SAVE_SHARE;
      this.#afterMs = Math.min(Math.max(SAVE_AFTER_MS, wishMs), SAVE_AFTER_AT_MOST_MS);
      this.#underWay -= 1;
      if (this.#underWay === 0 && this.#isDue) this.soon();
      return isKept;
    });
  }
}
