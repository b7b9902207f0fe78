/**
 * 0.1 and this release beside each other (`make skew`, minutes; no part of the rings): old controller with new agents and the reverse, upgrade and rollback of each
 * while the other stays, in both orders. Exclusive and anycast addresses are looked at in the tables of two routers all the while, one of another AS
 * and one of the same: never two equal paths to an exclusive address, never none to any.
 * version-skew-traffic.ts has fewer addresses and a client that sends packets to them.
 */

import { expect } from 'chai';
import { nodeLabel } from '../../src/model/names.ts';
import type { KubeObject } from '../../src/sources/kube/api.ts';
import { IP_CLAIMS, IP_NODES, NODES } from '../../src/sources/kube/resources.ts';
import { claimBody } from '../support/fake-agents.ts';
import { passes, untilValue } from '../support/poll.ts';
import { poolBody } from './support/agent-documents.ts';
import { type BirdRouter, startBird } from './support/bird.ts';
import { at, type Cluster, conditionOf, startCluster } from './support/cluster.ts';
import { BASE, FullRun, Sampler } from './support/full-run.ts';
import { AGENT_ASN, loopbackPeer, nodeSource } from './support/loopback.ts';
import { type OldRelease, oldRelease } from './support/old-release.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';
import { type Table, TwoRouters } from './support/two-routers.ts';

const ALL = ['a', 'b', 'c'];
const range = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => `198.18.${from}.${index + 1}`);
const EXCLUSIVE = range(0, 30);
const ANYCAST = range(1, 10);
const PATIENTLY = { timeoutMs: 180_000, everyMs: 100 };
/** the default; 0.1 withdraws then, whatever has become of the claim, so its agents are drained only while a controller works (docs/decisions/0036) */
const WAIT_SECONDS = 10;
const PROBE = '198.18.0.200';
/** a stop of this release may take as long as its pod has */
const STOP_MS = 70_000;

type Age = 'old' | 'new';

const isAlive = (node: KubeObject) => at(conditionOf(node, 'AgentAlive'), 'status') === 'True';

