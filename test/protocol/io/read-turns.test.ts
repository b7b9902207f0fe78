import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { type PieceReader, ReadTurns } from '../../../protocol/io/read-turns.ts';

/** has so many pieces, each of which takes some milliseconds */
class Busy implements PieceReader {
  left: number;
  readonly #name: string;
  readonly #order: string[];

  constructor(name: string, pieces: number, order: string[]) {
    this.#name = name;
    this.left = pieces;
    this.#order = order;
  }

  readPiece(): boolean {
    const untilMs = performance.now() + 3;
    while (performance.now() < untilMs);
    this.#order.push(this.#name);
    this.left -= 1;
    return this.left > 0;
  }
}

describe('ReadTurns', () => {
  it('reads at once what comes alone', () => {
    const order: string[] = [];
    new ReadTurns().offer(new Busy('a', 1, order));
    expect(order).to.deep.equal(['a']);
  });

  it('serves connections in turns, and lets timers have theirs in between', async () => {
    const turns = new ReadTurns();
    const order: string[] = [];
    const readers = ['a', 'b', 'c'].map((name) => new Busy(name, 30, order));
    let ticks = 0;
    const timer = setInterval(() => {
      ticks += 1;
    }, 1);
    for (const reader of readers) turns.offer(reader);
    expect(order.length, 'within one turn').to.be.lessThan(10);
    while (readers.some(({ left }) => left > 0)) await pause(1);
    clearInterval(timer);
    // 270 ms of work in turns of some ten
    expect(ticks).to.be.greaterThan(10);
    // the first had the rest of the first turn to itself
    const middle = order.slice(20, 50).toSorted().join('');
    expect(middle, 'each as often as the others').to.match(/^a{10}b{10}c{10}$/);
  });
});
