import { expect } from 'chai';
import { type HolderWord, isHeldBy } from '../../../src/scheduler/mode-change.ts';

const WORDS: readonly {
  readonly what: string;
  readonly word: HolderWord;
  readonly inTime: boolean;
  readonly late: boolean;
}[] = [
  { what: 'announces it', word: { answer: 0 }, inTime: true, late: true },
  { what: 'announces it lower', word: { answer: 1 }, inTime: true, late: true },
  { what: 'has not answered', word: {}, inTime: false, late: false },
  { what: 'refuses it', word: { answer: 'nothing', refusal: {} }, inTime: false, late: false },
  {
    what: 'refuses more than it lists',
    word: { answer: 'nothing', isCutShort: true },
    inTime: false,
    late: false,
  },
  {
    what: 'has taken it up and tells no level, as 0.1 does',
    word: { answer: 'nothing' },
    inTime: false,
    late: true,
  },
];

describe('whether a claim that became exclusive has its holder', () => {
  for (const { what, word, inTime, late } of WORDS) {
    it(`${late ? 'yes' : 'no'}, where it ${what}`, () => {
      expect(isHeldBy(word, false), 'at once').to.equal(inTime);
      expect(isHeldBy(word, true), 'when its time is over').to.equal(late);
    });
  }
});
