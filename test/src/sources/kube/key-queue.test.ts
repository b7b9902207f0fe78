import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import fc from 'fast-check';
import { ApiError, ApiUnreachable } from '../../../../src/sources/kube/api.ts';
import { DONE, KeyQueue, type QueueOutcome } from '../../../../src/sources/kube/key-queue.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

type Pending = {
  readonly key: string;
  readonly end: (outcome: QueueOutcome) => void;
  readonly fail: (error: Error) => void;
};

/** a queue whose work is ended by the test */
function underTest(concurrency = 1, inTurnOf?: (key: string) => string) {
  const clock = new ManualClock();
  const running: Pending[] = [];
  const started: string[] = [];
  const failures: number[] = [];
  const queue = new KeyQueue({
    clock,
    random: new SeededRandom(1),
    concurrency,
    ...(inTurnOf !== undefined && { inTurnOf }),
    work: (key) =>
      new Promise((end, fail) => {
        started.push(key);
        running.push({ key, end, fail });
      }),
    onFailure: (_key, _error, count) => failures.push(count),
  });
  const finish = async (outcome: QueueOutcome | Error = DONE) => {
    const work = running.shift();
    if (work === undefined) throw new Error('nothing runs');
    if (outcome instanceof Error) work.fail(outcome);
    else work.end(outcome);
    await turn();
  };
  return { clock, queue, running, started, failures, finish };
}

const unreachable = new ApiUnreachable('away', undefined);

