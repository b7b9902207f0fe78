/**
 * The running timers of one neighbour, by name. A restart of a timer that has not fired only moves its deadline: the hold
 * timer is restarted by every message, and arming a real timer each time would cost more than reading the message.
 */

import type { Clock, Timer } from '../io/clock.ts';
import type { Random } from '../io/random.ts';

/** RFC 4271 §10: jitter takes away up to a quarter. */
export function delayMs(
  timer: { readonly seconds: number; readonly jitter: boolean },
  random: Random,
): number {
  const factor = timer.jitter ? 0.75 + 0.25 * random.next() : 1;
  return timer.seconds * 1000 * factor;
}

/** A timer that fires this much too late was held up by ourselves: unread messages may wait behind it. */
const LATE_MS = 50;

interface Slot {
  deadline: number;
  timer: Timer;
  /** when the armed timer will wake us; never later than the deadline */
  wakesAt: number;
  /** has been given that one more turn */
  isLate: boolean;
}

export class TimerTable {
  readonly #clock: Clock;
  readonly #slots = new Map<string, Slot>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  start(name: string, delayMs: number, onFire: () => void): void {
    const deadline = this.#clock.now() + delayMs;
    const slot = this.#slots.get(name);
    if (slot !== undefined && slot.wakesAt <= deadline) {
      slot.deadline = deadline;
      return;
    }
    slot?.timer.cancel();
    this.#arm(name, deadline, onFire);
  }

  stop(name: string): void {
    this.#slots.get(name)?.timer.cancel();
    this.#slots.delete(name);
  }

  stopAll(): void {
    for (const slot of this.#slots.values()) slot.timer.cancel();
    this.#slots.clear();
  }

  get running(): readonly string[] {
    return [...this.#slots.keys()];
  }

  #arm(name: string, deadline: number, onFire: () => void): void {
    const delayMs = Math.max(0, deadline - this.#clock.now());
    const timer = this.#clock.startTimer(delayMs, () => this.#wake(name, onFire));
    this.#slots.set(name, { deadline, timer, wakesAt: deadline, isLate: false });
  }

  #wake(name: string, onFire: () => void): void {
    const slot = this.#slots.get(name);
    if (slot === undefined) return;
    const now = this.#clock.now();
    if (slot.deadline > now) {
      this.#arm(name, slot.deadline, onFire);
      return;
    }
    if (!slot.isLate && now - slot.wakesAt > LATE_MS) {
      // we were busy: what the neighbour sent meanwhile is read in the next turn, and may move the deadline
      slot.isLate = true;
      slot.timer = this.#clock.startTimer(0, () => this.#wake(name, onFire));
      return;
    }
    this.#slots.delete(name);
    onFire();
  }
}
