import { expect } from 'chai';
import fc from 'fast-check';
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

    it('costs no walk over what is held, however many marks there are', () => {
      const rib = keeping();
      let looks = 0;
      const counted = Array.from({ length: 1000 }, (_, at): Nlri => {
        const prefix = nlri(`10.0.${at >> 8}.${at & 255}/32`);
        return new Proxy(prefix, {
          get: (target, name) => {
            looks += 1;
            return Reflect.get(target, name);
          },
        });
      });
      rib.update(update({ attributes: PATH, nlri: counted }));
      looks = 0;
      for (let mark = 0; mark < 700; mark += 1) rib.refresh({ ...IPV4, subtype: 1 });
      for (let mark = 0; mark < 700; mark += 1) {
        rib.update(announce(['10.0.0.0/32']));
        rib.refresh({ ...IPV4, subtype: 1 });
        rib.refresh({ ...IPV6, subtype: mark % 3 });
      }
      expect(looks, 'looks at routes that were held before').to.be.below(2000);
      rib.update(announce(['10.0.0.1/32']));
      expect(rib.refresh({ ...IPV4, subtype: 2 })).to.have.length(999);
      expect(held(rib)).to.deep.equal(['10.0.0.1/32']);
    });

    it('takes down what is older than its last begin, in any order of events', () => {
      const step = fc.record({
        what: fc.constantFrom(...STEPS, 'announce'),
        text: fc.constantFrom('10.0.0.0/8', '10.0.0.0/9', '2001:db8::/32', '2001:db8::/48'),
      });
      const check = (steps: readonly { what: (typeof STEPS)[number]; text: string }[]) => {
        const beside = new Beside();
        for (const { what, text } of steps) {
          beside[what](text);
          expect(held(beside.rib)).to.deep.equal([...beside.said.keys()].sort());
          expect(beside.rib.routeCount).to.equal(beside.said.size);
        }
      };
      fc.assert(fc.property(fc.array(step, { maxLength: 40 }), check));
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

const STEPS = ['announce', 'withdraw', 'begin', 'end'] as const;

/** what is held, and beside it each prefix with whether it was said since the last begin of its family */
class Beside {
  readonly rib = keeping();
  readonly said = new Map<string, boolean>();

  announce(text: string): void {
    this.rib.update(isIpv6(text) ? announceIpv6(text) : announce([text]));
    this.said.set(text, true);
  }

  withdraw(text: string): void {
    const withdrawn = [nlri(text)];
    const mpUnreach = { kind: 'prefixes', ...IPV6, withdrawn } as const;
    this.rib.update(update(isIpv6(text) ? { attributes: { mpUnreach } } : { withdrawn }));
    this.said.delete(text);
  }

  begin(like: string): void {
    this.#refresh(like, 1);
    for (const text of this.#family(like)) this.said.set(text, false);
  }

  end(like: string): void {
    const gone = this.#family(like).filter((text) => this.said.get(text) === false);
    const removed = this.#refresh(like, 2).map(formatPrefix);
    expect(removed.sort()).to.deep.equal(gone.sort());
    for (const text of gone) this.said.delete(text);
  }

  #refresh(like: string, subtype: number): readonly Nlri[] {
    return this.rib.refresh({ ...(isIpv6(like) ? IPV6 : IPV4), subtype });
  }

  #family(like: string): string[] {
    return [...this.said.keys()].filter((text) => isIpv6(text) === isIpv6(like));
  }
}

function isIpv6(text: string): boolean {
  return text.includes(':');
}
