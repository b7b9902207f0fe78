import { address, formatPrefix, prefix } from 'bgp-ts';
import { expect } from 'chai';
import fc from 'fast-check';
import { acceptedRoutes, cidrsOf } from '../../../src/manifest/accepted-routes.ts';
import type { AddressRange } from '../../../src/model/ip-pool.ts';
import { peer as plainPeer, pool } from '../agent/scenery.ts';

const range = (first: string, last: string): AddressRange => ({
  first: address(first),
  last: address(last),
  text: `${first}-${last}`,
});

const peer = plainPeer({
  labels: { rack: 'a' },
  target: { kind: 'address', address: address('10.0.0.1') },
});

const shown = (routes: ReturnType<typeof acceptedRoutes>) =>
  routes.map((each) => `${each.prefix} ${each.length}`);

describe('the routes that a router accepts', () => {
  it('splits a range that is no CIDR into the fewest CIDRs that cover it exactly', () => {
    expect(cidrsOf(range('192.0.2.8', '192.0.2.20')).map(formatPrefix)).to.deep.equal([
      '192.0.2.8/29',
      '192.0.2.16/30',
      '192.0.2.20/32',
    ]);
    expect(cidrsOf(range('2001:db8::ffff', '2001:db8::1:1')).map(formatPrefix)).to.deep.equal([
      '2001:db8::ffff/128',
      '2001:db8::1:0/127',
    ]);
    expect(cidrsOf(range('0.0.0.0', '255.255.255.255')).map(formatPrefix)).to.deep.equal([
      '0.0.0.0/0',
    ]);
    expect(
      cidrsOf(range('::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff')).map(formatPrefix),
    ).to.deep.equal(['::/0']);
  });

  it('property: the CIDRs of any range are in order, touch each other and hold exactly its addresses', () => {
    const word = fc.integer({ min: 0, max: 0xffffffff });
    fc.assert(
      fc.property(word, word, (a, b) => {
        const [first, last] = [Math.min(a, b), Math.max(a, b)];
        const cidrs = cidrsOf({
          first: { family: 'ipv4', bits: first | 0 },
          last: { family: 'ipv4', bits: last | 0 },
          text: '',
        });
        let next = first;
        for (const cidr of cidrs) {
          if (cidr.family !== 'ipv4') throw new Error('an IPv6 prefix in an IPv4 range');
          expect(cidr.bits >>> 0).to.equal(next);
          next += 2 ** (32 - cidr.length);
        }
        expect(next).to.equal(last + 1);
        expect(cidrs.length).to.be.at.most(62);
      }),
      { numRuns: 300 },
    );
  });

  it('takes host routes only, of the families of the peer', () => {
    const both = pool({
      ranges: [range('192.0.2.0', '192.0.2.255'), range('2001:db8::', '2001:db8::f')],
    });
    expect(shown(acceptedRoutes(peer, [both]))).to.deep.equal([
      '192.0.2.0/24 32',
      '2001:db8::/124 128',
    ]);
    expect(shown(acceptedRoutes({ ...peer, families: ['ipv6'] }, [both]))).to.deep.equal([
      '2001:db8::/124 128',
    ]);
  });

  it('leaves out a pool whose advertisements are for other peers', () => {
    const plain = { communities: [], largeCommunities: [], discardRoute: false };
    const other = pool({
      ranges: [range('192.0.2.0', '192.0.2.255')],
      advertisements: [{ ...plain, peerSelector: { matchLabels: { rack: 'b' } } }],
    });
    const ours = pool({
      ranges: [range('198.51.100.0', '198.51.100.0')],
      advertisements: [{ ...plain, peerSelector: { matchLabels: { rack: 'a' } } }],
    });
    expect(shown(acceptedRoutes(peer, [other, ours]))).to.deep.equal(['198.51.100.0/32 32']);
  });

  it('takes an aggregate where one is advertised, at exactly its length, and none that is larger than the pool', () => {
    const aggregated = pool({
      ranges: [range('192.0.2.0', '192.0.3.255'), range('198.51.100.8', '198.51.100.15')],
      advertisements: [
        {
          communities: [],
          largeCommunities: [],
          discardRoute: true,
          aggregationLength: { ipv4: 24 },
        },
      ],
    });
    expect(shown(acceptedRoutes(peer, [aggregated]))).to.deep.equal([
      '192.0.2.0/23 32',
      '192.0.2.0/23 24',
      '198.51.100.8/29 32',
    ]);
  });

  it('names the same CIDR of two pools once', () => {
    const one = pool({ ranges: [range('192.0.2.0', '192.0.2.7')] });
    expect(shown(acceptedRoutes(peer, [one, { ...one, name: 'two' }]))).to.deep.equal([
      '192.0.2.0/29 32',
    ]);
    expect(formatPrefix(prefix('192.0.2.0/29'))).to.equal('192.0.2.0/29');
  });
});
