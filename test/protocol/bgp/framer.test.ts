import { expect } from 'chai';
import fc from 'fast-check';
import { PLAIN_CONTEXT } from '../../../protocol/bgp/decode.ts';
import { encode } from '../../../protocol/bgp/encode.ts';
import { Framer } from '../../../protocol/bgp/framer.ts';
import type { Message } from '../../../protocol/bgp/message.ts';
import { formatHex } from '../../../protocol/bytes/hex.ts';
import { bytes, chunked, sessionMessage } from '../../support/arbitraries.ts';

const KEEPALIVE = encode({ kind: 'keepalive' }, PLAIN_CONTEXT);

function notification(length: number): Uint8Array {
  const message: Message = {
    kind: 'notification',
    code: 6,
    subcode: 0,
    data: new Uint8Array(length - 21).fill(7),
  };
  return encode(message, { ...PLAIN_CONTEXT, extendedMessage: true });
}

/** all frames that are there now, copied, and what came behind them */
function drain(framer: Framer): { frames: string[]; end: string } {
  const frames: string[] = [];
  for (;;) {
    const result = framer.next();
    if (result.kind === 'frame') frames.push(formatHex(result.frame));
    else if (result.kind === 'incomplete') return { frames, end: 'incomplete' };
    else return { frames, end: `${result.fault.code}/${result.fault.subcode}` };
  }
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

describe('Framer', () => {
  it('is incomplete before anything came, and after an empty chunk', () => {
    const framer = new Framer();
    expect(framer.next()).to.deep.equal({ kind: 'incomplete' });
    framer.push(new Uint8Array(0));
    expect(framer.next()).to.deep.equal({ kind: 'incomplete' });
  });

  it('hands out whole messages as views of the chunk, without a copy', () => {
    const framer = new Framer();
    const chunk = concat([KEEPALIVE, notification(25), KEEPALIVE]);
    framer.push(chunk);
    for (const [start, length] of [
      [0, 19],
      [19, 25],
      [44, 19],
    ]) {
      const result = framer.next();
      if (result.kind !== 'frame') throw new Error(result.kind);
      expect(result.frame.buffer).to.equal(chunk.buffer);
      expect([result.frame.byteOffset, result.frame.length]).to.deep.equal([start, length]);
    }
    expect(framer.next().kind).to.equal('incomplete');
    expect(framer.buffered).to.equal(0);
  });

  it('goes back to views behind a message that a border has cut', () => {
    const framer = new Framer();
    framer.push(KEEPALIVE.slice(0, 5));
    expect(framer.next().kind).to.equal('incomplete');
    const chunk = concat([KEEPALIVE.slice(5), KEEPALIVE]);
    framer.push(chunk);
    const first = framer.next();
    if (first.kind !== 'frame') throw new Error(first.kind);
    expect(formatHex(first.frame)).to.equal(formatHex(KEEPALIVE));
    expect(first.frame.buffer).to.not.equal(chunk.buffer);
    const second = framer.next();
    if (second.kind !== 'frame') throw new Error(second.kind);
    expect(second.frame.buffer).to.equal(chunk.buffer);
  });

  it('keeps nothing of a chunk once it has said incomplete', () => {
    const framer = new Framer();
    const chunk = concat([KEEPALIVE, KEEPALIVE.slice(0, 18)]);
    framer.push(chunk);
    drain(framer);
    chunk.fill(0);
    framer.push(KEEPALIVE.slice(18));
    expect(drain(framer)).to.deep.equal({ frames: [formatHex(KEEPALIVE)], end: 'incomplete' });
  });

  it('takes several chunks before it is asked', () => {
    const framer = new Framer();
    for (const octet of concat([KEEPALIVE, notification(30)])) framer.push(Uint8Array.of(octet));
    expect(framer.buffered).to.equal(49);
    expect(drain(framer).frames).to.deep.equal([KEEPALIVE, notification(30)].map(formatHex));
  });

  it('puts a message of 65,535 octets together from single octets', () => {
    const framer = new Framer(true);
    const message = notification(65535);
    let frames = 0;
    for (const octet of message) {
      framer.push(Uint8Array.of(octet));
      const result = framer.next();
      if (result.kind === 'frame') {
        frames++;
        expect(formatHex(result.frame)).to.equal(formatHex(message));
      }
    }
    expect(frames).to.equal(1);
  });

  it('takes 4,096 octets always and 4,097 only once that was agreed', () => {
    const framer = new Framer();
    framer.push(notification(4096));
    expect(drain(framer).frames).to.have.lengthOf(1);
    framer.setExtended(true);
    framer.push(notification(4097));
    expect(drain(framer).frames).to.have.lengthOf(1);
    framer.setExtended(false);
    framer.push(notification(4097));
    expect(drain(framer)).to.deep.equal({ frames: [], end: '1/2' });
  });

  it('refuses a bad header with the 19th octet, whatever length it promises', () => {
    const header = notification(4097).slice(0, 19);
    const framer = new Framer();
    framer.push(header.slice(0, 18));
    expect(framer.next().kind).to.equal('incomplete');
    framer.push(header.slice(18));
    const result = framer.next();
    if (result.kind !== 'fault') throw new Error(result.kind);
    expect(formatHex(result.fault.data)).to.equal('1001');
  });

  for (const [kind, type] of [
    ['OPEN', 1],
    ['KEEPALIVE', 4],
  ] as const) {
    it(`never takes 4,097 octets of ${kind} (RFC 8654 §4)`, () => {
      const header = notification(4097).slice(0, 19);
      header[18] = type;
      const framer = new Framer(true);
      framer.push(header);
      expect(drain(framer).end).to.equal('1/2');
    });
  }

  it('hands out what came before a fault, then the fault for ever, and holds nothing more', () => {
    const framer = new Framer();
    framer.push(concat([KEEPALIVE, new Uint8Array(19), KEEPALIVE]));
    expect(drain(framer)).to.deep.equal({ frames: [formatHex(KEEPALIVE)], end: '1/1' });
    framer.push(KEEPALIVE);
    expect(drain(framer)).to.deep.equal({ frames: [], end: '1/1' });
    expect(framer.buffered).to.equal(0);
  });
});

describe('Framer properties', () => {
  it('chunk borders change nothing', () => {
    const streams = fc
      .tuple(fc.array(sessionMessage(), { maxLength: 8 }), bytes(30))
      .map(([messages, rest]) =>
        concat([...messages.map((message) => encode(message, PLAIN_CONTEXT)), rest]),
      )
      .chain((whole) => fc.tuple(fc.constant(whole), chunked(whole)));
    fc.assert(
      fc.property(streams, fc.boolean(), ([whole, chunks], askEachTime) => {
        const reference = new Framer();
        reference.push(whole);
        const expected = drain(reference);
        const framer = new Framer();
        const frames: string[] = [];
        let end = 'incomplete';
        for (const chunk of chunks) {
          framer.push(chunk);
          if (!askEachTime) continue;
          const some = drain(framer);
          frames.push(...some.frames);
          end = some.end;
        }
        if (!askEachTime || chunks.length === 0) {
          const some = drain(framer);
          frames.push(...some.frames);
          end = some.end;
        }
        expect({ frames, end }).to.deep.equal(expected);
        expect(framer.buffered).to.equal(reference.buffered);
      }),
      { numRuns: 300 },
    );
  });

  it('never holds more than one message, whatever comes', () => {
    fc.assert(
      fc.property(fc.array(bytes(200), { maxLength: 40 }), fc.boolean(), (chunks, aligned) => {
        const framer = new Framer();
        if (aligned) framer.push(notification(4096).slice(0, 19));
        for (const chunk of chunks) {
          framer.push(chunk);
          drain(framer);
          expect(framer.buffered).to.be.below(4096);
        }
      }),
    );
  });
});
