import { expect } from 'chai';
import fc from 'fast-check';
import {
  ELECTION_TIMES,
  type ElectionState,
  held,
  intentOf,
  isHeld,
  type LeaseRecord,
  observe,
} from '../../../src/controller/election-rules.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

const times = ELECTION_TIMES;
const ofOther: LeaseRecord = { holder: 'b', renewTime: 't1', leaseMs: 15_000, transitions: 3 };
const intent = (state: ElectionState, record: LeaseRecord | undefined, nowMs: number) =>
  intentOf(state, record, { identity: 'a', times, nowMs });

describe('who leads', () => {
  it('creates the Lease where there is none, takes one that was released, renews its own', () => {
    expect(intent({}, undefined, 0)).to.equal('create');
    expect(intent({}, { ...ofOther, holder: '' }, 0)).to.equal('take');
    expect(intent({}, { ...ofOther, holder: 'a' }, 0)).to.equal('renew');
  });

  it('waits the length of a lease from when it first saw the record, whatever the record says of the time', () => {
    for (const renewTime of ['1970-01-01T00:00:00.000000Z', '2999-01-01T00:00:00.000000Z', '']) {
      const record = { ...ofOther, renewTime };
      const state = observe({}, record, 1000);
      expect(intent(state, record, 15_999)).to.equal('wait');
      expect(intent(state, record, 16_000)).to.equal('take');
    }
  });

  it('begins to wait anew with each renewal that it sees', () => {
    const seen = observe({}, ofOther, 0);
    const renewed = { ...ofOther, renewTime: 't2' };
    const again = observe(seen, renewed, 14_000);
    expect(intent(again, renewed, 28_999)).to.equal('wait');
    expect(intent(again, renewed, 29_000)).to.equal('take');
    expect(observe(again, renewed, 20_000), 'the same record is no news').to.equal(again);
  });

  it('honours the longer lease of a holder with other settings, within reason', () => {
    const long = { ...ofOther, leaseMs: 60_000 };
    expect(intent(observe({}, long, 0), long, 59_999)).to.equal('wait');
    expect(intent(observe({}, long, 0), long, 60_000)).to.equal('take');
    const absurd = { ...ofOther, leaseMs: Number.MAX_SAFE_INTEGER };
    expect(intent(observe({}, absurd, 0), absurd, 3_600_000)).to.equal('take');
    const short = { ...ofOther, leaseMs: 1 };
    expect(intent(observe({}, short, 0), short, 14_999), 'nor less than our own').to.equal('wait');
  });

  it('holds until the renew deadline after the renewal was sent', () => {
    const state = held({}, 5000, times);
    expect(isHeld(state, 14_999)).to.equal(true);
    expect(isHeld(state, 15_000)).to.equal(false);
    expect(isHeld({}, 0)).to.equal(false);
  });

  it('never has two leaders, with clocks that drift, requests that dawdle and processes that freeze', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 2, max: 5 }), (seed, count) => {
        const world = new World(seed, count);
        for (let step = 0; step < 2000; step += 1) {
          world.advance(100);
          const leaders = world.leaders();
          if (leaders.length > 1) expect.fail(`${leaders.join(' and ')} at ${world.nowMs} ms`);
        }
      }),
      { numRuns: 40 },
    );
  });

  it('has a leader again within the lease, the deadline and two tries, while one contender works', () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 1, max: 5 }), (seed, count) => {
        const world = new World(seed, count);
        for (let step = 0; step < 600; step += 1) world.advance(100);
        world.calm();
        const bound = (times.leaseMs + times.renewDeadlineMs + 2 * times.retryMs) * 1.2;
        let waitedMs = 0;
        while (world.leaders().length === 0) {
          world.advance(100);
          waitedMs += 100;
          expect(waitedMs).to.be.at.most(bound);
        }
      }),
      { numRuns: 60 },
    );
  });
});

/** An API server that keeps one Lease, and contenders that reach it with delays. Real time here is nobody's clock. */
class World {
  nowMs = 0;
  lease: { readonly record: LeaseRecord; readonly version: number } | undefined;
  isCalm = false;
  readonly random: SeededRandom;
  readonly #contenders: Contender[];

  constructor(seed: number, count: number) {
    this.random = new SeededRandom(seed);
    this.#contenders = Array.from({ length: count }, (_, index) => new Contender(this, index));
  }

  advance(ms: number): void {
    this.nowMs += ms;
    for (const contender of this.#contenders) contender.live();
  }

  calm(): void {
    this.isCalm = true;
  }

  leaders(): readonly string[] {
    return this.#contenders.filter((each) => each.isLeading).map(({ identity }) => identity);
  }
}

class Contender {
  readonly identity: string;
  readonly #world: World;
  /** a clock with an offset of its own that runs up to a tenth too fast or too slow */
  readonly #offsetMs: number;
  readonly #rate: number;
  #state: ElectionState = {};
  #frozenUntilMs = 0;
  #nextMs = 0;
  #pending: { readonly dueMs: number; readonly run: () => void }[] = [];

  constructor(world: World, index: number) {
    this.#world = world;
    this.identity = `contender-${index}`;
    this.#offsetMs = world.random.below(1_000_000);
    this.#rate = 0.9 + world.random.next() / 5;
  }

  get #clock(): number {
    return this.#offsetMs + this.#world.nowMs * this.#rate;
  }

  /** a frozen process would write on waking, so what counts is what it would find then */
  get isLeading(): boolean {
    return isHeld(this.#state, this.#clock);
  }

  live(): void {
    const { random, nowMs, isCalm } = this.#world;
    if (!isCalm && random.next() < 0.001) this.#frozenUntilMs = nowMs + random.below(40_000);
    if (!isCalm && nowMs < this.#frozenUntilMs) return;
    const due = this.#pending.filter(({ dueMs }) => dueMs <= nowMs);
    this.#pending = this.#pending.filter(({ dueMs }) => dueMs > nowMs);
    for (const { run } of due) run();
    if (nowMs < this.#nextMs || this.#pending.length > 0) return;
    this.#nextMs = nowMs + times.retryMs;
    this.#after(() => this.#read());
  }

  #read(): void {
    const { lease } = this.#world;
    this.#after(() => {
      const record = lease?.record;
      if (record !== undefined) this.#state = observe(this.#state, record, this.#clock);
      const nowMs = this.#clock;
      const what = intentOf(this.#state, record, { identity: this.identity, times, nowMs });
      if (what === 'wait') return;
      const sentMs = this.#clock;
      this.#after(() => this.#write(lease?.version, sentMs));
    });
  }

  /** at the server: guarded by the version that was read */
  #write(version: number | undefined, sentMs: number): void {
    const { lease, nowMs } = this.#world;
    if (lease?.version !== version) return;
    const record = { holder: this.identity, renewTime: String(nowMs), transitions: 0 };
    this.#world.lease = { record: { ...record, leaseMs: times.leaseMs }, version: nowMs };
    this.#after(() => {
      this.#state = held(this.#state, sentMs, times);
    });
  }

  #after(run: () => void): void {
    const { random, nowMs, isCalm } = this.#world;
    const delayMs = !isCalm && random.next() < 0.05 ? random.below(20_000) : random.below(200);
    this.#pending.push({ dueMs: nowMs + delayMs, run });
  }
}
