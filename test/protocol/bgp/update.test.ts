import { expect } from 'chai';
import fc from 'fast-check';
import { decodeAt, PLAIN_CONTEXT } from '../../../protocol/bgp/decode.ts';
import { encode } from '../../../protocol/bgp/encode.ts';
import { BgpFault } from '../../../protocol/bgp/error.ts';
import type { UpdateMessage } from '../../../protocol/bgp/message.ts';
import type { CodecContext } from '../../../protocol/bgp/negotiate.ts';
import {
  decodeRibAttributes,
  decodeUpdate,
  encodeUpdate,
  endOfRib,
  endOfRibFamily,
} from '../../../protocol/bgp/update.ts';
import { formatHex, parseHex } from '../../../protocol/bytes/hex.ts';
import { ByteWriter } from '../../../protocol/bytes/writer.ts';
import { bytes } from '../../support/arbitraries.ts';
import { updateContext, updateInContext } from '../../support/arbitraries-update.ts';

const UNKNOWN_SESSION: CodecContext = { ...PLAIN_CONTEXT, internal: undefined };

function raw(hex: string): Uint8Array {
  const value = parseHex(hex);
  if (value === undefined) throw new Error(`not hex: ${hex}`);
  return value;
}

function body(message: UpdateMessage, context: CodecContext): Uint8Array {
  const writer = new ByteWriter();
  encodeUpdate(message, context, writer);
  return writer.finish();
}

/** decodes a body of attributes and NLRI given as hex */
function decodeHex(attributes: string, nlri: string, context: CodecContext) {
  const list = raw(attributes);
  const writer = new ByteWriter().u16(0).u16(list.length).bytes(list).bytes(raw(nlri));
  const octets = writer.finish();
  return decodeUpdate(octets, 0, octets.length, context);
}

