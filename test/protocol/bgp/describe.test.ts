import { expect } from 'chai';
import fc from 'fast-check';
import { decode, PLAIN_CONTEXT } from '../../../protocol/bgp/decode.ts';
import { describeFault, describeMessage, describeResult } from '../../../protocol/bgp/describe.ts';
import { BgpFault } from '../../../protocol/bgp/error.ts';
import type { UpdateMessage } from '../../../protocol/bgp/message.ts';
import { updateInContext } from '../../support/arbitraries-update.ts';

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** one of everything; the shape is the contract of `herald decode` */
const FULL: UpdateMessage = {
  kind: 'update',
  withdrawn: [{ family: 'ipv4', bits: 0x0a000000, length: 8 }],
  attributes: {
    origin: 'incomplete',
    asPath: [{ type: 'confed-set', asns: [1, 2] }],
    nextHop: { family: 'ipv4', bits: 0xc0000201 | 0 },
    med: 0,
    localPref: 100,
    atomicAggregate: true,
    aggregator: { asn: 65000, address: { family: 'ipv4', bits: 1 } },
    communities: [0xfde80001, 0xffffff01],
    originatorId: { family: 'ipv4', bits: 2 },
    clusterList: [{ family: 'ipv4', bits: 3 }],
    mpReach: {
      kind: 'prefixes',
      afi: 2,
      safi: 1,
      nextHops: [{ family: 'ipv6', w0: 0x20010db8, w1: 0, w2: 0, w3: 1 }],
      nlri: [{ family: 'ipv6', w0: 0x20010db8, w1: 0, w2: 0, w3: 0, length: 32, pathId: 7 }],
    },
    mpUnreach: { kind: 'opaque', afi: 25, safi: 70, withdrawn: Uint8Array.of(0xab, 0x01) },
    extendedCommunities: [{ high: 0x0002fde8, low: 1 }],
    as4Path: [{ type: 'sequence', asns: [4200000000] }],
    as4Aggregator: { asn: 4200000000, address: { family: 'ipv4', bits: 1 } },
    ipv6ExtendedCommunities: [new Uint8Array(20)],
    largeCommunities: [{ global: 65000, local1: 1, local2: 2 }],
    otc: 65001,
    unknown: [{ code: 99, flags: 0xe0, value: Uint8Array.of(0xde, 0xad) }],
  },
  nlri: [{ family: 'ipv4', bits: 0, length: 0, pathId: 0 }],
};

describe('the JSON of messages', () => {
  it('of an UPDATE with one of everything', () => {
    expect(plain(describeMessage(FULL))).to.deep.equal({
      kind: 'update',
      withdrawn: ['10.0.0.0/8'],
      attributes: {
        origin: 'incomplete',
        asPath: [{ type: 'confed-set', asns: [1, 2] }],
        nextHop: '192.0.2.1',
        med: 0,
        localPref: 100,
        atomicAggregate: true,
        aggregator: { asn: 65000, address: '0.0.0.1' },
        communities: ['65000:1', '65535:65281'],
        originatorId: '0.0.0.2',
        clusterList: ['0.0.0.3'],
        mpReach: {
          afi: 2,
          safi: 1,
          nextHops: ['2001:db8::1'],
          nlri: [{ prefix: '2001:db8::/32', pathId: 7 }],
        },
        mpUnreach: { afi: 25, safi: 70, withdrawn: 'ab01' },
        extendedCommunities: ['rt:65000:1'],
        as4Path: [{ type: 'sequence', asns: [4200000000] }],
        as4Aggregator: { asn: 4200000000, address: '0.0.0.1' },
        ipv6ExtendedCommunities: [`0x${'0'.repeat(40)}`],
        largeCommunities: ['65000:1:2'],
        otc: 65001,
        unknown: [{ code: 99, flags: 224, value: 'dead' }],
      },
      nlri: [{ prefix: '0.0.0.0/0', pathId: 0 }],
    });
  });

  it('leaves out what did not come', () => {
    const empty: UpdateMessage = { kind: 'update', withdrawn: [], attributes: {}, nlri: [] };
    expect(plain(describeMessage(empty))).to.deep.equal(empty);
  });

  it('keeps the octets of opaque next hops', () => {
    const mpReach = {
      kind: 'opaque',
      afi: 1,
      safi: 128,
      nextHop: Uint8Array.of(1),
      nlri: Uint8Array.of(2),
    } as const;
    const message: UpdateMessage = {
      kind: 'update',
      withdrawn: [],
      attributes: { mpReach },
      nlri: [],
    };
    expect(plain(describeMessage(message)))
      .to.have.nested.property('attributes.mpReach')
      .that.deep.equals({
        afi: 1,
        safi: 128,
        nextHops: ['01'],
        nlri: '02',
      });
  });

  it('is the same for equal messages and needs no value that JSON lacks', () => {
    fc.assert(
      fc.property(updateInContext(), ({ message }) => {
        const described = describeMessage(message);
        expect(plain(described)).to.deep.equal(plain(describeMessage(structuredClone(message))));
        expect(JSON.stringify(described)).not.to.match(/undefined|null|NaN/);
      }),
      { numRuns: 100 },
    );
  });

  it('of a fault names all it takes down: unicast by prefix, the rest with their family', () => {
    const prefix = { family: 'ipv4', bits: 0x0a000000, length: 8 } as const;
    const fault = new BgpFault({
      code: 3,
      subcode: 5,
      data: Uint8Array.of(0x80),
      detail: 'why',
      outcome: 'treat-as-withdraw',
      withdrawn: [
        { afi: 1, safi: 1, nlri: [prefix, { ...prefix, pathId: 1 }] },
        { afi: 1, safi: 2, nlri: [prefix] },
        { afi: 25, safi: 70, nlri: Uint8Array.of(0xff) },
      ],
    });
    expect(plain(describeFault(fault))).to.deep.equal({
      code: 3,
      subcode: 5,
      data: '80',
      outcome: 'treat-as-withdraw',
      withdrawn: [
        '10.0.0.0/8',
        { prefix: '10.0.0.0/8', pathId: 1 },
        { afi: 1, safi: 2, nlri: ['10.0.0.0/8'] },
        { afi: 25, safi: 70, nlri: 'ff' },
      ],
      detail: 'why',
    });
  });

  it('of a result is ok with message and issues, or not with the fault', () => {
    const keepalive = Uint8Array.of(...Array(16).fill(0xff), 0, 19, 4);
    expect(plain(describeResult(decode(keepalive, PLAIN_CONTEXT)))).to.deep.equal({
      ok: true,
      message: { kind: 'keepalive' },
      issues: [],
    });
    keepalive[0] = 0;
    const refused = describeResult(decode(keepalive, PLAIN_CONTEXT));
    expect(plain(refused)).to.have.property('ok', false);
    expect(plain(refused)).to.have.nested.property('fault.code', 1);
    expect(plain(refused)).to.have.nested.property('fault.outcome', 'reset');
  });
});
