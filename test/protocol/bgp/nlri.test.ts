import { expect } from 'chai';
import fc from 'fast-check';
import type { Nlri } from '../../../protocol/bgp/message.ts';
import { nlriListSize, readIpv4Nlri, readIpv6Nlri, writeNlri } from '../../../protocol/bgp/nlri.ts';
import { isWellFramed } from '../../../protocol/bgp/opaque-nlri.ts';
import { formatHex, parseHex } from '../../../protocol/bytes/hex.ts';
import { ByteWriter } from '../../../protocol/bytes/writer.ts';
import { formatPrefix } from '../../../protocol/net/address-text.ts';
import { ipv4Prefix, ipv6Prefix, u32 } from '../../support/arbitraries.ts';

function raw(hex: string): Uint8Array {
  const value = parseHex(hex);
  if (value === undefined) throw new Error(`not hex: ${hex}`);
  return value;
}

function write(list: readonly Nlri[], withPathId: boolean): Uint8Array {
  const writer = new ByteWriter();
  for (const nlri of list) writeNlri(writer, nlri, withPathId);
  return writer.finish();
}

const ipv4 = (hex: string, withPathId = false) => {
  const bytes = raw(hex);
  return readIpv4Nlri(bytes, 0, bytes.length, withPathId)?.map(formatPrefix);
};
const ipv6 = (hex: string, withPathId = false) => {
  const bytes = raw(hex);
  return readIpv6Nlri(bytes, 0, bytes.length, withPathId)?.map(formatPrefix);
};

describe('NLRI', () => {
  it('reads prefixes of every length', () => {
    expect(ipv4('00')).to.deep.equal(['0.0.0.0/0']);
    expect(ipv4('0180 080a 18c00002 20c0000201')).to.deep.equal([
      '128.0.0.0/1',
      '10.0.0.0/8',
      '192.0.2.0/24',
      '192.0.2.1/32',
    ]);
    expect(
      ipv6('00 2020010db8 4020010db800010002 8020010db8000000000000000000000001'),
    ).to.deep.equal(['::/0', '2001:db8::/32', '2001:db8:1:2::/64', '2001:db8::1/128']);
  });

  it('clears the bits behind the length', () => {
    expect(ipv4('0cffff')).to.deep.equal(['255.240.0.0/12']);
    expect(ipv6('21ffffffffff')).to.deep.equal(['ffff:ffff:8000::/33']);
  });

  it('refuses lengths beyond the family and lists that end too early', () => {
    for (const hex of ['21c000020100', '18c000', '20c00002', '08'])
      expect(ipv4(hex)).to.equal(undefined);
    for (const hex of [`81${'00'.repeat(17)}`, '2020010d', '01'])
      expect(ipv6(hex)).to.equal(undefined);
    for (const hex of ['00000001', '000000', '00000001 18c000']) {
      expect(ipv4(hex, true)).to.equal(undefined);
      expect(ipv6(hex, true)).to.equal(undefined);
    }
  });

  it('comes back as it was written, with and without path identifiers', () => {
    const lists = fc.oneof(
      fc.record({ family: fc.constant('ipv4'), list: fc.array(ipv4Prefix()) }),
      fc.record({ family: fc.constant('ipv6'), list: fc.array(ipv6Prefix()) }),
    );
    fc.assert(
      fc.property(lists, fc.boolean(), u32(), ({ family, list }, withPathId, pathId) => {
        const wanted = withPathId ? list.map((nlri) => ({ ...nlri, pathId })) : list;
        const bytes = write(wanted, withPathId);
        expect(bytes.length).to.equal(nlriListSize(wanted, withPathId));
        const read = family === 'ipv4' ? readIpv4Nlri : readIpv6Nlri;
        expect(read(bytes, 0, bytes.length, withPathId)).to.deep.equal(wanted);
      }),
    );
  });

  it('writes path identifier 0 where none is given', () => {
    const [prefix] = readIpv4Nlri(raw('080a'), 0, 2, false) ?? [];
    if (prefix === undefined) throw new Error('no prefix');
    expect(formatHex(write([prefix], true))).to.equal('00000000080a');
  });
});

