/** Ranges of pools: reading, membership, size, overlap, and which documents exclude each other. */

import { address, formatAddress } from 'bgp-ts';
import { expect } from 'chai';
import fc from 'fast-check';
import { parseAddressRange, rangeHolds, rangesOverlap } from '../../../src/model/address-range.ts';
import type { BgpPeer } from '../../../src/model/bgp-peer.ts';
import { checkPeers, checkPools } from '../../../src/model/check-documents.ts';
import { type AddressRange, DEFAULT_PLACEMENT, type IpPool } from '../../../src/model/ip-pool.ts';
import { poolHolds } from '../../../src/model/pool-addresses.ts';
import { countForStatus, poolSize } from '../../../src/model/pool-size.ts';

function range(text: string): AddressRange {
  const parsed = parseAddressRange(text);
  if (typeof parsed === 'string') throw new Error(parsed);
  return parsed;
}

function pool(name: string, texts: readonly string[], avoidFirstLast = false): IpPool {
  return {
    name,
    labels: {},
    ranges: texts.map(range),
    avoidFirstLast,
    autoAssign: true,
    priority: 0,
    shareAcross: [],
    allowExternalIps: false,
    ignoreExcludeLabel: false,
    placement: DEFAULT_PLACEMENT,
    advertisements: [],
    drain: { on: [], waitSeconds: 0 },
    notReady: 'keep',
  };
}

function peer(name: string, more: Partial<BgpPeer> = {}): BgpPeer {
  return {
    name,
    labels: {},
    target: { kind: 'address', address: address('192.0.2.1') },
    port: 179,
    asn: 65000,
    families: ['ipv4'],
    timers: { holdSeconds: 9, keepaliveSeconds: 3, connectRetrySeconds: 5 },
    ttlSecurity: false,
    nextHop: {},
    listen: false,
    maxRoutes: 1,
    overrides: [],
    ...more,
  };
}

describe('parseAddressRange', () => {
  const ends = (text: string) => {
    const { first, last, masked } = range(text);
    return [formatAddress(first), formatAddress(last), masked ?? false];
  };

  it('reads CIDRs, ranges and addresses', () => {
    expect(ends('192.0.2.0/24')).to.deep.equal(['192.0.2.0', '192.0.2.255', false]);
    expect(ends('192.0.2.77/24')).to.deep.equal(['192.0.2.0', '192.0.2.255', true]);
    expect(ends('0.0.0.0/0')).to.deep.equal(['0.0.0.0', '255.255.255.255', false]);
    expect(ends('192.0.2.7/32')).to.deep.equal(['192.0.2.7', '192.0.2.7', false]);
    expect(ends('192.0.2.7')).to.deep.equal(['192.0.2.7', '192.0.2.7', false]);
    expect(ends('192.0.2.200-192.0.3.5')).to.deep.equal(['192.0.2.200', '192.0.3.5', false]);
    expect(ends('2001:db8::/33')).to.deep.equal([
      '2001:db8::',
      '2001:db8:7fff:ffff:ffff:ffff:ffff:ffff',
      false,
    ]);
    expect(ends('2001:db8::/64')[1]).to.equal('2001:db8::ffff:ffff:ffff:ffff');
    expect(ends('2001:db8::5/127')).to.deep.equal(['2001:db8::4', '2001:db8::5', true]);
  });

  it('says what is wrong with the rest', () => {
    expect(parseAddressRange('192.0.2.0/33')).to.include('is not a CIDR');
    expect(parseAddressRange('192.0.2.9-192.0.2.1')).to.include('ends before it begins');
    expect(parseAddressRange('192.0.2.9-::1')).to.include('address family');
    for (const text of ['', '-', 'a-b', '192.0.2.1-', '192.0.2.1-192.0.2.2-192.0.2.3']) {
      expect(parseAddressRange(text), text).to.include('is neither');
    }
  });

  it('agrees with arithmetic about what a range holds and overlaps', () => {
    const number = fc.integer({ min: 0, max: 0xffffffff });
    const pair = fc
      .tuple(number, number)
      .map(([a, b]) => (a < b ? [a, b] : [b, a]) as [number, number]);
    const text = (value: number) => formatAddress({ family: 'ipv4', bits: value | 0 });
    fc.assert(
      fc.property(pair, pair, number, ([a, b], [c, d], x) => {
        const one = range(`${text(a)}-${text(b)}`);
        const other = range(`${text(c)}-${text(d)}`);
        expect(rangeHolds(one, address(text(x)))).to.equal(a <= x && x <= b);
        expect(rangesOverlap(one, other)).to.equal(a <= d && c <= b);
        expect(poolSize(pool('p', [one.text]))).to.equal(BigInt(b - a) + 1n);
      }),
    );
  });
});

