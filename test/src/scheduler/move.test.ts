import { expect } from 'chai';
import fc from 'fast-check';
import { nodeLabel, type PreferenceLevel } from '../../../src/model/names.ts';
import { type MoveView, moveStep, type Part } from '../../../src/scheduler/move.ts';
import { EVENTS, type Faults, type ModelEvent, MoveModel, NODES } from './move-model.ts';

const RUNS = 1000;
/** everyday work is frequent, so that a run gets into the middle of moves; the size is that of long runs */
const WORK = ['apply', 'report', 'sync', 'step'] as const;
const kinds = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...WORK) },
  { weight: 1, arbitrary: fc.constantFrom(...EVENTS) },
);
const events = fc.array(fc.record({ kind: kinds, node: fc.constantFrom(...NODES) }), {
  maxLength: 300,
  size: 'max',
});

/** everybody does its work; or one is cut off and given up, or the API is away for long: what events at random seldom come to */
const ROUND = [...NODES.flatMap((node) => [`apply:${node}`, `report:${node}`]), 'sync', 'step'];
const cutOff = (node: string) =>
  ['cut', 'fence', 'lapse', 'declare'].map((kind) => `${kind}:${node}`);
const OUTAGE = ['outage', ...NODES.flatMap((node) => [`fence:${node}`, `lapse:${node}`])];
const node = fc.constantFrom(...NODES);
const longer = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.constant(ROUND) },
    { weight: 1, arbitrary: node.map(cutOff) },
    { weight: 1, arbitrary: fc.constant(OUTAGE) },
    {
      weight: 2,
      arbitrary: fc.record({ kind: kinds, node }).map((each) => [`${each.kind}:${each.node}`]),
    },
  ),
  { maxLength: 60, size: 'max' },
);

/** what a claim that is withdrawn in the middle of moves meets: events at random seldom come to it */
const flapping = fc.array(
  fc
    .oneof(
      { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom(...WORK), node }) },
      {
        weight: 1,
        arbitrary: fc.record({
          kind: fc.constantFrom(
            ...(['withdraw', 'announce', 'drain', 'undrain', 'deafen', 'hear', 'age'] as const),
          ),
          node,
        }),
      },
    )
    .map(({ kind, node: of }) => `${kind}:${of}`),
  { maxLength: 150, size: 'max' },
);

function eventOf(word: string): ModelEvent {
  const [kind, node = 'a'] = word.split(':');
  return { kind, node } as ModelEvent;
}

