/** The routers of cluster tests and the program under test: what is announced on loopback is seen, by whom, with what, and when. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSpeaker, ipv4, ipv6, prefix, routerId, type Speaker } from 'bgp-ts';
import { expect } from 'chai';
import { nowMs } from '../../tools/probe/monotonic.ts';
import { untilValue } from '../support/poll.ts';
import { type BirdRouter, startBird } from './support/bird.ts';
import { startHerald } from './support/herald-run.ts';
import { AGENT_ASN, type LoopbackRouter, nodeSource } from './support/loopback.ts';
import { type ReceivingRouter, startReceivingRouter } from './support/receiving-router.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';
import { freePorts } from './support/servers.ts';

const V4 = '198.51.100.7/32';
const V6 = '2001:db8::7/128';
/** so long that the router's thread has its turn meanwhile, whoever else wants the processors */
const BUSY_MS = 6000;

/** What an agent does, without an agent: from the address of a node to these routers. */
class Node {
  readonly #speaker: Speaker = createSpeaker();
  readonly #routers: readonly LoopbackRouter[];
  readonly source: string;

  constructor(index: number, routers: readonly LoopbackRouter[]) {
    this.#routers = routers;
    this.source = nodeSource(index);
  }

  announce(prefixes: readonly string[], med: number): void {
    const attributes = { med, communities: [0xffff0000] };
    const routes = prefixes.map((each) => ({ prefix: prefix(each), attributes }));
    this.#speaker.apply({
      peers: this.#routers.map(({ address, port, asn }) => ({
        settings: {
          name: `${address}:${port}`,
          address: ipv4(address),
          port,
          localAsn: AGENT_ASN,
          peerAsn: asn,
          routerId: routerId(this.source),
          sourceAddress: ipv4(this.source),
          ttl: { kind: 'hops', hops: 2 },
          nextHop: { ipv4: ipv4(this.source), ipv6: ipv6('fd00::1') },
          timers: { connectRetrySeconds: 1 },
        },
        routes,
      })),
    });
  }

  stop(): Promise<void> {
    return this.#speaker.stop({ kind: 'shutdown', deadlineMs: 500 });
  }
}

describe('routers for cluster tests', () => {
  let folder: string;
  let bird: BirdRouter;
  let receiver: ReceivingRouter;
  let nodes: Node[] = [];

  before(async function start() {
    skipWithoutCluster(this, { bird: true });
    folder = mkdtempSync(join(tmpdir(), 'herald-routers-'));
    bird = await startBird({ folder });
    receiver = await startReceivingRouter();
  });

  beforeEach(() => {
    nodes = [0, 1].map((index) => new Node(index, [bird, receiver]));
  });

  afterEach(async () => {
    await Promise.all(nodes.map((node) => node.stop()));
    await untilValue(
      'all sessions are gone',
      () => bird.established(),
      (up) => up.length === 0,
    );
    await receiver.waitFor('no sessions', () => receiver.established.length === 0);
    receiver.forget();
  });

  after(async () => {
    await bird?.kill();
    await receiver?.stop();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });

  it('both have what two nodes announce, path by path', async () => {
    for (const [index, node] of nodes.entries()) node.announce([V4, V6], index * 10);
    const paths = await untilValue(
      'BIRD has both paths',
      () => bird.routes(V4),
      (routes) => routes.length === 2,
    );
    const [best] = paths.filter(({ isBest }) => isBest);
    expect(best).to.deep.include({ prefix: V4, from: '127.0.1.1', nextHop: '127.0.1.1', med: 0 });
    expect(best?.communities).to.deep.equal(['65535:0']);
    expect(paths.map(({ from, med }) => `${from} ${med}`).sort()).to.deep.equal([
      '127.0.1.1 0',
      '127.0.1.2 10',
    ]);
    await untilValue(
      'BIRD has four',
      () => bird.count(),
      (count) => count === 4,
    );
    expect(await bird.has(V6)).to.equal(true);
    expect(await bird.has('198.51.100.70/32')).to.equal(false);
    expect(await bird.established()).to.deep.equal(['127.0.1.1', '127.0.1.2']);
    const hasBoth = (each: string) => receiver.paths(each).length === 2;
    await receiver.waitFor('both paths of each', () => [V4, V6].every(hasBoth));
    const [path] = receiver.paths(V4).filter(({ peer }) => peer === '127.0.1.2');
    expect(path?.attributes).to.deep.include({ med: 10, communities: ['65535:0'] });
    expect(receiver.prefixes).to.have.members([V4, V6]);
  });

  it('knows when a route came and went, on a clock that all share', async () => {
    const [node] = nodes;
    node?.announce([], 0);
    await receiver.waitFor('the session', () => receiver.established.includes('127.0.1.1'));
    const announcedAt = nowMs();
    node?.announce([V4], 0);
    const arrivedAt = await receiver.arrival(V4, { sinceMs: announcedAt });
    expect(arrivedAt).to.be.within(announcedAt, nowMs());
    const withdrawnAt = nowMs();
    node?.announce([], 0);
    const goneAt = await receiver.departure(V4, { peer: '127.0.1.1', sinceMs: withdrawnAt });
    expect(goneAt).to.be.within(withdrawnAt, nowMs());
    expect(receiver.prefixes).to.deep.equal([]);
    expect(receiver.history.map(({ kind }) => kind)).to.deep.equal(['announced', 'withdrawn']);
  });

  it('stamps routes in time while the test itself is busy', async () => {
    const [node] = nodes;
    node?.announce([], 0);
    await receiver.waitFor('the session', () => receiver.established.includes('127.0.1.1'));
    node?.announce([V4], 0);
    const arrivedAt = await receiver.arrival(V4);
    // our speaker wrote it in the same turn; from here on nobody in this thread reads anything
    node?.announce([], 0);
    await new Promise(setImmediate);
    const busyFrom = nowMs();
    while (nowMs() - busyFrom < BUSY_MS);
    const busyUntil = nowMs();
    const goneAt = await receiver.departure(V4, { sinceMs: arrivedAt });
    expect(goneAt).to.be.lessThan(busyUntil);
  });

  it('tells that a route is gone with its session', async () => {
    const [node] = nodes;
    node?.announce([V4], 0);
    await receiver.arrival(V4);
    await node?.stop();
    await receiver.departure(V4);
    await untilValue(
      'BIRD has none',
      () => bird.count(),
      (count) => count === 0,
    );
  });

  it('runs herald, hears it, freezes it and ends it', async () => {
    const options = { folder, kubeconfig: '/nowhere' };
    const help = startHerald(['router', '--help'], { name: 'help', ...options });
    expect(await help.ended).to.equal(0);
    expect(help.log()).to.match(/usage: herald router/);
    const [port] = await freePorts(1);
    const own = ['--asn', '64500', '--router-id', '192.0.2.1', '--listen', `127.0.0.1:${port}`];
    const args = ['router', ...own, '--neighbor-range', '127.0.0.0/8'];
    const router = startHerald(args, { name: 'router', ...options });
    await untilValue(
      'it says that it listens',
      () => router.log(),
      (log) => log.includes(String(port)),
    );
    expect(router.residentMegabytes()).to.be.within(10, 500);
    expect(router.cpuSeconds()).to.be.greaterThan(0);
    const state = () => readFileSync(`/proc/${router.pid}/stat`, 'utf8').split(') ')[1]?.[0];
    router.freeze();
    await untilValue('it stands still', state, (is) => is === 'T');
    router.thaw();
    await untilValue('it goes on', state, (is) => is !== 'T');
    expect(await router.stop()).to.equal(0);
  });
});
