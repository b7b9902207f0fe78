/**
 * 0.1 and this release beside each other under traffic (`make skew`; no part of the rings): a
 * client opens connections to exclusive addresses all the while, and its log says how many were
 * lost: none. Upgrade and rollback go as the pages say (controllers, then agents, and back in
 * reverse order), and in the other order; every mixed state has planned moves too, from each
 * release to the other. The client's router has one next hop in its kernel at every moment, and two
 * more routers are looked at as in version-skew.ts, which has more addresses and nodes, and no
 * packets.
 */

import { expect } from 'chai';
import { ANNOTATION, NAMESPACE } from '../../src/model/names.ts';
import type { KubeObject } from '../../src/sources/kube/api.ts';
import { IP_CLAIMS, IP_NODES, NODES } from '../../src/sources/kube/resources.ts';
import { nowMs } from '../../tools/probe/monotonic.ts';
import { analyse, type Outage } from '../../tools/probe/probe-log.ts';
import { masterAsn } from '../standalone/support/addresses.ts';
import { Prober } from '../standalone/support/prober.ts';
import { type RouteEvent, RouteWatch } from '../standalone/support/route-watch.ts';
import { claimBody } from '../support/fake-agents.ts';
import { passes, untilValue } from '../support/poll.ts';
import { poolBody } from './support/agent-documents.ts';
import { type BirdRouter, startBird } from './support/bird.ts';
import { at, type Cluster, conditionOf } from './support/cluster.ts';
import { BASE, Sampler } from './support/full-run.ts';
import { type HeraldRun, startHerald } from './support/herald-run.ts';
import { loopbackPeer } from './support/loopback.ts';
import { type OldRelease, oldRelease } from './support/old-release.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';
import { nodeAddress, TrafficLab } from './support/traffic-lab.ts';
import { type Table, TwoRouters } from './support/two-routers.ts';

const INDEXES = [1, 2] as const;
const ALL = ['n1', 'n2'];
const CLAIMS = ['198.51.100.40', '198.51.100.41'];
const OF_SERVICES = ['198.51.100.42', '198.51.100.43'];
const EXCLUSIVE = [...CLAIMS, ...OF_SERVICES];
/** says that a node takes part again, whoever holds the exclusive ones */
const ANYCAST = '198.51.100.20';
const PLACED = '198.51.100.49';
const ROUTER = '10.50.0.1';
const EVERY_MS = 25;
/** no client sends for longer */
const SECONDS = 2400;
/** connections that are open while the router changes over may be cut, as in lab/scenarios */
const CHANGE_OVER_MS = 100;
/** a client that has sent nothing for longer has seen nothing */
const BLIND_MS = 2000;
const DRAIN = { drain: { on: ['stop', 'cordon'], waitSeconds: 10 } };
const PATIENTLY = { timeoutMs: 180_000, everyMs: 100 };
/** a stop of this release may take as long as its pod has */
const STOP_MS = 70_000;

type Age = 'old' | 'new';

const isAlive = (node: KubeObject) => at(conditionOf(node, 'AgentAlive'), 'status') === 'True';
const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);