/** what the router sees in one run, and at the end */
function faultOf(model: MoveModel, run: Parameters<MoveModel['run']>[0][]): string | undefined {
  for (const event of run) {
    model.run(event);
    const { fault } = model;
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** One history, in words; the router sees neither two equal paths nor none after any of them. */
function play(model: MoveModel, words: string): void {
  for (const word of words.split(' ')) {
    model.run(eventOf(word));
    expect(model.fault, word).to.equal(undefined);
  }
}

/** It comes to an end: one label, its node announces alone. */
function expectRest(model: MoveModel): void {
  model.settle();
  if (model.eligible().every((node) => model.agent(node).isRefusing)) return;
  const { holder = '' } = model;
  expect(model.eligible()).to.include(holder);
  expect(model.labels).to.equal(`${nodeLabel(holder)}=0`);
  expect(model.agent(holder).state === 'up' ? model.agent(holder).standing?.level : 0).to.equal(0);
  const writes = model.writes;
  model.settle();
  expect(model.writes, 'writes after it has come to rest').to.equal(writes);
}

describe('the move of an exclusive claim', () => {
  for (const faults of [
    'silence',
    'slowness',
    'refusal',
    'deafness',
    'deaf-refusal',
    'withdrawal',
    'second',
    'chain',
  ] satisfies Faults[]) {
    it(`shows a router never two equal paths and never none, in any order of events (${faults})`, () => {
      fc.assert(
        fc.property(events, (run) => {
          expect(faultOf(new MoveModel(faults), run)).to.equal(undefined);
        }),
        { numRuns: RUNS },
      );
    });

    it(`comes to an end: one label, its node announces alone (${faults})`, () => {
      fc.assert(
        fc.property(events, (run) => {
          const model = new MoveModel(faults);
          for (const event of run) model.run(event);
          expectRest(model);
        }),
        { numRuns: RUNS / 2 },
      );
    });
  }

  it('comes to an end where the holder refuses it, and so do two that have stepped down before', () => {
    const model = new MoveModel('refusal');
    const words =
      'refuse:c step drain:a sync step apply:a report:a sync step drain:b sync step sync apply:a apply:b report:a report:b step refuse:b refuse:a';
    for (const word of words.split(' ')) model.run(eventOf(word));
    model.settle();
    expect(model.labels).to.equal(`${nodeLabel('d')}=0`);
    expect(model.agent('d').standing?.level).to.equal(0);
  });

  for (const faults of ['second', 'chain'] as const) {
    it(`shows neither after long histories of nodes that are cut off, and outages (${faults}, C13)`, () => {
      fc.assert(
        fc.property(longer, (words) => {
          const run = words.flat().map(eventOf);
          expect(faultOf(new MoveModel(faults), run)).to.equal(undefined);
        }),
        { numRuns: RUNS },
      );
    });
  }

  it('shows no equal paths where nodes do not hear that the claim is withdrawn, and announced again', () => {
    fc.assert(
      fc.property(flapping, (words) => {
        expect(faultOf(new MoveModel('withdrawal'), words.map(eventOf))).to.equal(undefined);
      }),
      { numRuns: 10 * RUNS },
    );
  });

  it('moves no claim over a holder that does not hear that it is withdrawn', () => {
    const model = new MoveModel('withdrawal');
    // that its Node is cordoned it does not hear either
    const words =
      'step sync apply:a report:a age:a report:a deafen:a drain:a withdraw sync step undrain:a announce sync apply:b';
    play(model, words);
    expect(model.agent('a').standing?.level, 'a announces it still').to.equal(0);
  });

  it('takes an answer of before for none where the claim was withdrawn and announced again meanwhile', () => {
    const model = new MoveModel('withdrawal');
    const words =
      'step sync apply:a report:a step drain:a sync step apply:a report:a sync step apply:b report:b withdraw apply:b announce report:a sync step apply:a';
    play(model, words);
    expect(model.agent('a').standing, 'a announces it until b does').to.not.equal(undefined);
  });

  /** a is cut off, b holds it: too long a way for events at random to find often */
  const CUT =
    'step sync apply:a report:a cut:a fence:a lapse:a declare:a step sync apply:b report:b';
  const MOVE =
    'drain:b sync step apply:b report:b sync step apply:c report:c sync step apply:b report:b undrain:b';
  const SECOND = [
    { name: 'the agent of the new holder is started', run: 'restart:b' },
    { name: 'the API is away', run: 'outage fence:b lapse:b' },
    { name: 'the API is away, and back', run: 'outage fence:b lapse:b restore apply:b' },
    {
      name: 'the new holder is drained',
      run: 'drain:b sync step apply:b report:b sync step apply:c',
    },
    {
      name: 'the controller crashes in a drain',
      run: 'crash drain:b sync step crash apply:b step',
    },
    {
      name: 'the claim is moved from the new holder to a third, and the API is away',
      run: `${MOVE} outage fence:c lapse:c`,
    },
    {
      name: 'a third gets it, is cut off as well, and the API is away',
      run: `${MOVE} cut:c fence:c lapse:c declare:c sync step sync apply:d report:d outage fence:d lapse:d`,
    },
  ];
  for (const { name, run } of SECOND) {
    it(`shows no equal paths where a node is cut off and then ${name} (C13)`, () => {
      const model = new MoveModel('chain');
      play(model, `${CUT} ${run}`);
      expect(model.agent('a').standing, 'a announces it still').not.to.equal(undefined);
    });
  }

  it('shows no equal paths where a leaver at 1 and the fenced holder meet in an outage', () => {
    const model = new MoveModel('chain');
    const words =
      'step drain:a sync step apply:a sync report:a step apply:b report:b cut:a sync step crash drain:b sync step apply:b report:b sync step apply:c outage fence:c';
    play(model, words);
    expect(model.agent('b').standing?.level, 'leaves by its label').to.equal(1);
    expect(model.agent('c').standing?.level, 'holds, and is fenced').to.equal(1);
  });

  for (const faults of ['refusal', 'deafness', 'deaf-refusal', 'chain'] as const) {
    it(`shows neither where so many leave a node that it lists no level of this claim (${faults})`, () => {
      fc.assert(
        fc.property(events, (run) => {
          const model = new MoveModel(faults, { isCrowded: true });
          expect(faultOf(model, run)).to.equal(undefined);
        }),
        { numRuns: RUNS },
      );
    });

    it(`comes to an end also there (${faults})`, () => {
      fc.assert(
        fc.property(events, (run) => {
          const model = new MoveModel(faults, { isCrowded: true });
          for (const event of run) model.run(event);
          expectRest(model);
        }),
        { numRuns: RUNS / 2 },
      );
    });
  }

  for (const { name, run } of [
    { name: 'the holder refuses it', run: 'step drain:a refuse:b refuse:c' },
    {
      name: 'the holder announces it and drains',
      run: 'refuse:b step drain:a sync step apply:a report:a sync step sync step step apply:b report:b sync step drain:c',
    },
  ]) {
    it(`comes to an end where two that have stepped down list no level, and ${name}`, () => {
      const model = new MoveModel('refusal', { isCrowded: true });
      for (const word of run.split(' ')) model.run(eventOf(word));
      expectRest(model);
      expect(model.holder).to.equal('d');
    });
  }

  it('shows no equal paths where one that listed no level hears of nothing, and a new leader moves the claim on', () => {
    const model = new MoveModel('deafness', { isCrowded: true });
    const words =
      'step drain:a sync step apply:a deafen:a report:a sync step apply:b report:b sync step crash drain:b sync step apply:b';
    play(model, words);
    expect(model.paths, 'b waits until a has heard').to.equal('a:2 b:0 c:- d:-');
  });

  it('shows none either where that one had left from one step down', () => {
    const model = new MoveModel('deafness', { isCrowded: true });
    const words =
      'step drain:a sync step apply:a report:a sync step drain:b sync step apply:b deafen:b sync report:b step apply:c report:c sync step crash drain:c sync step apply:c';
    play(model, words);
    expect(model.paths, 'c waits until b has heard').to.equal('a:- b:1 c:0 d:-');
  });

  /** a and b have stepped down, c is to hold it and hears nothing from then on */
  const NONE_FREE =
    'step sync apply:a report:a drain:a sync step apply:a report:a sync step drain:b sync step apply:b report:b sync step apply:c';

  it('shows no equal paths where a holder that found no level free hears of nothing, and a new leader moves the claim on', () => {
    const model = new MoveModel('deafness');
    const words = `${NONE_FREE} deafen:c report:c drain:c sync step crash report:a report:b sync step undrain:c apply:d`;
    play(model, words);
    expect(model.paths, 'it announces it still').to.equal('a:2 b:1 c:0 d:-');
    model.settle();
    expect(model.labels, 'nobody waits when it has heard').to.match(/^[^ ]+=0$/);
  });

  it('shows none where it lost its label since it refused it, has taken it up again, and hears of nothing', () => {
    const model = new MoveModel('deaf-refusal', { isCrowded: true });
    const words = `${NONE_FREE} refuse:c sync step accept:c apply:c deafen:c step crash drain:c report:a report:b sync step undrain:c apply:d`;
    play(model, words);
    expect(model.labels, 'it has lost its label').to.equal(`${A}=2 ${B}=1`);
    expect(model.paths, 'it announces it still').to.equal('a:2 b:1 c:0 d:-');
    model.settle();
    expect(model.labels, 'nobody waits when it has heard').to.match(/^[^ ]+=0$/);
  });

  it('would show two equal paths if a leaving holder stood where one that is cut off goes', () => {
    const found = fc.check(
      fc.property(
        events,
        (run) => faultOf(new MoveModel('silence', { leaving: [1] }), run) === undefined,
      ),
      { numRuns: 20_000, seed: 1 },
    );
    expect(found.failed).to.equal(true);
  });
});

const A = nodeLabel('a');
const B = nodeLabel('b');
const C = nodeLabel('c');
const HOLDER = new Set<PreferenceLevel>([0]);
const ALIVE: Part = { isGone: false };

function view(
  levels: Readonly<Record<string, PreferenceLevel>>,
  more: Partial<MoveView> & { readonly parts?: Readonly<Record<string, Part>> },
): MoveView {
  const { parts = {}, ...rest } = more;
  return {
    levels: new Map(Object.entries(levels)),
    partOf: (label) => parts[label] ?? ALIVE,
    lingering: new Set(),
    haunted: new Set(),
    isAnnounced: true,
    isOverdue: false,
    ...rest,
  };
}

describe('one step of a move', () => {
  it('places a claim that has no node with one write', () => {
    expect(moveStep(view({}, { target: 'a' }))).to.deep.include({
      kind: 'write',
      write: { node: 'a', labels: { [A]: '0' }, sentence: 'a holds it' },
    });
  });

  it('leaves alone what is as it shall be, and what nobody can have', () => {
    expect(moveStep(view({ [A]: 0 }, { node: 'a', target: 'a' })).kind).to.equal('settled');
    expect(moveStep(view({ [A]: 0 }, { node: 'a' })).kind).to.equal('settled');
  });

  it('asks for another one where the holder says that it refuses it, not where it is withdrawn or has merely not answered', () => {
    const alone = { node: 'a', target: 'a' };
    const parts = { [A]: { isGone: false, answer: 'nothing', refuses: true } as const };
    expect(moveStep(view({ [A]: 0 }, { ...alone, parts })).kind).to.equal('unanswered');
    const withdrawn = { ...alone, parts, isAnnounced: false };
    expect(moveStep(view({ [A]: 0 }, withdrawn)).kind).to.equal('settled');
    const silent = { [A]: { isGone: false, answer: 'nothing' } as const };
    const late = { ...alone, parts: silent, isOverdue: true };
    expect(moveStep(view({ [A]: 0 }, late)).kind).to.equal('settled');
  });

  it('lets one that refuses it step down like any other, and go when the next one steps up', () => {
    const parts = { [A]: { isGone: false, answer: 'nothing', refuses: true } as const };
    const down = moveStep(view({ [A]: 0 }, { node: 'a', target: 'b', parts }));
    expect(down)
      .to.have.nested.property('write.labels')
      .deep.equal({ [A]: '2' });
    const up = moveStep(view({ [A]: 2 }, { node: 'a', target: 'b', parts }));
    expect(up)
      .to.have.nested.property('write.labels')
      .deep.equal({ [A]: null, [B]: '0' });
  });

  it('takes a claim from a dead node with one write', () => {
    const step = moveStep(
      view({ [A]: 0 }, { node: 'a', target: 'b', parts: { [A]: { isGone: true } } }),
    );
    expect(step)
      .to.have.nested.property('write.labels')
      .deep.equal({ [A]: null, [B]: '0' });
    expect(step).to.have.nested.property('write.node', 'b');
  });

  it('lets the old holder step down first, and waits until it has', () => {
    const first = moveStep(view({ [A]: 0 }, { node: 'a', target: 'b' }));
    expect(first)
      .to.have.nested.property('write.labels')
      .deep.equal({ [A]: '2' });
    expect(first).not.to.have.nested.property('write.node');
    expect(moveStep(view({ [A]: 2 }, { node: 'a', target: 'b' })).kind).to.equal('wait');
    const stale = { [A]: { isGone: false, answer: 0 } as const };
    expect(moveStep(view({ [A]: 2 }, { node: 'a', target: 'b', parts: stale })).kind).to.equal(
      'wait',
    );
    const parts = { [A]: { isGone: false, answer: 2 } as const };
    const next = moveStep(view({ [A]: 2 }, { node: 'a', target: 'b', parts }));
    expect(next)
      .to.have.nested.property('write.labels')
      .deep.equal({ [B]: '0' });
    expect(next).to.have.nested.property('write.node', 'b');
  });

  it('waits for a node that may be heard however long it takes, and not for one that announces nothing', () => {
    const late = moveStep(view({ [A]: 2 }, { node: 'a', target: 'b', isOverdue: true }));
    expect(late.kind).to.equal('wait');
    const lingering = HOLDER;
    const left = moveStep(view({}, { node: 'a', target: 'b', isOverdue: true, lingering }));
    expect(left.kind).to.equal('wait');
    const parts = { [A]: { isGone: false, answer: 'nothing' } as const };
    const none = moveStep(view({ [A]: 2 }, { node: 'a', target: 'b', parts }));
    expect(none).to.have.nested.property('write.node', 'b');
  });

  it('lets the old one leave when the new one announces, not before', () => {
    const levels = { [A]: 2, [B]: 0 } as const;
    expect(moveStep(view(levels, { node: 'b', target: 'b' })).kind).to.equal('wait');
    expect(moveStep(view(levels, { node: 'b', target: 'b', isOverdue: true })).kind).to.equal(
      'unanswered',
    );
    const parts = { [B]: { isGone: false, answer: 0 } as const };
    const step = moveStep(view(levels, { node: 'b', target: 'b', parts }));
    expect(step)
      .to.have.nested.property('write.labels')
      .deep.equal({ [A]: null });
  });

  it('goes back to the old one when the new one does not answer: it steps down to a level of its own', () => {
    const back = moveStep(view({ [A]: 2, [B]: 0 }, { node: 'b', target: 'a' }));
    expect(back)
      .to.have.nested.property('write.labels')
      .deep.equal({ [B]: '1' });
    const parts = { [B]: { isGone: false, answer: 1 } as const };
    const up = moveStep(view({ [A]: 2, [B]: 1 }, { node: 'b', target: 'a', parts }));
    expect(up)
      .to.have.nested.property('write.labels')
      .deep.equal({ [A]: '0' });
  });

  it('lets it leave where there is no such level, and waits until it has', () => {
    const parts = { [A]: { isGone: false, answer: 2 } as const };
    const more = { node: 'b', target: 'c', parts, haunted: new Set<PreferenceLevel>([1]) };
    const back = moveStep(view({ [A]: 2, [B]: 0 }, more));
    expect(back)
      .to.have.nested.property('write.labels')
      .deep.equal({ [B]: null });
    for (const target of ['a', 'c']) {
      const late = { ...more, target, lingering: HOLDER };
      expect(moveStep(view({ [A]: 2 }, late)).kind, target).to.equal('wait');
    }
    const up = moveStep(view({ [A]: 2 }, more));
    expect(up)
      .to.have.nested.property('write.labels')
      .deep.equal({ [C]: '0' });
  });

  it('goes back to the old one with one write when the new one is dead', () => {
    const parts = { [B]: { isGone: true } };
    const step = moveStep(view({ [A]: 2, [B]: 0 }, { node: 'b', target: 'a', parts }));
    expect(step)
      .to.have.nested.property('write.labels')
      .deep.equal({ [A]: '0', [B]: null });
    expect(step).to.have.nested.property('write.node', 'a');
  });

  it('begins no second move before the last one is over', () => {
    const more = { node: 'a', target: 'b', lingering: new Set<PreferenceLevel>([2]) };
    expect(moveStep(view({ [A]: 0 }, more)).kind).to.equal('wait');
    expect(moveStep(view({ [A]: 0 }, { ...more, isOverdue: true })).kind).to.equal('wait');
    const dead = { [A]: { isGone: true } };
    expect(moveStep(view({ [A]: 0 }, { ...more, parts: dead })).kind).to.equal('write');
  });

  it('lets a holder step down to where no node that is cut off may stand', () => {
    const haunted = new Set<PreferenceLevel>([2]);
    const step = moveStep(view({ [A]: 0 }, { node: 'a', target: 'b', haunted }));
    expect(step)
      .to.have.nested.property('write.labels')
      .deep.equal({ [A]: '1' });
  });

  it('lets it leave where such a level is left to nobody and the next holder announces already', () => {
    const parts = {
      [A]: { isGone: true, said: 2 },
      [B]: { isGone: false, answer: 1, said: 1 },
    } as const;
    const step = moveStep(view({ [A]: 2, [B]: 1, [C]: 0 }, { node: 'c', target: 'b', parts }));
    expect(step)
      .to.have.nested.property('write.labels')
      .deep.equal({ [C]: null });
  });

  it('gives it a level where those that have stepped down list none: it announces it, or itself refuses it', () => {
    const nothing = { isGone: false, answer: 'nothing' } as const;
    const at = (c: Part, b: Part = nothing) => {
      const parts = { [A]: nothing, [B]: b, [C]: c };
      return moveStep(view({ [A]: 2, [B]: 1, [C]: 0 }, { node: 'c', target: 'd', parts }));
    };
    expect(at({ isGone: false, answer: 0 }))
      .to.have.nested.property('write.labels')
      .deep.equal({ [A]: null, [B]: null });
    expect(at({ isGone: false, answer: 0 }, ALIVE), 'b has not answered')
      .to.have.nested.property('write.labels')
      .deep.equal({ [A]: null });
    expect(at({ ...nothing, refuses: true }))
      .to.have.nested.property('write.labels')
      .deep.equal({ [C]: null });
    expect(at(ALIVE).kind, 'it has not answered').to.equal('wait');
    expect(at(nothing).kind, 'it may merely list nothing').to.equal('wait');
  });

  it('moves a withdrawn claim with one write when all others have said that they announce nothing, or are dead', () => {
    const way = { node: 'a', target: 'b', isAnnounced: false };
    expect(moveStep(view({ [A]: 0 }, way)).kind).to.equal('wait');
    const before = { [A]: { isGone: false, answer: 0 } as const };
    expect(moveStep(view({ [A]: 0 }, { ...way, parts: before })).kind).to.equal('wait');
    const quiet = { isGone: false, answer: 'nothing' } as const;
    for (const part of [quiet, { isGone: true }]) {
      const step = moveStep(view({ [A]: 0 }, { ...way, parts: { [A]: part } }));
      expect(step)
        .to.have.nested.property('write.labels')
        .deep.equal({ [A]: null, [B]: '0' });
    }
    const left = view({}, { ...way, lingering: HOLDER });
    expect(moveStep(left).kind, 'one that has lost its label').to.equal('wait');
  });
});
