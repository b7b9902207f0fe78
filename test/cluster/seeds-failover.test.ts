/**
 * Who holds an exclusive address while nodes and controllers come and go, in BIRD's own table (SEEDS A2, A8, A19, B3, B4, B6, B9, C34 E4, E11 and E12,
 * H39). Controllers and agents are processes with the tokens of deploy/base. Nodes stay Ready and pods stay Running all the while:
 * nothing here may wait for Kubernetes to notice.
 */

import { expect } from 'chai';
import { AGENT_ALIVE } from '../../src/controller/liveness-condition.ts';
import { CONTROLLER_LEASE, EXCLUDE_LABEL } from '../../src/model/names.ts';
import {
  IP_CLAIMS,
  IP_NODES,
  inNamespace,
  LEASES,
  NODES,
  PODS,
  SERVICES,
} from '../../src/sources/kube/resources.ts';
import { nowMs } from '../../tools/probe/monotonic.ts';
import { untilValue } from '../support/poll.ts';
import { poolBody } from './support/agent-documents.ts';
import { startBird } from './support/bird.ts';
import { at, type Cluster, conditionOf } from './support/cluster.ts';
import { absentAt, equalAt, FullRun } from './support/full-run.ts';
import type { HeraldRun } from './support/herald-run.ts';
import { loopbackPeer } from './support/loopback.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const { HERALD_TEST_LONG = '' } = process.env;
const IS_LONG = HERALD_TEST_LONG !== '';
const ALL = ['a', 'b', 'c'] as const;
/** shorter than the defaults, yet so long that a leader that waits for a processor does not lose its Lease */
const QUICK = [
  '--leader-elect-lease-duration=9',
  '--leader-elect-renew-deadline=6',
  '--leader-elect-retry-period=1',
];
const DRAIN = { drain: { on: ['stop', 'exclude-label'], waitSeconds: 5 } };
const exclusive = (spec: object = {}) => ({
  placement: { mode: 'exclusive', ...spec },
  ...DRAIN,
});
const PATIENTLY = { timeoutMs: 120_000 };

type Runs = readonly (HeraldRun | undefined)[];

async function powerOff(runs: Runs): Promise<void> {
  await Promise.all(runs.map((each) => each?.kill()));
}

async function freeze(runs: Runs): Promise<void> {
  for (const each of runs) each?.freeze();
}

/** so that the next test starts them anew */
async function end(runs: Map<string, HeraldRun>, names: readonly string[]): Promise<void> {
  for (const name of names) {
    runs.get(name)?.thaw();
    await runs.get(name)?.kill();
    runs.delete(name);
  }
}

