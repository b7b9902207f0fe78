import { expect } from 'chai';
import fc from 'fast-check';
import { WatchLines } from '../../../../src/sources/kube/watch-lines.ts';

const encoder = new TextEncoder();

/** the bytes of a text, cut at these places */
function cut(text: string, at: readonly number[]): Uint8Array[] {
  const bytes = encoder.encode(text);
  const places = [...new Set(at.map((each) => each % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((from, index) => bytes.slice(from, places[index] ?? bytes.length));
}

const line = fc
  .string({ unit: 'grapheme' })
  .map((text) => text.replaceAll('\n', ''))
  .filter((text) => text !== '' && text.isWellFormed());

describe('lines of a watch', () => {
  it('are the same wherever the chunks end, also inside of a character', () => {
    fc.assert(
      fc.property(fc.array(line), fc.array(fc.nat()), (wanted, at) => {
        const lines = new WatchLines();
        const whole = wanted.map((each) => `${each}\n`).join('');
        const found = cut(whole, at).flatMap((chunk) => [...lines.push(chunk)]);
        expect(found).to.deep.equal(wanted);
      }),
    );
  });

  it('keep what has no end yet, byte by byte', () => {
    const lines = new WatchLines();
    const text = '{"type":"ADDED","object":"Käse 🧀"}';
    for (const byte of encoder.encode(text)) {
      expect(lines.push(Uint8Array.of(byte))).to.deep.equal([]);
    }
    expect(lines.push(encoder.encode('\n\n'))).to.deep.equal([text]);
  });

  it('have a bound', () => {
    const lines = new WatchLines();
    const chunk = new Uint8Array(1024 * 1024).fill(0x20);
    expect(() => {
      for (let count = 0; count < 40; count += 1) lines.push(chunk);
    }).to.throw(RangeError);
  });
});