describe('a queue of keys', () => {
  it('holds a key once, in the order of the first wish', async () => {
    const { queue, started, finish } = underTest();
    for (const key of ['a', 'b', 'a', 'c', 'b']) queue.add(key);
    await turn();
    await finish();
    await finish();
    await finish();
    expect(started).to.deep.equal(['a', 'b', 'c']);
    expect(queue.isIdle).to.equal(true);
  });

  it('lets namespaces take turns: one key of a namespace does not wait for a thousand of another', async () => {
    const { queue, started, finish } = underTest();
    for (let index = 0; index < 1000; index += 1) queue.add(`mallory/${index}`);
    await turn();
    for (const key of ['victim/web', 'other/a', 'other/b', 'plain', 'mallory/0']) queue.add(key);
    expect(queue.depthOf('mallory')).to.equal(1000);
    for (let count = 0; count < 7; count += 1) await finish();
    expect(started).to.deep.equal([
      ...['mallory/0', 'mallory/1', 'victim/web', 'other/a', 'plain'],
      ...['mallory/2', 'other/b', 'mallory/3'],
    ]);
    // the first one was added once more while it was worked on
    expect(queue.depthOf('mallory')).to.equal(998);
    expect(queue.depth).to.equal(998);
  });

  it('lets keys without a namespace take turns by whom they are said to be of', async () => {
    const namespaces = new Map([['web', 'victim']]);
    const { queue, started, finish } = underTest(1, (key) => namespaces.get(key) ?? 'mallory');
    for (let index = 0; index < 1000; index += 1) queue.add(`${index}`);
    await turn();
    queue.add('web');
    // it becomes another one's while it waits, and while it is worked on
    namespaces.set('5', 'other');
    for (const key of ['5', '0']) queue.add(key);
    namespaces.set('0', 'third');
    while (!queue.isIdle) await finish();
    expect(started.slice(0, 4)).to.deep.equal(['0', '1', 'web', '0']);
    expect(started.length).to.equal(1002);
    expect(started.filter((key) => key === '5')).to.deep.equal(['5']);
  });

  it('works on a key once more when it was added during its work, and never twice at once', async () => {
    const { queue, started, running, finish } = underTest(5);
    queue.add('a');
    await turn();
    queue.add('a');
    queue.add('a');
    await turn();
    expect(running).to.have.length(1);
    await finish();
    expect(started).to.deep.equal(['a', 'a']);
    await finish();
    expect(queue.isIdle).to.equal(true);
  });

  it('gives way between keys that need no answer from anybody, however many there are', async () => {
    let worked = 0;
    const queue = new KeyQueue({
      clock: new ManualClock(),
      random: new SeededRandom(1),
      concurrency: 8,
      work: async () => {
        worked += 1;
        const untilMs = performance.now() + 1;
        while (performance.now() < untilMs);
        return DONE;
      },
    });
    for (let key = 0; key < 400; key += 1) queue.add(String(key));
    const seen: number[] = [];
    while (worked < 400) {
      await turn();
      seen.push(worked);
    }
    expect(seen.length, 'turns that others had meanwhile').to.be.at.least(5);
    await turn();
    expect(queue.isIdle).to.equal(true);
  });

  it('works on no more keys at once than it may', async () => {
    const { queue, running, started, finish } = underTest(2);
    for (const key of ['a', 'b', 'c', 'd']) queue.add(key);
    await turn();
    expect(running).to.have.length(2);
    expect(queue.depth).to.equal(4);
    await finish();
    expect(started).to.deep.equal(['a', 'b', 'c']);
  });

  it('tries again what failed, later and later, and forgets that when it succeeds', async () => {
    const { queue, clock, started, failures, finish } = underTest();
    queue.add('a');
    await turn();
    const waits: number[] = [];
    for (let count = 0; count < 12; count += 1) {
      await finish(unreachable);
      const waitMs = clock.nextTimerMs ?? Number.NaN;
      waits.push(waitMs);
      clock.advance(waitMs);
      await turn();
    }
    expect(waits[0]).to.be.within(100, 200);
    expect(waits[1]).to.be.within(200, 400);
    expect(waits[11]).to.be.within(15_000, 30_000);
    expect(started).to.have.length(13);
    expect(failures.at(-1)).to.equal(12);
    await finish();
    expect(queue.failuresOf('a')).to.equal(0);
    expect(clock.pendingTimers).to.equal(0);
  });

  it('waits as long as the server asks for, and not to the millisecond', async () => {
    const { queue, clock, finish } = underTest();
    queue.add('a');
    await turn();
    await finish(new ApiError(429, 'TooManyRequests', 'later', 4000));
    expect(clock.nextTimerMs).to.be.within(4001, 6000);
  });

  it('waits as long as the work itself says, and does not count that as a failure', async () => {
    const { queue, clock, started, finish } = underTest();
    queue.add('a');
    await turn();
    await finish({ kind: 'retry', afterMs: 700 });
    expect(clock.nextTimerMs).to.equal(700);
    expect(queue.failuresOf('a')).to.equal(0);
    clock.advance(700);
    await turn();
    expect(started).to.deep.equal(['a', 'a']);
  });

  it('lets news overtake a retry: what was true before is not brought back (SEEDS H3, C36)', async () => {
    // the world: who holds an address; the cache: what is wanted now. Work reads the cache when its turn comes
    const cache = new Map([['192.0.2.1', 'node-a']]);
    const world = new Map<string, string>();
    const clock = new ManualClock();
    let isBroken = true;
    const done: string[] = [];
    const queue = new KeyQueue({
      clock,
      random: new SeededRandom(2),
      concurrency: 4,
      work: async (key) => {
        const wanted = cache.get(key) ?? 'nobody';
        if (isBroken) throw unreachable;
        world.set(key, wanted);
        done.push(wanted);
        return DONE;
      },
    });
    queue.add('192.0.2.1');
    await turn();
    isBroken = false;
    cache.set('192.0.2.1', 'node-b');
    queue.add('192.0.2.1');
    await turn();
    expect(done, 'news does not wait for the back-off').to.deep.equal(['node-b']);
    clock.advance(60_000);
    await turn();
    expect(done, 'the retry has gone with it').to.deep.equal(['node-b']);
    expect(world.get('192.0.2.1')).to.equal('node-b');
    expect(clock.pendingTimers).to.equal(0);
  });

  it('runs again at once when news came while the work that then failed was under way', async () => {
    const { queue, started, clock, finish } = underTest();
    queue.add('a');
    await turn();
    queue.add('a');
    await finish(unreachable);
    expect(started).to.deep.equal(['a', 'a']);
    expect(clock.pendingTimers).to.equal(0);
  });

  it('keeps the earlier of two times', async () => {
    const { queue, clock, started } = underTest();
    queue.add('a', 500);
    queue.add('a', 900);
    expect(clock.nextTimerMs).to.equal(500);
    queue.add('a', 100);
    expect(clock.nextTimerMs).to.equal(100);
    clock.advance(100);
    await turn();
    expect(started).to.deep.equal(['a']);
    expect(clock.pendingTimers).to.equal(0);
  });

  it('begins nothing after it was stopped, and leaves no timer', async () => {
    const { queue, clock, started, failures, finish } = underTest();
    queue.add('a');
    queue.add('b');
    queue.add('c', 100);
    await turn();
    queue.stop();
    queue.add('d');
    await finish(unreachable);
    clock.advance(60_000);
    await turn();
    expect(started).to.deep.equal(['a']);
    expect(failures).to.deep.equal([]);
    expect(clock.pendingTimers).to.equal(0);
  });

  it('has worked on every key after the last wish for it, whatever fails', async () => {
    const step = fc.oneof(
      fc.record({
        kind: fc.constant('add' as const),
        key: fc.constantFrom('a', 'b', 'c'),
        delayMs: fc.constantFrom(0, 0, 50),
      }),
      fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(400) }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 40 }),
        fc.array(fc.boolean()),
        async (steps, fails) => {
          const clock = new ManualClock();
          const wanted = new Map<string, number>();
          const seen = new Map<string, number>();
          const isRunning = new Set<string>();
          let worked = 0;
          const queue = new KeyQueue({
            clock,
            random: new SeededRandom(3),
            concurrency: 2,
            work: async (key) => {
              expect(isRunning.has(key)).to.equal(false);
              isRunning.add(key);
              const version = wanted.get(key) ?? 0;
              await turn();
              isRunning.delete(key);
              worked += 1;
              if (fails[worked] === true) throw unreachable;
              seen.set(key, version);
              return DONE;
            },
          });
          for (const each of steps) {
            if (each.kind === 'wait') clock.advance(each.ms);
            else {
              wanted.set(each.key, (wanted.get(each.key) ?? 0) + 1);
              queue.add(each.key, each.delayMs);
            }
            await turn();
          }
          for (let count = 0; count < 200 && !queue.isIdle; count += 1) {
            clock.advance(clock.nextTimerMs ?? 0);
            await turn();
          }
          expect(seen).to.deep.equal(wanted);
        },
      ),
      { numRuns: 60 },
    );
  });
});
