import { expect } from 'chai';
import fc from 'fast-check';
import { ANNOTATION, RELEASED_BY_ANNOTATION } from '../../../src/model/names.ts';
import { ApiError, ApiUnreachable } from '../../../src/sources/kube/api.ts';
import {
  IP_CLAIMS,
  IP_NODES,
  IP_POOLS,
  NODES,
  SERVICES,
} from '../../../src/sources/kube/resources.ts';
import type { MemoryCall, MemoryFault } from '../../support/memory-kube-api.ts';
import { Bed } from '../../support/service-bed.ts';
import { claimView, ingressNames } from '../../support/service-loops-run.ts';

const WRITES = new Set(['create', 'patch', 'update', 'delete']);

describe('ServiceLoops', () => {
  let bed: Bed;
  beforeEach(() => {
    bed = new Bed();
  });
  afterEach(() => {
    bed.stop();
  });

  it('writes the claim before the status, once each, and says so', async () => {
    bed.pool('lab', ['192.0.2.0/29']);
    bed.service('web');
    bed.endpoints('web', 1);
    const run = bed.run();
    await bed.settle();
    expect(bed.address('web')).to.equal('192.0.2.0');
    bed.exact();
    const writes = bed.api.calls.filter(
      ({ verb, resource }) => WRITES.has(verb) && resource.plural !== 'ippools',
    );
    expect(writes.map(({ verb, resource }) => `${verb} ${resource.plural}`)).to.deep.equal([
      'create ipclaims',
      'patch services',
    ]);
    expect(bed.api.calls.filter(({ verb }) => verb === 'get')).to.deep.equal([]);
    expect(run.events.map(({ type, reason }) => [type, reason])).to.deep.equal([
      ['Normal', 'Allocated'],
    ]);
    expect(bed.spec('192.0.2.0')).to.not.have.property('withdrawn');
  });

  it('lets the next one have what an older one wants but cannot use yet', async () => {
    bed.pool('p', ['192.0.2.0/32']);
    bed.pool('q', ['2001:db8::/128']);
    bed.service('x');
    bed.service('z', { spec: { ipFamilies: ['IPv6'] } });
    bed.run();
    await bed.settle();
    // all or nothing
    const both = { ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'RequireDualStack' };
    bed.service('older', { spec: both });
    bed.service('younger');
    await bed.settle();
    expect(bed.address('younger')).to.equal(undefined);
    bed.api.remove(SERVICES, 'a/x');
    await bed.settle();
    expect(bed.address('older')).to.equal(undefined);
    expect(bed.address('younger')).to.equal('192.0.2.0');
    bed.exact();
  });

  it('keeps the address when its claim is deleted and something holds the deletion up', async () => {
    bed.pool('lab', ['192.0.2.0/29']);
    bed.service('first');
    bed.service('web');
    bed.run();
    await bed.settle();
    expect(bed.address('web')).to.equal('192.0.2.1');
    const claim = bed.claim('192.0.2.1');
    const { uid } = claim?.metadata ?? {};
    const finalizers = ['example.org/slow'];
    bed.api.put(IP_CLAIMS, {
      ...claim,
      metadata: { ...claim?.metadata, name: '192.0.2.1', finalizers },
    });
    await bed.api.delete(IP_CLAIMS, '192.0.2.1');
    // and somebody else makes room for a lower address meanwhile
    bed.api.remove(SERVICES, 'a/first');
    await bed.settle();
    expect(bed.address('web')).to.equal('192.0.2.1');
    expect(bed.spec('192.0.2.1')['services']).to.have.length(1);
    await bed.api.patch(IP_CLAIMS, '192.0.2.1', {
      kind: 'merge',
      body: { metadata: { finalizers: null } },
    });
    await bed.settle();
    expect(bed.address('web')).to.equal('192.0.2.1');
    expect(bed.claim('192.0.2.1')?.metadata.uid).to.not.equal(uid);
    bed.exact();
  });

  it('gives an address to who asks for it and lists it when the last other one takes it out of its list', async () => {
    bed.pool('lab', ['192.0.2.0/29']);
    const listed = { type: 'ClusterIP', loadBalancerClass: undefined, externalIPs: ['192.0.2.5'] };
    for (const name of ['l1', 'l2', 'l3']) bed.service(name, { spec: listed });
    const annotations = { [ANNOTATION.addresses]: '192.0.2.5' };
    bed.service('both', { annotations, spec: { externalIPs: ['192.0.2.5'] } });
    bed.run();
    await bed.settle();
    for (const name of ['l1', 'l2']) bed.service(name, { spec: { ...listed, externalIPs: [] } });
    await bed.settle();
    expect(bed.address('both')).to.equal(undefined);
    bed.service('l3', { spec: { ...listed, externalIPs: [] } });
    await bed.settle();
    expect(bed.address('both')).to.equal('192.0.2.5');
  });

  it('decides on nobody before it knows what all Services list', async () => {
    bed.pool('lab', ['198.18.0.0/20']);
    const lists = (from: number) =>
      Array.from(
        { length: 64 },
        (_, each) => `198.18.${Math.floor(from / 4)}.${(from % 4) * 64 + each}`,
      );
    for (let index = 0; index < 62; index += 1) {
      const spec = { type: 'ClusterIP', loadBalancerClass: undefined };
      bed.service(`l${index}`, { spec: { ...spec, externalIPs: lists(index) } });
    }
    bed.service('web');
    bed.run();
    await bed.settle();
    expect(bed.address('web')).to.equal('198.18.15.128');
    // the pool grows at its lower end, by what is listed there
    bed.pool('lab', ['198.18.0.0/20', '198.17.255.0/24']);
    bed.service('l0', { spec: { type: 'ClusterIP', externalIPs: ['198.17.255.0'] } });
    bed.service('next');
    await bed.settle();
    expect(bed.address('next')).to.equal('198.17.255.1');
  });

  it('takes an external IP back when its Service becomes Local without being a load balancer', async () => {
    bed.pool('lab', ['192.0.2.0/29'], { allowExternalIPs: true });
    bed.node('n1');
    const spec = { type: 'NodePort', loadBalancerClass: undefined, externalIPs: ['192.0.2.5'] };
    bed.service('web', { spec });
    bed.endpoints('web', 1);
    const run = bed.run();
    await bed.settle();
    expect(bed.spec('192.0.2.5')).to.not.have.property('withdrawn');
    bed.service('web', { spec: { ...spec, externalTrafficPolicy: 'Local' } });
    await bed.settle();
    expect(bed.spec('192.0.2.5'))
      .to.have.nested.property('withdrawn.reason')
      .that.matches(/^Released/);
    expect(run.events.map(({ message }) => message).join()).to.include(
      'Local needs type LoadBalancer',
    );
    bed.service('web', { spec });
    await bed.settle();
    expect(bed.spec('192.0.2.5')).to.not.have.nested.property('withdrawn.reason');
  });

  describe('an address that a silent node may still announce', () => {
    const awaiting = () => {
      const { conditions = [] } = Object(bed.api.object(IP_POOLS, 'lab')?.['status']);
      const found = [...conditions].find(({ type }) => type === 'AwaitingNodes');
      return found && `${found.status} ${found.message}`;
    };
    const minute = () => bed.settle(130);

    beforeEach(async () => {
      bed.pool('lab', ['192.0.2.0/29']);
      for (const name of ['one', 'two']) bed.service(name);
      bed.node('silent', '1');
      bed.run();
      await bed.settle();
      for (const name of ['one', 'two']) bed.api.remove(SERVICES, `a/${name}`);
      await bed.settle();
    });

    it('is told of by its pool after a minute, with the name of the node', async () => {
      expect(awaiting(), 'too soon').to.equal(undefined);
      await minute();
      expect(awaiting()).to.equal(
        'True 2 released addresses wait for node silent to confirm that it has let go of them; if a machine is off, delete its Node, or give it the taint node.kubernetes.io/out-of-service where it is to stay',
      );
      expect(bed.claim('192.0.2.0')).to.not.equal(undefined);
    });

    it('is free when its Node is out of service', async () => {
      await minute();
      const taints = [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }];
      bed.api.put(NODES, { metadata: { name: 'silent' }, spec: { taints } });
      await bed.settle();
      expect(bed.claim('192.0.2.0')).to.equal(undefined);
      expect(awaiting()).to.equal('False ');
    });

    it('is free when somebody deletes its IPNode', async () => {
      bed.api.remove(IP_NODES, 'silent');
      await bed.settle();
      expect(bed.claim('192.0.2.0')).to.equal(undefined);
      await minute();
      expect(awaiting()).to.equal(undefined);
    });
  });

  it('serves those that wait the oldest first when a pool comes, grows or frees an address', async () => {
    for (const name of ['e', 'd', 'c', 'b', 'a']) bed.service(name);
    const run = bed.run();
    await bed.settle();
    expect(run.events.map(({ reason }) => reason)).to.deep.equal(Array(5).fill('NoPool'));
    bed.pool('lab', ['192.0.2.0/31']);
    await bed.settle();
    expect(['e', 'd', 'c'].map((name) => bed.address(name))).to.deep.equal([
      '192.0.2.0',
      '192.0.2.1',
      undefined,
    ]);
    bed.api.remove(SERVICES, 'a/d');
    await bed.settle();
    expect(['c', 'b', 'a'].map((name) => bed.address(name))).to.deep.equal([
      '192.0.2.1',
      undefined,
      undefined,
    ]);
    expect(
      run.events.some(
        ({ reason, message }) => reason === 'PoolExhausted' && message.includes('pool lab'),
      ),
    ).to.equal(true);
    bed.pool('lab', ['192.0.2.0/30']);
    await bed.settle();
    expect(['b', 'a'].map((name) => bed.address(name))).to.deep.equal(['192.0.2.2', '192.0.2.3']);
    bed.exact();
  });

  it('gives what frees up to who has waited longer, not to an older Service that has only now become a load balancer', async () => {
    bed.pool('lab', ['192.0.2.0/32']);
    const plain = { type: 'ClusterIP', loadBalancerClass: undefined };
    bed.service('old', { spec: plain });
    bed.service('has');
    bed.run();
    await bed.settle();
    bed.service('waits');
    await bed.settle();
    bed.service('old');
    await bed.settle();
    bed.api.remove(SERVICES, 'a/has');
    await bed.settle();
    expect(bed.address('waits')).to.equal('192.0.2.0');
    expect(bed.address('old')).to.equal(undefined);
  });

  it('keeps a released address until every joined node has confirmed, its Node is gone or it is too old', async () => {
    bed.pool('lab', ['192.0.2.0/32']);
    bed.service('web');
    bed.node('n1', '1');
    bed.node('n2', '1');
    bed.api.put(IP_NODES, { metadata: { name: 'never-joined' }, status: {} });
    const hour = 3_600_000;
    bed.run(hour);
    await bed.settle();
    bed.api.remove(SERVICES, 'a/web');
    await bed.settle();
    bed.service('next');
    await bed.settle();
    expect(bed.spec('192.0.2.0'))
      .to.have.nested.property('withdrawn.reason')
      .that.matches(/^Released/);
    expect(bed.address('next')).to.equal(undefined);
    bed.node('n1', bed.claim('192.0.2.0')?.metadata.resourceVersion ?? '');
    await bed.settle();
    expect(bed.address('next')).to.equal(undefined);
    bed.api.remove(NODES, 'n2');
    await bed.settle();
    expect(bed.address('next')).to.equal('192.0.2.0');
    bed.node('n2', '1');
    bed.api.remove(SERVICES, 'a/next');
    await bed.settle();
    const { resourceVersion = '' } = bed.claim('192.0.2.0')?.metadata ?? {};
    bed.node('n1', resourceVersion);
    bed.node('n2', resourceVersion);
    await bed.settle();
    expect(bed.claim('192.0.2.0')).to.equal(undefined);
    bed.service('last');
    await bed.settle();
    bed.api.remove(SERVICES, 'a/last');
    await bed.settle();
    expect(bed.claim('192.0.2.0')).to.not.equal(undefined);
    bed.clock.advance(hour);
    await bed.settle();
    expect(bed.claim('192.0.2.0')).to.equal(undefined);
  });

  it('looks at no released address for the report of a node that it does not wait for (C15)', async () => {
    const nodes = Array.from({ length: 20 }, (_, index) => `n${index}`);
    const services = Array.from({ length: 10 }, (_, index) => `s${index}`);
    bed.pool('lab', ['192.0.2.0/24']);
    for (const name of services) bed.service(name);
    for (const name of nodes) bed.node(name, '1');
    bed.node('off', '1');
    const { caches } = bed.run(86_400_000);
    await bed.settle();
    for (const name of services) bed.api.remove(SERVICES, `a/${name}`);
    await bed.settle();
    const report = async (observed: number) => {
      const joined = { open: true, reason: 'x', message: '', since: '' };
      for (const name of nodes) {
        const status = { joined, observedClaims: String(observed) };
        bed.api.put(IP_NODES, { metadata: { name }, status });
        await bed.settle();
      }
    };
    await report(bed.api.version);
    let walks = 0;
    const { items } = caches.ipNodes;
    const values = items.values.bind(items);
    Object.assign(items, {
      values: () => {
        walks += 1;
        return values();
      },
    });
    for (let round = 1; round <= 5; round += 1) await report(bed.api.version);
    expect(bed.claim('192.0.2.0'), 'it waits for the one that is off').to.not.equal(undefined);
    // each walk is over all nodes: ten addresses and five rounds of twenty reports were a thousand, and more for the pool's status
    expect(walks).to.equal(0);
    bed.node('off', String(bed.api.version));
    await bed.settle();
    expect(bed.claim('192.0.2.0')).to.equal(undefined);
  });

  it('deletes a released claim in turn with those of other namespaces', async () => {
    const held: (() => void)[] = [];
    bed.api.fault = ({ verb }) => {
      if (verb !== 'delete') return undefined;
      return { kind: 'hold', until: new Promise((resolve) => held.push(resolve)) };
    };
    const release = (address: string, by: string) =>
      bed.api.put(IP_CLAIMS, {
        metadata: { name: address, annotations: { [RELEASED_BY_ANNOTATION]: by } },
        spec: { withdrawn: { reason: 'Released' } },
      });
    for (let index = 0; index < 200; index += 1) release(`192.0.2.${index}`, `b/s${index}`);
    bed.run();
    await bed.settle(1);
    expect(bed.writes('delete', 'ipclaims')).to.equal(4);
    release('192.0.2.200', 'a/web');
    await bed.settle(1);
    for (const end of held.splice(0)) end();
    await bed.settle(1);
    expect(bed.writes('delete', 'ipclaims')).to.equal(8);
    expect(
      bed.api.calls.filter(({ verb }) => verb === 'delete').map(({ name }) => name),
    ).to.include('192.0.2.200');
    for (let round = 0; round < 60; round += 1) {
      for (const end of held.splice(0)) end();
      await bed.settle(1);
    }
    expect(bed.writes('delete', 'ipclaims'), 'each once').to.equal(201);
    expect(bed.api.all(IP_CLAIMS)).to.deep.equal([]);
  });

  it('gives a released address back at once to the Service that asks for it by name', async () => {
    const annotations = { 'herald.dev/addresses': '192.0.2.3' };
    bed.pool('lab', ['192.0.2.0/29']);
    bed.node('n1', '1');
    bed.service('web', { annotations });
    bed.run();
    await bed.settle();
    const { uid } = bed.claim('192.0.2.3')?.metadata ?? {};
    bed.api.remove(SERVICES, 'a/web');
    await bed.settle();
    expect(
      claimView(bed.claim('192.0.2.3') ?? { metadata: { name: '', uid: '', resourceVersion: '' } })
        .isReleased,
    ).to.equal(true);
    bed.service('web', { annotations });
    bed.endpoints('web', 1);
    await bed.settle();
    expect(bed.address('web')).to.equal('192.0.2.3');
    expect(bed.claim('192.0.2.3')?.metadata.uid).to.equal(uid);
    expect(bed.spec('192.0.2.3')).to.not.have.property('withdrawn');
  });

  it('withdraws Cluster Services with nobody behind them, never what a person has withdrawn', async () => {
    bed.pool('lab', ['192.0.2.0/29']);
    bed.service('web');
    bed.run();
    await bed.settle();
    expect(bed.spec('192.0.2.0'))
      .to.have.nested.property('withdrawn.reason')
      .that.matches(/^NoEndpoints/);
    bed.endpoints('web', 2);
    await bed.settle();
    expect(bed.spec('192.0.2.0')).to.not.have.property('withdrawn');
    bed.endpoints('web', 0);
    await bed.settle();
    expect(bed.spec('192.0.2.0'))
      .to.have.nested.property('withdrawn.reason')
      .that.matches(/^NoEndpoints/);
    const claim = bed.claim('192.0.2.0');
    bed.api.put(IP_CLAIMS, {
      ...claim,
      spec: { ...bed.spec('192.0.2.0'), withdrawn: { reason: 'Ann' } },
    });
    bed.endpoints('web', 1);
    await bed.settle();
    expect(bed.spec('192.0.2.0')).to.have.nested.property('withdrawn.reason', 'Ann');
  });

  it('withdraws the address of a family that has nobody behind it', async () => {
    bed.pool('lab', ['192.0.2.0/29', '2001:db8::/120']);
    bed.service('web', { spec: { ipFamilies: ['IPv4', 'IPv6'] } });
    bed.endpoints('web', 1, 'IPv4');
    bed.run();
    await bed.settle();
    const six = '2001-0db8-0000-0000-0000-0000-0000-0000';
    expect(bed.spec('192.0.2.0')).to.not.have.property('withdrawn');
    expect(bed.spec(six))
      .to.have.nested.property('withdrawn.reason')
      .that.matches(/^NoEndpoints/);
    bed.endpoints('web', 1, 'IPv6');
    await bed.settle();
    expect(bed.spec('192.0.2.0')).to.have.property('withdrawn');
    expect(bed.spec(six)).to.not.have.property('withdrawn');
  });

  it('keeps the health check port of Local Services right and leaves them to the nodes', async () => {
    bed.pool('lab', ['192.0.2.0/29']);
    bed.service('web', { spec: { externalTrafficPolicy: 'Local', healthCheckNodePort: 31000 } });
    bed.run();
    await bed.settle();
    expect(bed.spec('192.0.2.0')).to.have.nested.property('services[0].healthCheckNodePort', 31000);
    expect(bed.spec('192.0.2.0')).to.not.have.property('withdrawn');
    bed.service('web', { spec: { externalTrafficPolicy: 'Cluster' } });
    await bed.settle();
    expect(bed.spec('192.0.2.0')).to.not.have.nested.property('services[0].healthCheckNodePort');
    expect(bed.spec('192.0.2.0')).to.have.property('withdrawn');
  });

  it('releases what was left behind while no controller ran, and only that', async () => {
    bed.pool('lab', ['192.0.2.0/29']);
    bed.service('kept');
    bed.service('swapped');
    bed.service('gone');
    const run = bed.run();
    await bed.settle();
    run.stop();
    bed.api.remove(SERVICES, 'a/gone');
    bed.api.remove(SERVICES, 'a/swapped');
    bed.service('swapped');
    bed.api.put(IP_CLAIMS, { metadata: { name: '192.0.2.6' }, spec: {} });
    bed.run();
    await bed.settle();
    expect(bed.address('kept')).to.equal('192.0.2.0');
    expect(bed.address('swapped')).to.equal('192.0.2.3');
    expect(
      bed.api
        .all(IP_CLAIMS)
        .map(({ metadata }) => metadata.name)
        .toSorted(),
    ).to.deep.equal(['192.0.2.0', '192.0.2.3', '192.0.2.6']);
  });

  it('does not release the claim of a Service that it has only not heard of yet', async () => {
    bed.pool('lab', ['192.0.2.0/29']);
    bed.run();
    await bed.settle();
    const thaw = bed.freeze(SERVICES);
    bed.service('web');
    const uid = bed.api.object(SERVICES, 'a/web')?.metadata.uid;
    const services = [{ namespace: 'a', name: 'web', uid }];
    bed.api.put(IP_CLAIMS, { metadata: { name: '192.0.2.4' }, spec: { pool: 'lab', services } });
    await bed.settle(5);
    expect(bed.spec('192.0.2.4')['services']).to.have.length(1);
    thaw();
    await bed.settle();
    expect(bed.address('web')).to.equal('192.0.2.4');
    bed.exact();
  });

  it('takes the next address where a name is taken that it does not know of', async () => {
    bed.pool('lab', ['192.0.2.0/29']);
    bed.run();
    await bed.settle();
    const thaw = bed.freeze(IP_CLAIMS);
    bed.api.put(IP_CLAIMS, { metadata: { name: '192.0.2.0' }, spec: {} });
    bed.api.put(IP_CLAIMS, { metadata: { name: '192.0.2.1' }, spec: { checks: 7 } });
    bed.service('web');
    await bed.settle(5);
    expect(bed.address('web')).to.equal('192.0.2.2');
    thaw();
  });

  it('counts on what it has written before the watch brings it: no address twice, no write twice', async () => {
    bed.pool('lab', ['192.0.2.0/29']);
    const run = bed.run();
    await bed.settle();
    const thaw = bed.freeze(IP_CLAIMS);
    for (const name of ['a', 'b', 'c', 'd']) bed.service(name);
    await bed.settle(5);
    bed.service('a', { annotations: { touched: 'yes' } });
    await bed.settle(5);
    expect(bed.writes('create', 'ipclaims')).to.equal(4);
    expect(run.caches.claims.items.size).to.equal(0);
    bed.exact();
    thaw();
    await bed.settle();
    bed.exact();
  });

  it('never writes over a status that somebody else wrote since it looked', async () => {
    bed.service('web');
    bed.run();
    await bed.settle();
    const thaw = bed.freeze(SERVICES);
    const web = bed.api.object(SERVICES, 'a/web');
    bed.api.put(SERVICES, {
      ...web,
      status: { loadBalancer: { ingress: [{ ip: '203.0.113.1' }] } },
    });
    bed.pool('lab', ['192.0.2.0/29']);
    await bed.settle(5);
    expect(bed.address('web')).to.equal('203.0.113.1');
    thaw();
    await bed.settle();
    expect(bed.address('web')).to.equal('203.0.113.1');
  });

  it('tells a Service once, though the watch is late, and follows what changes after', async () => {
    bed.service('web');
    bed.endpoints('web', 1);
    bed.run();
    await bed.settle();
    const before = bed.writes('patch', 'services');
    const thaw = bed.freeze(SERVICES);
    bed.pool('lab', ['192.0.2.0/29']);
    await bed.settle();
    bed.pool('lab', ['192.0.2.0/28']);
    await bed.settle();
    expect(bed.address('web')).to.equal('192.0.2.0');
    expect(bed.writes('patch', 'services') - before).to.equal(1);
    thaw();
    await bed.settle();
    bed.service('web', { annotations: { 'herald.dev/addresses': '192.0.2.5' } });
    await bed.settle();
    expect(bed.address('web')).to.equal('192.0.2.5');
    bed.exact();
  });

  it('writes how full a pool is, at most once a second and only when it changed', async () => {
    bed.pool('lab', ['192.0.2.0/31', '2001:db8::/64']);
    bed.pool('twin', ['192.0.2.1-192.0.2.9']);
    bed.service('a');
    bed.run();
    await bed.settle();
    const status = (name: string) =>
      JSON.parse(JSON.stringify(bed.api.object(IP_POOLS, name)?.['status'] ?? {}));
    expect(status('lab')).to.deep.include({ used: 1, total: Number(2n ** 63n - 1024n) });
    const condition = (name: string, type: string) =>
      status(name).conditions.find((each: { type: string }) => each.type === type);
    expect(condition('lab', 'Ready')).to.deep.include({ status: 'True', reason: 'Accepted' });
    expect(condition('twin', 'Ready')).to.deep.include({ status: 'False', reason: 'Overlaps' });
    const count = () =>
      bed.api.calls.filter(
        ({ resource, verb }) => resource.plural === 'ippools' && verb === 'patch',
      ).length;
    const before = count();
    await bed.settle();
    expect(count()).to.equal(before);
    bed.pool('lab', ['192.0.2.0/32']);
    await bed.settle();
    expect(condition('lab', 'Exhausted')).to.deep.include({ status: 'True' });
    expect(condition('lab', 'Exhausted').lastTransitionTime).to.match(/^2026-/);
  });

  it('keeps and flags what a pool has left behind, and gives it to nobody', async () => {
    bed.pool('lab', ['192.0.2.0/30']);
    for (const name of ['a', 'b', 'c']) bed.service(name);
    const run = bed.run();
    await bed.settle();
    bed.pool('lab', ['192.0.2.0/31']);
    await bed.settle();
    const conditions = (plural: typeof IP_POOLS, name: string) =>
      JSON.parse(JSON.stringify(bed.api.object(plural, name)?.['status'] ?? {})).conditions;
    expect(bed.address('c')).to.equal('192.0.2.2');
    expect(conditions(IP_CLAIMS, '192.0.2.2')[0]).to.deep.include({
      type: 'InPool',
      status: 'False',
      reason: 'PoolShrunk',
    });
    expect(
      conditions(IP_POOLS, 'lab').find((each: { type: string }) => each.type === 'ClaimsOutside')
        .message,
    ).to.include('192.0.2.2');
    expect(
      run.events.some(({ object, reason }) => object.kind === 'IPPool' && reason === 'PoolShrunk'),
    ).to.equal(true);
    bed.api.remove(IP_POOLS, 'lab');
    bed.service('d');
    await bed.settle();
    bed.pool('lab', ['192.0.2.0/30']);
    await bed.settle();
    expect(bed.address('d')).to.equal('192.0.2.3');
    expect(conditions(IP_CLAIMS, '192.0.2.2')[0]).to.deep.include({
      type: 'InPool',
      status: 'True',
    });
    bed.exact();
  });

  it('writes and removes automatic external IPs', async () => {
    bed.pool('lab', ['192.0.2.0/29'], { allowExternalIPs: true });
    const spec = { type: 'ClusterIP', loadBalancerClass: undefined };
    bed.service('web', { spec, annotations: { 'herald.dev/external-ip': 'auto' } });
    bed.run();
    await bed.settle();
    const listed = () =>
      JSON.parse(JSON.stringify(bed.api.object(SERVICES, 'a/web')?.['spec'])).externalIPs;
    expect(listed()).to.deep.equal(['192.0.2.0']);
    bed.service('web', { spec: { ...spec, externalIPs: ['192.0.2.0', '203.0.113.1'] } });
    await bed.settle();
    expect(listed()).to.deep.equal(['203.0.113.1']);
    expect(bed.api.all(IP_CLAIMS)).to.deep.equal([]);
  });

  const kinds = ['conflict', 'server', 'lost-request', 'lost-answer', 'server-after'] as const;
  function faultOf(kind: (typeof kinds)[number]): MemoryFault {
    if (kind === 'conflict') return { kind: 'before', error: new ApiError(409, 'Conflict', 'x') };
    if (kind === 'server')
      return { kind: 'before', error: new ApiError(500, 'InternalError', 'x') };
    if (kind === 'server-after')
      return { kind: 'after', error: new ApiError(500, 'InternalError', 'x') };
    const error = new ApiUnreachable('x', undefined);
    return { kind: kind === 'lost-request' ? 'before' : 'after', error };
  }

  const step = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('put' as const),
        name: fc.nat(5),
        asks: fc.option(fc.nat(4), { nil: undefined }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('delete' as const), name: fc.nat(5) }) },
    fc.record({ kind: fc.constant('pool' as const), length: fc.constantFrom(29, 30, 31) }),
    fc.record({ kind: fc.constant('restart' as const) }),
    fc.record({ kind: fc.constant('second' as const) }),
    fc.record({ kind: fc.constant('wait' as const), rounds: fc.nat(2) }),
  );
  type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

  async function act(one: Bed, each: Step): Promise<void> {
    switch (each.kind) {
      case 'put': {
        const annotations =
          each.asks === undefined ? {} : { 'herald.dev/addresses': `192.0.2.${each.asks}` };
        one.service(`s${each.name}`, { annotations });
        return;
      }
      case 'delete':
        if (one.api.object(SERVICES, `a/s${each.name}`))
          one.api.remove(SERVICES, `a/s${each.name}`);
        return;
      case 'pool':
        one.pool('lab', [`192.0.2.0/${each.length}`]);
        return;
      case 'restart':
        one.stop();
        one.run();
        return;
      case 'second':
        one.run();
        return;
      case 'wait':
        await one.settle(each.rounds + 1);
    }
  }

  it('comes to an exact end through failing writes, lost answers, restarts and two controllers at once', async () => {
    const faults = fc.array(fc.tuple(fc.nat(30), fc.constantFrom(...kinds)), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 3, maxLength: 18 }),
        faults,
        async (steps, planned) => {
          const one = new Bed();
          let writes = 0;
          one.api.fault = ({ verb, resource }: MemoryCall) => {
            if (!WRITES.has(verb) || resource.plural === 'ippools') return undefined;
            writes += 1;
            const hit = planned.find(([at]) => at === writes);
            return hit && faultOf(hit[1]);
          };
          one.pool('lab', ['192.0.2.0/30']);
          one.run();
          for (const each of steps) await act(one, each);
          one.api.fault = undefined;
          one.pool('lab', ['192.0.2.0/29']);
          await one.settle(60);
          one.stop();
          one.exact();
          for (const service of one.api.all(SERVICES)) {
            const { annotations = {}, name } = service.metadata;
            const asked = annotations['herald.dev/addresses'];
            if (asked === undefined) expect(ingressNames(service), name).to.have.length(1);
          }
        },
      ),
      { numRuns: 60 },
    );
  }).timeout(120_000);
});
