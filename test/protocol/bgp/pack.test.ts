import { expect } from 'chai';
import { Role } from '../../../protocol/bgp/codes.ts';
import type { RefusalReason, SessionView } from '../../../protocol/bgp/pack.ts';
import { sessionAttributes } from '../../../protocol/bgp/pack.ts';
import type { RouteAttributes } from '../../../protocol/bgp/route.ts';
import type { Family } from '../../../protocol/net/address.ts';
import { address4, address6, IPV4, IPV6, sessionView } from '../../support/model-neighbour.ts';

function said(route: RouteAttributes, family: Family = 'ipv4', view: SessionView = sessionView()) {
  const result = sessionAttributes(route, family, view);
  if (result.kind === 'refused') throw new Error(result.detail);
  return result;
}

function refusal(route: RouteAttributes, family: Family, view: SessionView): RefusalReason {
  const result = sessionAttributes(route, family, view);
  if (result.kind !== 'refused') throw new Error('it was not refused');
  expect(result.detail).to.match(/\w/);
  return result.reason;
}

describe('sessionAttributes', () => {
  it('puts our own AS in front outside, keeps MED and leaves LOCAL_PREF out', () => {
    const { attributes } = said({ med: 5, localPref: 300 });
    expect(attributes).to.deep.equal({
      origin: 'igp',
      asPath: [{ type: 'sequence', asns: [64501] }],
      nextHop: address4('192.0.2.1'),
      med: 5,
    });
  });

  it('prepends as often as asked, into the sequence that is there', () => {
    const asPath = [{ type: 'sequence', asns: [1, 2] }] as const;
    expect(said({ prepend: 2, asPath }).attributes.asPath).to.deep.equal([
      { type: 'sequence', asns: [64501, 64501, 64501, 1, 2] },
    ]);
  });

  it('does not put our own AS into a set', () => {
    const asPath = [{ type: 'set', asns: [1, 2] }] as const;
    expect(said({ asPath }).attributes.asPath).to.deep.equal([
      { type: 'sequence', asns: [64501] },
      { type: 'set', asns: [1, 2] },
    ]);
  });

  it('leaves the path alone inside and says LOCAL_PREF, 100 where none is given', () => {
    const view = sessionView({ internal: true });
    const asPath = [{ type: 'sequence', asns: [7] }] as const;
    expect(said({ asPath, prepend: 3 }, 'ipv4', view).attributes).to.deep.include({
      asPath,
      localPref: 100,
    });
    expect(said({ localPref: 0 }, 'ipv4', view).attributes).to.deep.include({
      asPath: [],
      localPref: 0,
    });
  });

  it('sends each community once', () => {
    const large = { global: 1, local1: 2, local2: 3 };
    const { attributes } = said({
      communities: [5, 4, 5],
      largeCommunities: [large, { ...large }],
      extendedCommunities: [
        { high: 1, low: 1 },
        { high: 1, low: 1 },
      ],
    });
    expect(attributes.communities).to.deep.equal([5, 4]);
    expect(attributes.largeCommunities).to.deep.equal([large]);
    expect(attributes.extendedCommunities).to.deep.equal([{ high: 1, low: 1 }]);
  });

  it('carries what it does not know', () => {
    const unknown = [{ code: 222, flags: 0xe0, value: Uint8Array.of(1, 2) }];
    expect(said({ unknown }).attributes.unknown).to.deep.equal(unknown);
  });

  describe('next hop', () => {
    it('is the route’s own before the session’s', () => {
      const nextHop = address4('198.51.100.9');
      expect(said({ nextHop }).attributes.nextHop).to.deep.equal(nextHop);
    });

    it('goes into MP_REACH_NLRI for IPv6, with our link-local address behind our own global one only', () => {
      const base = sessionView();
      const view = {
        ...base,
        nextHops: { ...base.nextHops, ipv6LinkLocal: address6('fe80::1') },
      };
      const own = said({}, 'ipv6', view);
      expect(own.attributes).not.to.have.property('nextHop');
      expect(own.mpNextHops).to.deep.equal([address6('2001:db8::1'), address6('fe80::1')]);
      const given = said({ nextHop: address6('2001:db8::99') }, 'ipv6', view);
      expect(given.mpNextHops).to.deep.equal([address6('2001:db8::99')]);
    });

    it('may be IPv6 for IPv4 routes where RFC 8950 was agreed on, and only there', () => {
      const nextHops = { ipv4: address6('2001:db8::1') };
      const { negotiated } = sessionView({ extendedNextHop: [IPV4] });
      const result = said({}, 'ipv4', { negotiated, nextHops });
      expect(result.mpNextHops).to.deep.equal([address6('2001:db8::1')]);
      expect(result.attributes).not.to.have.property('nextHop');
      const plain = { negotiated: sessionView().negotiated, nextHops };
      expect(refusal({}, 'ipv4', plain)).to.equal('next-hop-not-usable');
    });

    it('is missed with a reason', () => {
      const { negotiated } = sessionView();
      expect(refusal({}, 'ipv6', { negotiated, nextHops: {} })).to.equal('no-next-hop');
      const nextHop = address4('192.0.2.7');
      expect(refusal({ nextHop }, 'ipv6', sessionView())).to.equal('next-hop-not-usable');
      const nobody = { nextHop: address4('0.0.0.0') };
      expect(refusal(nobody, 'ipv4', sessionView())).to.equal('next-hop-not-usable');
    });
  });

  it('refuses a family that was not agreed on', () => {
    const view = sessionView({ families: [IPV6] });
    expect(refusal({}, 'ipv4', view)).to.equal('family-not-negotiated');
    expect(said({}, 'ipv6', view).kind).to.equal('attributes');
  });

  describe('Only to Customer (RFC 9234 §5)', () => {
    const withRole = (local: number) => sessionView({ roles: { local, peer: 0 } });
    const otcOf = (local: number, route: RouteAttributes) =>
      said(route, 'ipv4', withRole(local)).attributes.otc;

    it('is put on what goes to customers, peers and route server clients', () => {
      for (const local of [Role.provider, Role.peer, Role.routeServer]) {
        expect(otcOf(local, {})).to.equal(64501);
      }
      for (const local of [Role.customer, Role.routeServerClient]) {
        expect(otcOf(local, {})).to.equal(undefined);
      }
      expect(otcOf(Role.provider, { otc: 9 })).to.equal(9);
    });

    it('holds back what must not go to providers, peers and route servers', () => {
      for (const local of [Role.customer, Role.peer, Role.routeServerClient]) {
        expect(refusal({ otc: 9 }, 'ipv4', withRole(local))).to.equal('only-to-customer');
      }
    });

    it('follows our own role where the neighbour sent none (RFC 9234 §4.2)', () => {
      const alone = (local: number) => sessionView({ roles: { local } });
      expect(said({}, 'ipv4', alone(Role.provider)).attributes.otc).to.equal(64501);
      expect(refusal({ otc: 9 }, 'ipv4', alone(Role.customer))).to.equal('only-to-customer');
    });

    it('is left alone without roles', () => {
      expect(said({ otc: 9 }).attributes.otc).to.equal(9);
      expect(said({}).attributes).not.to.have.property('otc');
    });
  });
});