describe('poolHolds and poolSize', () => {
  it('leaves out first and last of networks only, and only where there is something between', () => {
    const texts = ['192.0.2.0/30', '198.51.100.0/31', '203.0.113.5-203.0.113.6', '2001:db8::/126'];
    const held = (from: IpPool) =>
      [
        '192.0.2.0',
        '192.0.2.1',
        '192.0.2.2',
        '192.0.2.3',
        '198.51.100.0',
        '198.51.100.1',
        '203.0.113.5',
        '203.0.113.6',
        '2001:db8::',
        '2001:db8::1',
        '2001:db8::3',
      ].filter((text) => poolHolds(from, address(text)));
    expect(held(pool('all', texts))).to.have.length(11);
    expect(poolSize(pool('all', texts))).to.equal(4n + 2n + 2n + 4n);
    expect(held(pool('some', texts, true))).to.deep.equal([
      '192.0.2.1',
      '192.0.2.2',
      '198.51.100.0',
      '198.51.100.1',
      '203.0.113.5',
      '203.0.113.6',
      '2001:db8::1',
    ]);
    expect(poolSize(pool('some', texts, true))).to.equal(2n + 2n + 2n + 2n);
    expect(poolHolds(pool('all', texts), address('192.0.2.4'))).to.equal(false);
  });

  it('counts IPv6 beyond 64 bits, and bounds it for a status', () => {
    const size = poolSize(pool('large', ['2001:db8::/32']));
    expect(size).to.equal(2n ** 96n);
    expect(countForStatus(size)).to.equal(2n ** 63n - 1n);
    expect(countForStatus(256n)).to.equal(256n);
  });
});

describe('checkPools', () => {
  const candidate = (object: IpPool, createdMs: number, isStanding = false) => {
    return { object, createdMs, isStanding };
  };
  const refused = (candidates: Parameters<typeof checkPools>[0]) =>
    checkPools(candidates).map(({ object }) => object.name);

  it('refuses the newer one, then the later by name, whatever the order they come in', () => {
    const a = pool('a', ['192.0.2.0/24']);
    const b = pool('b', ['192.0.2.128/25']);
    expect(refused([candidate(a, 2), candidate(b, 1)])).to.deep.equal(['a']);
    expect(refused([candidate(b, 1), candidate(a, 1)])).to.deep.equal(['b']);
    expect(refused([candidate(a, 1), candidate(b, 1)])).to.deep.equal(['b']);
    expect(refused([candidate(a, 1), candidate(b, 2, true)])).to.deep.equal(['a']);
  });

  it('refuses exactly those that overlap one that was accepted before them', () => {
    const some = fc.array(fc.record({ v6: fc.boolean(), first: fc.nat(200), length: fc.nat(20) }), {
      maxLength: 25,
    });
    fc.assert(
      fc.property(some, (spans) => {
        const pools = spans.map(({ v6, first, length }, n) => {
          const at = (host: number) => (v6 ? `2001:db8::${host.toString(16)}` : `192.0.2.${host}`);
          return pool(`p${String(n).padStart(2, '0')}`, [`${at(first)}-${at(first + length)}`]);
        });
        const accepted: IpPool[] = [];
        for (const each of pools) {
          const isFree = accepted.every(({ ranges }) =>
            ranges.every((theirs) => each.ranges.every((ours) => !rangesOverlap(ours, theirs))),
          );
          if (isFree) accepted.push(each);
        }
        const names = pools.filter((each) => !accepted.includes(each)).map(({ name }) => name);
        expect(refused(pools.map((each) => candidate(each, 1)))).to.deep.equal(names);
      }),
    );
  });

  it('does not hold ten thousand pools against each other one by one', () => {
    const many = Array.from({ length: 10_000 }, (_, n) =>
      candidate(pool(`p${n}`, [`10.${n >> 8}.${n & 255}.0/30`]), 1),
    );
    const started = process.threadCpuUsage();
    expect(refused(many)).to.deep.equal([]);
    const { user, system } = process.threadCpuUsage(started);
    expect((user + system) / 1000, 'milliseconds of CPU').to.be.lessThan(500);
  });

  it('takes neighbours, and names the other one in its sentence', () => {
    const a = pool('a', ['192.0.2.0/25', '2001:db8::/64']);
    const b = pool('b', ['192.0.2.128/25']);
    expect(refused([candidate(a, 1), candidate(b, 1)])).to.deep.equal([]);
    const c = pool('c', ['2001:db8::5']);
    expect(checkPools([candidate(a, 1), candidate(c, 1)])[0]?.sentence).to.equal(
      "'2001:db8::5' overlaps '2001:db8::/64' of IPPool/a; an address may be in one pool only, so change one of the two",
    );
  });
});

describe('checkPeers', () => {
  const refused = (peers: readonly BgpPeer[]) =>
    checkPeers(peers.map((object) => ({ object, createdMs: 1, isStanding: false }))).map(
      ({ object }) => object.name,
    );

  it('refuses the second of one session', () => {
    expect(refused([peer('b'), peer('a')])).to.deep.equal(['b']);
    expect(refused([peer('b', { nodeSelector: {} }), peer('a')])).to.deep.equal(['b']);
  });

  it('takes those that differ in port, source or nodes', () => {
    const others = [
      peer('b', { port: 1179 }),
      peer('c', { sourceAddress: address('192.0.2.9') }),
      peer('d', { sourceInterface: 'eth1' }),
      peer('e', { nodeSelector: { matchLabels: { rack: 'a' } } }),
      peer('f', { target: { kind: 'address', address: address('192.0.2.2') } }),
    ];
    expect(refused([peer('a'), ...others])).to.deep.equal([]);
  });
});
