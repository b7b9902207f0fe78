import { expect } from 'chai';
import {
  type AnnouncerFacts,
  announcerOf,
  isSameAnnouncer,
  turnAfter,
} from '../../../src/agent/announcer.ts';

const OWN = { holder: 'a_1', isOwn: true, isLeaving: false, transitions: 4 };
const FREE = { holder: '', isOwn: false, isLeaving: false, transitions: 5 };
const OTHER = { holder: 'b_1', isOwn: false, isLeaving: false, transitions: 5 };
const LEAVING = { ...OTHER, isLeaving: true };

/** `0`, `1`, `2`: announced with so many steps down; `-`: not announced; `?`: not announced, and nothing speaks against it yet; `!`: not joined */
function brief(facts: AnnouncerFacts): string {
  const announcer = announcerOf(facts);
  if (announcer.kind === 'holding') return '0';
  if (announcer.kind === 'stepped-down') return String(announcer.steps);
  if (announcer.kind === 'refused') return '!';
  return announcer.finding.isUnknown === true ? '?' : '-';
}

describe('the announcer of simple mode', () => {
  const rows: readonly (readonly [string, AnnouncerFacts, string])[] = [
    ['a first start, nothing read', { isLeading: false }, '?'],
    ['a restart while the API is away', { isLeading: false, turn: 4 }, '1'],
    ['the Lease is free', { isLeading: false, reading: FREE }, '2'],
    ['it leads', { isLeading: true, reading: OWN }, '0'],
    ['it cannot renew', { isLeading: false, turn: 4, reading: OWN }, '1'],
    ['another leads', { isLeading: false, reading: OTHER }, '-'],
    ['back after a cut, another leads', { isLeading: false, turn: 4, reading: OTHER }, '-'],
    ['the Lease is free again', { isLeading: false, turn: 4, reading: FREE }, '1'],
    ['another is leaving', { isLeading: false, reading: LEAVING }, '2'],
    [
      'the old DaemonSet',
      { isLeading: true, turn: 4, refusal: { sentence: 'x', remedy: 'y' } },
      '!',
    ],
  ];
  for (const [what, facts, wanted] of rows) {
    it(`${what}: ${wanted}`, () => {
      expect(brief(facts)).to.equal(wanted);
    });
  }

  it('is remembered with its turn until another holder is read', () => {
    expect(turnAfter({ isLeading: true, reading: OWN })).to.equal(4);
    const cut = { isLeading: false, turn: 4 };
    expect(turnAfter(cut)).to.equal(4);
    expect(turnAfter({ ...cut, reading: FREE }), 'given back by a later holder').to.equal(4);
    expect(turnAfter({ ...cut, reading: { ...OWN, transitions: 6 } }), 'held again').to.equal(6);
    expect(turnAfter({ ...cut, reading: OTHER })).to.equal(undefined);
    expect(turnAfter({ isLeading: false })).to.equal(undefined);
    expect(turnAfter({ isLeading: false, reading: OWN }), 'a lost state folder').to.equal(
      undefined,
    );
  });

  it('stands one step down with the turn in which it held the Lease', () => {
    for (const reading of [undefined, OWN, FREE]) {
      const facts = { isLeading: false, turn: 4, ...(reading !== undefined && { reading }) };
      expect(announcerOf(facts)).to.include({ kind: 'stepped-down', steps: 1, turn: 4 });
    }
    const [one, other] = [4, 5].map((turn) => announcerOf({ isLeading: false, turn }));
    expect(one && other && isSameAnnouncer(one, other)).to.equal(false);
  });

  it('is the same while neither its preference nor its sentence changes', () => {
    const waits = () => announcerOf({ isLeading: false, reading: OTHER });
    const beside = announcerOf({ isLeading: false, reading: LEAVING });
    expect(isSameAnnouncer(waits(), waits())).to.equal(true);
    expect(isSameAnnouncer(waits(), beside)).to.equal(false);
  });
});
