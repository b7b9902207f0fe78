/**
 * Packets through a router to pods, with Herald as deploy/base runs it and a real API server (SEEDS C1, C21, H39; and an API server that dies under traffic).
 * HERALD_TEST_LONG=1 keeps the API dead for five minutes.
 */

import { expect } from 'chai';
import { ANNOTATION, EXCLUDE_LABEL } from '../../src/model/names.ts';
import { IP_CLAIMS, inNamespace, LEASES, SERVICES } from '../../src/sources/kube/resources.ts';
import { nowMs } from '../../tools/probe/monotonic.ts';
import { Prober } from '../standalone/support/prober.ts';
import { RouteWatch } from '../standalone/support/route-watch.ts';
import { passes, untilValue } from '../support/poll.ts';
import { poolBody } from './support/agent-documents.ts';
import { at, type Cluster } from './support/cluster.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';
import { nodeAddress, TrafficLab } from './support/traffic-lab.ts';

const { HERALD_TEST_LONG = '' } = process.env;
const IS_LONG = HERALD_TEST_LONG !== '';
const DEAD_MS = IS_LONG ? 300_000 : 20_000;
/** longer than any back-off of a watch, in the long run */
const AFTER_MS = IS_LONG ? 60_000 : 12_000;
const MOVES = IS_LONG ? 20 : 4;
const EVERY_MS = 20;
const ANYCAST = '198.51.100.20';
const EXCLUSIVE = '198.51.100.40';
const BOTH = `${nodeAddress(1)} ${nodeAddress(2)}`;

