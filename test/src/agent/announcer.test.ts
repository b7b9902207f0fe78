import { expect } from 'chai';
import {
  type AnnouncerFacts,
  announcerOf,
  hasAnnouncedAfter,
  isSameAnnouncer,
} from '../../../src/agent/announcer.ts';

const OWN = { holder: 'a_1', isOwn: true, isLeaving: false };
const FREE = { holder: '', isOwn: false, isLeaving: false };
const OTHER = { holder: 'b_1', isOwn: false, isLeaving: false };
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
    ['a first start, nothing read', { isLeading: false, hasAnnounced: false }, '?'],
    ['a restart while the API is away', { isLeading: false, hasAnnounced: true }, '1'],
    ['the Lease is free', { isLeading: false, hasAnnounced: false, reading: FREE }, '2'],
    ['it leads', { isLeading: true, hasAnnounced: false, reading: OWN }, '0'],
    ['it cannot renew', { isLeading: false, hasAnnounced: true, reading: OWN }, '1'],
    ['another leads', { isLeading: false, hasAnnounced: false, reading: OTHER }, '-'],
    [
      'back after a cut, another leads',
      { isLeading: false, hasAnnounced: true, reading: OTHER },
      '-',
    ],
    ['the Lease is free again', { isLeading: false, hasAnnounced: true, reading: FREE }, '1'],
    ['another is leaving', { isLeading: false, hasAnnounced: false, reading: LEAVING }, '2'],
    [
      'the old DaemonSet',
      { isLeading: true, hasAnnounced: true, refusal: { sentence: 'x', remedy: 'y' } },
      '!',
    ],
  ];
  for (const [what, facts, wanted] of rows) {
    it(`${what}: ${wanted}`, () => {
      expect(brief(facts)).to.equal(wanted);
    });
  }

  it('is remembered until another holder is read', () => {
    const facts = { isLeading: true, hasAnnounced: false, reading: OWN };
    expect(hasAnnouncedAfter(facts)).to.equal(true);
    const cut = { isLeading: false, hasAnnounced: true };
    expect(hasAnnouncedAfter(cut)).to.equal(true);
    expect(hasAnnouncedAfter({ ...cut, reading: FREE })).to.equal(true);
    expect(hasAnnouncedAfter({ ...cut, reading: OTHER })).to.equal(false);
    expect(hasAnnouncedAfter({ isLeading: false, hasAnnounced: false })).to.equal(false);
  });

  it('is the same while neither its preference nor its sentence changes', () => {
    const waits = () => announcerOf({ isLeading: false, hasAnnounced: false, reading: OTHER });
    const beside = announcerOf({ isLeading: false, hasAnnounced: false, reading: LEAVING });
    expect(isSameAnnouncer(waits(), waits())).to.equal(true);
    expect(isSameAnnouncer(waits(), beside)).to.equal(false);
  });
});
