/** Properties of decode and encode together; UPDATE has its own in update.test.ts. */
import { expect } from 'chai';
import fc from 'fast-check';
import { MessageType } from '../../../protocol/bgp/codes.ts';
import { decode, decodeAt, PLAIN_CONTEXT } from '../../../protocol/bgp/decode.ts';
import { encode, encodeInto } from '../../../protocol/bgp/encode.ts';
import { maximumLength } from '../../../protocol/bgp/header.ts';
import type { Message } from '../../../protocol/bgp/message.ts';
import { ByteWriter } from '../../../protocol/bytes/writer.ts';
import { bytes, codecContext, sessionMessage, u8, u16 } from '../../support/arbitraries.ts';

/** Octets with a header that passes, so that the body is really read. */
function framed(type: number, body: Uint8Array): Uint8Array {
  const writer = new ByteWriter()
    .fill(0xff, 16)
    .u16(19 + body.length)
    .u8(type)
    .bytes(body);
  return writer.finish();
}

describe('decode and encode', () => {
  it('decode(encode(m)) = m, with nothing to complain about', () => {
    fc.assert(
      fc.property(sessionMessage(), codecContext(), (message, context) => {
        const result = decode(encode(message, context), context);
        if (!result.ok) throw result.fault;
        expect(result.message).to.deep.equal(message);
        expect(result.issues).to.deep.equal([]);
      }),
      { numRuns: 500 },
    );
  });

  it('encode(decode(octets)) means the same as the octets', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), bytes(80), (type, body) => {
        const first = decode(framed(type, body), PLAIN_CONTEXT);
        fc.pre(first.ok);
        const second = decode(encode(first.message, PLAIN_CONTEXT), PLAIN_CONTEXT);
        if (!second.ok) throw second.fault;
        expect(second.message).to.deep.equal(first.message);
      }),
      { numRuns: 500 },
    );
  });

  it('arbitrary octets never throw, and what is refused says why', () => {
    const scrap = fc.oneof(
      bytes(120),
      fc
        .tuple(fc.oneof(u8(), fc.integer({ min: 1, max: 5 })), bytes(120))
        .map(([type, body]) => framed(type, body)),
      fc.tuple(sessionMessage(), u16(), u8()).map(([message, at, value]) => {
        const raw = encode(message, PLAIN_CONTEXT);
        // behind the header, so that every change is seen by the body's own decoder
        if (raw.length > 19) raw[19 + (at % (raw.length - 19))] = value;
        return raw;
      }),
    );
    fc.assert(
      fc.property(scrap, codecContext(), (raw, context) => {
        const before = raw.slice();
        const result = decode(raw, context);
        expect(raw).to.deep.equal(before);
        if (result.ok) return;
        expect(result.fault.detail).to.not.equal('');
        expect(result.fault.code).to.be.within(1, 7);
      }),
      { numRuns: 2000 },
    );
  });

  it('a message owns its octets: what becomes of the buffer afterwards does not matter', () => {
    fc.assert(
      fc.property(sessionMessage(), (message) => {
        const raw = encode(message, PLAIN_CONTEXT);
        const result = decode(raw, PLAIN_CONTEXT);
        raw.fill(0);
        if (!result.ok) throw result.fault;
        expect(result.message).to.deep.equal(message);
      }),
    );
  });

  it('decodes inside a larger buffer and looks at nothing around it', () => {
    fc.assert(
      fc.property(sessionMessage(), bytes(30), bytes(30), (message, before, after) => {
        const raw = encode(message, PLAIN_CONTEXT);
        const all = new ByteWriter().bytes(before).bytes(raw).bytes(after).finish();
        const end = before.length + raw.length;
        const result = decodeAt(all, before.length, end, PLAIN_CONTEXT);
        if (!result.ok) throw result.fault;
        expect(result.message).to.deep.equal(message);
      }),
    );
  });

  it('appends to what a writer holds', () => {
    const writer = new ByteWriter(4);
    const messages: Message[] = [
      { kind: 'keepalive' },
      { kind: 'route-refresh', afi: 1, safi: 1, subtype: 0 },
    ];
    for (const message of messages) encodeInto(message, PLAIN_CONTEXT, writer);
    const raw = writer.finish();
    expect(decodeAt(raw, 0, 19, PLAIN_CONTEXT)).to.have.nested.property(
      'message.kind',
      'keepalive',
    );
    expect(decodeAt(raw, 19, 42, PLAIN_CONTEXT)).to.have.nested.property(
      'message.kind',
      'route-refresh',
    );
  });

  it('throws for a message of ours that is too long', () => {
    const long: Message = {
      kind: 'notification',
      code: 6,
      subcode: 0,
      data: new Uint8Array(4076),
    };
    expect(() => encode(long, PLAIN_CONTEXT)).to.throw(RangeError, '4097');
    const extended = { ...PLAIN_CONTEXT, extendedMessage: true };
    expect(encode(long, extended)).to.have.lengthOf(4097);
    expect(() => encode({ ...long, data: new Uint8Array(65515) }, extended)).to.throw(RangeError);
    expect(maximumLength(MessageType.open, extended.extendedMessage)).to.equal(4096);
    expect(maximumLength(MessageType.keepalive, extended.extendedMessage)).to.equal(4096);
    expect(maximumLength(MessageType.update, extended.extendedMessage)).to.equal(65535);
  });
});
