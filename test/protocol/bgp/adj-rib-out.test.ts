import { expect } from 'chai';
import fc from 'fast-check';
import { AdjRibOut } from '../../../protocol/bgp/adj-rib-out.ts';
import type { SessionView } from '../../../protocol/bgp/pack.ts';
import type { Route, RouteAttributes } from '../../../protocol/bgp/route.ts';
import { ipv4Address, ipv6Address, maskPrefix } from '../../../protocol/net/address.ts';
import { formatPrefix, parsePrefix } from '../../../protocol/net/address-text.ts';
import {
  address4,
  address6,
  IPV4,
  IPV6,
  ModelNeighbour,
  sessionView,
  splitMessages,
} from '../../support/model-neighbour.ts';

function route(text: string, attributes: RouteAttributes = {}, pathId?: number): Route {
  const prefix = parsePrefix(text);
  if (prefix === undefined) throw new Error(text);
  return pathId === undefined ? { prefix, attributes } : { prefix, attributes, pathId };
}

function hosts(count: number, attributesOf: (i: number) => RouteAttributes): Route[] {
  return Array.from({ length: count }, (_, i) => ({
    prefix: maskPrefix(ipv4Address(0x0a000000 + i), 32),
    attributes: attributesOf(i),
  }));
}

/** Hands everything over; returns what the neighbour heard. */
function drain(rib: AdjRibOut, neighbour: ModelNeighbour, maxBytes = 65536): readonly string[] {
  const before = neighbour.log.length;
  for (let batch = rib.take(maxBytes); batch !== undefined; batch = rib.take(maxBytes)) {
    neighbour.receive(batch.bytes);
  }
  return neighbour.log.slice(before);
}

function start(view: SessionView = sessionView(), routes: readonly Route[] = []) {
  const rib = new AdjRibOut();
  const neighbour = new ModelNeighbour(view.negotiated);
  rib.apply(routes);
  rib.established(view);
  return { rib, neighbour };
}

/** A running session that has been told these routes. */
function synced(routes: readonly Route[], view: SessionView = sessionView()) {
  const session = start(view, routes);
  drain(session.rib, session.neighbour);
  return session;
}

