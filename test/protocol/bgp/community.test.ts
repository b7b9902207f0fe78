import { expect } from 'chai';
import fc from 'fast-check';
import {
  communityName,
  formatCommunity,
  formatLargeCommunity,
  parseCommunity,
  parseLargeCommunity,
  WellKnownCommunity,
} from '../../../protocol/bgp/community.ts';
import {
  formatExtendedCommunity,
  formatIpv6ExtendedCommunity,
  parseExtendedCommunity,
  parseIpv6ExtendedCommunity,
} from '../../../protocol/bgp/extended-community.ts';
import { bytes, u32 } from '../../support/arbitraries.ts';

describe('communities', () => {
  it('are two numbers', () => {
    expect(parseCommunity('65000:100')).to.equal(0xfde80064);
    expect(formatCommunity(0xfde80064)).to.equal('65000:100');
    expect(formatCommunity(0xffffff01)).to.equal('65535:65281');
  });

  it('have names where the registry has them', () => {
    const registry: readonly [string, string][] = [
      ['graceful-shutdown', '65535:0'],
      ['accept-own', '65535:1'],
      ['llgr-stale', '65535:6'],
      ['no-llgr', '65535:7'],
      ['blackhole', '65535:666'],
      ['no-export', '65535:65281'],
      ['no-advertise', '65535:65282'],
      ['no-export-subconfed', '65535:65283'],
      ['nopeer', '65535:65284'],
    ];
    expect(Object.keys(WellKnownCommunity)).to.have.members(registry.map(([name]) => name));
    for (const [name, text] of registry) {
      const value = parseCommunity(name);
      expect(value, name).to.equal(parseCommunity(text));
      expect(communityName(value ?? 0)).to.equal(name);
    }
    expect(parseCommunity('No-Export')).to.equal(0xffffff01);
    expect(communityName(0xfde80064)).to.equal(undefined);
  });

  it('refuses everything else', () => {
    for (const text of [
      '',
      '1',
      '1:2:3',
      '65536:1',
      '1:65536',
      '01:1',
      '-1:1',
      '1: 1',
      'no-such',
      ':',
    ]) {
      expect(parseCommunity(text), text).to.equal(undefined);
    }
  });

  it('come back from their text', () => {
    fc.assert(fc.property(u32(), (value) => parseCommunity(formatCommunity(value)) === value));
  });
});

describe('large communities', () => {
  it('come back from their text', () => {
    const large = fc.record({ global: u32(), local1: u32(), local2: u32() });
    fc.assert(
      fc.property(large, (value) => {
        expect(parseLargeCommunity(formatLargeCommunity(value))).to.deep.equal(value);
      }),
    );
  });

  it('refuses everything else', () => {
    for (const text of ['1:2', '1:2:3:4', '4294967296:0:0', '1:2:03', 'a:b:c', '1:2:']) {
      expect(parseLargeCommunity(text), text).to.equal(undefined);
    }
  });
});

describe('extended communities', () => {
  const cases: readonly [text: string, high: number, low: number][] = [
    ['rt:65000:1', 0x0002fde8, 1],
    ['rt:65000:4294967295', 0x0002fde8, 0xffffffff],
    ['soo:65000:1', 0x0003fde8, 1],
    ['rt:4200000000:100', 0x0202fa56, 0xea000064],
    ['rt:65000L:100', 0x02020000, 0xfde80064],
    ['soo:192.0.2.1:5', 0x0103c000, 0x02010005],
    ['link-bandwidth:65000:1.25e8', 0x4004fde8, 0x4cee6b28],
    ['link-bandwidth:65000:0', 0x4004fde8, 0],
    ['0x030c000000000008', 0x030c0000, 8],
  ];
  for (const [text, high, low] of cases) {
    it(`reads and writes ${text}`, () => {
      expect(parseExtendedCommunity(text)).to.deep.equal({ high, low });
      expect(formatExtendedCommunity({ high, low })).to.equal(text);
    });
  }

  it('takes bandwidth in plain digits too', () => {
    expect(parseExtendedCommunity('link-bandwidth:65000:125000000')?.low).to.equal(0x4cee6b28);
  });

  it('refuses what it cannot hold', () => {
    for (const text of [
      'rt:65000',
      'rt:65000:4294967296',
      'rt:4200000000:65536',
      'rt:192.0.2.1:65536',
      'rt:2001:db8::1:5',
      'xx:1:2',
      'link-bandwidth:65536:1',
      'link-bandwidth:1:-1',
      'link-bandwidth:1:1e99',
      '0x00',
      '0x030c00000000000g',
    ]) {
      expect(parseExtendedCommunity(text), text).to.equal(undefined);
    }
  });

  it('come back from their text, whatever their bits are', () => {
    const high = fc.oneof(
      u32(),
      fc.constantFrom(0x0002fde8, 0x0102c000, 0x02020000, 0x0202fa56, 0x4004fde8, 0x0003ffff),
    );
    fc.assert(
      fc.property(fc.record({ high, low: u32() }), (value) => {
        expect(parseExtendedCommunity(formatExtendedCommunity(value))).to.deep.equal(value);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('IPv6 address specific extended communities', () => {
  it('reads and writes route targets and origins', () => {
    const value = parseIpv6ExtendedCommunity('rt:[2001:db8::1]:5');
    expect(value).to.have.lengthOf(20);
    expect(formatIpv6ExtendedCommunity(value ?? new Uint8Array(20))).to.equal('rt:[2001:db8::1]:5');
    expect(parseIpv6ExtendedCommunity('rt:[192.0.2.1]:5')).to.equal(undefined);
    expect(parseIpv6ExtendedCommunity('rt:[2001:db8::1]:65536')).to.equal(undefined);
    expect(parseIpv6ExtendedCommunity('0x00')).to.equal(undefined);
  });

  it('come back from their text, whatever their bits are', () => {
    const typed = bytes(20, 20).map((value) => {
      value.set([0, 2]);
      return value;
    });
    fc.assert(
      fc.property(fc.oneof(bytes(20, 20), typed), (value) => {
        expect(parseIpv6ExtendedCommunity(formatIpv6ExtendedCommunity(value))).to.deep.equal(value);
      }),
    );
  });
});