describe('0.1 and this release beside each other, under traffic', function () {
  this.timeout(1_200_000);
  let world: TrafficLab;
  let cluster: Cluster;
  let old: OldRelease;
  let routers: TwoRouters;
  let sampler: Sampler<Table>;
  let routes: RouteWatch;
  let leader: HeraldRun | undefined;
  let controllers = 0;
  let fromMs = 0;
  const birds: BirdRouter[] = [];
  const probers = new Map<string, Prober>();

  before(async function () {
    skipWithoutCluster(this, { bird: true, lab: true });
    old = await oldRelease();
    world = await TrafficLab.start(old);
    cluster = world.cluster;
    await world.addNodes();
    await world.addPeers();
    const [far, near] = [await router('far', 64_500), await router('near', masterAsn)];
    const nodeOf = (from: string) => `n${INDEXES.find((index) => nodeAddress(index) === from)}`;
    routers = new TwoRouters({ far, near, nodeOf, exclusive: EXCLUSIVE, anycast: [ANYCAST] });
    const exclusive = { placement: { mode: 'exclusive' }, ...DRAIN };
    await cluster.applyObjects(
      poolBody('claims', [...CLAIMS, PLACED].map(prefix), exclusive),
      poolBody('services', OF_SERVICES.map(prefix), exclusive),
      poolBody('anycast', [prefix(ANYCAST)], DRAIN),
    );
    for (const address of EXCLUSIVE) await world.serve(address, [80]);
    await lead('old');
    await Promise.all(INDEXES.map((index) => world.startAgent(index, 'none', old.program)));
    for (const name of [...CLAIMS, ANYCAST]) await cluster.api.create(IP_CLAIMS, claimBody(name));
    for (const name of ['one', 'two']) {
      const service = { namespace: 'default', name };
      await cluster.setEndpoints(service, 2);
      await cluster.addService({ ...service, annotations: { [ANNOTATION.pool]: 'services' } });
    }
    await settled(ALL);
    routes = await RouteWatch.start(world.router);
    for (const address of EXCLUSIVE) {
      const wish = { address, port: 80, everyMs: EVERY_MS, seconds: SECONDS };
      probers.set(address, await Prober.start(world.client, wish));
    }
  });

  beforeEach(() => {
    fromMs = nowMs();
    sampler = new Sampler(() => routers.look());
  });

  afterEach(async function () {
    await sampler.stop();
    if (this.currentTest?.state === 'failed') process.stderr.write(`${world.logs()}\n`);
  });

  after(async () => {
    await Promise.all([...probers.values()].map((each) => each.stop()));
    await routes?.stop();
    await Promise.all(birds.map((each) => each.kill()));
    await world?.stop();
  });

  const prefix = (address: string) => `${address}/32`;
  const programOf = (age: Age) => (age === 'old' ? old.program : undefined);

  /** beside the one that carries the packets: it is only looked at */
  async function router(name: string, asn: number): Promise<BirdRouter> {
    const { folder } = cluster;
    const place = { folder, host: world.router, address: ROUTER, range: '10.50.0.0/16' };
    const bird = await startBird({ ...place, asn, neighbourAsn: masterAsn });
    birds.push(bird);
    await cluster.applyObjects(loopbackPeer(name, bird, []));
    return bird;
  }

  /** as a Deployment does it: the next one is there before the last one goes */
  async function lead(age: Age): Promise<void> {
    const before = leader;
    controllers += 1;
    const name = `controller-${age}-${controllers}`;
    const kubeconfig = await cluster.serviceAccountKubeconfig(NAMESPACE, 'herald-controller');
    const program = programOf(age);
    const other = program === undefined ? {} : { program };
    const options = { name, folder: cluster.folder, kubeconfig, ...other };
    const args = ['controller', `--identity=${name}`, '--metrics-address=off'];
    leader = startHerald(args, options);
    world.runs.push(leader);
    if (before === undefined) return;
    await passes(1000);
    await before.stop(STOP_MS);
    await works();
  }

  /** it leads, and counts on the nodes: a claim is placed, and taken away again */
  async function works(): Promise<void> {
    await cluster.api.create(IP_CLAIMS, claimBody(PLACED));
    const isThere = async () => (await routers.look()).has(`far ${PLACED}`);
    await untilValue('a new claim is placed', isThere, (is) => is, PATIENTLY);
    await cluster.api.delete(IP_CLAIMS, PLACED);
    await untilValue('and gone', isThere, (is) => !is, PATIENTLY);
    await untilValue(
      'every agent is counted on',
      async () => (await cluster.api.list(IP_NODES)).items.filter(isAlive).length,
      (alive) => alive === ALL.length,
      PATIENTLY,
    );
  }

  /** as a DaemonSet does it, node by node; between them each release hands over to the other */
  async function roll(age: Age): Promise<void> {
    for (const index of INDEXES) {
      const agent = world.runs.findLast(({ name }) => name === `agent-n${index}`);
      expect(await agent?.stop(STOP_MS), `n${index} stops in time`).to.equal(0);
      await world.startAgent(index, 'none', programOf(age));
      await settled(ALL);
      if (index === 1) await thereAndBack();
    }
    await drain();
  }

  async function settled(nodes: readonly string[]): Promise<void> {
    const isSettled = (left: readonly string[]) => left.length === 0;
    await untilValue(`all is with ${nodes}`, () => routers.unsettled(nodes), isSettled, PATIENTLY);
    const hops = INDEXES.filter((index) => nodes.includes(`n${index}`)).map(nodeAddress);
    for (const each of EXCLUSIVE) await world.reachedBy(each, (hop) => hops.includes(hop));
  }

  /** A cordon of the node that holds the most, and its end: all move to the other one. */
  async function drain(): Promise<void> {
    const table = await routers.look();
    const held = EXCLUSIVE.map((address) => table.get(`far ${address}`)?.[0]?.node ?? '');
    const isFirst = held.filter((node) => node === 'n1').length * 2 >= held.length;
    const [node, other] = isFirst ? ['n1', 'n2'] : ['n2', 'n1'];
    const cordon = (unschedulable: boolean) =>
      cluster.api.patch(NODES, node, { kind: 'merge', body: { spec: { unschedulable } } });
    await cordon(true);
    await settled([other]);
    await cordon(false);
    await settled(ALL);
  }

  async function thereAndBack(): Promise<void> {
    await drain();
    await drain();
  }

  async function install(age: Age): Promise<void> {
    if (age === 'new') await cluster.installCrds();
    await cluster.applyKustomization(age === 'old' ? old.base : BASE);
    await passes(3000);
    await thereAndBack();
  }

  const changes = (address: string, sinceMs: number): RouteEvent[] =>
    routes.events(address).filter(({ atMs }) => atMs >= sinceMs);

  /** Probes and routes since the test began; what it says goes behind the test's title. */
  async function nothingLost(): Promise<string> {
    const toMs = nowMs();
    const seconds = Math.round((toMs - fromMs) / 1000);
    const samples = await sampler.stop();
    const outages: Outage[] = [];
    const wrong: string[] = [];
    for (const [address, prober] of probers) {
      const outage = await prober.outage(fromMs, toMs);
      const events = changes(address, fromMs);
      outages.push(outage);
      wrong.push(...wrongWith(outage, events).map((each) => `${address}: ${each}`));
      if (outage.lost > 0) wrong.push(lostOf(prober, events, toMs));
    }
    const [sent, lost, cut] = [
      sum(outages.map((each) => each.sent)),
      sum(outages.map((each) => each.lost)),
      sum(outages.map((each) => each.resets)),
    ];
    const changed = sum(EXCLUSIVE.map((address) => changes(address, fromMs).length));
    expect(samples.length, 'looks at the tables').to.be.above(20);
    const cuts = `${cut} cut in ${changed} changes of route`;
    const said = `${sent} probes, ${lost} lost, ${cuts}, ${seconds} s`;
    expect([...wrong, ...routers.wrongIn(samples)], said).to.deep.equal([]);
    return said;
  }

  /** the moments of lost probes and of the kernel's changes, for whoever looks for the cause */
  function lostOf(prober: Prober, events: readonly RouteEvent[], toMs: number): string {
    const since = (ms: number) => Math.round(ms - fromMs);
    const lost = prober
      .read()
      .filter((each) => each.lost !== undefined && each.sentMs >= fromMs && each.sentMs <= toMs)
      .map((each) => `${since(each.sentMs)} ${each.lost}`);
    const changed = events.map(({ atMs, gateways }) => `${since(atMs)} ${gateways}`);
    return `lost at ${lost.slice(0, 20)}; routes changed at ${changed}`;
  }

  const ORDERS: readonly (readonly [string, () => Promise<void>])[] = [
    ['the CRDs and roles of this release beside 0.1', () => install('new')],
    ['the controller upgraded first, as the pages say', () => lead('new').then(drain)],
    ['agents upgraded after it, one by one', () => roll('new')],
    ['agents rolled back first, as the pages say', () => roll('old')],
    ['the controller rolled back after them', () => lead('old').then(drain)],
    ['agents upgraded first, under an old controller', () => roll('new')],
    ['the controller upgraded after them', () => lead('new').then(drain)],
    ['the controller rolled back first', () => lead('old').then(drain)],
    ['agents rolled back after it, under an old controller', () => roll('old')],
    ['the roles of 0.1 again', () => install('old')],
  ];
  for (const [name, act] of ORDERS) {
    it(name, async function () {
      await act();
      const said = await nothingLost();
      if (this.test !== undefined) this.test.title += ` (${said})`;
    });
  }

  it('no probe was lost from the first order to the last, also between them', async function () {
    const outages: Outage[] = [];
    for (const [address, prober] of probers) {
      const probes = await prober.stop();
      const [first, last] = [probes[0]?.sentMs ?? 0, probes.at(-1)?.sentMs ?? 0];
      const outage = analyse(probes, first, last, EVERY_MS);
      outages.push(outage);
      expect(wrongWith(outage, changes(address, first)), address).to.deep.equal([]);
    }
    const sent = sum(outages.map((each) => each.sent));
    const lost = sum(outages.map((each) => each.lost));
    if (this.test !== undefined) this.test.title += ` (${sent} probes, ${lost} lost)`;
  });
});

/** A router that moves a way cuts what is open on it, and no more than that; none is lost. */
function wrongWith(outage: Outage, events: readonly RouteEvent[]): string[] {
  const most = events.length * Math.ceil(CHANGE_OVER_MS / EVERY_MS);
  const many = events.filter(({ gateways }) => gateways.length !== 1);
  return [
    ...(outage.longestPauseMs > BLIND_MS ? [`sent nothing: ${JSON.stringify(outage)}`] : []),
    ...(outage.lost > 0 ? [`lost: ${JSON.stringify(outage)}`] : []),
    ...(outage.resets > most ? [`more than ${most} cut: ${JSON.stringify(outage)}`] : []),
    ...many.map((each) => `not one next hop: ${JSON.stringify(each)}`),
  ];
}
