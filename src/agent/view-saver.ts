/** When the View goes to disk: soon after a change, and seldom enough that a burst of changes is not one of writing. */

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
  #saving: Promise<void> = Promise.resolve();

  constructor(options: ViewSaverOptions) {
    this.#options = options;
  }

  soon(): void {
    if (this.#isOver) return;
    this.#options.timers.startOnce('save', this.#afterMs, () => this.#save());
  }

  /** How old a saved View is counts from when its source could be read last, not from when it changed last. */
  again(everyMs: number): void {
    this.#options.timers.every('save-again', Math.min(everyMs, AGAIN_MS), () => {
      if (!this.#isOver) this.#save();
    });
  }

  /** What is said from here on is of the stop, and not for the next start. */
  last(): void {
    this.#isOver = true;
    this.#options.timers.cancel('save');
    this.#save();
  }

  /** What was given to the disk is there; or the disk is too slow to be waited for. */
  async settled(patienceMs: number): Promise<void> {
    const { clock } = this.#options;
    await new Promise<void>((resolve) => {
      const timer = clock.startTimer(patienceMs, resolve);
      void this.#saving.finally(() => {
        timer.cancel();
        resolve();
      });
    });
  }

  #save(): void {
    const { clock, store, view } = this.#options;
    const startMs = clock.now();
    const saved = view(clock.wallTimeMs());
    if (saved === undefined) return;
    const saving = store.save(saved);
    if (saving === undefined) return;
    // ten thousand claims take their time
    this.#saving = saving.then(() => {
      const wishMs = (clock.now() - startMs) / SAVE_SHARE;
      this.#afterMs = Math.min(Math.max(SAVE_AFTER_MS, wishMs), SAVE_AFTER_AT_MOST_MS);
    });
  }
}
