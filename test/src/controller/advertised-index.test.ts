import { expect } from 'chai';
import fc from 'fast-check';
import { AdvertisedIndex } from '../../../src/controller/advertised-index.ts';
import type { CachedDocument } from '../../../src/controller/cached-document.ts';
import type { Cache, CacheEntries } from '../../../src/controller/caches.ts';
import { LastPools } from '../../../src/controller/last-pools.ts';
import type { IpClaim } from '../../../src/model/ip-claim.ts';
import type { IpNode } from '../../../src/model/ip-node.ts';
import type { Service } from '../../../src/model/service.ts';
import { claim, clusterNode, ipNode, ipPool, peer } from './scenery.ts';

class MapCache<T> implements Cache<T> {
  readonly items = new Map<string, T>();
  readonly hasSynced = true;
  readonly resourceVersion = 1n;
  readonly lastHeardMs = 0;
  get(key: string): T | undefined {
    return this.items.get(key);
  }
  waitFor(): Promise<boolean> {
    return Promise.resolve(true);
  }
}

function document<T>(name: string, object: T): CachedDocument<T> {
  const meta = {
    name,
    uid: name,
    resourceVersion: '1',
    generation: 1,
    createdMs: 0,
    isBeingDeleted: false,
    labels: {},
    annotations: {},
    status: {},
    conditions: [],
  };
  return { ok: true, meta, object };
}

const service = (name: string): Service => ({
  namespace: 'n',
  name,
  uid: `uid-${name}`,
  resourceVersion: '1',
  createdMs: 0,
  labels: {},
  annotations: {},
  isBeingDeleted: false,
  isLoadBalancer: true,
  externalIps: [],
  families: ['ipv4'],
  familyPolicy: 'SingleStack',
  isLocal: false,
  ports: [],
  selector: {},
  ingress: [],
  hasForeignIngress: false,
  conditions: [],
});

/** caches of maps, an index over them, and what it called dirty */
class World {
  readonly services = new MapCache<CacheEntries['services']>();
  readonly nodes = new MapCache<CacheEntries['nodes']>();
  readonly ipNodes = new MapCache<CacheEntries['ipNodes']>();
  readonly claims = new MapCache<CacheEntries['claims']>();
  readonly pools = new MapCache<CacheEntries['pools']>();
  readonly peers = new MapCache<CacheEntries['peers']>();
  readonly dirty = new Set<string>();
  /** what is remembered of pools is not worked out from scratch */
  readonly lastPools = new LastPools();
  #index: AdvertisedIndex | undefined;

  get index(): AdvertisedIndex {
    this.#index ??= new AdvertisedIndex(this, (key) => this.dirty.add(key), this.lastPools);
    return this.#index;
  }

  setService(name: string): void {
    this.services.items.set(`n/${name}`, service(name));
  }

  setNode(name: string, node: IpNode | undefined): void {
    const { index } = this;
    const before = this.ipNodes.get(name);
    if (node === undefined) this.ipNodes.items.delete(name);
    else this.ipNodes.items.set(name, node);
    index.ipNodeChanged(name, node, before);
  }

  setClaim(address: string, value: IpClaim | undefined): void {
    const { index } = this;
    const { name } = claim(address);
    const before = this.claims.get(name);
    if (value === undefined) this.claims.items.delete(name);
    else this.claims.items.set(name, document(name, value));
    index.claimChanged(value, before?.ok === true ? before.object : undefined);
  }

  setPeer(name: string, isThere: boolean): void {
    const { index } = this;
    if (isThere) this.peers.items.set(name, document(name, peer(name)));
    else this.peers.items.delete(name);
    index.documentsChanged();
  }

  setPool(isThere: boolean): void {
    const { index } = this;
    if (isThere) this.pools.items.set('pool', document('pool', ipPool({ name: 'pool' })));
    else this.pools.items.delete('pool');
    index.documentsChanged();
  }

  conditions(index = this.index): ReadonlyMap<string, string> {
    const all = [...this.services.items.keys()];
    return new Map(all.map((key) => [key, JSON.stringify(index.conditionOf(key))]));
  }
}

const ADDRESSES = ['198.51.100.1', '198.51.100.2', '198.51.100.3', '2001:db8::1'];
const NODES = ['a', 'b', 'c'];
const SERVICES = ['s', 't'];