describe('exclusive addresses while nodes and controllers come and go', function () {
  this.timeout(IS_LONG ? 1_800_000 : 600_000);
  let world: FullRun;
  let cluster: Cluster;
  let namespace = '';

  before(async function () {
    skipWithoutCluster(this, { bird: true });
    world = await FullRun.start(ALL);
    cluster = world.cluster;
  });

  beforeEach(async () => {
    namespace = await cluster.namespace();
    await Promise.all([
      ...ALL.filter((node) => !world.agents.has(node)).map((node) => world.agent(node)),
      ...ALL.filter((name) => !world.controllers.has(name)).map((name) => control(name)),
    ]);
  });

  afterEach(async function () {
    if (this.currentTest?.state === 'failed') process.stderr.write(`${world.logs()}\n`);
    const { items } = await cluster.api.list(inNamespace(SERVICES, namespace));
    for (const { metadata } of items) {
      await cluster.api.delete(inNamespace(SERVICES, namespace), metadata.name);
    }
    await world.routed([], PATIENTLY);
  });

  after(() => world?.stop());

  const control = (name: string) => world.controller(name, QUICK);

  async function serve(count: number, prefix = 's'): Promise<void> {
    const names = Array.from({ length: count }, (_, index) => `${prefix}${index}`);
    await Promise.all(
      names.map(async (name) => {
        await cluster.setEndpoints({ namespace, name }, 1);
        await cluster.addService({ namespace, name });
      }),
    );
  }

  async function countAlive(): Promise<number> {
    const { items } = await cluster.api.list(IP_NODES);
    return items.filter((each) => at(conditionOf(each, AGENT_ALIVE), 'status') === 'True').length;
  }

  /** Whoever is believed in first would be given more, and what stands is not moved for a better balance; nor may what the last test left still weigh. */
  async function allAtRest(): Promise<void> {
    await untilValue(
      'every node lives, and no claim is left',
      async () => {
        const claims = (await cluster.api.list(IP_CLAIMS)).items.length;
        return { alive: await countAlive(), claims };
      },
      ({ alive, claims }) => alive === ALL.length && claims === 0,
      PATIENTLY,
    );
  }

  const ingress = (service: unknown) =>
    String(at(service, 'status', 'loadBalancer', 'ingress', '0', 'ip') ?? '');

  /** addresses of all Services, once each has one and one node holds each at full preference; by holder */
  async function settled(
    accept: (loads: Readonly<Record<string, number>>) => boolean,
  ): Promise<string[]> {
    let addresses: string[] = [];
    await untilValue(
      'every address has one holder',
      async () => {
        const { items } = await cluster.api.list(inNamespace(SERVICES, namespace));
        addresses = items.map(ingress);
        const paths = await world.paths();
        const loads: Record<string, number> = {};
        for (const address of addresses) {
          const found = paths.get(address) ?? [];
          const one = found.length === 1 && found[0]?.length === 1 ? found[0].node : 'unsettled';
          loads[one] = (loads[one] ?? 0) + 1;
        }
        return loads;
      },
      (loads) => loads['unsettled'] === undefined && accept(loads),
      PATIENTLY,
    );
    return addresses;
  }

  async function leader(): Promise<string> {
    return await untilValue(
      'a controller that lives leads',
      async () => {
        const lease = await cluster.api.get(LEASES, CONTROLLER_LEASE);
        return String(at(lease, 'spec', 'holderIdentity') ?? '').split('_')[0] ?? '';
      },
      (name) => world.controllers.get(name)?.isRunning === true,
      PATIENTLY,
    );
  }

  /** as it is where a machine lost its power: its kubelet tells nobody */
  async function kubernetesHasNotNoticed(): Promise<void> {
    for (const node of (await cluster.api.list(NODES)).items) {
      expect(conditionOf(node, 'Ready'), node.metadata.name).to.include({ status: 'True' });
    }
    const pods = (await cluster.api.list(PODS)).items.map(({ metadata }) => metadata);
    expect(pods.filter(({ deletionTimestamp }) => deletionTimestamp !== undefined)).to.deep.equal(
      [],
    );
  }

  it('a node that is excluded gives back in order: never two equal paths, never none (H39)', async () => {
    await cluster.applyObjects(poolBody('p', ['198.51.100.0/24'], exclusive()));
    await allAtRest();
    await serve(9);
    const addresses = await settled(({ a, b, c }) => a === 3 && b === 3 && c === 3);
    const sampler = world.sample();
    for (const node of ALL) {
      await cluster.setNode(node, { labels: { [EXCLUDE_LABEL]: '' } });
      await settled((loads) => loads[node] === undefined);
      await cluster.setNode(node, { labels: { [EXCLUDE_LABEL]: null } });
      if (!IS_LONG && node === 'b') break;
    }
    const samples = await sampler.stop();
    expect(samples.length).to.be.above(30);
    expect(equalAt(samples), 'two paths of equal preference').to.deep.equal([]);
    expect(absentAt(samples, addresses), 'no path at all').to.deep.equal([]);
  });

  it('a node whose uplink is cut holds nothing, though its agent lives (A2)', async () => {
    const other = await startBird({ folder: cluster.folder });
    const onlyC = { matchLabels: { 'kubernetes.io/hostname': 'c' } };
    const notC = {
      matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'NotIn', values: ['c'] }],
    };
    try {
      await cluster.applyObjects(
        loopbackPeer('bird', world.bird, ALL, { nodeSelector: notC }),
        loopbackPeer('other', other, ALL, { nodeSelector: onlyC }),
        poolBody('p', ['198.51.100.0/24'], exclusive({ nodeSelector: onlyC })),
      );
      await serve(3);
      await untilValue(
        'c has them',
        () => other.count(),
        (count) => count === 3,
        PATIENTLY,
      );
      await cluster.applyObjects(poolBody('p', ['198.51.100.0/24'], exclusive()));
      // a and b had no Lease while the pool was c's alone; how soon they are believed in is not what is measured
      await untilValue('all live', countAlive, (count) => count === ALL.length, PATIENTLY);
      expect(await other.count()).to.equal(3);
      const cutMs = nowMs();
      await other.kill();
      await settled(({ a = 0, b = 0 }) => a + b === 3);
      // the Lease is renewed all the while, so it cannot have been the silence of 15 s
      const lease = await cluster.api.get(LEASES, 'node-c');
      expect(Date.now() - Date.parse(String(at(lease, 'spec', 'renewTime')))).to.be.below(15_000);
      expect(nowMs() - cutMs).to.be.below(IS_LONG ? 15_000 : 30_000);
    } finally {
      await other.kill();
      await cluster.applyObjects(loopbackPeer('bird', world.bird, ALL));
    }
  });

  it('first-alive: all on the first, all on the next when it is frozen, and nothing goes back (E12)', async () => {
    const placement = exclusive({ nodeFilter: 'first-alive' });
    await cluster.applyObjects(poolBody('p', ['198.51.100.0/24'], placement));
    // a gave its Lease back while the pool was c's alone; until it has proven itself again, b is the first that lives
    await allAtRest();
    await serve(4);
    await settled(({ a }) => a === 4);
    world.agents.get('a')?.freeze();
    await settled(({ b }) => b === 4);
    world.agents.get('a')?.thaw();
    await untilValue(
      'the session of a is back',
      () => world.bird.established(),
      (found) => found.length === 3,
      PATIENTLY,
    );
    await settled(({ b }) => b === 4);
  });

  it('another controller goes on where one is frozen, twice (E4)', async () => {
    await cluster.applyObjects(poolBody('p', ['198.51.100.0/24'], exclusive()));
    const served = async (name: string) => {
      await serve(1, name);
      await settled((loads) => Object.values(loads).reduce((sum, each) => sum + each, 0) >= 1);
    };
    await served('one');
    const first = world.controllers.get(await leader());
    first?.freeze();
    await served('two');
    const second = world.controllers.get(await leader());
    expect(second).not.to.equal(first);
    await cluster.api.delete(inNamespace(SERVICES, namespace), 'two0');
    await settled((loads) => Object.values(loads).reduce((sum, each) => sum + each, 0) === 1);
    second?.freeze();
    await served('three');
    first?.thaw();
    second?.thaw();
  });

  it('a frozen holder whose lease is shorter than the hold time of its router: never two equal paths (C12)', async () => {
    // a router that remembers the dead for 9 s, or for 30
    const hold = IS_LONG ? 30 : 9;
    const other = await startBird({ folder: cluster.folder, holdSeconds: hold });
    const timers = { holdSeconds: hold, keepaliveSeconds: 3 };
    await end(world.agents, ALL);
    for (const each of ALL) await world.agent(each, ['--lease-duration=5']);
    try {
      await cluster.applyObjects(
        loopbackPeer('bird', other, ALL, { timers }),
        poolBody('p', ['198.51.100.0/24'], exclusive()),
      );
      await allAtRest();
      await serve(3);
      const holders = async () => {
        const found = await world.paths(other);
        return [...found.values()].map((paths) => paths.map(({ node }) => node).join());
      };
      const before = await untilValue(
        'each has one holder',
        holders,
        (found) => found.length === 3 && found.every((nodes) => ALL.some((each) => each === nodes)),
        PATIENTLY,
      );
      const [victim = 'a'] = before;
      const sampler = world.sample(other);
      world.agents.get(victim)?.freeze();
      await untilValue(
        `${victim} holds nothing`,
        holders,
        (found) => found.length === 3 && !found.join().includes(victim),
        PATIENTLY,
      );
      const samples = await sampler.stop();
      expect(samples.length).to.be.above(30);
      expect(equalAt(samples), 'two paths of equal preference').to.deep.equal([]);
      const condition = conditionOf(
        await cluster.api.get(IP_NODES, ALL.find((each) => each !== victim) ?? ''),
        'RoutersForgetInTime',
      );
      expect(condition).to.include({ status: 'False', reason: 'HoldTime' });
    } finally {
      await end(world.agents, ALL);
      await cluster.applyObjects(loopbackPeer('bird', world.bird, ALL));
      await other.kill();
    }
  });

  const survivors = ALL.flatMap((node, index) =>
    ALL.map((_, shift) => ({ node, controller: ALL[(index + shift) % 3] ?? node })),
  ).filter((_, index) => IS_LONG || index === 4);

  for (const { node, controller } of survivors) {
    it(`everything is served while agent ${node} and controller ${controller} are left (A19, B3, B6, B9, E11)`, async () => {
      await cluster.applyObjects(poolBody('p', ['198.51.100.0/24'], exclusive()));
      await allAtRest();
      await serve(6);
      // not how evenly, which is another test's matter: a lead that is lost in the middle of it may cost the balance
      await settled((loads) => ALL.every((each) => (loads[each] ?? 0) > 0));
      const agents = ALL.filter((each) => each !== node);
      const controllers = ALL.filter((each) => each !== controller);
      for (const [index, lost] of agents.entries()) {
        // a machine goes that has an agent and a controller, first without its power, then frozen
        const gone = [world.agents.get(lost), world.controllers.get(controllers[index] ?? '')];
        await (index === 0 ? powerOff(gone) : freeze(gone));
        await settled((loads) => agents.slice(0, index + 1).every((each) => !loads[each]));
      }
      await settled((loads) => loads[node] === 6);
      await kubernetesHasNotNoticed();
      await cluster.api.delete(inNamespace(SERVICES, namespace), 's0');
      await serve(1, 'late');
      await settled((loads) => loads[node] === 6);
      await end(world.agents, agents);
      await end(world.controllers, controllers);
    });
  }

  /** who is left: once a whole rack of two machines goes, once a third machine has neither of the two that are left */
  const pairs = ALL.flatMap((node) => ALL.map((controller) => ({ node, controller }))).filter(
    (_, index) => IS_LONG || index === 0 || index === 5,
  );
  /** the routers' hold time of 9 s and 3 s more after a death up to 1.8 s after the last renewal; 2 × 5 s is shorter */
  const FIRST_MS = 13_900;

  for (const [index, { node, controller }] of pairs.entries()) {
    const isFrozen = index % 2 === 1;
    const how = isFrozen ? 'frozen' : 'without power';
    it(`two of three agents and controllers go together, ${how}: all is with agent ${node} and controller ${controller} (B6)`, async () => {
      await end(world.agents, ALL);
      for (const each of ALL) await world.agent(each, ['--lease-duration=5']);
      await cluster.applyObjects(poolBody('p', ['198.51.100.0/24'], exclusive()));
      await allAtRest();
      await serve(6);
      const addresses = await settled((loads) => ALL.every((each) => (loads[each] ?? 0) > 0));
      const agents = ALL.filter((each) => each !== node);
      const controllers = ALL.filter((each) => each !== controller);
      const sampler = world.sample();
      const gone = [
        ...agents.map((each) => world.agents.get(each)),
        ...controllers.map((each) => world.controllers.get(each)),
      ];
      const deadMs = nowMs();
      await (isFrozen ? freeze(gone) : powerOff(gone));
      await settled((loads) => loads[node] === 6);
      const samples = await sampler.stop();
      expect(equalAt(samples), 'two paths of equal preference').to.deep.equal([]);
      const held = ({ paths }: (typeof samples)[number]) =>
        addresses.filter((each) => (paths.get(each) ?? []).some((path) => path.node === node));
      const before = held(samples[0] ?? { atMs: 0, paths: new Map() }).length;
      const first = samples.find((each) => held(each).length > before);
      const firstMs = (first?.atMs ?? Number.POSITIVE_INFINITY) - deadMs;
      expect(firstMs).to.be.below(IS_LONG ? FIRST_MS + 3000 : 60_000);
      await kubernetesHasNotNoticed();
      await end(world.agents, ALL);
      await end(world.controllers, controllers);
    });
  }
});
