/**
 * Services of which nothing changes but words: warnings in the condition of one that has what it
 * shall have. One tenant who lists the addresses of thousands of others makes as many of these, so
 * no address stands behind them, and they are written as seldom as all that only people read.
 */

import { KeyQueue, type QueueOutcome } from '../sources/kube/key-queue.ts';
import { writesPerSecond } from './give-way.ts';
import type { LoopContext } from './loops.ts';
import { Pace } from './pace.ts';

export class ServiceWords {
  readonly #queue: KeyQueue;
  readonly #pace: Pace;
  readonly #end: () => void;

  constructor(
    { clock, random, caches, counters }: LoopContext,
    options: {
      readonly work: (key: string) => Promise<QueueOutcome>;
      readonly onFailure: (key: string, error: Error, failures: number) => void;
    },
  ) {
    this.#pace = new Pace(clock, () => writesPerSecond(caches.nodes.items.size));
    const work = async (key: string): Promise<QueueOutcome> => {
      await this.#pace.take();
      return await options.work(key);
    };
    this.#queue = new KeyQueue({ clock, random, concurrency: 1, ...options, work });
    this.#end = counters.queue('service-words', () => this.#queue.depth);
  }

  add(key: string): void {
    this.#queue.add(key);
  }

  stop(): void {
    this.#end();
    this.#queue.stop();
    this.#pace.stop();
  }
}
