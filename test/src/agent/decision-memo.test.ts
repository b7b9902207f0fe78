import { expect } from 'chai';
import fc from 'fast-check';
import { type DesiredState, desired } from '../../../src/agent/desired.ts';
import type { Departure, View } from '../../../src/agent/view.ts';
import type { Documents, Sourced } from '../../../src/model/documents.ts';
import type { IpClaim } from '../../../src/model/ip-claim.ts';
import { ANYCAST_LABEL } from '../../../src/model/names.ts';
import { claim, documents, peer, pool, sourced, view } from './scenery.ts';

const COUNT = 8;

/** claims that are the same objects from one View to the next */
const CLAIMS: readonly Sourced<IpClaim>[] = Array.from({ length: COUNT }, (_, index) => ({
  ...sourced(
    claim({
      at: `198.51.100.${index + 1}`,
      labels: { [ANYCAST_LABEL]: '' },
      services: index % 2 === 0 ? [] : [{ namespace: 'a', name: 'b', healthCheckNodePort: index }],
    }),
    index,
  ),
  source: 'api',
}));
const PEERS = [peer({ maxRoutes: 3 }), peer({ name: 'spine', families: ['ipv4'], port: 1790 })];
const POOLS = [pool(), pool({ name: 'other', drain: { on: ['cordon'], waitSeconds: 0 } })];
const DRAINS = new Map([['cordon', { sinceMs: 0, reason: 'cordoned' }]]);
const NO_DRAINS = new Map<string, never>();
/** what is the same object in every View, as an agent has it */
const BASE = view();
const DRAIN = { sinceMs: 3000, reason: 'x' };
const STALE = { sinceMs: 0, untilMs: 12_000, sentence: 'the API is silent' };
/** of the very claims that the documents may have, too: what is decided on both is not the same */
const DEPARTURES: readonly Departure[] = CLAIMS.map((each) => ({
  claim: each,
  pool: pool({ drain: { on: [], waitSeconds: 10 } }),
  sinceMs: 2000,
  reason: 'its document was removed',
}));
const lists = {
  peers: PEERS.map((each) => sourced(each)),
  pools: POOLS.map((each) => [sourced(each)]),
};

const worlds = fc.record({
  picks: fc.array(fc.boolean(), { minLength: COUNT, maxLength: COUNT }),
  empty: fc.array(fc.constantFrom(undefined, 'serving', 'empty'), {
    minLength: COUNT,
    maxLength: COUNT,
  }),
  isJoined: fc.boolean(),
  isUnwell: fc.boolean(),
  isCordoned: fc.boolean(),
  isFenced: fc.boolean(),
  pool: fc.constantFrom(0, 1),
  nowMs: fc.constantFrom(0, 5000, 15_000, 20_000),
  isDrained: fc.boolean(),
  isStale: fc.boolean(),
  departing: fc.array(fc.boolean(), { minLength: COUNT, maxLength: COUNT }),
  waiting: fc.constantFrom(undefined, 4000, 10_000),
});

type World = typeof worlds extends fc.Arbitrary<infer T> ? T : never;

function viewOf(world: World): View {
  const claims = CLAIMS.filter((_, index) => world.picks[index] === true);
  const ports = world.empty.flatMap((answer, index) =>
    answer === undefined ? [] : [[index, answer] as const],
  );
  const pools = lists.pools[world.pool] ?? [];
  return {
    ...BASE,
    nowMs: world.nowMs,
    documents: { ...documents(), peers: lists.peers, pools, claims },
    cluster: {
      joined: { isOpen: world.isJoined, sentence: 'x' },
      isReady: true,
      drains: world.isCordoned ? DRAINS : NO_DRAINS,
      addresses: [],
    },
    serviceFacts: {
      ports: new Map(ports),
      trusted: new Map(),
      waiting: new Map(world.waiting === undefined ? [] : [['198.51.100.2', world.waiting]]),
      isProxyUnwell: world.isUnwell,
    },
    ...(world.isFenced ? { fencedSinceMs: 1 } : {}),
    ...(world.isDrained ? { nodeDrain: DRAIN } : {}),
    ...(world.isStale ? { staleApi: STALE } : {}),
    departures: new Map(
      DEPARTURES.filter((_, index) => world.departing[index] === true).map((each) => [
        each.claim.object.name,
        each,
      ]),
    ),
  };
}

/** the same View of other objects: nothing is remembered of them */
function fresh(from: View): View {
  const docs: Documents = structuredClone(from.documents);
  return { ...from, documents: docs, departures: structuredClone(from.departures) };
}

const told = ({ claims, peers, wakeAtMs }: DesiredState) => ({ claims, peers, wakeAtMs });

describe('decisions that are remembered', () => {
  it('are those that would be made', function () {
    // a bound on what may hang, not on how fast a busy machine is
    this.timeout(60_000);
    fc.assert(
      fc.property(fc.array(worlds, { minLength: 1, maxLength: 12, size: 'max' }), (sequence) => {
        // all in a row first: what is decided in between would be remembered in its place
        const views = sequence.map(viewOf).toSorted((a, b) => a.nowMs - b.nowMs);
        const remembered = views.map((each) => told(desired(each)));
        const made = views.map((each) => told(desired(fresh(each))));
        expect(remembered).to.deep.equal(made);
      }),
      { numRuns: 600 },
    );
  });

  it('are the same objects while nothing has changed, and only those of claims that have not', () => {
    const many = Array.from({ length: 300 }, (_, index) =>
      sourced(claim({ at: `198.51.100.${index % 250}`, name: `c${index}` }), index),
    );
    const all = { ...documents({ peers: [peer({ maxRoutes: 1000 })] }), claims: many };
    const from = view({ documents: all });
    const first = desired(from);
    const again = desired({ ...from, nowMs: 9 });
    expect(again.claims.every((one, index) => one === first.claims[index])).to.equal(true);
    const changed = [...many.slice(0, 100), ...many.slice(101)];
    const next = desired({ ...from, documents: { ...all, claims: changed } });
    expect(next.claims.filter((one) => !first.claims.includes(one))).to.deep.equal([]);
    expect(next.claims).to.have.length(299);
  });

  it('are the same objects of claims that leave, until their wait is over', () => {
    const many = Array.from({ length: 200 }, (_, index) =>
      sourced(claim({ at: `198.51.100.${index}` }), index),
    );
    const leaving = pool({ drain: { on: [], waitSeconds: 10 } });
    const departures = new Map(
      many.map((each): [string, Departure] => [
        each.object.name,
        { claim: each, pool: leaving, sinceMs: 0, reason: 'its document was removed' },
      ]),
    );
    const all = { ...documents({ peers: [peer({ maxRoutes: 1000 })] }), claims: [] };
    const from = { ...view({ documents: all }), departures, nowMs: 1 };
    const first = desired(from);
    const again = desired({ ...from, nowMs: 9000 });
    expect(first.claims).to.have.length(200);
    expect(again.claims.every((one, index) => one === first.claims[index])).to.equal(true);
    const over = desired({ ...from, nowMs: 10_000 });
    expect(over.peers[0]?.routes).to.deep.equal([]);
  });

  it('count again though a source has made new lists of the same pools', () => {
    const all = { ...documents(), claims: [sourced(claim({ at: '198.51.100.1' }))] };
    const from = view({ documents: all });
    const [first] = desired(from).claims;
    const [again] = desired({ ...from, documents: { ...all, pools: [...all.pools] } }).claims;
    expect(again).to.equal(first);
  });
});
