import { expect } from 'chai';
import fc from 'fast-check';
import { CheckRunner, type Probe } from '../../../src/checks/check-runner.ts';
import type { Ask } from '../../../src/checks/probe-bounds.ts';
import type { Verdict } from '../../../src/checks/verdict.ts';
import { CHECK_DEFAULTS, type CheckSpec } from '../../../src/model/check-spec.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

interface Asked {
  readonly path: string;
  readonly atMs: number;
  readonly ask: Ask;
}

function spec(path: string, over: Partial<CheckSpec> = {}): CheckSpec {
  return { ...CHECK_DEFAULTS, target: { kind: 'file', path }, ...over };
}

class Bench {
  readonly clock = new ManualClock();
  readonly asked: Asked[] = [];
  readonly changes: { readonly key: string; readonly open: boolean; readonly atMs: number }[] = [];
  onChange: (key: string, verdict: Verdict) => void = () => {};
  /** undefined: the answer is left to the test */
  reply: ((path: string) => 'pass' | 'fail' | undefined) | undefined;
  readonly runner: CheckRunner;

  constructor() {
    const probe: Probe = (target, ask) => {
      if (target.kind !== 'file') throw new Error('files only here');
      this.asked.push({ path: target.path, atMs: this.clock.now(), ask });
      const kind = this.reply?.(target.path);
      if (kind !== undefined) ask.answer({ kind, sentence: `${target.path} ${kind}` });
    };
    this.runner = new CheckRunner({
      clock: this.clock,
      random: new SeededRandom(7),
      probe,
      onChange: (key, verdict) => {
        this.changes.push({ key, open: verdict.open, atMs: this.clock.now() });
        this.onChange(key, verdict);
      },
    });
  }

  apply(specs: Record<string, CheckSpec>): void {
    this.runner.apply(new Map(Object.entries(specs)));
  }

  last(): Asked {
    const last = this.asked.at(-1);
    if (last === undefined) throw new Error('nothing was asked');
    return last;
  }

  timesOf(path: string): readonly number[] {
    return this.asked.filter((one) => one.path === path).map(({ atMs }) => atMs);
  }
}

const KEYS = ['a', 'b', 'c'];

const anyStep = fc.oneof(
  fc.record({ kind: fc.constant('apply' as const), keys: fc.subarray(KEYS), flavour: fc.nat(2) }),
  fc.record({ kind: fc.constant('answer' as const), which: fc.nat(5), passes: fc.boolean() }),
  fc.record({ kind: fc.constant('advance' as const), ms: fc.constantFrom(0, 1, 400, 1000, 3000) }),
);

type WalkStep = typeof anyStep extends fc.Arbitrary<infer T> ? T : never;

/** any sequence of applies, answers and time, and what must hold after each */
class Walk {
  readonly bench = new Bench();
  readonly #answered = new Set<Ask>();
  #wanted: readonly string[] = [];

  take(step: WalkStep): void {
    if (step.kind === 'advance') this.bench.clock.advance(step.ms);
    else if (step.kind === 'apply') this.#apply(step.keys, step.flavour);
    else this.#answer(step.which, step.passes);
  }

