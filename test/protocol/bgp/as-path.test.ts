import { expect } from 'chai';
import fc from 'fast-check';
import {
  asPathLength,
  asPathSize,
  mergeAs4Path,
  needsFourOctets,
  readAsPath,
  withoutConfederation,
  writeAsPath,
} from '../../../protocol/bgp/as-path.ts';
import type { AsPathSegment } from '../../../protocol/bgp/message.ts';
import { formatHex, parseHex } from '../../../protocol/bytes/hex.ts';
import { ByteWriter } from '../../../protocol/bytes/writer.ts';
import { asn } from '../../support/arbitraries.ts';

const sequence = (...asns: number[]): AsPathSegment => ({ type: 'sequence', asns });
const set = (...asns: number[]): AsPathSegment => ({ type: 'set', asns });
const confed = (...asns: number[]): AsPathSegment => ({ type: 'confed-sequence', asns });
const TRANS = 23456;
const BIG = 4200000000;

function read(hex: string, width: 2 | 4) {
  const bytes = parseHex(hex) ?? new Uint8Array(0);
  return readAsPath(bytes, 0, bytes.length, width);
}

function write(path: readonly AsPathSegment[], width: 2 | 4): string {
  const writer = new ByteWriter();
  writeAsPath(writer, path, width);
  expect(writer.length).to.equal(asPathSize(path, width));
  return formatHex(writer.finish());
}

describe('AS path', () => {
  it('reads two and four octets', () => {
    expect(read('0202fde9fdea', 2)).to.deep.equal([sequence(65001, 65002)]);
    expect(read('0201fa56ea00 0101 00000001', 4)).to.deep.equal([sequence(BIG), set(1)]);
    expect(read('', 4)).to.deep.equal([]);
  });

  it('says what is wrong', () => {
    expect(read('02', 2)).to.match(/one octet/);
    expect(read('0501fde9', 2)).to.match(/segment type 5/);
    expect(read('0200', 2)).to.match(/no AS number/);
    expect(read('0202fde9', 2)).to.match(/past the end/);
    expect(read('0201 0000', 2)).to.match(/AS number 0/);
  });

  it('writes AS_TRANS for what does not fit into two octets', () => {
    expect(write([sequence(65001, BIG)], 2)).to.equal('0202fde95ba0');
    expect(write([sequence(65001, BIG)], 4)).to.equal('02020000fde9fa56ea00');
    expect(needsFourOctets([sequence(65535)])).to.equal(false);
    expect(needsFourOctets([sequence(1), set(65536)])).to.equal(true);
  });

  it('writes a segment of more than 255 numbers as several', () => {
    const long = Array.from({ length: 300 }, (_, index) => index + 1);
    const path = read(write([sequence(...long)], 4), 4);
    expect(path).to.deep.equal([sequence(...long.slice(0, 255)), sequence(...long.slice(255))]);
  });

  it('is counted as route selection does', () => {
    expect(asPathLength([confed(1, 2), sequence(3, 4, 5), set(6, 7)])).to.equal(4);
  });

  it('leaves confederation segments out of AS4_PATH', () => {
    expect(withoutConfederation([confed(1), sequence(2)])).to.deep.equal([sequence(2)]);
  });

  describe('merged with AS4_PATH (RFC 6793 §4.2.3)', () => {
    const cases: readonly [string, AsPathSegment[], AsPathSegment[], AsPathSegment[]][] = [
      ['the same length', [sequence(TRANS, 1)], [sequence(BIG, 1)], [sequence(BIG, 1)]],
      ['a longer front', [sequence(5, TRANS, 1)], [sequence(BIG, 1)], [sequence(5, BIG, 1)]],
      [
        'a shorter path: AS4_PATH is ignored',
        [sequence(TRANS)],
        [sequence(BIG, 1)],
        [sequence(TRANS)],
      ],
      ['an empty AS4_PATH', [sequence(5, 6)], [], [sequence(5, 6)]],
      [
        'a set counts as one',
        [sequence(5, TRANS), set(1, 2)],
        [sequence(BIG), set(BIG, 2)],
        [sequence(5, BIG), set(BIG, 2)],
      ],
      ['a set in front', [set(8, 9), sequence(TRANS)], [sequence(BIG)], [set(8, 9), sequence(BIG)]],
      [
        'confederation segments in front stay',
        [confed(7), sequence(TRANS)],
        [sequence(BIG)],
        [confed(7), sequence(BIG)],
      ],
      [
        'and next to what is taken',
        [sequence(5), confed(7), sequence(TRANS)],
        [sequence(BIG)],
        [sequence(5), confed(7), sequence(BIG)],
      ],
      [
        'confederation segments in AS4_PATH are dropped',
        [sequence(TRANS)],
        [confed(7), sequence(BIG)],
        [sequence(BIG)],
      ],
    ];
    for (const [name, path, as4Path, merged] of cases) {
      it(name, () => expect(mergeAs4Path(path, as4Path)).to.deep.equal(merged));
    }

    it('gives back any path that went over a two-octet speaker', () => {
      const segments = fc.array(
        fc.record({
          type: fc.constantFrom('sequence' as const, 'set' as const),
          asns: fc.array(asn(), { minLength: 1, maxLength: 5 }),
        }),
        { maxLength: 4 },
      );
      fc.assert(
        fc.property(segments, (path) => {
          const wire = read(write(path, 2), 2);
          if (typeof wire === 'string') throw new Error(wire);
          expect(mergeAs4Path(wire, path)).to.deep.equal(path);
        }),
      );
    });
  });
});