describe('traffic to Services', function () {
  this.timeout(IS_LONG ? 1_200_000 : 600_000);
  let world: TrafficLab;
  let cluster: Cluster;

  before(async function () {
    skipWithoutCluster(this, { lab: true });
    world = await TrafficLab.start();
    cluster = world.cluster;
    const drain = { on: ['stop', 'exclude-label'], waitSeconds: 10 };
    await cluster.applyObjects(
      poolBody('any', [`${ANYCAST}/32`]),
      poolBody('one', [`${EXCLUSIVE}/32`], { placement: { mode: 'exclusive' }, drain }),
    );
    await world.serve(ANYCAST, [80, 443]);
    await world.serve(EXCLUSIVE, [80]);
    await world.startHerald();
    const ports = [
      { name: 'http', port: 80 },
      { name: 'https', port: 443 },
    ];
    await add('nginx', 'any', ports);
    await add('alone', 'one', ports.slice(0, 1));
    await world.reachedBy(ANYCAST, (hops) => hops === BOTH);
    await world.reachedBy(EXCLUSIVE, (hops) => hops !== '' && hops !== BOTH);
  });

  afterEach(function () {
    if (this.currentTest?.state === 'failed') process.stderr.write(`${world.logs()}\n`);
  });

  after(() => world?.stop());

  async function add(name: string, pool: string, ports: readonly object[]): Promise<void> {
    const service = { namespace: 'default', name };
    await cluster.setEndpoints(service, 2);
    const annotations = { [ANNOTATION.pool]: pool };
    const body = { metadata: { ...service, annotations } };
    await cluster.api.create(inNamespace(SERVICES, 'default'), {
      ...body,
      spec: {
        type: 'LoadBalancer',
        loadBalancerClass: 'herald.dev/herald',
        selector: { app: name },
        ports,
      },
    });
  }

  const probe = (address: string, port: number, seconds: number) =>
    Prober.start(world.client, { address, port, everyMs: EVERY_MS, seconds });

  /** what became of the exclusive address, once at least so many changes were seen: who looks on may get its turn later than the kernel changes */
  const changesOf = (routes: RouteWatch, sinceMs: number, least: number) =>
    untilValue(
      `${least} changes`,
      () => routes.events(EXCLUSIVE).filter(({ atMs }) => atMs >= sinceMs),
      (events) => events.length >= least,
    );

  it('reaches pods behind both nodes, on every port of the Service (C1, C21, C30)', async () => {
    for (const port of [80, 443]) {
      const prober = await probe(ANYCAST, port, 20);
      await untilValue(
        `both answer on ${port}`,
        () => [...new Set(prober.read().flatMap(({ who }) => who ?? []))].sort().join(' '),
        (who) => who === 'p1 p2',
      );
      await prober.stop();
    }
  });

  it('loses no probe through planned moves, and the kernel has one next hop all the while (H39)', async () => {
    const routes = await RouteWatch.start(world.router);
    const prober = await probe(EXCLUSIVE, 80, 900);
    const fromMs = nowMs();
    for (let move = 0; move < MOVES; move += 1) {
      const [from = ''] = await world.hops(EXCLUSIVE);
      const index = from === nodeAddress(1) ? 1 : 2;
      await cluster.setNode(`n${index}`, { labels: { [EXCLUDE_LABEL]: '' } });
      await world.reachedBy(EXCLUSIVE, (hops) => hops === nodeAddress(3 - index));
      await cluster.setNode(`n${index}`, { labels: { [EXCLUDE_LABEL]: null } });
      // the old one has left, so that the next move finds everything at rest
      await untilValue(
        'one label',
        async () =>
          Object.keys((await cluster.api.get(IP_CLAIMS, EXCLUSIVE)).metadata.labels ?? {}).filter(
            (key) => key.startsWith('node.herald.dev/'),
          ),
        (labels) => labels.length === 1,
        { timeoutMs: 60_000 },
      );
    }
    const outage = await prober.outage(fromMs, nowMs());
    await prober.stop();
    const events = await changesOf(routes, fromMs, MOVES);
    await routes.stop();
    const said = `${JSON.stringify(outage)}\n${JSON.stringify(events)}\n${world.edge.log().slice(-1500)}`;
    expect(outage.lost, said).to.equal(0);
    expect(events.filter(({ gateways }) => gateways.length !== 1)).to.deep.equal([]);
  });

  it('loses no probe when the agent of its node is stopped: another node has it before it goes', async () => {
    const routes = await RouteWatch.start(world.router);
    const prober = await probe(EXCLUSIVE, 80, 120);
    const fromMs = nowMs();
    const [from = ''] = await world.hops(EXCLUSIVE);
    const index = from === nodeAddress(1) ? 1 : 2;
    const agent = world.runs.findLast(({ name }) => name === `agent-n${index}`);
    expect(await agent?.stop(30_000)).to.equal(0);
    await world.reachedBy(EXCLUSIVE, (hops) => hops === nodeAddress(3 - index));
    const outage = await prober.outage(fromMs, nowMs());
    await prober.stop();
    const events = await changesOf(routes, fromMs, 1);
    await routes.stop();
    expect(outage.reasons, JSON.stringify(events)).to.deep.equal({});
    expect(events.filter(({ gateways }) => gateways.length !== 1)).to.deep.equal([]);
    await world.startAgent(index);
    await world.reachedBy(ANYCAST, (hops) => hops === BOTH);
  });

  it('a node whose cable is cut loses its exclusive address to another, though its agent lives (A2)', async () => {
    const [from = ''] = await world.hops(EXCLUSIVE);
    const index = from === nodeAddress(1) ? 1 : 2;
    const renewed = async () => {
      const lease = await cluster.api.get(LEASES, `node-n${index}`);
      return String(at(lease, 'spec', 'renewTime'));
    };
    await world.setUplink(index, 'down');
    try {
      const atCut = await renewed();
      await world.reachedBy(EXCLUSIVE, (hops) => hops === nodeAddress(3 - index));
      const prober = await probe(EXCLUSIVE, 80, 60);
      await untilValue(
        'the pod of the other node answers',
        () => prober.read().at(-1)?.who ?? '',
        (who) => who === `p${3 - index}`,
      );
      await prober.stop();
      // the agent is not dead: it says so all the while, and after the move too
      const atMove = await renewed();
      expect(atMove > atCut, `${atCut}, then ${atMove}`).to.equal(true);
      await untilValue('it lives on', renewed, (now) => now > atMove, { timeoutMs: 30_000 });
    } finally {
      await world.setUplink(index, 'up');
    }
    await world.reachedBy(ANYCAST, (hops) => hops === BOTH);
    expect(await world.hops(EXCLUSIVE), 'it does not go back').to.deep.equal([
      nodeAddress(3 - index),
    ]);
  });

  it('keeps every route while the API server is dead, and nothing flaps when it is back', async () => {
    const [server] = cluster.servers;
    const routes = await RouteWatch.start(world.router);
    const prober = await probe(ANYCAST, 80, (DEAD_MS + AFTER_MS) / 1000 + 120);
    const tableBefore = anycastOf(await world.table());
    expect(tableBefore).to.have.lengthOf(2);
    const fromMs = nowMs();
    await server?.kill();
    await passes(DEAD_MS);
    expectSame(anycastOf(await world.table()), tableBefore);
    await server?.start();
    await passes(AFTER_MS);
    expectSame(anycastOf(await world.table()), tableBefore);
    expect(routes.events(ANYCAST).filter(({ atMs }) => atMs >= fromMs)).to.deep.equal([]);
    const outage = await prober.outage(fromMs, nowMs());
    expect(outage.lost, JSON.stringify(outage)).to.equal(0);
    expect(Object.keys(outage.answeredBy).sort()).to.deep.equal(['p1', 'p2']);
    await Promise.all([prober.stop(), routes.stop()]);
    // and they go on with what they hear
    await cluster.api.delete(inNamespace(SERVICES, 'default'), 'nginx');
    await world.reachedBy(ANYCAST, (hops) => hops === '');
  });
});

interface Path {
  readonly neighbour: string;
  readonly sinceMs: number;
}

/** Both paths: neighbour, and since when. */
function anycastOf(table: string): Path[] {
  const block = table.split(/^(?=\d)/m).find((each) => each.startsWith(ANYCAST)) ?? '';
  return [...block.matchAll(/\[(\S+) ([\d:.]+)/g)].map(([, neighbour = '', since = '']) => ({
    neighbour,
    sinceMs: Date.parse(`1970-01-01T${since}Z`),
  }));
}

/** Of the same moment: BIRD works it out anew each time, and may be off by a millisecond. */
function expectSame(now: readonly Path[], before: readonly Path[]): void {
  const names = (paths: readonly Path[]) => paths.map(({ neighbour }) => neighbour);
  expect(names(now)).to.deep.equal(names(before));
  for (const [index, { sinceMs }] of now.entries())
    expect(sinceMs, 'since when').to.be.closeTo(before[index]?.sinceMs ?? Number.NaN, 20);
}
