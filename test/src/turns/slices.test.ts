import { expect } from 'chai';
import { Slices } from '../../../src/turns/slices.ts';
import { untilValue } from '../../support/poll.ts';

/** Counts the turns that others get, and how much was done between two of them. */
class Others {
  turns = 0;
  most = 0;
  done = 0;
  #before = 0;
  #isOver = false;

  start(): void {
    setImmediate(() => {
      this.turns += 1;
      this.most = Math.max(this.most, this.done - this.#before);
      this.#before = this.done;
      if (!this.#isOver) this.start();
    });
  }

  stop(): void {
    this.#isOver = true;
  }
}

describe('Slices', () => {
  it('gives others their turns in work that is long: that of 10,000 Services with 64 addresses each', async () => {
    const others = new Others();
    const slices = new Slices('deciding');
    slices.add(
      (function* job() {
        for (let step = 0; step < 10_000; step += 1) {
          others.done += 64;
          yield 64;
        }
      })(),
    );
    others.start();
    await slices.untilDone;
    others.stop();
    expect(others.done).to.equal(640_000);
    expect(others.most).to.be.at.most(2 * 2048);
    expect(others.turns).to.be.at.least(640_000 / 2048 / 2);
  });

  it('does little work at once, jobs one after the other, and what follows the last step too', async () => {
    const seen: string[] = [];
    const job = function* (name: string, steps: number) {
      for (let step = 0; step < steps; step += 1) yield 1000;
      seen.push(name);
    };
    const slices = new Slices('deciding');
    slices.add(job('short', 1));
    expect(seen).to.deep.equal(['short']);
    expect(slices.untilDone).to.equal(undefined);
    slices.add(job('long', 20));
    slices.add(job('short', 1));
    expect(seen).to.deep.equal(['short']);
    await slices.untilDone;
    expect(seen).to.deep.equal(['short', 'long', 'short']);
    expect(slices.untilDone).to.equal(undefined);
  });

  it('does nothing more when it is stopped, and lets nobody go on who waits', async () => {
    let steps = 0;
    let isPast = false;
    const slices = new Slices('deciding');
    slices.add(
      (function* job() {
        for (;;) {
          steps += 1;
          yield 1000;
        }
      })(),
    );
    void slices.untilDone?.then(() => {
      isPast = true;
    });
    await untilValue(
      'a second slice',
      () => steps,
      (count) => count > 3,
    );
    slices.stop();
    const before = steps;
    for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
    expect(steps).to.equal(before);
    expect(isPast).to.equal(false);
  });

  it('goes on with the next job where one throws, and lets those go on who wait', async () => {
    const seen: string[] = [];
    const slices = new Slices('deciding');
    const job = function* (name: string) {
      yield 4096;
      seen.push(name);
      if (name === 'bad') throw new Error('of a job');
    };
    const thrown: unknown[] = [];
    const others = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    process.on('uncaughtException', (error) => void thrown.push(error));
    try {
      slices.add(job('bad'));
      slices.add(job('good'));
      await slices.untilDone;
    } finally {
      process.removeAllListeners('uncaughtException');
      for (const other of others) process.on('uncaughtException', other);
    }
    expect(seen).to.deep.equal(['bad', 'good']);
    expect(thrown.map(String)).to.deep.equal(['Error: of a job']);
    expect(slices.untilDone).to.equal(undefined);
    expect(() => slices.add(throwing())).to.throw('at once');
    expect(slices.untilDone).to.equal(undefined);
  });
});

// biome-ignore lint/correctness/useYield: it throws before its first step
function* throwing(): Generator<number, void> {
  throw new Error('at once');
}
