import { expect } from 'chai';
import { type Facts, NO_FACTS } from '../../../src/demo/facts.ts';
import {
  advance,
  beginStory,
  hasFailed,
  isOver,
  isSeen,
  type Step,
  type StoryEvent,
  type StoryState,
  skipRest,
} from '../../../src/demo/story.ts';

const UP: Facts = { ...NO_FACTS, used: [1], known: [1] };

const STEP: Step = {
  title: 'a step',
  text: '',
  look: '',
  beats: [
    { kind: 'order', order: { kind: 'api-up', id: 1 } },
    { kind: 'see', what: 'it is up', when: ({ used }) => used.includes(1), withinMs: 1000 },
    { kind: 'keep', what: 'it stays up', while: ({ used }) => used.includes(1), forMs: 500 },
    { kind: 'pause', forMs: 2000 },
  ],
};

/** the machine with a clock that the test moves */
class Teller {
  state: StoryState;
  readonly events: StoryEvent[] = [];
  readonly #steps: readonly Step[];
  readonly #speed: number;

  constructor(steps: readonly Step[], speed = 1) {
    this.#steps = steps;
    this.#speed = speed;
    this.state = beginStory(steps);
  }

  at(nowMs: number, facts: Facts): this {
    const told = advance(this.#steps, this.state, { facts, nowMs, speed: this.#speed });
    this.state = told.state;
    this.events.push(...told.events);
    return this;
  }

  kinds(): readonly string[] {
    return this.events.map(({ kind }) => kind);
  }
}

describe('the machine of the story', () => {
  it('gives the order first and judges by facts that are newer', () => {
    const teller = new Teller([STEP]).at(0, UP);
    expect(teller.kinds()).to.deep.equal(['step', 'order']);
    teller.at(1, UP);
    expect(teller.kinds()).to.deep.equal(['step', 'order', 'seen']);
  });

  it('is seen to its end when everything comes in time', () => {
    const teller = new Teller([STEP]).at(0, NO_FACTS).at(400, UP).at(900, UP).at(2900, UP);
    expect(teller.kinds()).to.deep.equal(['step', 'order', 'seen', 'seen', 'step-seen', 'over']);
    expect(teller.events.at(2)).to.include({ what: 'it is up', afterMs: 400 });
    expect(isOver(teller.state)).to.equal(true);
    expect(isSeen(teller.state)).to.equal(true);
    expect(hasFailed(teller.state)).to.equal(false);
  });

  it('fails when it is not seen within the bound', () => {
    const teller = new Teller([STEP, STEP]).at(0, NO_FACTS).at(1000, NO_FACTS);
    expect(teller.kinds()).to.deep.equal(['step', 'order']);
    teller.at(1001, NO_FACTS);
    expect(teller.kinds().slice(2)).to.deep.equal(['step-failed', 'over']);
    expect(teller.events.at(2)).to.have.property('sentence', 'not seen within 1 s: it is up');
    expect(teller.state.results.map(({ state }) => state)).to.deep.equal(['failed', 'skipped']);
    expect(isSeen(teller.state)).to.equal(false);
  });

  it('fails when it is seen after the bound: late is not in time', () => {
    const teller = new Teller([STEP]).at(0, NO_FACTS).at(1001, UP);
    expect(hasFailed(teller.state)).to.equal(true);
  });

  it('fails when what was to stay does not', () => {
    const teller = new Teller([STEP]).at(0, NO_FACTS).at(100, UP).at(300, NO_FACTS);
    expect(teller.events.at(-2)).to.have.property('sentence', 'did not stay so: it stays up');
  });

  it('fails at the moment that a promise of the step is broken, whatever the beat', () => {
    const holds = (facts: Facts, mark: Facts) => facts.requests.lost === mark.requests.lost;
    const careful: Step = { ...STEP, promise: { what: 'nothing is lost', holds } };
    const lossy = { ...UP, requests: { ...UP.requests, lost: 1 } };
    const teller = new Teller([careful]).at(0, UP).at(600, UP).at(700, lossy);
    expect(teller.events.at(-2)).to.have.property('sentence', 'broken: nothing is lost');
    // what was lost before the step is not the step's
    expect(hasFailed(new Teller([careful]).at(0, lossy).at(600, lossy).state)).to.equal(false);
  });

  it('fails with the trouble of the stage', () => {
    const teller = new Teller([STEP]).at(0, UP).at(10, { ...UP, trouble: 'the router has ended' });
    expect(teller.events.at(-2)).to.have.property('sentence', 'the router has ended');
  });

  it('shortens pauses by the speed, and no bound', () => {
    const fast = new Teller([STEP], 10).at(0, UP).at(1, UP).at(400, UP);
    expect(fast.kinds()).not.to.include('step-seen');
    fast.at(501, UP).at(702, UP);
    expect(fast.kinds().slice(-2)).to.deep.equal(['step-seen', 'over']);
  });

  it('tells nothing more when it is over', () => {
    const teller = new Teller([STEP]).at(0, NO_FACTS).at(2000, NO_FACTS);
    const told = teller.events.length;
    teller.at(9000, UP);
    expect(teller.events).to.have.length(told);
  });

  it('is over without a verdict when the rest is skipped', () => {
    const { state } = new Teller([STEP, STEP]).at(0, UP);
    const skipped = skipRest(state);
    expect(isOver(skipped)).to.equal(true);
    expect(hasFailed(skipped)).to.equal(false);
    expect(isSeen(skipped)).to.equal(false);
  });
});
