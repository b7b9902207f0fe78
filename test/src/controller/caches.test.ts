import { expect } from 'chai';
import { controllerFacts } from '../../../src/controller/facts.ts';
import {
  BGP_PEERS,
  IP_CLAIMS,
  IP_NODES,
  IP_POOLS,
  inNamespace,
  NAMESPACES,
  SERVICES,
} from '../../../src/sources/kube/resources.ts';
import { ClusterWorld } from './cluster-world.ts';

describe('the caches of the controller', () => {
  it('say when all is listed, once, and what is not', async () => {
    const world = new ClusterWorld();
    world.api.uninstall(IP_POOLS);
    let synced = 0;
    world.caches.whenSynced(() => {
      synced += 1;
    });
    await world.sync();
    expect(world.caches.unsynced).to.deep.equal(['pools']);
    expect(synced).to.equal(0);
    world.api.install(IP_POOLS);
    await world.advance(5000);
    expect(world.caches.hasSynced).to.equal(true);
    expect(synced).to.equal(1);
    world.caches.whenSynced(() => {
      synced += 1;
    });
    expect(synced, 'at once').to.equal(2);
  });

  it('hold what guarded writes need, and of a bad object the reason beside the good ones', async () => {
    const world = new ClusterWorld();
    world.pool('good');
    const spec = { ...Object(world.api.object(IP_POOLS, 'good')?.['spec']) };
    spec.addresses = ['198.51.100.0/24', '198.51.100.7'];
    const status = { total: 1, conditions: [{ type: 'Ready', status: 'True' }] };
    world.api.put(IP_POOLS, { metadata: { name: 'bad', generation: 1 }, spec, status });
    await world.sync();
    const [good, bad] = [world.caches.pools.get('good'), world.caches.pools.get('bad')];
    expect(good?.ok).to.equal(true);
    if (bad?.ok !== false) throw new Error('it overlaps itself');
    expect(bad.sentence).to.match(/^spec\.addresses\.1: '198\.51\.100\.7' overlaps/);
    expect(bad.meta).to.deep.include({ name: 'bad', generation: 1, status, isBeingDeleted: false });
    expect(bad.meta.conditions).to.deep.equal([
      { type: 'Ready', status: 'True', reason: '', message: '' },
    ]);
    const uid = world.api.object(IP_POOLS, 'bad')?.metadata.uid;
    expect(bad.meta.uid).to.equal(uid);
  });

  it('list every kind in pages of 500: a list as a whole would be in memory three times over (C16)', async () => {
    const world = new ClusterWorld();
    for (let index = 0; index < 1001; index += 1) {
      world.api.put(NAMESPACES, { metadata: { name: `n${index}` } });
    }
    await world.sync();
    await world.settle();
    expect(world.caches.namespaces.items.size).to.equal(1001);
    const lists = world.api.calls.filter(({ verb }) => verb === 'list');
    const limits = lists.map(({ options }) => 'limit' in options && options.limit);
    expect(new Set(limits)).to.deep.equal(new Set([500]));
    expect(new Set(lists.map(({ resource }) => resource.plural)).size, 'kinds').to.equal(9);
    const pages = lists.filter(({ resource }) => resource === NAMESPACES);
    expect(pages).to.have.length(3);
  });

  it('tell whoever has subscribed, until it has had enough', async () => {
    const world = new ClusterWorld();
    await world.sync();
    const heard: string[] = [];
    const end = world.caches.subscribe('peers', (key, now, before) =>
      heard.push(`${key} ${before?.meta.resourceVersion === undefined}>${now === undefined}`),
    );
    world.peer('x');
    await world.settle();
    world.api.remove(BGP_PEERS, 'x');
    await world.settle();
    expect(heard).to.deep.equal(['x true>false', 'x false>true']);
    end();
    world.peer('x');
    await world.settle();
    expect(heard).to.have.length(2);
  });
});

describe('the facts of the controller', () => {
  it('count what the caches hold', async () => {
    const world = new ClusterWorld();
    const claim = (name: string, phase: string, more: object = {}, annotations = {}) =>
      world.api.put(IP_CLAIMS, {
        metadata: { name, annotations },
        spec: { pool: 'pool', ...more },
        status: { phase },
      });
    claim('198.51.100.1', 'Placed');
    claim('198.51.100.2', 'Refused');
    claim('198.51.100.3', '');
    claim('198.51.100.4', 'Placed', { withdrawn: { reason: 'nobody' } });
    const released = { 'herald.dev/released-by': 'shop/web' };
    claim('198.51.100.5', 'Placed', { withdrawn: { reason: 'gone' } }, released);
    claim('127.0.0.1', 'Placed');
    const waits = { type: 'herald.dev/Allocated', status: 'False', reason: 'PoolExhausted' };
    for (const name of ['a', 'b']) {
      world.api.put(inNamespace(SERVICES, 'shop'), {
        metadata: { namespace: 'shop', name },
        spec: { type: 'LoadBalancer' },
        status: { conditions: [waits] },
      });
    }
    world.node('n', {});
    world.api.put(IP_NODES, { metadata: { name: 'm' } });
    await world.sync();
    const facts = controllerFacts(world.caches, true);
    expect(facts.claims).to.deep.equal({
      pending: 1,
      placed: 1,
      refused: 2,
      withdrawn: 1,
      released: 1,
    });
    expect([...facts.waiting]).to.deep.equal([['PoolExhausted', 2]]);
    expect(facts.nodes).to.deep.equal({ joined: 1, 'not-joined': 1, draining: 0 });
    expect(facts.refusedDocuments).to.deep.equal({ pools: 0, claims: 1, peers: 0 });
  });
});
