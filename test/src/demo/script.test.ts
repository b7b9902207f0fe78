/** The story itself, told to a world on a manual clock: an ideal one, and ones with a fault each that must not go unseen. */

import { expect } from 'chai';
import { type Facts, NO_FACTS } from '../../../src/demo/facts.ts';
import { STORY } from '../../../src/demo/script.ts';
import {
  advance,
  beginStory,
  hasFailed,
  isOver,
  isSeen,
  type Order,
} from '../../../src/demo/story.ts';

const TICK_MS = 50;
const LONGEST_MS = 120_000;
const SESSIONS_AT_MS = 800;

interface Faults {
  readonly isHoldBroken?: boolean;
  readonly isKillSlow?: boolean;
  readonly isDrainLossy?: boolean;
  readonly isTooEarly?: boolean;
  readonly staysAway?: number;
  readonly holdTakesOthers?: boolean;
}

/** What routers and agents do after an order, and when. */
class World {
  readonly #faults: Faults;
  readonly #later: { readonly atMs: number; readonly change: () => void }[] = [];
  #used: number[] = [];
  #known: number[] = [];
  #lost = 0;
  readonly #answered = [0, 0, 0];
  #nowMs = 0;

  constructor(faults: Faults) {
    this.#faults = faults;
    if (faults.isTooEarly === true) this.#after(2000, () => this.#add(2));
  }

  facts(nowMs: number): Facts {
    this.#nowMs = nowMs;
    for (const each of this.#later.filter(({ atMs }) => atMs <= nowMs)) {
      each.change();
      this.#later.splice(this.#later.indexOf(each), 1);
    }
    for (const id of this.#used) this.#answered[id - 1] = (this.#answered[id - 1] ?? 0) + 1;
    return {
      sessions: nowMs < SESSIONS_AT_MS ? [] : [1, 2, 3],
      used: [...this.#used],
      known: [...this.#known],
      requests: { ...NO_FACTS.requests, answered: [...this.#answered], lost: this.#lost },
    };
  }

  obey({ kind, id }: Order): void {
    const faults = this.#faults;
    switch (kind) {
      case 'api-up':
      case 'undrain':
      case 'thaw':
      case 'revive':
        if (faults.staysAway !== id) this.#after(700, () => this.#add(id));
        break;
      case 'drain':
        this.#used = this.#used.filter((each) => each !== id);
        this.#after(1000, () => this.#remove(id));
        break;
      case 'api-down':
        if (faults.isDrainLossy === true) this.#lost += 1;
        break;
      case 'freeze':
        if (faults.isHoldBroken !== true) this.#after(2900, () => this.#remove(id));
        if (faults.holdTakesOthers === true) this.#after(1000, () => this.#remove(1));
        break;
      case 'kill':
        this.#after(faults.isKillSlow === true ? 3000 : 20, () => this.#remove(id));
        break;
    }
  }

  #after(delayMs: number, change: () => void): void {
    this.#later.push({ atMs: this.#nowMs + delayMs, change });
  }

  #add(id: number): void {
    this.#used = [...new Set([...this.#used, id])];
    this.#known = [...new Set([...this.#known, id])];
  }

  #remove(id: number): void {
    this.#used = this.#used.filter((each) => each !== id);
    this.#known = this.#known.filter((each) => each !== id);
  }
}

function tell(faults: Faults) {
  const world = new World(faults);
  let state = beginStory(STORY);
  let nowMs = 0;
  for (; nowMs < LONGEST_MS && !isOver(state); nowMs += TICK_MS) {
    const told = advance(STORY, state, { facts: world.facts(nowMs), nowMs, speed: 1 });
    state = told.state;
    for (const event of told.events) if (event.kind === 'order') world.obey(event.order);
  }
  return { state, nowMs, failed: state.results.findIndex((each) => each.state === 'failed') + 1 };
}

describe('the story of the demo', () => {
  it('is seen in an ideal world, in about forty seconds', () => {
    const { state, nowMs } = tell({});
    expect(state.results.map(({ sentence }) => sentence).join('\n')).not.to.include('not seen');
    expect(isSeen(state)).to.equal(true);
    expect(nowMs).to.be.within(25_000, 45_000);
  });

  const cases: readonly (readonly [string, Faults, number])[] = [
    ['an announcement before the API server answers', { isTooEarly: true }, 1],
    ['a machine that never comes', { staysAway: 3 }, 2],
    ['a drain that loses one request', { isDrainLossy: true }, 4],
    ['a router whose hold timer never fires', { isHoldBroken: true }, 5],
    ['a hold timer that takes another machine along', { holdTakesOthers: true }, 5],
    ['a kill that is noticed by the hold timer only', { isKillSlow: true }, 7],
  ];
  for (const [what, faults, step] of cases) {
    it(`fails in step ${step} with ${what}`, () => {
      const { state, failed } = tell(faults);
      expect(hasFailed(state)).to.equal(true);
      expect(failed).to.equal(step);
    });
  }
});