const forService = (name: string) => ({ namespace: 'n', name, uid: `uid-${name}` });

/** after each step: as from scratch, and nothing has changed unseen */
function follow(steps: readonly ((world: World) => void)[]): void {
  const world = new World();
  for (const name of NODES) world.nodes.items.set(name, clusterNode(name));
  for (const name of SERVICES) world.setService(name);
  world.setPool(true);
  world.setPeer('x', true);
  world.index.refresh();
  let before = world.conditions();
  for (const change of steps) {
    world.dirty.clear();
    change(world);
    world.index.refresh();
    const now = world.conditions();
    const changed = [...now].filter(([key, text]) => before.get(key) !== text);
    for (const [key] of changed) expect([...world.dirty], 'is looked at').to.include(key);
    const fresh = new AdvertisedIndex(world, () => undefined, world.lastPools);
    expect([...now]).to.deep.equal([...world.conditions(fresh)]);
    before = now;
  }
}

describe('the index of what is advertised', () => {
  it('says after any changes what it would say from scratch, and names every Service that they concern', () => {
    const subset = <T>(items: readonly T[]) => fc.subarray([...items]);
    const nodeStep = fc.record({
      node: fc.constantFrom(...NODES),
      isThere: fc.boolean(),
      up: subset(['x', 'y']),
      joined: fc.boolean(),
      draining: fc.boolean(),
      refused: subset(ADDRESSES),
      refusedMore: fc.constantFrom(0, 0, 7),
    });
    const claimStep = fc.record({
      address: fc.constantFrom(...ADDRESSES),
      isThere: fc.boolean(),
      services: subset(SERVICES),
      isWithdrawn: fc.boolean(),
      node: fc.option(fc.constantFrom(...NODES), { nil: undefined }),
    });
    const step = fc.oneof(
      nodeStep.map((value) => (world: World) => {
        const { node, isThere, refused, ...report } = value;
        const refusals = refused.map((address) => ({ address, gate: 'bound', message: 'no' }));
        world.setNode(node, isThere ? ipNode(node, { ...report, refused: refusals }) : undefined);
      }),
      claimStep.map((value) => (world: World) => {
        const { address, isThere, services, isWithdrawn, node } = value;
        const made = claim(address, {
          services: services.map(forService),
          ...(isWithdrawn && { withdrawn: { reason: 'because' } }),
          ...(node !== undefined && { node, placement: { mode: 'exclusive' as const } }),
        });
        world.setClaim(address, isThere ? made : undefined);
      }),
      fc.record({ name: fc.constantFrom('x', 'y'), isThere: fc.boolean() }).map(
        ({ name, isThere }) =>
          (world: World) =>
            world.setPeer(name, isThere),
      ),
      fc.boolean().map((isThere) => (world: World) => world.setPool(isThere)),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        follow(steps);
      }),
      { numRuns: 150 },
    );
  });

  it('finds nothing to do in nodes that merely count their routes, or report the same refusals', () => {
    const world = new World();
    const refused = [{ address: '198.51.100.1', gate: 'bound', message: 'no' }];
    world.setPool(true);
    world.setPeer('x', true);
    world.setService('s');
    world.setClaim('198.51.100.1', claim('198.51.100.1', { services: [forService('s')] }));
    for (const name of NODES) {
      world.nodes.items.set(name, clusterNode(name));
      world.setNode(name, ipNode(name, { up: ['x'], refused }));
    }
    world.index.refresh();
    world.conditions();
    world.dirty.clear();
    for (const name of NODES) {
      world.setNode(name, ipNode(name, { up: ['x'], routes: 7, refused: [...refused] }));
    }
    world.index.refresh();
    expect([...world.dirty]).to.deep.equal([]);
    world.setNode('a', ipNode('a', { up: ['x'] }));
    expect([...world.dirty]).to.deep.equal(['n/s']);
  });

  it('looks at a Service of another uid as at one without claims', () => {
    const world = new World();
    world.setPool(true);
    world.setPeer('x', true);
    world.setService('s');
    const old = { namespace: 'n', name: 's', uid: 'uid-of-one-before' };
    world.setClaim('198.51.100.1', claim('198.51.100.1', { services: [old] }));
    world.index.refresh();
    expect(world.index.conditionOf('n/s')).to.equal(undefined);
  });
});