describe('AdjRibOut', () => {
  it('sends the whole set and then End-of-RIB for every agreed family', () => {
    const { rib, neighbour } = start(sessionView(), [route('10.0.0.0/8'), route('2001:db8::/32')]);
    expect(rib.isSynced()).to.equal(false);
    expect(drain(rib, neighbour)).to.deep.equal([
      'announce 10.0.0.0/8',
      'eor ipv4',
      'announce 2001:db8::/32',
      'eor ipv6',
    ]);
    expect(rib.isSynced()).to.equal(true);
    expect(rib.advertised).to.deep.equal({ ipv4: 1, ipv6: 1 });
  });

  it('sends End-of-RIB when there is nothing else to say, and only for agreed families', () => {
    const { rib, neighbour } = start(sessionView({ families: [IPV6] }));
    expect(drain(rib, neighbour)).to.deep.equal(['eor ipv6']);
  });

  it('keeps End-of-RIB back behind a set that is partial', () => {
    const { rib, neighbour } = start(sessionView(), [route('10.0.0.0/8')]);
    rib.isPartial = true;
    expect(drain(rib, neighbour)).to.deep.equal(['announce 10.0.0.0/8']);
    expect(rib.isSynced()).to.equal(true);
    rib.apply([route('10.0.0.0/8'), route('10.0.0.0/9')]);
    expect(drain(rib, neighbour)).to.deep.equal(['announce 10.0.0.0/9']);
    rib.isPartial = false;
    expect(rib.isSynced()).to.equal(false);
    expect(drain(rib, neighbour)).to.deep.equal(['eor ipv4', 'eor ipv6']);
    rib.isPartial = true;
    rib.isPartial = false;
    expect(drain(rib, neighbour)).to.deep.equal([]);
  });

  it('sends everything again on the next session', () => {
    const { rib } = synced([route('10.0.0.0/8')]);
    rib.down();
    expect(rib.advertised.ipv4).to.equal(0);
    expect(rib.take(65536)).to.equal(undefined);
    rib.established(sessionView());
    const again = new ModelNeighbour(sessionView().negotiated);
    expect(drain(rib, again)).to.deep.equal(['announce 10.0.0.0/8', 'eor ipv4', 'eor ipv6']);
  });

  it('sends nothing for the same set in other objects', () => {
    const { rib } = synced([route('10.0.0.0/8', { med: 1, communities: [1, 2] })]);
    expect(rib.apply([route('10.0.0.0/8', { communities: [2, 1], med: 1 })])).to.equal(false);
    expect(rib.take(65536)).to.equal(undefined);
  });

  it('sees that attributes changed though the prefix did not', () => {
    const { rib, neighbour } = synced([route('10.0.0.0/8', { med: 1 }), route('10.0.0.0/9')]);
    expect(rib.apply([route('10.0.0.0/8', { med: 2 }), route('10.0.0.0/9')])).to.equal(true);
    expect(drain(rib, neighbour)).to.deep.equal(['announce 10.0.0.0/8']);
    expect(neighbour.table.get('10.0.0.0/8')?.attributes.med).to.equal(2);
  });

  it('withdraws before it announces, across families', () => {
    const { rib, neighbour } = synced([route('10.0.0.0/8'), route('2001:db8::/32')]);
    rib.apply([route('10.0.0.0/9')]);
    expect(drain(rib, neighbour)).to.deep.equal([
      'withdraw 10.0.0.0/8',
      'withdraw 2001:db8::/32',
      'announce 10.0.0.0/9',
    ]);
  });

  it('sends a route that changed while it waited once, with the newest attributes', () => {
    const { rib, neighbour } = synced([]);
    for (let med = 1; med <= 50; med++) rib.apply([route('10.0.0.0/8', { med })]);
    expect(rib.pendingCount).to.equal(1);
    expect(drain(rib, neighbour)).to.deep.equal(['announce 10.0.0.0/8']);
    expect(neighbour.table.get('10.0.0.0/8')?.attributes.med).to.equal(50);
  });

  it('forgets a route that was never told and is not wanted any more', () => {
    const { rib } = synced([]);
    rib.apply([route('10.0.0.0/8')]);
    rib.apply([]);
    expect(rib.known.ipv4).to.equal(0);
    expect(rib.take(65536)).to.equal(undefined);
  });

  it('says nothing about a change that was taken back', () => {
    const { rib } = synced([route('10.0.0.0/8', { med: 1 })]);
    rib.apply([route('10.0.0.0/8', { med: 2 })]);
    rib.apply([]);
    rib.apply([route('10.0.0.0/8', { med: 1 })]);
    expect(rib.take(65536)).to.equal(undefined);
    expect(rib.isSynced()).to.equal(true);
  });

  it('holds no attribute sets of the past while a neighbour does not read', () => {
    const { rib, neighbour } = synced(hosts(100, () => ({})));
    for (let round = 1; round <= 300; round++) {
      rib.apply(hosts(100, (i) => ({ med: round * 1000 + i })));
      expect(rib.pendingCount).to.equal(100);
      expect(rib.known.ipv4).to.equal(100);
      // 100 wanted and one told, and as many again before they are swept
      expect(rib.attributeSets.ipv4).to.be.at.most(303);
    }
    expect(drain(rib, neighbour).length).to.equal(100);
    expect(neighbour.table.get('10.0.0.99/32')?.attributes.med).to.equal(300_099);
    for (let round = 1; round <= 10; round++)
      rib.apply(hosts(100, (i) => ({ med: i, otc: round })));
    rib.apply(hosts(100, (i) => ({ med: 300_000 + i })));
    expect(rib.take(65536), 'what was told is remembered all the while').to.equal(undefined);
  });

  it('may be changed in the middle of a large withdrawal', () => {
    const all = hosts(30_000, () => ({}));
    const some = all.filter((_, i) => i % 3 === 0);
    const others = hosts(80_000, () => ({})).slice(40_000);
    const after: readonly [string, (rib: AdjRibOut) => void, number][] = [
      ['going on', () => {}, 10_000],
      ['the whole set again', (rib) => rib.apply(all), 30_000],
      ['a larger set of others', (rib) => rib.apply([...some, ...others]), 50_000],
      ['nothing at all', (rib) => rib.apply([]), 0],
      ['a refresh', (rib) => rib.refresh(IPV4), 10_000],
      ['other next hops', (rib) => rib.updateSession(sessionView()), 10_000],
    ];
    for (const [name, change, count] of after) {
      const { rib, neighbour } = synced(all);
      rib.apply(some);
      neighbour.receive(rib.take(4096)?.bytes ?? new Uint8Array(0));
      change(rib);
      expect(rib.wanted.ipv4, name).to.equal(count);
      drain(rib, neighbour);
      expect(neighbour.table.size, name).to.equal(count);
      expect(rib.known.ipv4, name).to.equal(count);
      expect(rib.isSynced(), name).to.equal(true);
    }
  });

  it('counts what waits and what is known at any time in a large withdrawal', () => {
    const { rib, neighbour } = synced(hosts(30_000, () => ({})));
    rib.apply([]);
    neighbour.receive(rib.take(4096)?.bytes ?? new Uint8Array(0));
    expect(rib.pendingCount).to.equal(neighbour.table.size);
    expect(rib.known.ipv4).to.equal(neighbour.table.size);
    expect(rib.advertised.ipv4).to.equal(neighbour.table.size);
    rib.down();
    expect(rib.known.ipv4).to.equal(0);
  });

  it('takes any iterable', () => {
    const { rib, neighbour } = synced([]);
    rib.apply(new Set([route('10.0.0.0/8')]));
    expect(drain(rib, neighbour)).to.deep.equal(['announce 10.0.0.0/8']);
  });

  describe('route refresh', () => {
    const plain = sessionView({ enhancedRouteRefresh: false });

    it('says the family again, and no other', () => {
      const { rib, neighbour } = synced([route('10.0.0.0/8'), route('2001:db8::/32')], plain);
      rib.refresh(IPV6);
      expect(rib.isSynced()).to.equal(false);
      expect(drain(rib, neighbour)).to.deep.equal(['announce 2001:db8::/32']);
      rib.refresh({ afi: 25, safi: 65 });
      expect(rib.take(65536)).to.equal(undefined);
    });

    it('puts begin and end around it where RFC 7313 was agreed on, also around nothing', () => {
      const { rib, neighbour } = synced([route('10.0.0.0/8')]);
      rib.refresh(IPV4);
      rib.refresh(IPV6);
      expect(drain(rib, neighbour)).to.deep.equal([
        'begin ipv4',
        'begin ipv6',
        'announce 10.0.0.0/8',
        'end ipv4',
        'end ipv6',
      ]);
      expect(neighbour.table.size).to.equal(1);
    });

    it('does not begin before End-of-RIB, and then does begin', () => {
      const { rib, neighbour } = start(sessionView({ families: [IPV4] }), [route('10.0.0.0/8')]);
      rib.refresh(IPV4);
      expect(drain(rib, neighbour)).to.deep.equal([
        'announce 10.0.0.0/8',
        'eor ipv4',
        'begin ipv4',
        'announce 10.0.0.0/8',
        'end ipv4',
      ]);
    });

    it('still withdraws what is withdrawn in the middle of it', () => {
      const { rib, neighbour } = synced([route('10.0.0.0/8'), route('10.0.0.0/9')], plain);
      rib.refresh(IPV4);
      rib.apply([route('10.0.0.0/9')]);
      expect(drain(rib, neighbour)).to.deep.equal(['withdraw 10.0.0.0/8', 'announce 10.0.0.0/9']);
    });
  });

  describe('refused routes', () => {
    const tooLarge = { communities: Array.from({ length: 1100 }, (_, i) => i) };

    it('stay behind with a reason and do not keep the others or End-of-RIB back', () => {
      const routes = [
        route('10.0.0.0/8', tooLarge),
        route('10.0.0.0/9', { nextHop: address6('2001:db8::9') }),
        route('10.0.0.0/10'),
        route('2001:db8::/32'),
      ];
      const { rib, neighbour } = synced(routes, sessionView({ families: [IPV4] }));
      expect(neighbour.log).to.deep.equal(['announce 10.0.0.0/10', 'eor ipv4']);
      expect(rib.isSynced()).to.equal(true);
      const list = rib.refused().map((each) => [formatPrefix(each.route.prefix), each.reason]);
      expect(list).to.have.deep.members([
        ['10.0.0.0/8', 'too-large'],
        ['10.0.0.0/9', 'next-hop-not-usable'],
        ['2001:db8::/32', 'family-not-negotiated'],
      ]);
      expect(rib.refused(1).length).to.equal(1);
    });

    it('of one family never hide those of the other, however few may be listed', () => {
      const many = Array.from({ length: 1200 }, (_, i) => route(`10.0.${i >> 8}.${i & 255}/32`));
      const view = sessionView({ families: [] });
      const { rib } = synced([...many, route('2001:db8::/32'), route('2001:db8::/33')], view);
      const families = (limit?: number) =>
        rib.refused(limit).map((each) => each.route.prefix.family);
      expect(families(3)).to.deep.equal(['ipv4', 'ipv6', 'ipv4']);
      expect(families()).to.have.lengthOf(1000).and.to.include('ipv6');
      expect(families(5000)).to.have.lengthOf(1202);
      expect(
        new Set(rib.refused(5000).map(({ route: { prefix } }) => formatPrefix(prefix))),
      ).to.have.property('size', 1202);
    });

    it('are withdrawn where the neighbour has an older version', () => {
      const { rib, neighbour } = synced([route('10.0.0.0/8')]);
      rib.apply([route('10.0.0.0/8', tooLarge)]);
      expect(drain(rib, neighbour)).to.deep.equal(['withdraw 10.0.0.0/8']);
      expect(rib.refused().length).to.equal(1);
      rib.apply([route('10.0.0.0/8')]);
      expect(drain(rib, neighbour)).to.deep.equal(['announce 10.0.0.0/8']);
      expect(rib.refused()).to.deep.equal([]);
    });

    it('go out on a session that takes them', () => {
      const { rib } = synced([route('10.0.0.0/8', tooLarge)]);
      rib.down();
      const view = sessionView({ extendedMessage: true });
      rib.established(view);
      const neighbour = new ModelNeighbour(view.negotiated);
      expect(drain(rib, neighbour)).to.include('announce 10.0.0.0/8');
      expect(neighbour.longestMessage).to.be.greaterThan(4096);
    });

    it('never make the codec throw, however large they are', () => {
      const huge = { communities: Array.from({ length: 20_000 }, (_, i) => i) };
      const long = { asPath: [{ type: 'sequence', asns: new Array(20_000).fill(7) }] } as const;
      const view = sessionView({ extendedMessage: true });
      const { rib } = synced([route('10.0.0.0/8', huge), route('10.0.0.0/9', long)], view);
      expect(rib.refused().map(({ reason }) => reason)).to.deep.equal(['too-large', 'too-large']);
    });
  });

  describe('updateSession', () => {
    it('says again what leads elsewhere now, and nothing else', () => {
      const view = sessionView();
      const own = { nextHop: address4('198.51.100.1') };
      const routes = [route('10.0.0.0/8'), route('10.0.0.0/9', own), route('2001:db8::/32')];
      const { rib, neighbour } = synced(routes, view);
      const nextHops = { ...view.nextHops, ipv4: address4('192.0.2.200') };
      rib.updateSession({ ...view, nextHops });
      expect(drain(rib, neighbour)).to.deep.equal(['announce 10.0.0.0/8']);
      const held = neighbour.table.get('10.0.0.0/8');
      expect(held?.attributes.nextHop).to.deep.equal(address4('192.0.2.200'));
    });

    it('withdraws what has no next hop any more and announces it when there is one again', () => {
      const view = sessionView();
      const { rib, neighbour } = synced([route('2001:db8::/32')], view);
      rib.updateSession({ ...view, nextHops: {} });
      expect(drain(rib, neighbour)).to.deep.equal(['withdraw 2001:db8::/32']);
      rib.updateSession(view);
      expect(drain(rib, neighbour)).to.deep.equal(['announce 2001:db8::/32']);
    });
  });

  describe('path identifiers', () => {
    const routes = [
      route('10.0.0.0/8', { med: 2 }, 2),
      route('10.0.0.0/8', { med: 1 }, 1),
      route('10.0.0.0/9', {}, 7),
    ];

    it('go out where add-path was agreed on', () => {
      const { neighbour } = synced(routes, sessionView({ addPathSend: [IPV4] }));
      expect([...neighbour.table.keys()]).to.have.members([
        '10.0.0.0/8 id 1',
        '10.0.0.0/8 id 2',
        '10.0.0.0/9 id 7',
      ]);
    });

    it('elsewhere leave one route a prefix: the one with the lowest', () => {
      const { rib, neighbour } = synced(routes);
      expect([...neighbour.table.keys()]).to.have.members(['10.0.0.0/8', '10.0.0.0/9']);
      expect(neighbour.table.get('10.0.0.0/8')?.attributes.med).to.equal(1);
      rib.apply(routes.filter(({ pathId }) => pathId !== 1));
      expect(drain(rib, neighbour)).to.deep.equal(['announce 10.0.0.0/8']);
    });
  });

  describe('packing', () => {
    it('fills messages to the last prefix that fits', () => {
      const { neighbour } = synced(hosts(5000, () => ({})));
      // 4096 less 23 of message and 20 of attributes leaves room for 810 prefixes of 5 octets
      expect(neighbour.messages).to.equal(Math.ceil(5000 / 810) + 2);
      expect(neighbour.longestMessage).to.be.within(4092, 4096);
      expect(neighbour.table.size).to.equal(5000);
    });

    it('fills withdrawals', () => {
      const { rib, neighbour } = synced(hosts(5000, () => ({})));
      const before = neighbour.messages;
      rib.apply([]);
      drain(rib, neighbour);
      // 4096 less 23 leaves room for 814
      expect(neighbour.messages - before).to.equal(Math.ceil(5000 / 814));
      expect(neighbour.table.size).to.equal(0);
      expect(rib.known).to.deep.equal({ ipv4: 0, ipv6: 0 });
    });

    it('makes larger messages where RFC 8654 was agreed on', () => {
      const { neighbour } = synced(
        hosts(10_000, () => ({})),
        sessionView({ extendedMessage: true }),
      );
      expect(neighbour.longestMessage).to.be.within(16_000, 16_384);
      expect(neighbour.messages).to.equal(Math.ceil(50_000 / 16_341) + 2);
    });

    it('puts one message an attribute set where each route has its own', () => {
      const { neighbour } = synced(hosts(200, (i) => ({ communities: [i] })));
      expect(neighbour.messages).to.equal(202);
      for (const [i, { attributes }] of [...neighbour.table.values()].entries()) {
        expect(attributes.communities).to.deep.equal([i]);
      }
    });

    it('writes MP_REACH_NLRI in front of all other attributes (RFC 7606 §5.1)', () => {
      const { rib } = start(sessionView({ families: [IPV6] }), [route('2001:db8::/32')]);
      const [first] = splitMessages(rib.take(65536)?.bytes ?? new Uint8Array(0));
      expect(first?.[24]).to.equal(14);
    });

    it('tells a neighbour of two octets our AS number through AS4_PATH', () => {
      const view = sessionView({ as4: false, localAsn: 4_200_000_001 });
      const { neighbour } = synced([route('10.0.0.0/8')], view);
      expect(neighbour.table.get('10.0.0.0/8')?.attributes.asPath).to.deep.equal([
        { type: 'sequence', asns: [4_200_000_001] },
      ]);
    });

    it('starts a session with a small batch and respects the room there is', () => {
      const { rib, neighbour } = start(
        sessionView(),
        hosts(30_000, () => ({})),
      );
      const first = rib.take(65536);
      expect(first?.bytes.length).to.be.within(1, 8192);
      neighbour.receive(first?.bytes ?? new Uint8Array(0));
      for (let batch = rib.take(20_000); batch !== undefined; batch = rib.take(20_000)) {
        expect(batch.bytes.length).to.be.at.most(20_000);
        neighbour.receive(batch.bytes);
      }
      expect(neighbour.table.size).to.equal(30_000);
    });

    it('never exceeds a message, whatever the attributes and prefixes, and loses none', () => {
      const arbitraryPrefix = fc.oneof(
        fc.tuple(fc.integer(), fc.nat(32)).map(([bits, n]) => maskPrefix(ipv4Address(bits), n)),
        fc
          .tuple(fc.integer(), fc.integer(), fc.nat(128))
          .map(([w0, w3, n]) => maskPrefix(ipv6Address(w0, w3, w0, w3), n)),
      );
      const arbitraryCase = fc.record({
        prefixes: fc.array(arbitraryPrefix, { minLength: 1, maxLength: 60 }),
        // up to the very edge of what a message holds
        communities: fc.integer({ min: 980, max: 1020 }),
        extendedMessage: fc.boolean(),
        addPath: fc.boolean(),
      });
      fc.assert(
        fc.property(arbitraryCase, ({ prefixes, communities, extendedMessage, addPath }) => {
          const attributes = { communities: Array.from({ length: communities }, (_, i) => i) };
          const addPathSend = addPath ? [IPV4, IPV6] : [];
          const view = sessionView({ extendedMessage, addPathSend });
          const { rib, neighbour } = synced(
            prefixes.map((prefix) => ({ prefix, attributes })),
            view,
          );
          expect(neighbour.longestMessage).to.be.at.most(extendedMessage ? 65535 : 4096);
          const refused = rib.refused(100_000).map(({ route: { prefix } }) => formatPrefix(prefix));
          const held = [...neighbour.table.values()].map(({ prefix }) => formatPrefix(prefix));
          const all = [...new Set(prefixes.map(formatPrefix))].sort();
          expect([...refused, ...held].sort()).to.deep.equal(all);
          if (extendedMessage || communities < 1000) expect(refused).to.deep.equal([]);
        }),
      );
    });
  });
});
