import { expect } from 'chai';
import { AdjRibIn } from '../../../protocol/bgp/adj-rib-in.ts';
import type { Nlri, PathAttributes, UpdateMessage } from '../../../protocol/bgp/message.ts';
import { endOfRib } from '../../../protocol/bgp/update.ts';
import { formatPrefix, parsePrefix } from '../../../protocol/net/address-text.ts';
import { address4, address6, IPV4, IPV6, negotiated } from '../../support/model-neighbour.ts';

function nlri(text: string, pathId?: number): Nlri {
  const prefix = parsePrefix(text);
  if (prefix === undefined) throw new Error(text);
  return pathId === undefined ? prefix : { ...prefix, pathId };
}

const PATH: PathAttributes = {
  origin: 'igp',
  asPath: [{ type: 'sequence', asns: [64500, 64999] }],
  nextHop: address4('192.0.2.2'),
};

function update(change: Partial<Omit<UpdateMessage, 'kind'>>): UpdateMessage {
  return { kind: 'update', withdrawn: [], attributes: {}, nlri: [], ...change };
}

function announce(prefixes: readonly string[], attributes: PathAttributes = PATH): UpdateMessage {
  return update({ attributes, nlri: prefixes.map((text) => nlri(text)) });
}

function announceIpv6(prefix: string): UpdateMessage {
  const nextHops = [address6('2001:db8::2')];
  const mpReach = { kind: 'prefixes', ...IPV6, nextHops, nlri: [nlri(prefix)] } as const;
  return update({ attributes: { ...PATH, mpReach } });
}

function keeping(change: Parameters<typeof negotiated>[0] = {}, maxPrefixes?: number): AdjRibIn {
  const policy = { kind: 'keep' } as const;
  const rib = new AdjRibIn(maxPrefixes === undefined ? policy : { ...policy, maxPrefixes });
  rib.established(negotiated(change));
  return rib;
}

function held(rib: AdjRibIn): string[] {
  return [...rib.routes()].map(({ prefix }) => formatPrefix(prefix)).sort();
}