  #apply(keys: readonly string[], flavour: number): void {
    this.#wanted = keys;
    const settleMs = flavour === 1 ? 1500 : 0;
    const path = (key: string) => `/${key}${flavour === 2 ? '2' : ''}`;
    this.bench.runner.apply(new Map(keys.map((key) => [key, spec(path(key), { settleMs })])));
  }

  #answer(which: number, passes: boolean): void {
    const unanswered = this.bench.asked.filter(({ ask }) => !this.#answered.has(ask));
    const one = unanswered[which % Math.max(unanswered.length, 1)];
    if (one === undefined) return;
    this.#answered.add(one.ask);
    one.ask.answer({ kind: passes ? 'pass' : 'fail', sentence: 's' });
  }

  checkOrder(): void {
    const { asked, runner, clock } = this.bench;
    const out = asked.filter(({ ask }) => !this.#answered.has(ask) && !ask.signal.aborted);
    const keys = out.map(({ path }) => path.slice(1, 2));
    expect(new Set(keys).size, 'two at once').to.equal(keys.length);
    expect(this.#wanted, 'asked though not wanted').to.include.members(keys);
    const known = KEYS.filter((key) => runner.verdict(key) !== undefined);
    expect(known).to.have.members([...this.#wanted]);
    // each check has a question out, or a timer for the next
    expect(clock.pendingTimers).to.be.at.least(this.#wanted.length - keys.length);
  }
}

describe('CheckRunner', () => {
  it('asks at once, then from start to start, and opens in the turn of the last success', () => {
    const bench = new Bench();
    bench.apply({ a: spec('/a') });
    expect(bench.timesOf('/a')).to.deep.equal([0]);
    expect(bench.runner.verdict('a')).to.include({ open: false, known: false });
    bench.clock.advance(300);
    bench.last().ask.answer({ kind: 'pass', sentence: 'yes' });
    bench.clock.advance(700);
    expect(bench.timesOf('/a')).to.deep.equal([0, 1000]);
    bench.clock.advance(10);
    bench.last().ask.answer({ kind: 'pass', sentence: 'yes' });
    expect(bench.changes).to.deep.equal([
      { key: 'a', open: false, atMs: 300 },
      { key: 'a', open: true, atMs: 1010 },
    ]);
    expect(bench.runner.report('a')).to.include({
      sentence: 'yes, at least 2 times in a row',
      answeredAtMs: bench.clock.wallTimeMs(),
    });
  });

  it('never has two questions out for the same check, and asks again as soon as a slow one has answered', () => {
    const bench = new Bench();
    bench.apply({ a: spec('/a', { timeoutMs: 5000 }) });
    bench.clock.advance(3500);
    expect(bench.timesOf('/a')).to.deep.equal([0]);
    bench.last().ask.answer({ kind: 'fail', sentence: 'late' });
    bench.clock.advance(0);
    expect(bench.timesOf('/a')).to.deep.equal([0, 3500]);
  });

  it('says nothing when the answers stay the same', () => {
    const bench = new Bench();
    bench.reply = () => 'pass';
    bench.apply({ a: spec('/a') });
    bench.clock.advance(100_000);
    expect(bench.timesOf('/a')).to.have.length(101);
    // 1 of 2, then open
    expect(bench.changes.map(({ open }) => open)).to.deep.equal([false, true]);
  });

  it('opens by the clock when the settle time ends between two questions', () => {
    const bench = new Bench();
    bench.reply = () => 'pass';
    bench.apply({ a: spec('/a', { settleMs: 2500 }) });
    bench.clock.advance(2499);
    expect(bench.runner.verdict('a')?.open).to.equal(false);
    bench.clock.advance(1);
    expect(bench.runner.verdict('a')?.open).to.equal(true);
    expect(bench.changes.at(-1)).to.deep.equal({ key: 'a', open: true, atMs: 2500 });
  });

  it('does not open after a failure in the settle time', () => {
    const bench = new Bench();
    bench.reply = () => (bench.clock.now() === 2000 ? 'fail' : 'pass');
    bench.apply({ a: spec('/a', { settleMs: 2500 }) });
    bench.clock.advance(5499);
    expect(bench.runner.verdict('a')?.open).to.equal(false);
    bench.clock.advance(1);
    expect(bench.runner.verdict('a')?.open).to.equal(true);
  });

  it('keeps a verdict and its pace when the same spec comes again', () => {
    const bench = new Bench();
    bench.reply = () => 'pass';
    bench.apply({ a: spec('/a') });
    bench.clock.advance(1500);
    bench.apply({ a: spec('/a') });
    expect(bench.runner.verdict('a')?.open).to.equal(true);
    bench.clock.advance(500);
    expect(bench.timesOf('/a')).to.deep.equal([0, 1000, 2000]);
  });

  it('keeps the verdict under another interval, from the last start on', () => {
    const bench = new Bench();
    bench.reply = () => 'pass';
    bench.apply({ a: spec('/a') });
    bench.clock.advance(1500);
    bench.apply({ a: spec('/a', { intervalMs: 3000 }) });
    expect(bench.runner.verdict('a')?.open).to.equal(true);
    bench.clock.advance(5500);
    expect(bench.timesOf('/a')).to.deep.equal([0, 1000, 4000, 7000]);
  });

  it('does not close by an edit of the counts alone; they count from the next answer', () => {
    const bench = new Bench();
    bench.reply = () => 'pass';
    bench.apply({ a: spec('/a') });
    bench.clock.advance(1500);
    bench.apply({ a: spec('/a', { successes: 10, failures: 1, settleMs: 60_000 }) });
    bench.clock.advance(3000);
    expect(bench.runner.verdict('a')?.open).to.equal(true);
    bench.reply = () => 'fail';
    bench.clock.advance(1000);
    expect(bench.runner.verdict('a')?.open).to.equal(false);
  });

  it('takes a shorter settle time at once', () => {
    const bench = new Bench();
    bench.reply = () => 'pass';
    bench.apply({ a: spec('/a', { settleMs: 60_000 }) });
    bench.clock.advance(5500);
    bench.apply({ a: spec('/a', { settleMs: 1000 }) });
    bench.clock.advance(0);
    expect(bench.runner.verdict('a')?.open).to.equal(true);
  });

  it('starts from nothing for another target, and leaves the others alone', () => {
    const bench = new Bench();
    bench.reply = () => 'pass';
    bench.apply({ a: spec('/a'), b: spec('/b') });
    bench.clock.advance(1500);
    bench.apply({ a: spec('/other'), b: spec('/b') });
    expect(bench.runner.verdict('a')?.open).to.equal(false);
    expect(bench.runner.verdict('b')?.open).to.equal(true);
    expect(bench.last()).to.include({ path: '/other', atMs: 1500 });
    bench.clock.advance(1000);
    expect(bench.runner.verdict('a')?.open).to.equal(true);
    expect(bench.timesOf('/b')).to.deep.equal([0, 1000, 2000]);
  });

  it('aborts the question of a check that is gone, and its late answer changes nothing', () => {
    const bench = new Bench();
    bench.apply({ a: spec('/a', { successes: 1 }) });
    const { ask } = bench.last();
    bench.apply({});
    expect(ask.signal.aborted).to.equal(true);
    bench.apply({ a: spec('/a', { successes: 1 }) });
    ask.answer({ kind: 'pass', sentence: 'from before' });
    expect(bench.runner.verdict('a')?.known).to.equal(false);
    expect(bench.changes).to.deep.equal([]);
  });

  it('leaves no timer and no question after stop', () => {
    const bench = new Bench();
    bench.reply = (path) => (path === '/a' ? 'pass' : undefined);
    bench.apply({ a: spec('/a', { settleMs: 9000 }), b: spec('/b') });
    bench.clock.advance(1500);
    bench.runner.stop();
    expect(bench.clock.pendingTimers).to.equal(0);
    const ofB = bench.asked.find(({ path }) => path === '/b');
    expect(ofB?.ask.signal.aborted).to.equal(true);
    expect(bench.runner.verdict('a')).to.equal(undefined);
  });

  it('lets the callback apply something else', () => {
    const bench = new Bench();
    bench.reply = () => 'pass';
    bench.onChange = (key) => {
      if (key === 'a') bench.apply({ b: spec('/b') });
    };
    bench.apply({ a: spec('/a', { successes: 1 }), b: spec('/b') });
    bench.clock.advance(3000);
    expect(bench.timesOf('/a')).to.deep.equal([0]);
    expect(bench.timesOf('/b')).to.deep.equal([0, 1000, 2000, 3000]);
    expect(bench.runner.verdict('a')).to.equal(undefined);
  });

  it('spreads the first questions of very many checks over the interval, each asked once', () => {
    const bench = new Bench();
    bench.reply = () => 'pass';
    const names = Array.from({ length: 10_000 }, (_, index) => `/${index}`);
    bench.runner.apply(new Map(names.map((name) => [name, spec(name)])));
    expect(bench.asked).to.have.length(100);
    bench.clock.advance(20);
    // a fiftieth of the interval, about a fiftieth of the 9,900 others
    expect(bench.asked.length - 100).to.be.within(120, 280);
    expect(new Set(bench.asked.map(({ path }) => path)).size).to.equal(bench.asked.length);
    bench.runner.stop();
  });

  it('keeps order in any sequence of applies and answers: one question out per check, none for others', () => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 60 }), (steps) => {
        const walk = new Walk();
        for (const step of steps) {
          walk.take(step);
          walk.checkOrder();
        }
        walk.bench.runner.stop();
        expect(walk.bench.clock.pendingTimers).to.equal(0);
      }),
      { numRuns: 500 },
    );
  });
});
