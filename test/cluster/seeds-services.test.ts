/**
 * Services, their addresses and the router's table, with controllers and agents as deploy/base runs them (SEEDS C16, C20, C33, C34 E3, E5, E8 and
 * E10, H25). Who gets which address is in allocation.test.ts; here it is what a router makes of it.
 */

import { expect } from 'chai';
import { ANNOTATION, nodeLabel, POOL_LABEL } from '../../src/model/names.ts';
import {
  EVENTS,
  IP_CLAIMS,
  IP_POOLS,
  inNamespace,
  NODES,
  SERVICES,
} from '../../src/sources/kube/resources.ts';
import { untilValue } from '../support/poll.ts';
import { poolBody } from './support/agent-documents.ts';
import { at, type Cluster, conditionOf } from './support/cluster.ts';
import { FullRun, PATIENT, type Sample } from './support/full-run.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const PLAIN = { type: 'ClusterIP', loadBalancerClass: undefined };
const ip = (last: number) => `198.51.100.${last}`;

describe('Services in the table of a router', function () {
  this.timeout(240_000);
  let world: FullRun;
  let cluster: Cluster;
  let namespace = '';

  before(async function () {
    skipWithoutCluster(this, { bird: true });
    world = await FullRun.start(['a', 'b']);
    cluster = world.cluster;
    await Promise.all([...world.nodes.map((node) => world.agent(node)), lead('first')]);
  });

  beforeEach(async () => {
    namespace = await cluster.namespace();
    await setPool('198.51.100.0/24');
  });

  afterEach(async function () {
    if (this.currentTest?.state === 'failed') process.stderr.write(`${world.logs()}\n`);
    const { items } = await cluster.api.list(inNamespace(SERVICES, namespace));
    for (const { metadata } of items) await remove(metadata.name);
    if (world.controllers.size === 0) await lead('next');
    await world.routed([]);
    await claimed([]);
  });

  after(() => world?.stop());

  async function lead(name: string): Promise<void> {
    await world.controller(name, ['--leader-elect=false']);
  }

  async function unlead(): Promise<void> {
    await Promise.all([...world.controllers.values()].map((each) => each.stop()));
    world.controllers.clear();
  }

  /** Pools and Services come to the controller by different ways: a Service that is added at once may find the pool as it was before. */
  async function setPool(addresses: string, allowExternalIPs = true): Promise<void> {
    await cluster.applyObjects(poolBody('any', [addresses], { allowExternalIPs }));
    await untilValue(
      'the controller has read the pool',
      async () => {
        const pool = await cluster.api.get(IP_POOLS, 'any');
        const read = at(conditionOf(pool, 'Ready'), 'observedGeneration');
        return { read, written: at(pool, 'metadata', 'generation') };
      },
      ({ read, written }) => read === written,
      PATIENT,
    );
  }

  /** with somebody behind it, so that it is announced */
  async function add(name: string, options: object = {}): Promise<void> {
    await cluster.setEndpoints({ namespace, name }, 1);
    await cluster.addService({ namespace, name, ...options });
  }

  const external = (name: string, ...last: readonly number[]) =>
    add(name, { spec: { ...PLAIN, externalIPs: last.map(ip) } });

  const remove = (name: string) => cluster.api.delete(inNamespace(SERVICES, namespace), name);

  const patch = (name: string, body: object) =>
    cluster.api.patch(inNamespace(SERVICES, namespace), name, { kind: 'merge', body });

  const externalIps = async (name: string) =>
    at(await cluster.api.get(inNamespace(SERVICES, namespace), name), 'spec', 'externalIPs');

  const routed = (...last: readonly number[]) => world.routed(last.map(ip));

  async function claimed(names: readonly string[]): Promise<void> {
    await untilValue(
      `claims: ${names.join(' ')}`,
      async () => (await cluster.api.list(IP_CLAIMS)).items.map(({ metadata }) => metadata.name),
      (found) => found.toSorted().join() === names.toSorted().join(),
      PATIENT,
    );
  }

  const eventsOf = async (name: string) =>
    (await cluster.api.list(inNamespace(EVENTS, namespace))).items
      .filter((event) => at(event, 'regarding', 'name') === name)
      .map((event) => `${at(event, 'type')} ${at(event, 'reason')}: ${at(event, 'note')}`);

  it('follows three Services with external IPs, one of them repeated (C33, E3)', async () => {
    await Promise.all([external('one', 2, 3), external('two', 2, 3, 4), external('three', 5)]);
    await routed(2, 3, 4, 5);
    await claimed([2, 3, 4, 5].map(ip));
    await patch('three', { spec: { externalIPs: [ip(7)] } });
    await routed(2, 3, 4, 7);
    await remove('three');
    await routed(2, 3, 4);
    await remove('two');
    await routed(2, 3);
    await claimed([2, 3].map(ip));
  });

  it('keeps the route of an address that two Services share until the last has gone (C16)', async () => {
    const annotations = { [ANNOTATION.share]: 'web', [ANNOTATION.addresses]: ip(9) };
    await add('http', { annotations, ports: [{ port: 80 }] });
    await add('https', { annotations, ports: [{ port: 443 }] });
    await world.heldBy(ip(9), 'a b');
    await untilValue(
      'both have it',
      async () => at(await cluster.api.get(IP_CLAIMS, ip(9)), 'spec', 'services'),
      (services) => Array.isArray(services) && services.length === 2,
      PATIENT,
    );
    const sampler = world.sample();
    await remove('http');
    await untilValue(
      'one has it',
      async () => at(await cluster.api.get(IP_CLAIMS, ip(9)), 'spec', 'services'),
      (services) => Array.isArray(services) && services.length === 1,
      PATIENT,
    );
    const samples = await sampler.stop();
    expect(samples.filter(({ paths }) => paths.get(ip(9))?.length !== 2)).to.deep.equal([]);
    await remove('https');
    await routed();
    await claimed([]);
  });

  it('gives an automatic external IP from its range, and takes it back with the Service (E5)', async () => {
    await setPool('198.51.100.250-198.51.100.252');
    await add('auto', { spec: PLAIN, annotations: { [ANNOTATION.externalIp]: 'auto' } });
    await routed(250);
    expect((await cluster.api.get(IP_CLAIMS, ip(250))).metadata.labels).to.include({
      [POOL_LABEL]: 'any',
    });
    await untilValue(
      'it is in the list',
      () => externalIps('auto'),
      (found) => JSON.stringify(found) === JSON.stringify([ip(250)]),
      PATIENT,
    );
    await remove('auto');
    await routed();
    await claimed([]);
  });

  it('takes the routes of external IPs back when their pool allows them no more, and gives them again', async () => {
    // addresses of its own: what was free a moment ago is given last
    const pool = '198.51.100.128/27';
    await setPool(pool);
    await external('hand', 131);
    await add('auto', { spec: PLAIN, annotations: { [ANNOTATION.externalIp]: 'auto' } });
    await add('balancer', { annotations: { [ANNOTATION.addresses]: ip(136) } });
    await routed(128, 131, 136);
    await setPool(pool, false);
    await routed(136);
    await claimed([ip(136)]);
    await untilValue(
      'the Service is told why',
      () => eventsOf('hand'),
      (events) => events.some((text) => text.includes('pool any does not say allowExternalIPs')),
      PATIENT,
    );
    await untilValue(
      'no address is left in the list',
      () => externalIps('auto'),
      (found) => JSON.stringify(found ?? []) === '[]',
      PATIENT,
    );
    expect(await externalIps('hand')).to.deep.equal([ip(131)]);
    await setPool(pool);
    await world.heldBy(ip(131), 'a b');
    await untilValue('one is in the list', () => externalIps('auto'), Boolean, PATIENT);
  });

  it('swaps an automatic external IP for one by hand (C20)', async () => {
    await add('swap', { spec: PLAIN, annotations: { [ANNOTATION.externalIp]: 'auto' } });
    await routed(0);
    await untilValue('it is in the list', () => externalIps('swap'), Boolean, PATIENT);
    await world.heldBy(ip(0), 'a b');
    const sampler = world.sample();
    await patch('swap', {
      metadata: { annotations: { [ANNOTATION.externalIp]: null } },
      spec: { externalIPs: [ip(33)] },
    });
    await routed(33);
    const samples = await sampler.stop();
    // the old one may go when the new one is there, from each node
    const reachable = ({ paths }: Sample) =>
      new Set([...(paths.get(ip(0)) ?? []), ...(paths.get(ip(33)) ?? [])].map(({ node }) => node));
    expect(samples.length).to.be.above(3);
    expect(samples.filter((sample) => reachable(sample).size !== 2)).to.deep.equal([]);
    await claimed([ip(33)]);
    expect(await externalIps('swap')).to.deep.equal([ip(33)]);
  });

  it('announces a claim that is addressed to a node from there, and one that is not from nowhere; its label finds it (E8)', async () => {
    const exclusive = { placement: { mode: 'exclusive' } };
    const claim = (name: string, spec: object, labels: object) => ({
      apiVersion: 'herald.dev/v1alpha1',
      kind: 'IPClaim',
      metadata: { name, labels },
      spec: { ...exclusive, ...spec },
    });
    // nobody places them but this test
    await unlead();
    const sampler = world.sample();
    await cluster.applyObjects(claim(ip(71), {}, {}));
    // each of them comes after the one that nobody has, so each node has read that one when it announces its own
    for (const [node, last] of [
      ['a', 70],
      ['b', 72],
    ] as const) {
      await cluster.applyObjects(claim(ip(last), { node }, { [nodeLabel(node)]: '0' }));
      await world.heldBy(ip(last), node);
      const found = await cluster.api.list(IP_CLAIMS, { labelSelector: nodeLabel(node) });
      expect(found.items.map(({ metadata }) => metadata.name)).to.deep.equal([ip(last)]);
    }
    await routed(70, 72);
    const samples = await sampler.stop();
    const nodesOf = (last: number) =>
      new Set(samples.flatMap(({ paths }) => (paths.get(ip(last)) ?? []).map(({ node }) => node)));
    expect([...nodesOf(70), ...nodesOf(71), ...nodesOf(72)]).to.deep.equal(['a', 'b']);
    for (const last of [70, 71, 72]) await cluster.api.delete(IP_CLAIMS, ip(last));
    await routed();
  });

  it('cleans up what went while no controller ran, a shared address too: three claims, two, none (E10)', async () => {
    await Promise.all([external('one', 2, 3), external('two', 3, 4)]);
    await routed(2, 3, 4);
    await unlead();
    await remove('one');
    await lead('second');
    await routed(3, 4);
    await claimed([3, 4].map(ip));
    await unlead();
    await remove('two');
    await lead('third');
    await routed();
    await claimed([]);
  });

  it('announces no address of a node, though a Service lists it, and says so in an event (H25)', async () => {
    await cluster.setNode('b', { addresses: [ip(40)] });
    await untilValue(
      'the Node says so',
      async () => JSON.stringify(at(await cluster.api.get(NODES, 'b'), 'status', 'addresses')),
      (found) => found.includes(ip(40)),
    );
    await external('thief', 40, 41);
    await routed(41);
    const events = await untilValue(
      'an event',
      () => eventsOf('thief'),
      (found) => found.some((each) => each.includes('is an address of node b')),
      PATIENT,
    );
    expect(events.join()).to.match(/Warning \w+: /);
    await claimed([ip(41)]);
    // the node has another address from now on, and the Service gets what it listed
    await cluster.setNode('b', { addresses: ['10.0.0.9'] });
    await routed(40, 41);
  });
});
