/**
 * When routes came and went. The receiving router stamps each UPDATE as it is read; BIRD is then asked whether it has it as well, and that moment
 * is the number, so it is never earlier than what stands in a real router's table. A balancer that announces to BIRD alone is
 * measured by asking BIRD every millisecond.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { nowMs } from '../../../tools/probe/monotonic.ts';
import type { BirdRouter } from '../../cluster/support/bird.ts';
import type { ReceivingRouter } from '../../cluster/support/receiving-router.ts';

export interface Moment {
  /** BIRD has been seen to have it */
  readonly birdMs: number;
  /** the receiving router has read it */
  readonly receivedMs?: number;
}

const LOOK_MS = 50;

export class RouteClock {
  readonly #bird: BirdRouter;
  readonly #receiver: ReceivingRouter;

  constructor(bird: BirdRouter, receiver: ReceivingRouter) {
    this.#bird = bird;
    this.#receiver = receiver;
  }

  count(): Promise<number> {
    return this.#bird.count();
  }

  /** The balancer announces to the receiving router too. */
  get isStamped(): boolean {
    return this.#receiver.established.length > 0;
  }

  /** Forgets what was; from here on one change is waited for. */
  begin(): void {
    this.#receiver.forget();
  }

  /** The next change after `begin`, with so many routes in BIRD after it. */
  async next(kind: 'announced' | 'withdrawn', routes: number, timeoutMs = 30_000): Promise<Moment> {
    let receivedMs: number | undefined;
    if (this.isStamped) {
      const find = () => this.#receiver.history.find((change) => change.kind === kind)?.atMs;
      await this.#receiver.waitFor(`a route is ${kind}`, () => find() !== undefined, timeoutMs);
      receivedMs = find();
    }
    const hasAll = async () => (await this.#bird.count()) === routes;
    const birdMs = await this.#bird.moment(`${routes} routes`, hasAll, timeoutMs);
    return { birdMs, ...(receivedMs === undefined ? {} : { receivedMs }) };
  }

  /** Waits for so many routes in BIRD; the moment of the last one. `onLook` gets the count now and then. */
  async all(
    routes: number,
    timeoutMs: number,
    onLook: (count: number) => void = () => undefined,
  ): Promise<Moment> {
    const started = nowMs();
    for (let looks = 0; ; looks += 1) {
      const found = await this.#bird.count();
      const atMs = nowMs();
      if (found >= routes) return this.#last(atMs);
      if (atMs - started > timeoutMs) {
        throw new Error(`${found} of ${routes} routes after ${timeoutMs} ms`);
      }
      if (looks % 20 === 0) onLook(found);
      await delay(LOOK_MS);
    }
  }

  /** BIRD was looked at now and then only: where the receiving router has the exact moment, that counts. */
  #last(seenMs: number): Moment {
    const stamps = this.#receiver.history.filter(({ kind }) => kind === 'announced');
    const receivedMs = stamps.at(-1)?.atMs;
    return receivedMs === undefined ? { birdMs: seenMs } : { birdMs: seenMs, receivedMs };
  }
}
