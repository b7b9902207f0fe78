import { formatPrefix, type PrefixKey, parsePrefix, prefixKey, WellKnownCommunity } from 'bgp-ts';
import { expect } from 'chai';
import { aggregateSent } from '../../../src/agent/aggregates.ts';
import { type DesiredState, desired } from '../../../src/agent/desired.ts';
import type { DiscardFact, View } from '../../../src/agent/view.ts';
import type { Sourced } from '../../../src/model/documents.ts';
import type { IpClaim } from '../../../src/model/ip-claim.ts';
import type { Advertisement, IpPool } from '../../../src/model/ip-pool.ts';
import { ANYCAST_LABEL } from '../../../src/model/names.ts';
import {
  advertisement,
  check,
  claim,
  documents,
  EXCLUSIVE,
  gateOf,
  NODE,
  peer,
  pool,
  sourced,
  view,
  WAIT_MS,
} from './scenery.ts';

const GSHUT = WellKnownCommunity['graceful-shutdown'];
const LENGTHS = { ipv4: 26, ipv6: 80 };

const aggregated = (over: Partial<Advertisement> = {}, of: Partial<IpPool> = {}) =>
  pool({
    advertisements: [advertisement({ discardRoute: true, aggregationLength: LENGTHS, ...over })],
    ...of,
  });

function prefix(text: string) {
  const parsed = parsePrefix(text);
  if (parsed === undefined) throw new Error(text);
  return parsed;
}

const PRESENT: DiscardFact = { kind: 'present' };
const discards = (...texts: readonly string[]): ReadonlyMap<PrefixKey, DiscardFact> =>
  new Map(texts.map((text) => [prefixKey(prefix(text)), PRESENT]));
const ALL = discards('198.51.100.0/26', '198.51.100.64/26', '2001:db8:7::/80');

const scene = (claims: readonly IpClaim[], over: Partial<View> = {}, of = aggregated()): View =>
  view({ documents: documents({ pools: [of], claims }), discards: ALL, ...over });

const routes = (state: DesiredState) =>
  (state.peers[0]?.routes ?? []).map((route) => formatPrefix(route.prefix)).toSorted();

