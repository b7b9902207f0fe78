/**
 * Where exclusive claims go, on a real API server (SEEDS A10, A11, A15–A17, A20, C34 E11 and E12, H4–H7, H13, H22, H39). The routers' side of
 * a move is in the tests with real agents; here it is what nodes are told, in which order.
 */

import { expect } from 'chai';
import { nodeLease, RELEASED_BY_ANNOTATION } from '../../src/model/names.ts';
import {
  IP_CLAIMS,
  IP_NODES,
  IP_POOLS,
  inNamespace,
  LEASES,
  SERVICES,
} from '../../src/sources/kube/resources.ts';
import { claimBody, claimName, exclusivePool } from '../support/fake-agents.ts';
import { passes, untilValue } from '../support/poll.ts';
import { at, type Cluster, conditionOf, startCluster } from './support/cluster.ts';
import { startHerald } from './support/herald-run.ts';
import { holderOf, levelsOf, PlacementWorld, QUICK } from './support/placement-world.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const PATIENT = { timeoutMs: 60_000 };

type Recording = Awaited<ReturnType<PlacementWorld['record']>>;

const { HERALD_TEST_LONG = '' } = process.env;
const IS_LONG = HERALD_TEST_LONG !== '';

describe('placement of exclusive claims', function () {
  this.timeout(420_000);
  let cluster: Cluster;
  let world: PlacementWorld;

  before(async function start() {
    skipWithoutCluster(this);
    cluster = await startCluster();
    await cluster.installCrds();
  });

  afterEach(async () => {
    world?.stop();
    await cluster?.reset();
  });
  after(() => cluster?.stop());

  async function begin(
    nodes: readonly string[] = ['a', 'b', 'c'],
    pool: object = exclusivePool('p'),
  ): Promise<void> {
    world = new PlacementWorld(cluster, QUICK);
    await world.lead();
    await cluster.api.create(IP_POOLS, pool);
    await world.join(...nodes);
  }

  async function claim(
    count: number,
    labels: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    await Promise.all(
      Array.from({ length: count }, (_, index) =>
        cluster.api.create(IP_CLAIMS, claimBody(claimName(index), {}, labels)),
      ),
    );
  }

  const movesSince = (mark: ReturnType<Cluster['auditMark']>) =>
    cluster
      .audit(mark)
      .filter(
        ({ verb, resource, subresource, code }) =>
          verb === 'patch' && resource === 'ipclaims' && subresource === undefined && code === 200,
      );

  const aliveOf = async (name: string) =>
    JSON.stringify(conditionOf(await cluster.api.get(IP_NODES, name), 'AgentAlive') ?? {});

  /** who has not been seen to renew twice gets nothing yet, and nothing evens that out */
  async function allLive(...names: readonly string[]): Promise<void> {
    await untilValue(
      `${names.join(' ')} live`,
      () => Promise.all(names.map(aliveOf)),
      (found) => found.every((each) => each.includes('"True"')),
      PATIENT,
    );
  }

  /** until then it says that it lives, as before */
  async function foundDead(name: string): Promise<void> {
    await untilValue(
      `${name} is found dead`,
      () => aliveOf(name),
      (found) => found.includes('"False"'),
      PATIENT,
    );
  }

  /** a watch may lag behind what a list shows */
  async function hasSeenTheEnd({ states }: Recording): Promise<void> {
    const ends = (await world.claims()).map(
      (each) => [each.metadata.name, levelsOf(each)] as const,
    );
    await untilValue(
      'the recording has come to the end, too',
      () => ends.filter(([name, end]) => states.get(name)?.at(-1) !== end),
      (missing) => missing.length === 0,
    );
  }

  it('spreads 100 Services that come at once as 33, 33 and 34 (A10)', async () => {
    await begin();
    await world.control({ services: true });
    await allLive('a', 'b', 'c');
    const namespace = await cluster.namespace();
    await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        cluster.addService({ namespace, name: `s${index}` }),
      ),
    );
    await world.settled([33, 33, 34]);
  });

  it('puts all on the first living node, and nothing flaps when it is back (A11, E12, H22)', async () => {
    const placement = { mode: 'exclusive', nodeFilter: 'first-alive' };
    await begin(['a', 'b', 'c'], exclusivePool('p', { placement }));
    await world.control();
    await allLive('a', 'b', 'c');
    await claim(12);
    await world.settled([12, 0, 0]);
    expect((await world.loads())['a']).to.equal(12);
    world.agent('a').isSilent = true;
    await untilValue(
      'all are on b',
      () => world.loads(),
      ({ b }) => b === 12,
      PATIENT,
    );
    await world.settled([12, 0, 0]);
    await foundDead('a');
    const mark = cluster.auditMark();
    world.agent('a').isSilent = false;
    await untilValue(
      'a lives',
      () => aliveOf('a'),
      (found) => found.includes('"True"'),
      PATIENT,
    );
    expect(movesSince(mark)).to.deep.equal([]);
  });

  it('moves all claims of a dead node, three times over, with one write each; other labels stay (A16, H13)', async () => {
    await begin();
    await world.control();
    await allLive('a', 'b', 'c');
    await claim(30, { 'example.com/mine': 'yes', 'herald.dev/pool': 'p' });
    await world.settled([10, 10, 10]);
    for (const lost of ['a', 'b', 'c']) {
      const held = (await world.loads())[lost] ?? 0;
      const mark = cluster.auditMark();
      world.agent(lost).isSilent = true;
      await untilValue(
        `${lost} has none`,
        () => world.loads(),
        (loads) => loads[lost] === 0,
        PATIENT,
      );
      // the log of the server comes after its answer
      await untilValue(
        `the writes for ${lost}`,
        () => movesSince(mark).length,
        (count) => count >= held,
      );
      expect(movesSince(mark).length, `writes for ${lost}`).to.equal(held);
      await foundDead(lost);
      world.agent(lost).isSilent = false;
      await untilValue(
        `${lost} lives`,
        () => aliveOf(lost),
        (found) => found.includes('"True"'),
        PATIENT,
      );
    }
    for (const each of await world.claims()) {
      expect(each.metadata.labels).to.include({
        'example.com/mine': 'yes',
        'herald.dev/pool': 'p',
      });
      expect(levelsOf(each)).to.equal(`${holderOf(each)}=0`);
    }
  });

  /** longer than the silence that makes a node dead: only that nobody at all is heard can spare them; with fewer than three there is no majority to go by */
  const STALLS: readonly (readonly [number, readonly string[]])[] = IS_LONG
    ? [
        [10, ['a', 'b', 'c']],
        [40, ['a', 'b', 'c']],
        [40, ['a', 'b']],
        [40, ['a']],
      ]
    : [[10, ['a', 'b', 'c']]];

  for (const [seconds, nodes] of STALLS) {
    const title = nodes.length === 3 ? '' : ` with ${nodes.length} nodes`;
    it(`moves nothing when etcd stands still for ${seconds} s${title} (A15, H7)`, async () => {
      world = new PlacementWorld(cluster);
      await world.lead();
      await cluster.api.create(IP_POOLS, exclusivePool('p'));
      await world.join(...nodes);
      await world.control();
      await allLive(...nodes);
      await claim(30);
      await world.settled(nodes.map(() => 30 / nodes.length));
      const mark = cluster.auditMark();
      cluster.etcd.freeze();
      await passes(seconds * 1000);
      cluster.etcd.thaw();
      await passes(17_000);
      expect(movesSince(mark)).to.deep.equal([]);
      for (const name of nodes) expect(await aliveOf(name)).to.include('"True"');
    });
  }

  it('gives a dead node nothing after a restart, and keeps what lives as it is (A17, H4, E11)', async () => {
    await begin();
    const stop = await world.control();
    await allLive('a', 'b', 'c');
    await claim(30);
    await world.settled([10, 10, 10]);
    const before = new Map(
      (await world.claims()).map((each) => [each.metadata.name, holderOf(each)]),
    );
    world.agent('c').isSilent = true;
    stop();
    const recording = await world.record();
    await world.control();
    const late = [30, 31, 32, 33].map(claimName);
    for (const name of late) await cluster.api.create(IP_CLAIMS, claimBody(name));
    await untilValue(
      'c has none',
      () => world.loads(),
      ({ c }) => c === 0,
      PATIENT,
    );
    await world.settled([17, 17, 0]);
    await hasSeenTheEnd(recording);
    recording.stop();
    for (const name of late) expect(recording.states.get(name)?.join()).not.to.include('c=');
    for (const [name, holder] of before) {
      if (holder === 'c') continue;
      expect(recording.states.get(name), name).to.deep.equal([`${holder}=0`]);
    }
  });

  it('lets a draining node step down, the new one step up, the old one leave (H39)', async () => {
    await begin();
    await world.control();
    await allLive('a', 'b', 'c');
    await claim(30);
    await world.settled([10, 10, 10]);
    const recording = await world.record();
    await world.agent('a').setDraining('by hand');
    await world.settled([0, 15, 15]);
    await hasSeenTheEnd(recording);
    recording.stop();
    let moves = 0;
    for (const [name, states] of recording.states) {
      if (states[0] !== 'a=0') continue;
      moves += 1;
      const to = states.at(-1)?.slice(0, 1);
      expect(states, name).to.deep.equal(['a=0', 'a=2', `a=2 ${to}=0`, `${to}=0`]);
    }
    expect(moves).to.equal(10);
  });

  it('takes a claim from a holder that says that it refuses it, step by step to the one that can', async () => {
    await begin();
    await world.control();
    await allLive('a', 'b', 'c');
    const name = claimName(0);
    for (const node of ['a', 'b']) world.agent(node).refusing.add(name);
    const recording = await world.record();
    await claim(1);
    await untilValue(
      'it is with c alone',
      () => recording.states.get(name) ?? [],
      (states) => states.at(-1) === 'c=0',
      PATIENT,
    );
    recording.stop();
    const placed = recording.states.get(name)?.filter((levels) => levels !== '');
    expect(placed).to.deep.equal(['a=0', 'a=2', 'b=0', 'b=2', 'c=0']);
  });

  it('moves nothing when IPNode and Lease of a living agent are deleted (H5)', async () => {
    await begin();
    await world.control();
    await allLive('a', 'b', 'c');
    await claim(9);
    await world.settled([3, 3, 3]);
    const mark = cluster.auditMark();
    await cluster.api.delete(IP_NODES, 'a');
    await cluster.api.delete(LEASES, nodeLease('a'));
    await untilValue(
      'a is there again',
      () => aliveOf('a'),
      (found) => found.includes('"True"'),
      PATIENT,
    );
    await passes(QUICK.durationMs + 2000);
    expect(movesSince(mark)).to.deep.equal([]);
  });

  it('moves the claims of a dead agent whose IPNode and Lease are deleted (H6)', async () => {
    await begin();
    await world.control();
    await allLive('a', 'b', 'c');
    await claim(9);
    await world.settled([3, 3, 3]);
    world.agent('a').isSilent = true;
    await cluster.api.delete(IP_NODES, 'a');
    await cluster.api.delete(LEASES, nodeLease('a'));
    await untilValue(
      'a has none',
      () => world.loads(),
      ({ a }) => a === 0,
      PATIENT,
    );
  });

  it('keeps AgentAlive beside what the agent writes by itself', async () => {
    await begin(['a']);
    await world.control();
    const now = '2026-01-01T00:00:00Z';
    const stale = {
      type: 'Stale',
      status: 'False',
      reason: 'Fresh',
      message: '',
      lastTransitionTime: now,
    };
    const apply = (conditions: readonly object[]) =>
      cluster.api.patch(
        IP_NODES,
        'a',
        {
          kind: 'apply',
          body: {
            apiVersion: 'herald.dev/v1alpha1',
            kind: 'IPNode',
            metadata: { name: 'a' },
            status: { conditions },
          },
        },
        { subresource: 'status', fieldManager: 'herald-agent', force: true },
      );
    await apply([stale]);
    await untilValue(
      'a lives',
      () => aliveOf('a'),
      (found) => found.includes('"True"'),
      PATIENT,
    );
    await apply([{ ...stale, reason: 'Other' }]);
    const ipNode = await cluster.api.get(IP_NODES, 'a');
    expect(conditionOf(ipNode, 'AgentAlive')).to.include({ status: 'True' });
    expect(conditionOf(ipNode, 'Stale')).to.include({ reason: 'Other' });
  });

  it('evens out the nodes where it is told to by its flag, and not without', async () => {
    await begin(['a', 'b']);
    const start = (...flags: readonly string[]) =>
      startHerald(['controller', '--leader-elect=false', '--metrics-address=off', ...flags], {
        name: 'controller',
        folder: cluster.folder,
        kubeconfig: cluster.kubeconfig,
      });
    const plain = start();
    await allLive('a', 'b');
    await claim(6);
    await world.settled([3, 3]);
    await world.join('c');
    await untilValue(
      'c lives',
      () => aliveOf('c'),
      (found) => found.includes('"True"'),
      PATIENT,
    );
    expect(await plain.stop()).to.equal(0);
    await world.settled([0, 3, 3]);
    const evening = start('--rebalance-interval', '1');
    await world.settled([2, 2, 2]);
    expect(await evening.stop()).to.equal(0);
  });

  it('keeps a freed address while a node that lost it unheard may still announce it, also after a restart', async () => {
    await begin(['a', 'b', 'c'], exclusivePool('p', { addresses: ['10.0.0.1-10.0.0.2'] }));
    const first = await world.control({ services: true });
    await allLive('a', 'b', 'c');
    const namespace = await cluster.namespace();
    const services = inNamespace(SERVICES, namespace);
    const claimOf = async (name: string) =>
      (await world.claims()).find((each) => at(each, 'spec', 'services', '0', 'name') === name);
    const namesOf = async () => (await world.claims()).map(({ metadata }) => metadata.name);
    for (const name of ['web', 'other']) await cluster.addService({ namespace, name });
    await world.settled([0, 1, 1]);
    const web = await claimOf('web');
    const other = await claimOf('other');
    if (web === undefined || other === undefined) throw new Error('both were placed');
    const lost = String(holderOf(web));
    world.agent(lost).isSilent = true;
    await untilValue(
      `another than ${lost} has it`,
      () => claimOf('web'),
      (now) => now !== undefined && holderOf(now) !== lost,
      PATIENT,
    );
    first();
    await world.control({ services: true });
    await cluster.api.delete(services, 'web');
    await untilValue(
      'it is released',
      async () => (await cluster.api.get(IP_CLAIMS, web.metadata.name)).metadata.annotations ?? {},
      (annotations) => annotations[RELEASED_BY_ANNOTATION] !== undefined,
      PATIENT,
    );
    await cluster.api.delete(services, 'other');
    // who was released later, and was announced by living nodes only, is free by now
    await untilValue(
      'the other is free',
      namesOf,
      (names) => !names.includes(other.metadata.name),
      PATIENT,
    );
    expect(await namesOf()).to.deep.equal([web.metadata.name]);
    world.agent(lost).isSilent = false;
    await untilValue('it is free', namesOf, (names) => names.length === 0, PATIENT);
  });

  it('does no harm as two at once, while nodes come and go (A20)', async () => {
    await begin();
    await Promise.all([world.control(), world.control()]);
    await claim(60);
    await untilValue(
      'all are placed',
      () => world.loads(),
      ({ nobody = 0 }) => nobody === 0,
      PATIENT,
    );
    world.agent('b').isSilent = true;
    await untilValue(
      'b has none',
      () => world.loads(),
      ({ b }) => b === 0,
      PATIENT,
    );
    await world.agent('a').setDraining('by hand');
    await untilValue(
      'a has none',
      () => world.loads(),
      ({ a }) => a === 0,
      PATIENT,
    );
    await world.settled([0, 0, 60]);
  });
});
