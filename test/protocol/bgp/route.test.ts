import { expect } from 'chai';
import fc from 'fast-check';
import type { RouteAttributes } from '../../../protocol/bgp/route.ts';
import { attributesEqual, attributesKey, routeKey } from '../../../protocol/bgp/route.ts';
import { parseAddress, parsePrefix } from '../../../protocol/net/address-text.ts';

const arbitraryU32 = fc.nat(0xffffffff);

const arbitraryAttributes: fc.Arbitrary<RouteAttributes> = fc.record(
  {
    origin: fc.constantFrom('igp', 'egp', 'incomplete'),
    asPath: fc.array(
      fc.record({
        type: fc.constantFrom('sequence', 'set'),
        asns: fc.array(fc.nat(70000), { maxLength: 3 }),
      }),
      { maxLength: 2 },
    ),
    prepend: fc.nat(3),
    med: fc.nat(3),
    localPref: fc.constantFrom(0, 100, 200),
    atomicAggregate: fc.boolean(),
    aggregator: fc.record({
      asn: fc.nat(3),
      address: fc.record({ family: fc.constant('ipv4'), bits: fc.integer() }),
    }),
    communities: fc.array(arbitraryU32, { maxLength: 4 }),
    extendedCommunities: fc.array(fc.record({ high: arbitraryU32, low: arbitraryU32 }), {
      maxLength: 3,
    }),
    ipv6ExtendedCommunities: fc.array(fc.uint8Array({ minLength: 20, maxLength: 20 }), {
      maxLength: 2,
    }),
    largeCommunities: fc.array(
      fc.record({ global: fc.nat(9), local1: fc.nat(9), local2: fc.nat(9) }),
      { maxLength: 3 },
    ),
    otc: fc.nat(3),
    unknown: fc.array(
      fc.record({
        code: fc.integer({ min: 200, max: 210 }),
        flags: fc.constant(0xc0),
        value: fc.uint8Array({ maxLength: 3 }),
      }),
      { maxLength: 2 },
    ),
  },
  { requiredKeys: [] },
);

/** The same attributes in another object: properties, and the members of every set, in the opposite order. */
function rebuilt(attributes: RouteAttributes): RouteAttributes {
  const copy: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(attributes).reverse()) {
    const isSet = name.toLowerCase().endsWith('communities') && Array.isArray(value);
    copy[name] = isSet ? [...value, ...value].reverse() : value;
  }
  return copy;
}

describe('attributesKey', () => {
  it('is the same for equal attributes whoever built them and in whatever order', () => {
    fc.assert(
      fc.property(arbitraryAttributes, (attributes) => {
        const other = rebuilt(attributes);
        expect(attributesKey(other)).to.equal(attributesKey(attributes));
        expect(attributesEqual(attributes, other)).to.equal(true);
      }),
    );
  });

  it('takes a default that is written down for one that is left out', () => {
    const written: RouteAttributes = {
      origin: 'igp',
      asPath: [],
      prepend: 0,
      localPref: 100,
      atomicAggregate: false,
      communities: [],
      unknown: [],
    };
    expect(attributesEqual(written, {})).to.equal(true);
  });

  const different: readonly (readonly [string, RouteAttributes, RouteAttributes])[] = [
    ['origin', { origin: 'egp' }, { origin: 'incomplete' }],
    ['MED 0 and no MED', { med: 0 }, {}],
    ['MED and LOCAL_PREF', { med: 7 }, { localPref: 7 }],
    ['prepend', { prepend: 1 }, { prepend: 2 }],
    ['next hop', { nextHop: must('192.0.2.1') }, { nextHop: must('192.0.2.2') }],
    ['next hop of another family', { nextHop: must('::1') }, { nextHop: must('0.0.0.1') }],
    ['communities', { communities: [1] }, { communities: [1, 2] }],
    ['communities that read alike', { communities: [1, 2] }, { communities: [12] }],
    ['kinds of communities', { communities: [1] }, { extendedCommunities: [{ high: 0, low: 1 }] }],
    [
      'order in the AS path',
      { asPath: [{ type: 'sequence', asns: [1, 2] }] },
      { asPath: [{ type: 'sequence', asns: [2, 1] }] },
    ],
    [
      'set and sequence',
      { asPath: [{ type: 'sequence', asns: [1] }] },
      { asPath: [{ type: 'set', asns: [1] }] },
    ],
    [
      'segments',
      { asPath: [{ type: 'sequence', asns: [1, 2] }] },
      {
        asPath: [
          { type: 'sequence', asns: [1] },
          { type: 'sequence', asns: [2] },
        ],
      },
    ],
    ['Only to Customer', { otc: 1 }, { otc: 2 }],
    [
      'unknown attributes',
      { unknown: [{ code: 200, flags: 0xc0, value: Uint8Array.of(1) }] },
      { unknown: [{ code: 200, flags: 0xc0, value: Uint8Array.of(2) }] },
    ],
  ];
  for (const [name, one, other] of different) {
    it(`tells apart: ${name}`, () => {
      expect(attributesEqual(one, other)).to.equal(false);
    });
  }
});

describe('routeKey', () => {
  const prefix = parsePrefix('10.0.0.0/8');
  if (prefix === undefined) throw new Error('a prefix');

  it('leaves the path identifier out unless add-path is in use', () => {
    expect(routeKey({ prefix, pathId: 1 }, false)).to.equal(routeKey({ prefix, pathId: 2 }, false));
    expect(routeKey({ prefix, pathId: 1 }, true)).not.to.equal(
      routeKey({ prefix, pathId: 2 }, true),
    );
    expect(routeKey({ prefix }, true)).to.equal(routeKey({ prefix, pathId: 0 }, true));
  });
});

function must(text: string) {
  const address = parseAddress(text);
  if (address === undefined) throw new Error(text);
  return address;
}
