/**
 * Lines of a log that a neighbour or a stranger can cause with every message or connection: of each kind the first ones are written, then the last one of
 * each minute, with how many were left out before it. A minute without any, and the first ones are written again. Kinds are remembered up to a number;
 * all beyond it share one place.
 */

import type { Clock, Timer } from 'bgp-ts';

/** `leftOut`: lines of this kind that were not written since the last one that was */
export type WriteLine = (leftOut: number) => void;

const FIRST_LINES = 5;
const EACH_MS = 60_000;
const MOST_KINDS = 300;
const ALL_OTHERS = '';

interface Kind {
  written: number;
  leftOut: number;
  /** the last one that was not written */
  held: WriteLine | undefined;
  timer: Timer;
}

export class LineLimit {
  readonly #clock: Clock;
  readonly #kinds = new Map<string, Kind>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `kind`: what the line tells, and of whom */
  line(kind: string, write: WriteLine): void {
    const known = this.#kindOf(kind);
    if (known.written < FIRST_LINES) {
      known.written += 1;
      write(0);
      return;
    }
    if (known.held !== undefined) known.leftOut += 1;
    known.held = write;
  }

  /** What waits is written now; no timer is left. */
  close(): void {
    for (const known of this.#kinds.values()) {
      known.timer.cancel();
      writeHeld(known);
    }
    this.#kinds.clear();
  }

  #kindOf(kind: string): Kind {
    const key = this.#kinds.has(kind) || this.#kinds.size < MOST_KINDS ? kind : ALL_OTHERS;
    const known = this.#kinds.get(key);
    if (known !== undefined) return known;
    const added = { written: 0, leftOut: 0, held: undefined, timer: this.#next(key) };
    this.#kinds.set(key, added);
    return added;
  }

  #next(key: string): Timer {
    return this.#clock.startTimer(EACH_MS, () => {
      const known = this.#kinds.get(key);
      if (known === undefined) return;
      if (known.held === undefined) {
        this.#kinds.delete(key);
        return;
      }
      known.timer = this.#next(key);
      writeHeld(known);
    });
  }
}

function writeHeld(known: Kind): void {
  const { held, leftOut } = known;
  known.held = undefined;
  known.leftOut = 0;
  held?.(leftOut);
}
