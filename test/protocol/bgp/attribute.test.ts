/**
 * RFC 7606 as a matrix: every attribute that we know against every defect, with the outcome that the RFCs demand. A cell that is
 * missing fails, and so does an attribute of the table that has no line here.
 */
import { expect } from 'chai';
import { ATTRIBUTE_ROWS } from '../../../protocol/bgp/attribute.ts';
import { AttributeCode } from '../../../protocol/bgp/codes.ts';
import { decodeAt, PLAIN_CONTEXT } from '../../../protocol/bgp/decode.ts';
import type { CodecContext } from '../../../protocol/bgp/negotiate.ts';
import { parseHex } from '../../../protocol/bytes/hex.ts';
import { ByteWriter } from '../../../protocol/bytes/writer.ts';

/** `-` where the defect cannot be made of this attribute */
type Cell = 'accept' | 'discard' | 'withdraw' | 'reset' | '-';

const DEFECTS = [
  'none',
  'from an external neighbour',
  'wrong flags',
  'one octet less',
  'one octet more',
  'empty',
  'bad value',
  'twice',
  'past the end of the list',
] as const;
type Defect = (typeof DEFECTS)[number];

interface Line {
  readonly code: number;
  /** the value of a good one, in hex */
  readonly good: string;
  /** a value of a good length that means nothing */
  readonly bad?: string;
  /** AS4_PATH and AS4_AGGREGATOR belong to two-octet sessions */
  readonly twoOctets?: true;
  /** in the order of DEFECTS */
  readonly cells: readonly Cell[];
}

const V6 = '20010db8000000000000000000000001';
const w = 'withdraw';
const d = 'discard';

const LINES: Readonly<Record<keyof typeof AttributeCode, Line>> = {
  //                                           none      external  flags    less     more     empty    bad      twice    past
  // biome-ignore-start format: a matrix is read in columns
  origin: { code: 1, good: '00', bad: '03', cells: ['accept', 'accept', w, w, w, w, w, d, w] },
  asPath: {
    code: 2,
    good: '02010000fde9',
    bad: '020100000000',
    cells: ['accept', 'accept', w, w, w, 'accept', w, d, w],
  },
  nextHop: {
    code: 3,
    good: 'c0000201',
    bad: 'e0000001',
    cells: ['accept', 'accept', w, w, w, w, w, d, w],
  },
  med: { code: 4, good: '00000001', cells: ['accept', 'accept', w, w, w, w, '-', d, w] },
  localPref: { code: 5, good: '00000064', cells: ['accept', d, w, w, w, w, '-', d, w] },
  atomicAggregate: {
    code: 6,
    good: '',
    cells: ['accept', 'accept', w, '-', d, 'accept', '-', d, w],
  },
  aggregator: {
    code: 7,
    good: '0000fde9c0000201',
    bad: '00000000c0000201',
    cells: ['accept', 'accept', w, d, d, d, d, d, w],
  },
  communities: { code: 8, good: 'fde80001', cells: ['accept', 'accept', w, w, w, w, '-', d, w] },
  originatorId: { code: 9, good: 'c0000201', cells: ['accept', d, w, w, w, w, '-', d, w] },
  clusterList: { code: 10, good: 'c0000201', cells: ['accept', d, w, w, w, w, '-', d, w] },
  mpReach: {
    code: 14,
    good: `00020110${V6}002020010db8`,
    bad: `00020110${V6}00ff20010db8`,
    cells: ['accept', 'accept', w, 'reset', 'accept', 'reset', 'reset', 'reset', 'reset'],
  },
  mpUnreach: {
    code: 15,
    good: '0002012020010db8',
    bad: '000201ff20010db8',
    cells: ['accept', 'accept', w, 'reset', 'accept', 'reset', 'reset', 'reset', 'reset'],
  },
  extendedCommunities: {
    code: 16,
    good: '0002fde800000001',
    cells: ['accept', 'accept', w, w, w, w, '-', d, w],
  },
  as4Path: {
    code: 17,
    good: '02010000fde9',
    bad: '020100000000',
    twoOctets: true,
    cells: ['accept', 'accept', w, d, d, d, d, d, w],
  },
  as4Aggregator: {
    code: 18,
    good: '0000fde9c0000201',
    bad: '00000000c0000201',
    twoOctets: true,
    cells: ['accept', 'accept', w, d, d, d, d, d, w],
  },
  ipv6ExtendedCommunities: {
    code: 25,
    good: `0002${V6}0001`,
    cells: ['accept', 'accept', w, w, w, w, '-', d, w],
  },
  aigp: {
    code: 26,
    good: '01000b0000000000000064',
    bad: '0100000000000000000064',
    cells: ['accept', 'accept', d, d, d, d, d, d, w],
  },
  largeCommunities: {
    code: 32,
    good: '0000fde80000000100000002',
    cells: ['accept', 'accept', w, w, w, w, '-', d, w],
  },
  otc: { code: 35, good: '0000fde9', cells: ['accept', 'accept', w, w, w, w, '-', d, w] },
  prefixSid: {
    code: 40,
    good: '01000700000000000005',
    bad: '01ffff00000000000005',
    cells: ['accept', 'accept', w, d, d, d, d, d, w],
  },
  attrSet: {
    code: 128,
    good: '0000fde9',
    cells: ['accept', 'accept', w, w, 'accept', w, '-', d, w],
  },
  // biome-ignore-end format: a matrix is read in columns
};