describe('frames of opaque NLRI', () => {
  const RD = '0000fde800000064';
  const MAC_IP = `${RD}${'00'.repeat(10)}00000000 30 020000000001`;
  const session = (tail: string) =>
    `0100 03 ${tail.replaceAll(' ', '').length / 2 < 16 ? '0' : ''}${(
      tail.replaceAll(' ', '').length / 2
    ).toString(16)} ${tail}`;

  const cases: readonly [name: string, afi: number, safi: number, hex: string, good: boolean][] = [
    ['labelled unicast', 1, 4, '30 000101 cb0071', true],
    ['labelled unicast with two labels', 1, 4, '48 000100 000201 cb0071', true],
    ['labelled unicast whose stack does not end', 1, 4, '30 000100 cb0070', false],
    ['labelled unicast without a label', 1, 4, '10 cb00', false],
    ['labelled unicast with too long a prefix', 1, 4, '40 000101 cb00710102', false],
    ['VPN-IPv4', 1, 128, `70 000101 ${RD} cb0071`, true],
    ['VPN-IPv4 without room for a distinguisher', 1, 128, '30 000101 cb0071', false],
    ['VPN-IPv6', 2, 128, `78 000101 ${RD} 20010db8`, true],
    ['multicast VPN prefixes', 1, 129, `58 ${RD} cb0071`, true],
    ['multicast VPN prefixes without a distinguisher', 1, 129, '18 cb0071', false],
    ['a route target', 1, 132, '60 0000fde8 0002fde800000001', true],
    ['the default route target', 1, 132, '00', true],
    ['a route target of eight bits', 1, 132, '08 00', false],
    ['a flow specification', 1, 133, '05 0118cb0071', true],
    ['a long flow specification', 1, 133, `f0f0 ${'00'.repeat(240)}`, true],
    ['a flow specification that does not fit', 1, 134, '06 0118cb0071', false],
    ['half a flow specification length', 1, 133, 'f0', false],
    ['multicast VPN route', 1, 5, `0102 aabb`, true],
    ['multicast VPN route that does not fit', 1, 5, `0103 aabb`, false],
    ['multicast VPN route without a length', 1, 5, `01`, false],
    ['VPLS', 25, 65, `0011 ${'00'.repeat(17)}`, true],
    ['VPLS that does not fit', 25, 65, `0011 ${'00'.repeat(16)}`, false],
    ['half a VPLS length', 25, 65, '00', false],
    ['link state', 16388, 71, '0001 0002 aabb', true],
    ['link state that does not fit', 16388, 71, '0001 0003 aabb', false],
    ['link state without a length', 16388, 72, '0001 00', false],
    ['EVPN auto-discovery', 25, 70, `0119 ${'00'.repeat(25)}`, true],
    ['EVPN auto-discovery of a wrong length', 25, 70, `0118 ${'00'.repeat(24)}`, false],
    ['EVPN MAC alone', 25, 70, `0221 ${MAC_IP} 00 000101`, true],
    ['EVPN MAC with IPv4 and two labels', 25, 70, `0228 ${MAC_IP} 20 c0000201 000100000201`, true],
    ['EVPN MAC with an address of nine bits', 25, 70, `0221 ${MAC_IP} 09 000101`, false],
    ['EVPN MAC of 47 bits', 25, 70, `0221 ${MAC_IP.replace(' 30 ', ' 2f ')} 00 000101`, false],
    ['EVPN prefix', 25, 70, `0522 ${'00'.repeat(34)}`, true],
    ['an unknown EVPN type', 25, 70, 'c801 00', true],
    ['an unknown EVPN type that does not fit', 25, 70, 'c802 00', false],
    ['a mobile session', 1, 85, session(`${RD} 20c0000201 00003039 09 20c0000202 00`), true],
    [
      'a mobile session with its source',
      1,
      85,
      session(`${RD} 20c0000201 00003039 09 20c0000202 20c0000203`),
      true,
    ],
    [
      'a mobile session without a source',
      1,
      85,
      session(`${RD} 20c0000201 00003039 09 20c0000202`),
      false,
    ],
    ['another mobile route', 1, 85, '01 0001 02 aabb', true],
    ['a mobile route that does not fit', 1, 85, '01 0001 03 aabb', false],
    ['a family without rules', 99, 99, 'ffffff', true],
    ['IP without rules', 1, 200, 'ffffff', true],
  ];

  for (const [name, afi, safi, hex, good] of cases) {
    it(`${good ? 'takes' : 'refuses'} ${name}`, () => {
      const bytes = raw(hex);
      const family = { afi, safi, withPathId: false, isWithdrawn: false };
      expect(isWellFramed(bytes, 0, bytes.length, family)).to.equal(good);
    });
  }

  it('ignores the value of a withdrawn label (RFC 8277 §2.4)', () => {
    const bytes = raw('30 000100 cb0070');
    const family = { afi: 1, safi: 4, withPathId: false, isWithdrawn: true };
    expect(isWellFramed(bytes, 0, bytes.length, family)).to.equal(true);
  });

  it('steps over path identifiers', () => {
    const bytes = raw(`00000001 05 0118cb0071 00000002 05 0118cb0071`);
    const family = { afi: 1, safi: 133, withPathId: true, isWithdrawn: false };
    expect(isWellFramed(bytes, 0, bytes.length, family)).to.equal(true);
    expect(isWellFramed(bytes, 0, 4, family)).to.equal(false);
    expect(isWellFramed(bytes, 0, 2, family)).to.equal(false);
  });
});