describe('aggregates', () => {
  it('stand in place of the host routes of the claims inside, one route each, of both families', () => {
    const claims = [
      '198.51.100.7',
      '198.51.100.8',
      '198.51.100.70',
      '2001:db8:7::1',
      '2001:db8:7::2',
    ];
    const state = desired(scene(claims.map((at) => claim({ at }))));
    expect(routes(state)).to.deep.equal(['198.51.100.0/26', '198.51.100.64/26', '2001:db8:7::/80']);
    expect([...state.discards.values()].map(formatPrefix).toSorted()).to.deep.equal(routes(state));
    expect(gateOf(scene([claim()]), 'allowed').sentence).to.include(
      '198.51.100.0/26 is announced in place of its host route',
    );
  });

  it('go with the last claim inside that this node announces', () => {
    const over = { sinceMs: 0, waitMs: 0, reason: 'by hand' };
    const claimDrains = new Map([['198.51.100.7', over]]);
    const both = scene([claim(), claim({ at: '198.51.100.8' })], { claimDrains });
    expect(routes(desired(both))).to.deep.equal(['198.51.100.0/26']);
    const none = scene([claim()], { claimDrains });
    expect(routes(desired(none))).to.deep.equal([]);
    expect(desired(none).discards.size, 'nothing to discard for what is not announced').to.equal(0);
  });

  it('do not stand for a claim with checks: where it fails, its packets go to nodes that announce its host route', () => {
    const at = (isOpen: boolean) =>
      scene([claim({ checks: [check()] }), claim({ at: '198.51.100.8' })], {
        health: new Map([['198.51.100.7', { isOpen, sentence: 'as it was asked' }]]),
      });
    expect(routes(desired(at(true)))).to.deep.equal(['198.51.100.0/26', '198.51.100.7/32']);
    expect(routes(desired(at(false)))).to.deep.equal(['198.51.100.0/26']);
    expect(gateOf(at(true), 'allowed').sentence).to.include(
      'its host route is announced, not 198.51.100.0/26: it has checks',
    );
  });

  it('nor for one that is bound: the address may be missing on this node alone', () => {
    const one = claim({ bind: { interface: 'lo' } });
    const fact = { kind: 'present', sentence: 'it is on lo' } as const;
    const there = scene([one], { bindings: new Map([[one.name, fact]]) });
    expect(routes(desired(there))).to.deep.equal(['198.51.100.7/32']);
    expect(gateOf(there, 'allowed').sentence).to.include('it is bound to an interface');
  });

  describe('of claims that are unhealthy', () => {
    const INSIDE = ['198.51.100.7', '198.51.100.8', '198.51.100.9'];
    const OUTSIDE = '198.51.100.70';
    const served = (at: string, age: number): Sourced<IpClaim> => ({
      ...sourced(
        claim({ at, labels: { [ANYCAST_LABEL]: '' }, services: [{ namespace: 'a', name: 's' }] }),
        age,
      ),
      source: 'api',
    });
    const cluster = {
      joined: { isOpen: true, sentence: 'joined' },
      ...{ isReady: true, drains: new Map(), addresses: [] },
    };
    /** Services whose rules kube-proxy has still to write, but for the healthy ones */
    const limited = (maxRoutes: number, healthy: readonly string[], over: Partial<View> = {}) => {
      const ill = [...INSIDE, OUTSIDE].filter((at) => !healthy.includes(at));
      const waiting = new Map(ill.map((at) => [at, Number.POSITIVE_INFINITY]));
      const told = { ports: new Map(), trusted: new Map(), waiting, isProxyUnwell: false };
      const claims = [...INSIDE, OUTSIDE].map(served);
      const all = documents({ peers: [peer({ maxRoutes })], pools: [aggregated()], claims });
      const facts = { documents: all, cluster, serviceFacts: told };
      return view({ ...facts, discards: discards('198.51.100.64/26'), ...over });
    };

    it('they have one place together, as they will when they are announced', () => {
      expect(routes(desired(limited(2, [OUTSIDE])))).to.deep.equal(['198.51.100.64/26']);
    });

    it('each has its own where the machine refuses the discard route, or keeps none', () => {
      const key = prefixKey(prefix('198.51.100.0/26'));
      const refused = new Map(discards('198.51.100.64/26')).set(key, {
        kind: 'absent',
        sentence: 'x',
      });
      expect(routes(desired(limited(3, [OUTSIDE], { discards: refused })))).to.deep.equal([]);
      expect(routes(desired(limited(4, [OUTSIDE], { discards: refused })))).to.have.length(1);
      const { discards: _, ...never } = limited(3, [OUTSIDE]);
      expect(routes(desired(never))).to.deep.equal([]);
    });

    it('one that recovers and has room in the aggregate alone asks for the discard route, and is announced then', () => {
      const waiting = desired(limited(1, ['198.51.100.9']));
      expect(routes(waiting), 'no more than the limit, meanwhile').to.deep.equal([]);
      expect([...waiting.discards.values()].map(formatPrefix)).to.deep.equal(['198.51.100.0/26']);
      const there = desired(limited(1, ['198.51.100.9'], { discards: ALL }));
      expect(routes(there)).to.deep.equal(['198.51.100.0/26']);
      expect([...there.discards.values()].map(formatPrefix)).to.deep.equal(['198.51.100.0/26']);
    });

    it('one that has no room in either way asks for nothing', () => {
      const state = desired(limited(1, [OUTSIDE], { discards: new Map() }));
      expect(routes(state)).to.deep.equal([]);
      expect(state.discards.size).to.equal(0);
    });
  });

  it('wait for the discard route, and host routes go out until it is there', () => {
    const waiting = scene([claim(), claim({ at: '198.51.100.8' })], { discards: new Map() });
    expect(routes(desired(waiting))).to.deep.equal(['198.51.100.7/32', '198.51.100.8/32']);
    expect([...desired(waiting).discards.values()].map(formatPrefix)).to.deep.equal([
      '198.51.100.0/26',
    ]);
    const key = prefixKey(prefix('198.51.100.0/26'));
    const refused = new Map([
      [key, { kind: 'absent', sentence: 'it would hide 198.51.0.0/16' } as const],
    ]);
    expect(gateOf(scene([claim()], { discards: refused }), 'allowed').sentence).to.include(
      'its host route is announced, not 198.51.100.0/26: it would hide 198.51.0.0/16',
    );
    const { discards: _, ...never } = scene([claim()]);
    expect(routes(desired(never)), 'an agent that keeps none').to.deep.equal(['198.51.100.7/32']);
  });

  for (const [name, one, of, sentence] of [
    [
      'an exclusive claim',
      claim({ placement: EXCLUSIVE, node: NODE }),
      aggregated(),
      'it is exclusive',
    ],
    [
      'a Local Service',
      claim({ services: [{ namespace: 'n', name: 's', healthCheckNodePort: 30_000 }] }),
      aggregated(),
      'its Service is Local',
    ],
    [
      'an advertisement without discardRoute',
      claim(),
      aggregated({ discardRoute: false }),
      'discardRoute: true',
    ],
    [
      'a pool that is smaller',
      claim(),
      aggregated({}, { ranges: pool({ addresses: ['198.51.100.0/28'] }).ranges }),
      'larger than the addresses of pool vips',
    ],
  ] as const) {
    it(`are refused for ${name}: its host route goes out, with a sentence`, () => {
      const at = scene([one], {}, of);
      expect(routes(desired(at))).to.deep.equal(['198.51.100.7/32']);
      expect(desired(at).discards.size).to.equal(0);
      expect(gateOf(at, 'allowed').sentence).to.include(sentence);
    });
  }

  it('of the length of a host route are host routes', () => {
    const at = scene(
      [claim()],
      { discards: new Map() },
      aggregated({ aggregationLength: { ipv4: 32 } }),
    );
    expect(routes(desired(at))).to.deep.equal(['198.51.100.7/32']);
    expect(gateOf(at, 'allowed').sentence).to.not.include('host route');
  });

  it('carry the attributes of the advertisement, and drain when all inside do', () => {
    const tagged = aggregated({ communities: [42], med: 7, prepend: 2 });
    const two = [claim(), claim({ at: '198.51.100.8' })];
    const drain = { sinceMs: 900, reason: 'by hand' };
    const sent = (from: View) => {
      const state = desired(from);
      return aggregateSent(state, 'tor', prefix('198.51.100.0/26'));
    };
    expect(sent(scene(two, {}, tagged))).to.deep.equal({ communities: [42], med: 7, prepend: 2 });
    const one = scene(two, { claimDrains: new Map([['198.51.100.7', drain]]) }, tagged);
    expect(sent(one)?.communities, 'another still wants the traffic').to.deep.equal([42]);
    const node = scene(two, { nodeDrain: drain }, tagged);
    expect(sent(node)?.communities).to.deep.equal([42, GSHUT]);
    const over = scene(two, { nodeDrain: drain, nowMs: 901 + WAIT_MS }, tagged);
    expect(routes(desired(over))).to.deep.equal([]);
  });

  it('count once for maxRoutes, however many claims are inside', () => {
    const claims = [
      '198.51.100.7',
      '198.51.100.8',
      '198.51.100.70',
      '198.51.100.9',
      '198.51.100.130',
    ];
    const made = documents({
      pools: [aggregated()],
      peers: [peer({ maxRoutes: 2 })],
      claims: claims.map((at, index) => sourced(claim({ at }), index)),
    });
    const all = new Map([...ALL, ...discards('198.51.100.128/26')]);
    const from = view({ documents: made, discards: all });
    for (const round of ['first', 'remembered']) {
      const state = desired(from);
      expect(routes(state), round).to.deep.equal(['198.51.100.0/26', '198.51.100.64/26']);
      expect(state.claims[3]?.peers[0]?.route, 'inside one that has a place').to.not.equal(
        undefined,
      );
      expect(state.claims[4]?.peers[0]?.allowed.isLimit).to.equal(true);
    }
  });
});