describe('AdjRibIn', () => {
  it('rejects and counts by default', () => {
    const rib = new AdjRibIn();
    rib.established(negotiated());
    rib.update(announce(['10.0.0.0/8', '10.0.0.0/9']));
    rib.update(announce(['10.0.0.0/8']));
    rib.update(update({ withdrawn: [nlri('10.0.0.0/9')] }));
    expect(rib.counters).to.deep.equal({
      updates: 3,
      announced: 3,
      withdrawn: 1,
      treatedAsWithdraw: 0,
      loops: 0,
      rejected: 3,
    });
    expect(rib.routeCount).to.equal(0);
  });

  it('keeps routes where asked, of both families, and lets them be replaced and withdrawn', () => {
    const rib = keeping();
    rib.update(announce(['10.0.0.0/8', '10.0.0.0/9']));
    const mpReach = {
      kind: 'prefixes',
      ...IPV6,
      nextHops: [address6('2001:db8::2')],
      nlri: [nlri('2001:db8::/32')],
    } as const;
    rib.update(update({ attributes: { ...PATH, mpReach } }));
    rib.update(announce(['10.0.0.0/8'], { ...PATH, med: 9 }));
    expect(held(rib)).to.deep.equal(['10.0.0.0/8', '10.0.0.0/9', '2001:db8::/32']);
    const [first] = [...rib.routes()];
    expect(first?.attributes.med).to.equal(9);
    const last = [...rib.routes()].at(-1)?.attributes.mpReach;
    expect(last).to.deep.equal({ ...mpReach, nlri: [] });
    const mpUnreach = { kind: 'prefixes', ...IPV6, withdrawn: [nlri('2001:db8::/32')] } as const;
    rib.update(update({ withdrawn: [nlri('10.0.0.0/9')], attributes: { mpUnreach } }));
    expect(held(rib)).to.deep.equal(['10.0.0.0/8']);
    expect(rib.counters.rejected).to.equal(0);
  });

  it('does not take multicast routes for unicast ones', () => {
    const rib = keeping();
    rib.update(announce(['10.0.0.0/8']));
    const multicast = { kind: 'prefixes', afi: 1, safi: 2 } as const;
    const prefixes = [nlri('10.0.0.0/8')];
    const mpReach = { ...multicast, nextHops: [address4('192.0.2.2')], nlri: [nlri('10.0.0.0/9')] };
    rib.update(update({ attributes: { ...PATH, mpReach } }));
    rib.update(update({ attributes: { mpUnreach: { ...multicast, withdrawn: prefixes } } }));
    expect(held(rib)).to.deep.equal(['10.0.0.0/8']);
  });

  it('rejects routes of a family that was not agreed on (RFC 4760 §8)', () => {
    const rib = keeping({ families: [IPV6] });
    rib.update(announce(['10.0.0.0/8']));
    expect(held(rib)).to.deep.equal([]);
    expect(rib.counters).to.include({ announced: 1, rejected: 1 });
  });

  describe('an enhanced refresh of the neighbour (RFC 7313 §4)', () => {
    it('takes down what was not said again between its marks, in that family only', () => {
      const rib = keeping();
      rib.update(announce(['10.0.0.0/8', '10.0.0.0/9', '10.0.0.0/10']));
      rib.update(announceIpv6('2001:db8::/32'));
      rib.refresh({ ...IPV4, subtype: 1 });
      rib.update(announce(['10.0.0.0/8', '11.0.0.0/8']));
      expect(held(rib), 'stale routes stand until the end').to.have.lengthOf(5);
      const removed = rib.refresh({ ...IPV4, subtype: 2 });
      expect(removed.map(formatPrefix)).to.deep.equal(['10.0.0.0/9', '10.0.0.0/10']);
      expect(held(rib)).to.deep.equal(['10.0.0.0/8', '11.0.0.0/8', '2001:db8::/32']);
      rib.refresh({ ...IPV4, subtype: 2 });
      rib.refresh({ ...IPV6, subtype: 2 });
      expect(held(rib), 'an end without a begin changes nothing').to.have.lengthOf(3);
    });

    it('starts anew with a second begin, and ends with the session', () => {
      const rib = keeping();
      rib.update(announce(['10.0.0.0/8', '10.0.0.0/9']));
      rib.refresh({ ...IPV4, subtype: 1 });
      rib.update(announce(['10.0.0.0/8']));
      rib.refresh({ ...IPV4, subtype: 1 });
      rib.update(announce(['10.0.0.0/9']));
      rib.refresh({ ...IPV4, subtype: 2 });
      expect(held(rib)).to.deep.equal(['10.0.0.0/9']);
      rib.refresh({ ...IPV4, subtype: 1 });
      rib.established(negotiated());
      rib.update(announce(['10.0.0.0/9']));
      rib.refresh({ ...IPV4, subtype: 2 });
      expect(held(rib)).to.deep.equal(['10.0.0.0/9']);
    });

    it('is ignored before End-of-RIB where the neighbour can restart gracefully', () => {
      const peerGracefulRestart = {
        kind: 'graceful-restart',
        restarting: false,
        notification: false,
        restartTimeSeconds: 30,
        families: [],
      } as const;
      const rib = keeping({ peerGracefulRestart });
      rib.update(announce(['10.0.0.0/8']));
      rib.refresh({ ...IPV4, subtype: 1 });
      rib.refresh({ ...IPV4, subtype: 2 });
      expect(held(rib)).to.deep.equal(['10.0.0.0/8']);
      rib.update(endOfRib(IPV4));
      rib.refresh({ ...IPV4, subtype: 1 });
      rib.refresh({ ...IPV4, subtype: 2 });
      expect(held(rib)).to.deep.equal([]);
    });
  });

  it('drops a path with our own AS in it, and what it replaces', () => {
    const rib = keeping();
    rib.update(announce(['10.0.0.0/8']));
    const asPath = [{ type: 'sequence', asns: [64500, 64501] }] as const;
    rib.update(announce(['10.0.0.0/8', '10.0.0.0/9'], { ...PATH, asPath }));
    expect(held(rib)).to.deep.equal([]);
    expect(rib.counters.loops).to.equal(2);
  });

  it('drops what comes back to us through reflection, on internal sessions', () => {
    const reflected = { ...PATH, originatorId: address4('0.0.0.1') };
    const clustered = { ...PATH, clusterList: [address4('0.0.0.9'), address4('0.0.0.1')] };
    const inside = keeping({ internal: true });
    inside.update(announce(['10.0.0.0/8'], reflected));
    inside.update(announce(['10.0.0.0/9'], clustered));
    expect(held(inside)).to.deep.equal([]);
    const outside = keeping();
    outside.update(announce(['10.0.0.0/8'], reflected));
    expect(held(outside)).to.deep.equal(['10.0.0.0/8']);
  });

  it('takes down what a malformed UPDATE names', () => {
    const rib = keeping();
    rib.update(announce(['10.0.0.0/8', '10.0.0.0/9']));
    rib.treatAsWithdraw([
      { ...IPV4, nlri: [nlri('10.0.0.0/8')] },
      { afi: 25, safi: 65, nlri: Uint8Array.of(1) },
    ]);
    expect(held(rib)).to.deep.equal(['10.0.0.0/9']);
    expect(rib.counters.treatedAsWithdraw).to.equal(1);
  });

  it('asks for Cease 6/1 with family and limit when there are too many prefixes', () => {
    const rib = keeping({}, 2);
    expect(rib.update(announce(['10.0.0.0/8', '10.0.0.0/9'])).kind).to.equal('accepted');
    expect(rib.update(announce(['10.0.0.0/8'])).kind).to.equal('accepted');
    expect(rib.update(announce(['10.0.0.0/10']))).to.deep.equal({
      kind: 'limit-exceeded',
      notification: {
        kind: 'notification',
        code: 6,
        subcode: 1,
        data: Uint8Array.of(0, 1, 1, 0, 0, 0, 2),
      },
    });
  });

  it('tells paths of one prefix apart where add-path is in use, and only there', () => {
    const two = update({ attributes: PATH, nlri: [nlri('10.0.0.0/8', 1), nlri('10.0.0.0/8', 2)] });
    const rib = keeping({ addPathReceive: [IPV4] });
    rib.update(two);
    expect(rib.routeCount).to.equal(2);
    rib.update(update({ withdrawn: [nlri('10.0.0.0/8', 1)] }));
    expect([...rib.routes()].map(({ prefix }) => prefix.pathId)).to.deep.equal([2]);
    const plain = keeping();
    plain.update(two);
    expect(plain.routeCount).to.equal(1);
  });

  it('notices End-of-RIB per family', () => {
    const rib = keeping();
    rib.update(announce(['10.0.0.0/8']));
    rib.update(update({ withdrawn: [nlri('10.0.0.0/8')] }));
    expect(rib.hasEndOfRib('ipv4')).to.equal(false);
    rib.update(endOfRib(IPV6));
    expect([rib.hasEndOfRib('ipv4'), rib.hasEndOfRib('ipv6')]).to.deep.equal([false, true]);
    rib.update(endOfRib(IPV4));
    expect(rib.hasEndOfRib('ipv4')).to.equal(true);
    rib.down();
    expect(rib.hasEndOfRib('ipv4')).to.equal(false);
  });

  it('forgets routes when the session ends and counters when the next one begins', () => {
    const rib = keeping();
    rib.update(announce(['10.0.0.0/8']));
    rib.down();
    expect(rib.routeCount).to.equal(0);
    expect(rib.counters.announced).to.equal(1);
    rib.established(negotiated());
    expect(rib.counters.announced).to.equal(0);
  });
});
