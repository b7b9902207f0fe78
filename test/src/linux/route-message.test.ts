import { address, prefix } from 'bgp-ts';
import { expect } from 'chai';
import { decodeRouteBody, encodeRouteBody } from '../../../src/linux/route-message.ts';

const fromHex = (hex: string) => Uint8Array.from(Buffer.from(hex.replaceAll(/\s/g, ''), 'hex'));

describe('a route in rtnetlink', () => {
  const base = { table: 254, metric: 9, protocol: 72 };
  // As Linux 6.18 sent them for `ip route add` of iproute2 6.1
  const recorded: readonly [string, string, object][] = [
    [
      'two IPv4 next hops',
      '02200000fe4800010000000008000f00fe00000008000100c00002090800060009000000240009001000000003000000080005000a0000021000000003000000080005000a000003',
      {
        ...base,
        prefix: prefix('192.0.2.9/32'),
        hops: ['10.0.0.2', '10.0.0.3'].map((text) => ({ index: 3, gateway: address(text) })),
      },
    ],
    [
      'IPv4 by an IPv6 gateway',
      '02200000fe4800010000000008000f00fe00000008000100c000020a160012000a0020010db800000000000000000000000200000800040003000000',
      {
        ...base,
        metric: 0,
        prefix: prefix('192.0.2.10/32'),
        hops: [{ index: 3, gateway: address('2001:db8::2') }],
      },
    ],
    [
      'unreachable',
      '02180000fe4800070000000008000f00fe00000008000100c6336400',
      { ...base, metric: 0, prefix: prefix('198.51.100.0/24'), hops: [] },
    ],
    [
      'two IPv6 next hops',
      '0a300000fe4800010000000008000f00fe0000001400010020010db800010000000000000000000008000600000400003c0009001c000000030000001400050020010db80000000000000000000000021c000000030000001400050020010db800000000000000000000000324000c0000000000000000000000000000000000000000000000000000000000000000000500140000000000',
      {
        ...base,
        metric: 1024,
        prefix: prefix('2001:db8:1::/48'),
        hops: ['2001:db8::2', '2001:db8::3'].map((text) => ({ index: 3, gateway: address(text) })),
      },
    ],
  ];
  for (const [name, hex, expected] of recorded) {
    it(`is read: ${name}`, () => {
      expect(decodeRouteBody(fromHex(hex))).to.deep.equal(expected);
    });

    it(`comes back as it was written: ${name}`, () => {
      const route = decodeRouteBody(fromHex(hex));
      if (route === undefined) throw new Error('not read');
      expect(decodeRouteBody(encodeRouteBody(route))).to.deep.equal(expected);
    });
  }

  it('is read without a destination: the default route, in a table over 255', () => {
    const body = encodeRouteBody({
      ...base,
      table: 4711,
      prefix: prefix('::/0'),
      hops: [{ gateway: address('fe80::1'), index: 3 }],
    });
    expect(body[4]).to.equal(252);
    expect(decodeRouteBody(body)).to.deep.include({ table: 4711, prefix: prefix('::/0') });
  });

  it('is nothing when it is local, broadcast or a cached copy', () => {
    const body = (type: string, flags: string) =>
      fromHex(`02200000fe48 00${type} ${flags} 08000100c0000209`);
    expect(decodeRouteBody(body('01', '00000000'))).to.not.equal(undefined);
    expect(decodeRouteBody(body('02', '00000000'))).to.equal(undefined);
    expect(decodeRouteBody(body('03', '00000000'))).to.equal(undefined);
    expect(decodeRouteBody(body('01', '00020000'))).to.equal(undefined);
  });
});