describe('0.1 and this release beside each other', function () {
  this.timeout(1_200_000);
  let world: FullRun;
  let cluster: Cluster;
  let old: OldRelease;
  let inside: BirdRouter;
  let routers: TwoRouters;
  let sampler: Sampler<Table>;
  let controllers = 0;
  let leader = '';

  before(async function () {
    skipWithoutCluster(this, { bird: true });
    old = await oldRelease();
    cluster = await startCluster({});
    await cluster.installCrds(old.crds);
    await cluster.applyKustomization(old.base);
    const bird = await startBird({ folder: cluster.folder });
    const { folder } = cluster;
    inside = await startBird({ folder, asn: AGENT_ASN, neighbourAsn: AGENT_ASN });
    world = new FullRun(cluster, bird, ALL);
    await world.furnish();
    await cluster.applyObjects(
      loopbackPeer('inside', inside, ALL),
      poolBody('exclusive', ['198.18.0.0/24'], {
        placement: { mode: 'exclusive', nodeFilter: 'fair' },
        drain: { on: ['stop', 'cordon'], waitSeconds: WAIT_SECONDS },
      }),
      poolBody('anycast', ['198.18.1.0/24'], {
        drain: { on: ['stop', 'cordon'], waitSeconds: WAIT_SECONDS },
      }),
    );
    routers = new TwoRouters({
      far: bird,
      near: inside,
      nodeOf: (from) => ALL.find((_, index) => nodeSource(index) === from) ?? from,
      exclusive: EXCLUSIVE,
      anycast: ANYCAST,
    });
    await lead('old');
    await Promise.all(ALL.map((node) => run(node, 'old')));
    for (const name of [...EXCLUSIVE, ...ANYCAST]) {
      await cluster.api.create(IP_CLAIMS, claimBody(name));
    }
    await settled(ALL);
  });

  beforeEach(() => {
    sampler = new Sampler(() => routers.look());
  });

  afterEach(async function () {
    const failed = this.currentTest?.state === 'failed';
    await sampler.stop();
    if (failed) process.stderr.write(`${world.logs()}\n`);
  });

  after(async () => {
    await inside?.kill();
    await world?.stop();
  });

  const programOf = (age: Age) => (age === 'old' ? old.program : undefined);

  async function run(node: string, age: Age): Promise<void> {
    await world.agent(node, [], programOf(age));
  }

  /** as a Deployment does it: the next one is there before the last one goes */
  async function lead(age: Age): Promise<void> {
    const before = leader;
    controllers += 1;
    leader = `${age}-${controllers}`;
    await world.controller(leader, [], programOf(age));
    if (before === '') return;
    await passes(1000);
    await world.controllers.get(before)?.stop(STOP_MS);
    world.controllers.delete(before);
    await works();
  }

  /** it leads, and counts on the nodes: a claim is placed, and taken away again */
  async function works(): Promise<void> {
    await cluster.api.create(IP_CLAIMS, claimBody(PROBE));
    const isThere = async () => (await routers.look()).has(`far ${PROBE}`);
    await untilValue('a new claim is placed', isThere, (is) => is, PATIENTLY);
    await cluster.api.delete(IP_CLAIMS, PROBE);
    await untilValue('and gone', isThere, (is) => !is, PATIENTLY);
    await untilValue(
      'every agent is counted on',
      async () => (await cluster.api.list(IP_NODES)).items.filter(isAlive).length,
      (alive) => alive === ALL.length,
      PATIENTLY,
    );
  }

  /** as a DaemonSet does it, one node after the other */
  async function roll(age: Age): Promise<void> {
    for (const node of ALL) {
      await world.agents.get(node)?.stop(STOP_MS);
      await run(node, age);
      await settled(ALL);
    }
  }

  /** every exclusive address has one path, of one of these; anycast ones have all of them */
  async function settled(nodes: readonly string[]): Promise<void> {
    const isSettled = (left: readonly string[]) => left.length === 0;
    await untilValue(`all is with ${nodes}`, () => routers.unsettled(nodes), isSettled, PATIENTLY);
  }

  /** by a cordon, there and back */
  async function drain(node: string): Promise<void> {
    const cordon = (unschedulable: boolean) =>
      cluster.api.patch(NODES, node, { kind: 'merge', body: { spec: { unschedulable } } });
    await cordon(true);
    await settled(ALL.filter((each) => each !== node));
    await cordon(false);
    await settled(ALL);
  }

  /** what a router saw since the test began */
  async function nothingWrong(): Promise<void> {
    const samples = await sampler.stop();
    expect(samples.length, 'looks at the tables').to.be.above(20);
    expect(routers.wrongIn(samples)).to.deep.equal([]);
  }

  /** a holder of the other release on each side of a move */
  async function moves(): Promise<void> {
    for (const node of ALL) await drain(node);
  }

  const ORDERS: readonly (readonly [string, () => Promise<void>])[] = [
    ['the CRDs and roles of this release beside 0.1', () => install('new')],
    [
      'an old controller, agents upgraded one by one, drains between them',
      () => roll('new').then(moves),
    ],
    ['the controller upgraded last', () => lead('new').then(moves)],
    ['a new controller, agents rolled back one by one', () => roll('old').then(moves)],
    ['the controller rolled back last', () => lead('old').then(moves)],
    ['the controller upgraded first, as the pages say', () => lead('new').then(moves)],
    ['agents upgraded after it', () => roll('new').then(moves)],
    ['the controller rolled back first', () => lead('old').then(moves)],
    ['agents rolled back after it, under an old controller', () => roll('old').then(moves)],
    ['the roles of 0.1 again', () => install('old')],
  ];
  for (const [name, act] of ORDERS) {
    it(name, async () => {
      await act();
      await nothingWrong();
    });
  }

  async function install(age: Age): Promise<void> {
    if (age === 'new') await cluster.installCrds();
    await cluster.applyKustomization(age === 'old' ? old.base : BASE);
    await passes(3000);
    await drain('a');
    const claims = (await cluster.api.list(IP_CLAIMS)).items;
    const labels = claims.map(({ metadata }) => Object.keys(metadata.labels ?? {}));
    expect(labels.flat()).to.include(nodeLabel('b'));
  }
});
