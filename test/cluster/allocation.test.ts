/** Addresses for Services on a real API server: who gets which, who waits, what is kept. */

import { expect } from 'chai';
import { ANNOTATION, POOL_LABEL } from '../../src/model/names.ts';
import { IP_CLAIMS, IP_NODES, IP_POOLS, NAMESPACES } from '../../src/sources/kube/resources.ts';
import { done, notYet, until } from '../support/poll.ts';
import { claimView, ingressNames } from '../support/service-loops-run.ts';
import { type Allocator, Bench, startAllocator } from './support/allocation.ts';
import { at, type Cluster, conditionOf, startCluster } from './support/cluster.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const asks = (addresses: string) => ({ annotations: { [ANNOTATION.addresses]: addresses } });
const word = (share: string) => ({ annotations: { [ANNOTATION.share]: share } });

describe('addresses for Services', () => {
  let cluster: Cluster;
  let bench: Bench;
  let allocators: Allocator[] = [];

  before(async function start() {
    this.timeout(120_000);
    skipWithoutCluster(this);
    cluster = await startCluster({
      flags: ['--service-cluster-ip-range=10.96.0.0/16,fd00:96::/112'],
    });
    await cluster.installCrds();
  });

  beforeEach(async () => {
    bench = new Bench(cluster, await cluster.namespace('alloc'));
  });

  afterEach(async () => {
    stop();
    await cluster?.reset();
  });

  after(async () => {
    await cluster?.stop();
  });

  const start = async (
    options: { readonly defaultClass?: boolean; readonly coolDownMs?: number } = {},
  ): Promise<Allocator> => {
    const one = await startAllocator(cluster.kubeconfig, options);
    allocators.push(one);
    return one;
  };
  const stop = () => {
    for (const each of allocators) each.stop();
    allocators = [];
  };

  /** An event is told when the write before it is answered, which may be a moment after others see that. */
  const tells = (run: Allocator['run'], wanted: string, isEnough = (count: number) => count > 0) =>
    until(`events ${wanted}`, () => {
      const { length } = run.events.filter(({ reason }) => reason === wanted);
      return isEnough(length) ? done(true) : notYet(run.events.map(({ reason }) => reason));
    });

  it('gives one Service an address: claim, status, condition, event, pool status', async () => {
    await bench.pool('lab', ['192.0.2.0/29']);
    const { run } = await start();
    await bench.service('web');
    await cluster.setEndpoints({ namespace: bench.namespace, name: 'web' }, 1);
    await bench.has('web', '192.0.2.0');
    expect(await bench.says('web', 'Allocated')).to.equal('192.0.2.0 from pool lab');
    const claim = await bench.claim('192.0.2.0');
    expect(claim.metadata.labels).to.deep.equal({
      'herald.dev/pool': 'lab',
      'herald.dev/anycast': '',
    });
    expect(at(await bench.get('web'), 'status', 'loadBalancer', 'ingress')).to.deep.equal([
      { ip: '192.0.2.0', ipMode: 'VIP' },
    ]);
    await tells(run, 'Allocated');
    await until('the endpoints are seen', async () => {
      const withdrawn = at(await bench.claim('192.0.2.0'), 'spec', 'withdrawn');
      return withdrawn === undefined ? done(true) : notYet(withdrawn);
    });
    await until('the pool says how full it is', async () => {
      const pool = await cluster.api.get(IP_POOLS, 'lab');
      return at(pool, 'status', 'used') === 1 && at(pool, 'status', 'free') === 7
        ? done(conditionOf(pool, 'Ready'))
        : notYet(at(pool, 'status'));
    });
  });

  it('lets five Services wait without a pool, serves the oldest of them when one comes, and the next when one goes', async () => {
    const { run } = await start();
    for (const name of ['s1', 's2', 's3', 's4', 's5']) await bench.service(name);
    for (const name of ['s1', 's2', 's3', 's4', 's5']) await bench.says(name, 'NoPool');
    await tells(run, 'NoPool', (count) => count === 5);
    await bench.pool('lab', ['192.0.2.0/30'], { avoidFirstLast: true });
    await bench.has('s1', '192.0.2.1');
    await bench.has('s2', '192.0.2.2');
    await bench.says('s5', 'PoolExhausted');
    await bench.deleteService('s1');
    await bench.has('s3', '192.0.2.1');
    await bench.deleteService('s4');
    await bench.deleteService('s2');
    await bench.has('s5', '192.0.2.2');
    await bench.exact(2);
  });

  it('keeps conditions of others, and empties nothing that it did not write', async () => {
    await bench.pool('lab', ['192.0.2.0/29']);
    await bench.service('web');
    await bench.service('foreign');
    const theirs = {
      type: 'x/Theirs',
      status: 'True',
      reason: 'Because',
      message: 'hands off',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    await bench.patchStatus('web', { conditions: [theirs] });
    await bench.patchStatus('foreign', { loadBalancer: { ingress: [{ ip: '203.0.113.7' }] } });
    await start();
    await bench.has('web', '192.0.2.0');
    const service = await bench.get('web');
    expect(conditionOf(service, 'x/Theirs')).to.deep.include(theirs);
    expect(await bench.says('foreign', 'OwnedByOther')).to.include('203.0.113.7');
    await bench.has('foreign', '203.0.113.7');
    await bench.claimed('192.0.2.0');
  });

  it('adopts what Services have already before anybody new is served', async () => {
    await bench.service('new');
    await bench.service('old');
    await bench.patchStatus('old', { loadBalancer: { ingress: [{ ip: '192.0.2.0' }] } });
    await bench.pool('lab', ['192.0.2.0/29']);
    await start();
    await bench.has('new', '192.0.2.1');
    await bench.has('old', '192.0.2.0');
    await bench.exact(2);
  });

  it('takes Services over that share an address, or ask for what they cannot have, and empties no status on the way', async () => {
    const shared = { [ANNOTATION.addresses]: '192.0.2.5', [ANNOTATION.share]: 'w' };
    const named = { spec: { loadBalancerIP: '192.0.2.6' } };
    const found: readonly (readonly [string, string, object])[] = [
      ['dns', '192.0.2.5', { port: 53, annotations: shared }],
      ['web', '192.0.2.5', { port: 80, annotations: shared }],
      ['one', '192.0.2.6', { port: 53, ...named }],
      ['two', '192.0.2.6', { port: 80, ...named }],
      ['typo', '203.0.113.7', asks('192.0.2.7;')],
      ['wish', '192.0.2.3', asks('198.51.100.1')],
    ];
    for (const [name, ip, options] of found) {
      await bench.service(name, options);
      await bench.patchStatus(name, { loadBalancer: { ingress: [{ ip }] } });
    }
    await bench.pool('lab', ['192.0.2.0/29']);
    const seen = await bench.watchIngress();
    await start({ defaultClass: true });
    await bench.claimed('192.0.2.3', '192.0.2.5', '192.0.2.6');
    for (const name of ['dns', 'web', 'one']) await bench.says(name, 'Allocated');
    expect(await bench.says('two', 'OwnedByOther')).to.include(`${bench.namespace}/one`);
    await bench.says('typo', 'OwnedByOther');
    expect(await bench.says('wish', 'AddressNotInPool')).to.include('until then it has 192.0.2.3');
    for (const [name, ip] of found) {
      await bench.has(name, ip);
      // the watch beside it may hear of it later
      await until(`a change of ${name}`, () =>
        seen.has(name) ? done(true) : notYet([...seen.keys()]),
      );
      expect([...(seen.get(name) ?? [])], name).to.deep.equal([ip]);
    }
  });

  it('refuses with who has it, and serves as soon as that one goes', async () => {
    await bench.pool('lab', ['192.0.2.0/29']);
    await start();
    await bench.service('first', asks('192.0.2.4'));
    await bench.has('first', '192.0.2.4');
    await bench.service('second', { spec: { loadBalancerIP: '192.0.2.4' } });
    expect(await bench.says('second', 'AddressTaken')).to.include(`${bench.namespace}/first`);
    await bench.service('outside', asks('198.51.100.1'));
    await bench.says('outside', 'AddressNotInPool');
    await bench.deleteService('first');
    await bench.has('second', '192.0.2.4');
    await bench.pool('more', ['198.51.100.0/31'], { autoAssign: false });
    await bench.has('outside', '198.51.100.1');
    await bench.exact(2);
  });

  it('gives both families, each from its own pool', async () => {
    await bench.pool('four', ['192.0.2.0/29']);
    await start();
    const spec = { ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'RequireDualStack' };
    await bench.service('web', { spec });
    await bench.says('web', 'NoPoolForService');
    expect(await bench.claims()).to.deep.equal([]);
    await bench.pool('six', ['2001:db8::/64']);
    await bench.has('web', '192.0.2.0', '2001-0db8-0000-0000-0000-0000-0000-0000');
    await until('the pool of 2^64 has a status', async () => {
      const status = at(await cluster.api.get(IP_POOLS, 'six'), 'status');
      return at(status, 'used') === 1 ? done(true) : notYet(status);
    });
  });

  it('shares an address within a namespace by word and ports, and keeps it until the last has gone', async () => {
    await bench.pool('lab', ['192.0.2.0/29']);
    await start();
    await bench.service('one', { ...word('web'), port: 80 });
    await bench.has('one', '192.0.2.0');
    await bench.service('two', { ...word('web'), port: 443 });
    await bench.has('two', '192.0.2.0');
    await bench.service('clash', { ...word('web'), port: 80 });
    await bench.has('clash', '192.0.2.1');
    const elsewhere = new Bench(cluster, await cluster.namespace('other'));
    await elsewhere.service('three', {
      annotations: { ...word('web').annotations, ...asks('192.0.2.0').annotations },
      port: 81,
    });
    expect(await elsewhere.says('three', 'ShareConflict')).to.include('within a namespace');
    await bench.pool('lab', ['192.0.2.0/29'], {
      shareAcross: [bench.namespace, elsewhere.namespace],
    });
    await elsewhere.has('three', '192.0.2.0');
    await bench.deleteService('one');
    await elsewhere.deleteService('three');
    await until('one Service is left on it', async () => {
      const { services } = claimView(await bench.claim('192.0.2.0'));
      return services.length === 1 ? done(true) : notYet(services);
    });
    expect(at(await bench.claim('192.0.2.0'), 'spec', 'withdrawn', 'reason')).to.match(
      /^NoEndpoints/,
    );
    await bench.deleteService('two');
    await bench.claimed('192.0.2.1');
  });

  it('lets many Services with one word that come at once share one address', async () => {
    await bench.pool('lab', ['192.0.2.0/29']);
    await start();
    const names = Array.from({ length: 12 }, (_, index) => `s${index}`);
    await Promise.all(
      names.map((name, index) => bench.service(name, { ...word('all'), port: 1000 + index })),
    );
    for (const name of names) await bench.has(name, '192.0.2.0');
    await bench.claimed('192.0.2.0');
  });

  it('reserves externalIPs, announces them where the pool allows it, and gives automatic ones only there', async () => {
    await bench.pool('lab', ['192.0.2.248/29'], { avoidFirstLast: true });
    await start();
    const plain = { type: 'ClusterIP', loadBalancerClass: undefined };
    await bench.service('manual', { spec: { ...plain, externalIPs: ['192.0.2.249'] } });
    await bench.service('auto', { spec: plain, annotations: { [ANNOTATION.externalIp]: 'auto' } });
    await bench.says('auto', 'ExternalIPNotAllowed');
    await bench.service('web');
    await bench.has('web', '192.0.2.250');
    await bench.claimed('192.0.2.250');
    await bench.pool('lab', ['192.0.2.248/29'], { avoidFirstLast: true, allowExternalIPs: true });
    await bench.claimed('192.0.2.249', '192.0.2.250', '192.0.2.251');
    await until('the address is in the list', async () => {
      const listed = at(await bench.get('auto'), 'spec', 'externalIPs');
      return JSON.stringify(listed) === '["192.0.2.251"]' ? done(true) : notYet(listed);
    });
    await bench.patchService('auto', {
      metadata: { annotations: { [ANNOTATION.externalIp]: null } },
    });
    await bench.patchService('manual', { spec: { externalIPs: ['192.0.2.253'] } });
    await bench.claimed('192.0.2.250', '192.0.2.253');
    await until('the address is out of the list', async () => {
      const listed = at(await bench.get('auto'), 'spec', 'externalIPs');
      return listed === undefined ? done(true) : notYet(listed);
    });
  });

  it('gives exactly one address, whatever of annotation, type and own externalIPs a Service has', async () => {
    await bench.pool('lab', ['192.0.2.0/28'], { allowExternalIPs: true });
    await start();
    const auto = { annotations: { [ANNOTATION.externalIp]: 'auto' } };
    const plain = { type: 'ClusterIP', loadBalancerClass: undefined };
    const listed = async (name: string) =>
      JSON.stringify(at(await bench.get(name), 'spec', 'externalIPs') ?? []);
    await bench.service('nothing', { spec: plain });
    await bench.service('by-hand', { spec: { ...plain, externalIPs: ['192.0.2.8'] } });
    await bench.service('both', { ...auto, spec: { ...plain, externalIPs: ['192.0.2.9'] } });
    await bench.claimed('192.0.2.8', '192.0.2.9');
    await bench.service('auto', { ...auto, spec: plain });
    await bench.says('auto', 'Allocated');
    await bench.service('balancer');
    await bench.has('balancer', '192.0.2.1');
    await bench.service('balancer-by-hand', { spec: { externalIPs: ['192.0.2.10'] } });
    await bench.has('balancer-by-hand', '192.0.2.10');
    await bench.service('balancer-auto', auto);
    await bench.has('balancer-auto', '192.0.2.2');
    await bench.service('balancer-both', { ...auto, spec: { externalIPs: ['192.0.2.11'] } });
    await bench.has('balancer-both', '192.0.2.11');
    const claims = ['0', '1', '2', '8', '9', '10', '11'].map((last) => `192.0.2.${last}`);
    await bench.claimed(...claims);
    expect(await listed('nothing')).to.equal('[]');
    expect(await listed('both')).to.equal('["192.0.2.9"]');
    expect(await listed('auto')).to.equal('["192.0.2.0"]');
    expect(await listed('balancer-auto')).to.equal('[]');
    expect(await listed('balancer-both')).to.equal('["192.0.2.11"]');
  });

  it('releases when the type changes, and the server empties the status', async () => {
    await bench.pool('lab', ['192.0.2.0/29']);
    await start();
    await bench.service('web');
    await bench.has('web', '192.0.2.0');
    await bench.patchService('web', { spec: { type: 'ClusterIP', loadBalancerClass: null } });
    await bench.claimed();
    await until('nothing of ours is left on it', async () => {
      const status = at(await bench.get('web'), 'status');
      return JSON.stringify(status) === '{"loadBalancer":{}}' ? done(true) : notYet(status);
    });
  });

  it('keeps and flags what a shrinking pool leaves behind, and never gives it out again', async () => {
    await bench.pool('lab', ['192.0.2.0/30']);
    const { run } = await start();
    for (const name of ['a', 'b', 'c']) {
      await bench.service(name);
      await bench.says(name, 'Allocated');
    }
    await bench.pool('lab', ['192.0.2.0/31']);
    await until('the claim is flagged', async () => {
      const flag = conditionOf(await bench.claim('192.0.2.2'), 'InPool');
      return at(flag, 'status') === 'False' ? done(flag) : notYet(flag);
    });
    await until('the pool says so', async () => {
      const condition = conditionOf(await cluster.api.get(IP_POOLS, 'lab'), 'ClaimsOutside');
      return String(at(condition, 'message')).includes('192.0.2.2')
        ? done(true)
        : notYet(condition);
    });
    await tells(run, 'PoolShrunk');
    await cluster.api.delete(IP_POOLS, 'lab');
    await bench.service('d');
    await bench.says('d', 'NoPool');
    for (const [name, address] of [
      ['a', '192.0.2.0'],
      ['b', '192.0.2.1'],
      ['c', '192.0.2.2'],
    ] as const) {
      await bench.has(name, address);
    }
    await bench.pool('lab', ['192.0.2.0/30']);
    await bench.has('d', '192.0.2.3');
    await bench.exact(4);
  });

  it('takes the addresses of a pool that is split or renamed over into those that have them now', async () => {
    await bench.pool('lab', ['192.0.2.0/31']);
    await start();
    for (const name of ['a', 'b']) await bench.service(name);
    await bench.exact(2);
    await bench.pool('low', ['192.0.2.0/32']);
    await cluster.api.delete(IP_POOLS, 'lab');
    const poolOf = (address: string, pool: string) =>
      until(`${address} is in ${pool}`, async () => {
        const claim = await bench.claim(address);
        const now = [at(claim, 'spec', 'pool'), claim.metadata.labels?.[POOL_LABEL]].join();
        return now === `${pool},${pool}` ? done(true) : notYet(now);
      });
    await poolOf('192.0.2.0', 'low');
    await poolOf('192.0.2.1', 'lab');
    await bench.pool('high', ['192.0.2.1/32']);
    await poolOf('192.0.2.1', 'high');
    await bench.exact(2);
  });

  it('refuses the younger of two pools that overlap, also after a restart', async () => {
    await bench.pool('first', ['192.0.2.0/31']);
    await start();
    const ready = (name: string, status: string) =>
      until(`${name} is Ready=${status}`, async () => {
        const condition = conditionOf(await cluster.api.get(IP_POOLS, name), 'Ready');
        return at(condition, 'status') === status ? done(condition) : notYet(condition);
      });
    await ready('first', 'True');
    await bench.pool('a-second', ['192.0.2.1-192.0.2.9']);
    expect(at(await ready('a-second', 'False'), 'message')).to.include(
      "overlaps '192.0.2.0/31' of IPPool/first",
    );
    stop();
    await start();
    for (const name of ['a', 'b', 'c']) await bench.service(name);
    await bench.says('c', 'PoolExhausted');
    await bench.exact(2);
    await cluster.api.delete(IP_POOLS, 'first');
    await ready('a-second', 'True');
    await bench.has('c', '192.0.2.2');
  });

  it('cleans up after Services that went or were made anew while no controller ran, and leaves hand-made claims alone', async () => {
    await bench.pool('lab', ['192.0.2.0/29']);
    await start();
    for (const name of ['kept', 'gone', 'anew', 'named'])
      await bench.service(name, name === 'named' ? asks('192.0.2.6') : {});
    await bench.exact(4);
    const [kept = ''] = ingressNames(await bench.get('kept'));
    stop();
    for (const name of ['gone', 'anew', 'named']) await bench.deleteService(name);
    await bench.service('anew', asks('192.0.2.5'));
    await bench.service('named', asks('192.0.2.6'));
    const hand = {
      apiVersion: 'herald.dev/v1alpha1',
      kind: 'IPClaim',
      metadata: { name: '192.0.2.7' },
      spec: {},
    };
    await cluster.api.create(IP_CLAIMS, hand);
    await start();
    await bench.has('anew', '192.0.2.5');
    await bench.has('named', '192.0.2.6');
    await bench.has('kept', kept);
    await bench.claimed(kept, '192.0.2.5', '192.0.2.6', '192.0.2.7');
    expect((await bench.claim('192.0.2.7')).metadata.generation).to.equal(1);
  });

  it('keeps a freed address until the nodes have let go of it', async () => {
    await bench.pool('lab', ['192.0.2.0/32']);
    const ipNode = { apiVersion: 'herald.dev/v1alpha1', kind: 'IPNode', metadata: { name: 'n1' } };
    await cluster.addNode('n1');
    await cluster.api.create(IP_NODES, ipNode);
    const observed = async (observedClaims: string) => {
      const joined = { open: true, reason: 'Ready', message: 'x', since: '2026-01-01T00:00:00Z' };
      const patch = { kind: 'merge', body: { status: { joined, observedClaims } } } as const;
      await cluster.api.patch(IP_NODES, 'n1', patch, { subresource: 'status' });
    };
    await observed('1');
    await start();
    await bench.service('web');
    await bench.has('web', '192.0.2.0');
    await bench.deleteService('web');
    await bench.service('next');
    await bench.says('next', 'PoolExhausted');
    const claim = await until('it is released', async () => {
      const found = await bench.claim('192.0.2.0');
      return claimView(found).isReleased ? done(found) : notYet(found);
    });
    await observed(claim.metadata.resourceVersion);
    await bench.has('next', '192.0.2.0');
    await bench.exact(1);
  });

  it('leaves a freed address to the Service that had it for a while, unless the pool has no other', async () => {
    await bench.pool('lab', ['192.0.2.0/30']);
    await start({ coolDownMs: 600_000 });
    const free = (count: number) =>
      until('it is free', async () => {
        const claims = (await cluster.api.list(IP_CLAIMS)).items.length;
        return claims === count ? done(true) : notYet(claims);
      });
    const byName = { annotations: { 'herald.dev/addresses': '192.0.2.0' } };
    await bench.service('web');
    await bench.has('web', '192.0.2.0');
    await bench.deleteService('web');
    await free(0);
    await bench.service('other');
    await bench.has('other', '192.0.2.1');
    await bench.service('web', byName);
    await bench.has('web', '192.0.2.0');
    await bench.deleteService('web');
    await free(1);
    for (const [name, address] of [
      ['two', '192.0.2.2'],
      ['three', '192.0.2.3'],
      ['four', '192.0.2.0'],
    ] as const) {
      await bench.service(name);
      await bench.has(name, address);
    }
    await bench.exact(4);
  });

  it('follows namespaces that pools are for', async () => {
    await bench.pool('lab', ['192.0.2.0/29'], {
      namespaces: { selector: { matchLabels: { tier: 'gold' } } },
    });
    await start();
    await bench.service('web');
    await bench.says('web', 'NoPoolForService');
    const body = { metadata: { labels: { tier: 'gold' } } };
    await cluster.api.patch(NAMESPACES, bench.namespace, { kind: 'merge', body });
    await bench.has('web', '192.0.2.0');
  });
});