/** what the message has beside the attribute in question */
const OTHERS: ReadonlyMap<number, string> = new Map([
  [1, '40010100'],
  [3, '400304c0000201'],
  [5, '40050400000064'],
]);

function flagsOf(code: number): number {
  const row = ATTRIBUTE_ROWS.find((found) => found.code === code);
  if (row === undefined) throw new Error(`no row for attribute ${code}`);
  return row.flags;
}

function attribute(flags: number, code: number, value: string, claimed?: number): string {
  const octets = value.length / 2;
  const head = [flags, code, claimed ?? octets].map((n) => n.toString(16).padStart(2, '0'));
  return head.join('') + value;
}

/** The octets of the attribute with a defect; undefined where it cannot be made. */
function withDefect(line: Line, defect: Defect): string | undefined {
  const { code, good, bad } = line;
  const flags = flagsOf(code);
  switch (defect) {
    case 'none':
    case 'from an external neighbour':
      return attribute(flags, code, good);
    case 'wrong flags':
      return attribute(flags ^ 0x40, code, good);
    case 'one octet less':
      return good === '' ? undefined : attribute(flags, code, good.slice(0, -2));
    case 'one octet more':
      return attribute(flags, code, `${good}00`);
    case 'empty':
      return attribute(flags, code, '');
    case 'bad value':
      return bad === undefined ? undefined : attribute(flags, code, bad);
    case 'twice':
      return attribute(flags, code, good).repeat(2);
    case 'past the end of the list':
      return attribute(flags, code, good, good.length / 2 + 1);
  }
}

function message(line: Line, octets: string, internal: boolean): Uint8Array {
  const asPath = line.twoOctets === true ? '4002040201fde9' : '40020602010000fde9';
  const others = [...OTHERS, [2, asPath] as const].filter(
    ([code]) => code !== line.code && (internal || code !== 5),
  );
  const list = parseHex(others.map(([, text]) => text).join('') + octets);
  if (list === undefined) throw new Error('not hex');
  const nlri = [24, 203, 0, 113];
  return new ByteWriter()
    .fill(0xff, 16)
    .u16(19 + 4 + list.length + nlri.length)
    .u8(2)
    .u16(0)
    .u16(list.length)
    .bytes(list)
    .bytes(Uint8Array.from(nlri))
    .finish();
}

function outcome(line: Line, octets: string, internal: boolean): Cell {
  const context: CodecContext = { ...PLAIN_CONTEXT, internal, as4: line.twoOctets !== true };
  const raw = message(line, octets, internal);
  const result = decodeAt(raw, 0, raw.length, context);
  if (!result.ok) {
    if (result.fault.outcome === 'reset') return 'reset';
    expect(result.fault.withdrawn, 'routes of a withdrawal').not.to.deep.equal([]);
    return 'withdraw';
  }
  for (const issue of result.issues) expect(issue.attribute).to.equal(line.code);
  return result.issues.length > 0 ? 'discard' : 'accept';
}

describe('attributes under RFC 7606', () => {
  it('has a line for every attribute of the table, and a cell for every defect', () => {
    const lines = Object.values(LINES);
    expect(ATTRIBUTE_ROWS.map(({ code }) => code)).to.have.members(lines.map(({ code }) => code));
    for (const [name, { code, cells }] of Object.entries(LINES)) {
      expect(Object.entries(AttributeCode)).to.deep.include([name, code]);
      expect(cells, name).to.have.lengthOf(DEFECTS.length);
    }
  });

  for (const [name, line] of Object.entries(LINES)) {
    describe(name, () => {
      for (const [index, defect] of DEFECTS.entries()) {
        const expected = line.cells[index];
        it(`${defect}: ${expected}`, () => {
          const octets = withDefect(line, defect);
          if (octets === undefined) {
            expect(expected).to.equal('-');
            return;
          }
          const internal = defect !== 'from an external neighbour';
          expect(outcome(line, octets, internal)).to.equal(expected);
        });
      }
    });
  }

  it('is written in ascending order of the codes', () => {
    const codes = ATTRIBUTE_ROWS.map(({ code }) => code);
    expect(codes).to.deep.equal(codes.toSorted((a, b) => a - b));
  });
});
