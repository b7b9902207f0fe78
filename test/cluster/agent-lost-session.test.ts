/**
 * The holder of an exclusive address lives and loses a session without a word to the router, which keeps its routes over what it takes for a restart
 * (RFC 4724). The router's own table is sampled: nobody else stands at the same preference until the router has forgotten them.
 */

import { connect, createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { BGP_PEERS, IP_CLAIMS, NODES } from '../../src/sources/kube/resources.ts';
import { claimBody } from '../support/fake-agents.ts';
import { poolBody } from './support/agent-documents.ts';
import { untilIpNode } from './support/agent-run.ts';
import { type BirdRouter, startBird } from './support/bird.ts';
import { absentAt, equalAt, FullRun } from './support/full-run.ts';
import { type LoopbackRouter, loopbackPeer, nodeSource } from './support/loopback.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const ALL = ['a', 'b'];
const [HOLDER = ''] = ALL;
const VIP = '198.51.100.3';
const RESTART_SECONDS = 12;
const LATER = { timeoutMs: 120_000, everyMs: 50 };

/** Between the holder and a router: what it carries can be reset on both sides, and nothing comes through then. */
class Wire {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  private constructor(router: LoopbackRouter) {
    this.#server = createServer((near) => {
      if (this.#isCut) {
        near.resetAndDestroy();
        return;
      }
      const { address: host, port } = router;
      const far = connect({ host, port, localAddress: nodeSource(0) });
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(one);
        one.on('error', () => undefined);
        one.on('close', () => other.destroy());
        one.pipe(other);
      }
    });
  }

  static async to(router: LoopbackRouter): Promise<Wire> {
    const wire = new Wire(router);
    await new Promise<void>((resolve) => wire.#server.listen(0, '127.0.0.1', resolve));
    return wire;
  }

  get port(): number {
    const bound = this.#server.address();
    return typeof bound === 'object' && bound !== null ? bound.port : 0;
  }

  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.resetAndDestroy();
    this.#sockets.clear();
  }

  mend(): void {
    this.#isCut = false;
  }

  close(): void {
    this.cut();
    this.#server.close();
  }
}

/** Peers of the router, one per node; `port`: where the holder dials. */
function peerBodies(name: string, router: LoopbackRouter, port = router.port): readonly object[] {
  const gracefulRestart = { restartSeconds: RESTART_SECONDS };
  return ALL.map((node, index) =>
    loopbackPeer(`${name}-${node}`, router, [], {
      gracefulRestart,
      nodeSelector: { matchLabels: { 'kubernetes.io/hostname': node } },
      sourceAddress: nodeSource(index),
      ...(node === HOLDER && { port }),
    }),
  );
}

describe('a holder that loses a session and lives', function () {
  this.timeout(400_000);
  let world: FullRun;
  let second: BirdRouter;
  let wire: Wire;

  const sessionsUp = (count: number) => (node: string) =>
    untilIpNode({ cluster: world.cluster, node }, `${count} sessions are up`, ({ status }) => {
      const isAlive = status.conditions?.some(
        ({ type, status: is }) => type === 'AgentAlive' && is === 'True',
      );
      const up = status.sessions?.filter(({ state }) => state === 'Established') ?? [];
      return isAlive === true && up.length === count;
    });

  before(async function () {
    skipWithoutCluster(this, { bird: true });
    world = await FullRun.start(ALL);
    const { cluster, bird } = world;
    wire = await Wire.to(bird);
    await cluster.api.delete(BGP_PEERS, 'bird');
    await cluster.applyObjects(
      ...peerBodies('first', bird, wire.port),
      poolBody('p', ['198.51.100.0/28'], {
        placement: { mode: 'exclusive', nodeFilter: 'first-alive' },
        drain: { on: ['cordon'], waitSeconds: 1 },
      }),
    );
    await world.controller('one');
    for (const node of ALL) await world.agent(node);
    await Promise.all(ALL.map(sessionsUp(1)));
    await cluster.api.create(IP_CLAIMS, claimBody(VIP));
    await world.heldBy(VIP, HOLDER);
  });

  afterEach(function () {
    if (this.currentTest?.state === 'failed') process.stderr.write(`${world.logs()}\n`);
  });

  after(async () => {
    wire?.close();
    await second?.kill();
    await world?.stop();
  });

  const cordon = (node: string, unschedulable: boolean) =>
    world.cluster.api.patch(NODES, node, { kind: 'merge', body: { spec: { unschedulable } } });

  it('keeps the address until its only router has forgotten it, and then another node has it', async () => {
    const sampler = world.sample();
    wire.cut();
    await world.heldBy(VIP, 'b', LATER);
    const samples = await sampler.stop();
    wire.mend();
    await Promise.all(ALL.map(sessionsUp(1)));
    expect(equalAt(samples), 'two paths of equal preference').to.deep.equal([]);
  });

  /** the holder has the address again, and a BGPPeer of this name for the router that it will lose */
  async function holdAgain(name: string): Promise<void> {
    const { cluster, bird } = world;
    const [body] = peerBodies(name, bird, wire.port);
    if (body !== undefined) await cluster.applyObjects(body);
    await sessionsUp(1)(HOLDER);
    await cordon('b', true);
    await world.heldBy(VIP, HOLDER, LATER);
    await cordon('b', false);
  }

  it('does so where its BGPPeer was renamed before, and where it is deleted then', async () => {
    const { cluster } = world;
    await holdAgain('renamed');
    await cluster.api.delete(BGP_PEERS, `first-${HOLDER}`);
    await untilIpNode({ cluster, node: HOLDER }, 'the session has its new name', ({ status }) => {
      const [session, ...others] = status.sessions ?? [];
      return others.length === 0 && session?.peer === `renamed-${HOLDER}`;
    });
    const renamed = world.sample();
    wire.cut();
    await world.heldBy(VIP, 'b', LATER);
    expect(equalAt(await renamed.stop()), 'two equal paths, renamed').to.deep.equal([]);
    wire.mend();
    await holdAgain('renamed');
    const deleted = world.sample();
    wire.cut();
    await sessionsUp(0)(HOLDER);
    await cluster.api.delete(BGP_PEERS, `renamed-${HOLDER}`);
    await world.heldBy(VIP, 'b', LATER);
    expect(equalAt(await deleted.stop()), 'two equal paths, deleted').to.deep.equal([]);
    wire.mend();
    await holdAgain('first');
    await cordon(HOLDER, true);
    await world.heldBy(VIP, 'b', LATER);
    await cordon(HOLDER, false);
  });

  it('hands it over in a drain only when the router that cannot be told has forgotten it', async () => {
    const { cluster } = world;
    await cordon('b', true);
    await world.heldBy(VIP, HOLDER, LATER);
    await cordon('b', false);
    second = await startBird({
      folder: cluster.folder,
      address: '127.0.0.2',
      routerId: '192.0.2.253',
      asn: 64_501,
    });
    await cluster.applyObjects(...peerBodies('second', second));
    await Promise.all(ALL.map(sessionsUp(2)));
    const samplers = [world.sample(), world.sample(second)];
    wire.cut();
    await sessionsUp(1)(HOLDER);
    await cordon(HOLDER, true);
    await world.heldBy(VIP, 'b', LATER);
    const [at, atSecond] = await Promise.all(samplers.map((each) => each.stop()));
    expect(equalAt(at ?? []), 'two equal paths at the router that lost it').to.deep.equal([]);
    expect(equalAt(atSecond ?? []), 'two equal paths at the other').to.deep.equal([]);
    expect(absentAt(atSecond ?? [], [VIP]), 'no path at the other').to.deep.equal([]);
  });
});
