import { expect } from 'chai';
import fc from 'fast-check';
import { cut, formatElapsed, labelled, paint, plain, wrap } from '../../../src/control/style.ts';

const STYLE = { color: false, width: 80, nowMs: 0 };

describe('formatElapsed', () => {
  for (const [seconds, text] of [
    [-5, '0s'],
    [0, '0s'],
    [59.9, '59s'],
    [60, '1m00s'],
    [192, '3m12s'],
    [3599, '59m59s'],
    [3600, '1h00m'],
    [86_399, '23h59m'],
    [86_400, '1d00h'],
    [86_400 * 400 + 3600 * 23, '400d23h'],
  ] as const) {
    it(`says ${text} for ${seconds} s`, () => {
      expect(formatElapsed(seconds * 1000)).to.equal(text);
    });
  }
});

describe('text for terminals', () => {
  it('holds nothing that a terminal obeys', () => {
    expect(plain('a\u001b[2Jb\u0007\r\n\u202ec\u009b31m')).to.equal('a [2Jb c 31m');
  });

  it('wraps within the width, and loses nothing but blanks', () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 1, max: 40 }), (text, width) => {
        const lines = wrap(text, width);
        for (const line of lines) expect(line.length).to.be.at.most(width);
        expect(lines.join('').replaceAll(' ', '')).to.equal(plain(text).replaceAll(' ', ''));
      }),
    );
  });

  it('cuts with a sign that something is missing', () => {
    expect(cut('abcdef', 6)).to.equal('abcdef');
    expect(cut('abcdefg', 6)).to.equal('abcde…');
  });

  it('puts a label beside the first line only', () => {
    expect(labelled('ab  ', `${'x'.repeat(70)} yyyyyyyy`, STYLE)).to.equal(
      `ab  ${'x'.repeat(70)}\n    yyyyyyyy`,
    );
  });

  it('has colour only when told', () => {
    expect(paint('up', 'good', STYLE)).to.equal('up');
    expect(paint('up', 'good', { ...STYLE, color: true })).to.equal('\u001b[32mup\u001b[0m');
  });
});
