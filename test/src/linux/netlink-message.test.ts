import { address } from 'bgp-ts';
import { expect } from 'chai';
import fc from 'fast-check';
import { decodeAddressBody } from '../../../src/linux/address-message.ts';
import { decodeLinkBody } from '../../../src/linux/link-message.ts';
import {
  concat,
  decodeAddress,
  decodeMessages,
  decodeResult,
  decodeText,
  encodeAddress,
  encodeAttribute,
  encodeMessage,
  encodeText,
  findAttribute,
  MessageFlag,
  MessageType,
  uint32,
} from '../../../src/linux/netlink-message.ts';
import { decodeRouteBody } from '../../../src/linux/route-message.ts';

const fromHex = (hex: string) => Uint8Array.from(Buffer.from(hex.replaceAll(/\s/g, ''), 'hex'));
const toHex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

describe('a netlink message', () => {
  it('is a header with the length of header and body, padded to four', () => {
    const bytes = encodeMessage({ type: 20, flags: 0x605, sequence: 7, body: Uint8Array.of(1, 2) });
    expect(toHex(bytes)).to.equal(`12000000${'1400'}${'0506'}${'07000000'}${'00000000'}01020000`);
  });

  it('comes back from its bytes, also beside others', () => {
    const message = fc.record({
      type: fc.integer({ min: 0, max: 0xffff }),
      flags: fc.integer({ min: 0, max: 0xffff }),
      sequence: fc.integer({ min: 0, max: 0xffffffff }),
      body: fc.uint8Array({ maxLength: 40 }),
    });
    fc.assert(
      fc.property(fc.array(message, { maxLength: 5 }), (messages) => {
        const bytes = concat(...messages.map(encodeMessage));
        expect(decodeMessages(bytes)).to.deep.equal(messages);
      }),
    );
  });

  it('that says it is longer than what is there, or shorter than a header, ends the datagram', () => {
    const whole = encodeMessage({ type: 20, flags: 0, sequence: 1, body: new Uint8Array(8) });
    expect(decodeMessages(concat(whole, whole.subarray(0, 20)))).to.have.length(1);
    expect(decodeMessages(concat(fromHex('0f000000'), new Uint8Array(40)))).to.deep.equal([]);
    expect(decodeMessages(concat(fromHex('00000000'), new Uint8Array(40)))).to.deep.equal([]);
  });
});

describe('netlink attributes', () => {
  it('are found by type, whatever their flags say', () => {
    const attributes = concat(
      encodeAttribute(3, encodeText('lo')),
      encodeAttribute(0x8000 | 9, Uint8Array.of(1)),
      encodeAttribute(4, uint32(17)),
    );
    expect(decodeText(findAttribute(attributes, 0, 3) ?? new Uint8Array())).to.equal('lo');
    expect(findAttribute(attributes, 0, 9)).to.deep.equal(Uint8Array.of(1));
    expect(findAttribute(attributes, 0, 4)).to.deep.equal(uint32(17));
    expect(findAttribute(attributes, 0, 5)).to.equal(undefined);
  });

  it('that are cut short or shorter than their header end the search', () => {
    expect(findAttribute(fromHex('0800040011'), 0, 4)).to.equal(undefined);
    expect(findAttribute(fromHex('00000300 08000400 11000000'), 0, 4)).to.equal(undefined);
  });

  it('hold addresses in network order', () => {
    for (const text of ['192.0.2.1', '255.255.255.255', '2001:db8::ff:1']) {
      const value = address(text);
      expect(decodeAddress(value.family, encodeAddress(value))).to.deep.equal(value);
    }
    expect(toHex(encodeAddress(address('192.0.2.1')))).to.equal('c0000201');
    expect(decodeAddress('ipv6', new Uint8Array(15))).to.equal(undefined);
  });
});

describe('the result of a netlink request', () => {
  const error = (flags: number, body: Uint8Array) =>
    decodeResult({ type: MessageType.error, flags, sequence: 1, body });
  const inner = encodeMessage({ type: 20, flags: 5, sequence: 1, body: new Uint8Array(12) });
  const text = encodeAttribute(1, encodeText('Nexthop has invalid gateway'));
  const minus17 = fromHex('efffffff');

  it('is an acknowledgement, an error, or nothing of the kind', () => {
    expect(error(0, new Uint8Array(20))).to.deep.equal({ errno: 0 });
    expect(error(0, concat(minus17, inner))).to.deep.equal({ errno: 17 });
    expect(
      decodeResult({ type: MessageType.done, flags: 0, sequence: 1, body: minus17 }),
    ).to.deep.equal({ errno: 17 });
    expect(decodeResult({ type: 20, flags: 0, sequence: 1, body: minus17 })).to.equal(undefined);
  });

  it('carries the sentence of the kernel, behind the whole request or its header only', () => {
    const expected = { errno: 17, text: 'Nexthop has invalid gateway' };
    const { ackAttributes, capped } = MessageFlag;
    expect(error(ackAttributes, concat(minus17, inner, text))).to.deep.equal(expected);
    const header = inner.subarray(0, 16);
    expect(error(ackAttributes | capped, concat(minus17, header, text))).to.deep.equal(expected);
  });

  it('has no sentence where the request claims to be longer than everything', () => {
    const body = concat(minus17, fromHex('00000080'), text);
    expect(error(MessageFlag.ackAttributes, body)).to.deep.equal({ errno: 17 });
  });
});

describe('what a kernel might send', () => {
  /** bytes of real messages with some of them changed get further into the decoders than noise does */
  const real = [
    '022080000100000008000100c000020708000200c00002070e0003006c6f3a686572616c64000000080008008000000014000600ffffffffffffffff3483110034831100',
    '0a408200030000001400010020010db800000000000000000000000114000600ffffffffffffffff34831100348311000800080082000000',
    '02200000fe4800010000000008000f00fe00000008000100c00002090800060009000000240009001000000003000000080005000a0000021000000003000000080005000a000003',
    '02200000fe4800010000000008000f00fe00000008000100c000020a160012000a0020010db800000000000000000000000200000800040003000000',
    '00000403010000004900010000000000070003006c6f000008000d00e8030000',
  ].map(fromHex);
  const spoiled = fc
    .tuple(
      fc.constantFrom(...real),
      fc.array(fc.tuple(fc.nat(80), fc.nat(255)), { maxLength: 6 }),
      fc.nat(80),
    )
    .map(([bytes, changes, cut]) => {
      const copy = bytes.slice();
      for (const [at, value] of changes) if (at < copy.length) copy[at] = value;
      return copy.subarray(0, Math.max(0, copy.length - (cut % copy.length)));
    });

  it('never makes a decoder throw or go on for ever', () => {
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 200 }), spoiled), (bytes) => {
        for (const message of decodeMessages(bytes)) decodeResult(message);
        for (const type of [2, 3, 20]) {
          decodeResult({ type, flags: 0x200, sequence: 0, body: bytes });
        }
        decodeAddressBody(bytes);
        decodeLinkBody(bytes);
        decodeRouteBody(bytes);
      }),
      { numRuns: 20_000 },
    );
  });
});