describe('UPDATE', () => {
  it('is the same after encoding and decoding, under any session', () => {
    fc.assert(
      fc.property(updateInContext(), ({ context, message }) => {
        const octets = body(message, context);
        const decoded = decodeUpdate(octets, 0, octets.length, context);
        expect(decoded.issues).to.deep.equal([]);
        expect(decoded.message).to.deep.equal(message);
      }),
      { numRuns: 1000 },
    );
  });

  it('answers arbitrary octets with a message or a fault, never anything else', () => {
    fc.assert(
      fc.property(bytes(300), updateContext(), (octets, context) => {
        try {
          decodeUpdate(octets, 0, octets.length, context);
        } catch (error) {
          expect(error).to.be.instanceOf(BgpFault);
        }
      }),
      { numRuns: 3000 },
    );
  });

  it('answers a damaged message with a message or a fault, and encodes what it understood', () => {
    const damage = fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(updateInContext(), damage, ({ context, message }, changes) => {
        const octets = encode(message, context);
        for (const [at, value] of changes) octets[19 + (at % (octets.length - 19))] = value;
        const result = decodeAt(octets, 0, octets.length, context);
        if (result.ok) encode(result.message, context);
        else expect(result.fault.code).to.be.within(1, 3);
      }),
      { numRuns: 2000 },
    );
  });

  it('reads between its offsets only', () => {
    fc.assert(
      fc.property(updateInContext(), bytes(8), bytes(8), ({ context, message }, before, after) => {
        const octets = body(message, context);
        const writer = new ByteWriter().bytes(before).bytes(octets).bytes(after);
        const end = before.length + octets.length;
        const decoded = decodeUpdate(writer.finish(), before.length, end, context);
        expect(decoded.message).to.deep.equal(message);
      }),
      { numRuns: 200 },
    );
  });

  it('owns what it holds: changing the octets afterwards changes nothing', () => {
    fc.assert(
      fc.property(updateInContext(), ({ context, message }) => {
        const octets = body(message, context);
        const decoded = decodeUpdate(octets, 0, octets.length, context);
        octets.fill(0xff);
        expect(decoded.message).to.deep.equal(message);
      }),
      { numRuns: 100 },
    );
  });

  it('takes time in proportion to its length for the worst of 65,535 octets', () => {
    const octets = new Uint8Array(65516);
    // as many attributes as fit, each of them a second ORIGIN: one issue each
    const attributes = Math.floor((octets.length - 4) / 4) * 4;
    octets[2] = attributes >>> 8;
    octets[3] = attributes;
    for (let at = 4; at < 4 + attributes; at += 4) octets.set([0x40, 1, 1, 0], at);
    // of this thread alone: a machine that is busy with others takes longer, and not more
    const started = process.threadCpuUsage();
    const { issues } = decodeUpdate(octets, 0, 4 + attributes, UNKNOWN_SESSION);
    expect(issues).to.have.lengthOf(attributes / 4 - 1);
    const { user, system } = process.threadCpuUsage(started);
    expect((user + system) / 1000, 'ms of processor time').to.be.below(1000);
  });

  it('puts MP_REACH_NLRI and MP_UNREACH_NLRI in front and the others in ascending order (RFC 7606 §5.1)', () => {
    const message: UpdateMessage = {
      kind: 'update',
      withdrawn: [],
      attributes: {
        origin: 'igp',
        asPath: [],
        med: 1,
        mpReach: { kind: 'prefixes', afi: 2, safi: 1, nextHops: [], nlri: [] },
        mpUnreach: { kind: 'prefixes', afi: 2, safi: 1, withdrawn: [] },
        otc: 1,
        unknown: [
          { code: 99, flags: 0xc0, value: new Uint8Array(0) },
          { code: 22, flags: 0xc0, value: new Uint8Array(0) },
        ],
      },
      nlri: [],
    };
    expect(attributeCodes(body(message, PLAIN_CONTEXT))).to.deep.equal([
      14, 15, 1, 2, 4, 22, 35, 99,
    ]);
  });

  describe('of an unknown session', () => {
    const base = '400101004002060201 0000fde9 400304';

    it('is shown as it stands: LOCAL_PREF, ORIGINATOR_ID and CLUSTER_LIST stay', () => {
      const { message, issues } = decodeHex(
        `${base}c0000201 40050400000064 800904c0000263 800a04c0000264`,
        '08 0a',
        UNKNOWN_SESSION,
      );
      expect(issues).to.deep.equal([]);
      expect(message.attributes).to.include({ localPref: 100 });
      expect(message.attributes.clusterList).to.have.lengthOf(1);
      expect(message.attributes.originatorId).to.deep.equal({
        family: 'ipv4',
        bits: 0xc0000263 | 0,
      });
    });

    it('is not merged: AS_TRANS and AS4_PATH stand beside each other', () => {
      const { message } = decodeHex(
        '40010100 4002060202fde95ba0 400304c0000201 c007065ba0c0000209 c0110602 01fa56ea00 c01208fa56ea00c0000209',
        '08 0a',
        { ...UNKNOWN_SESSION, as4: false },
      );
      expect(message.attributes.asPath).to.deep.equal([{ type: 'sequence', asns: [65001, 23456] }]);
      expect(message.attributes.as4Path).to.deep.equal([{ type: 'sequence', asns: [4200000000] }]);
      expect(message.attributes.aggregator?.asn).to.equal(23456);
      expect(message.attributes.as4Aggregator?.asn).to.equal(4200000000);
    });

    it('may have a next hop that is no host', () => {
      const { message } = decodeHex(`${base}7f000001`, '08 0a', UNKNOWN_SESSION);
      expect(message.attributes.nextHop?.bits).to.equal(0x7f000001);
    });

    it('keeps AS4_PATH over encoding and decoding', () => {
      const context = { ...UNKNOWN_SESSION, as4: false };
      const hex = '40010100 4002060202fde95ba0 400304c0000201 c0110602 01fa56ea00';
      const { message } = decodeHex(hex, '08 0a', context);
      const octets = body(message, context);
      expect(formatHex(octets)).to.contain(hex.replaceAll(' ', ''));
    });
  });

  describe('End-of-RIB', () => {
    for (const family of [
      { afi: 1, safi: 1 },
      { afi: 2, safi: 1 },
      { afi: 1, safi: 2 },
    ]) {
      it(`of ${family.afi}/${family.safi} is known again`, () => {
        const octets = body(endOfRib(family), PLAIN_CONTEXT);
        const { message } = decodeUpdate(octets, 0, octets.length, PLAIN_CONTEXT);
        expect(endOfRibFamily(message)).to.deep.equal(family);
      });
    }

    it('of IPv4 unicast is an empty UPDATE, of others an empty MP_UNREACH_NLRI', () => {
      expect(formatHex(body(endOfRib({ afi: 1, safi: 1 }), PLAIN_CONTEXT))).to.equal('00000000');
      expect(formatHex(body(endOfRib({ afi: 2, safi: 1 }), PLAIN_CONTEXT))).to.equal(
        '00000006800f03000201',
      );
    });

    it('is not what names a route or says anything else', () => {
      const empty = endOfRib({ afi: 1, safi: 1 });
      const prefix = { family: 'ipv4', bits: 0, length: 0 } as const;
      expect(endOfRibFamily({ ...empty, withdrawn: [prefix] })).to.equal(undefined);
      expect(endOfRibFamily({ ...empty, nlri: [prefix] })).to.equal(undefined);
      expect(endOfRibFamily({ ...empty, attributes: { med: 1 } })).to.equal(undefined);
      const mpUnreach = { kind: 'prefixes', afi: 1, safi: 1, withdrawn: [prefix] } as const;
      expect(endOfRibFamily({ ...empty, attributes: { mpUnreach } })).to.equal(undefined);
    });
  });

  describe('attributes of a table dump', () => {
    const nextHop = '20010db8000000000000000000000001';

    it('have an MP_REACH_NLRI with the next hop alone (RFC 6396 §4.3.4)', () => {
      const octets = raw(`40010100 400200 800e1110${nextHop}`);
      const source = { afi: 2, safi: 1, as4: true };
      const { attributes } = decodeRibAttributes(octets, 0, octets.length, source);
      expect(attributes.mpReach).to.deep.equal({
        kind: 'prefixes',
        afi: 2,
        safi: 1,
        nextHops: [{ family: 'ipv6', w0: 0x20010db8, w1: 0, w2: 0, w3: 1 }],
        nlri: [],
      });
    });

    it('may hold the whole MP_REACH_NLRI all the same', () => {
      const octets = raw(`800e1a00020110${nextHop}00 2020010db8`);
      const source = { afi: 2, safi: 1, as4: true };
      const { attributes } = decodeRibAttributes(octets, 0, octets.length, source);
      expect(attributes.mpReach?.nlri).to.have.lengthOf(1);
    });

    it('are a fault where an UPDATE would be withdrawn', () => {
      const octets = raw('40010103');
      const source = { afi: 1, safi: 1, as4: true };
      expect(() => decodeRibAttributes(octets, 0, octets.length, source))
        .to.throw(BgpFault)
        .with.property('subcode', 6);
    });
  });
});

function attributeCodes(octets: Uint8Array): number[] {
  const codes: number[] = [];
  for (let at = 4; at < octets.length; at += 3 + (octets[at + 2] ?? 0))
    codes.push(octets[at + 1] ?? -1);
  return codes;
}
