/**
 * Pools that shrink and go under a Service in use (DESIGN 4, decision 0020), by a real controller and agent, judged in BIRD's own table: the route stays, the
 * claim is flagged, nobody else gets the address, and when the Service goes nothing is left.
 */

import { expect } from 'chai';
import { ADVERTISED } from '../../src/controller/advertised.ts';
import { ANNOTATION } from '../../src/model/names.ts';
import { IP_CLAIMS, IP_POOLS, inNamespace, SERVICES } from '../../src/sources/kube/resources.ts';
import { untilValue } from '../support/poll.ts';
import { poolBody } from './support/agent-documents.ts';
import { untilIpNode, untilSessionUp } from './support/agent-run.ts';
import { at, type Cluster, conditionOf } from './support/cluster.ts';
import { absentAt, FullRun, PATIENT } from './support/full-run.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const MED = { advertisements: [{ med: 7 }] };
const SMALL = ['198.51.100.8/30'];
const LATE_WORD = {
  type: 'InPool',
  status: 'True',
  reason: 'Held',
  message: 'pool short holds it',
  lastTransitionTime: '2026-01-01T00:00:00Z',
};

describe('pools that shrink and go under a Service in use', function () {
  this.timeout(600_000);
  let world: FullRun;
  let cluster: Cluster;
  let namespace = '';

  before(async function () {
    skipWithoutCluster(this, { bird: true });
    world = await FullRun.start(['a', 'b', 'late']);
    cluster = world.cluster;
    namespace = await cluster.namespace();
    await world.controller('controller');
    await Promise.all([world.agent('a'), world.agent('b')]);
    await Promise.all(['a', 'b'].map((node) => untilSessionUp({ cluster, node })));
  });

  afterEach(function () {
    if (this.currentTest?.state === 'failed') process.stderr.write(`${world.logs()}\n`);
  });

  after(() => world?.stop());

  const service = (name: string) => cluster.api.get(inNamespace(SERVICES, namespace), name);
  const addressOf = async (name: string) =>
    String(at(await service(name), 'status', 'loadBalancer', 'ingress', '0', 'ip') ?? '');
  const ways = async (address: string) =>
    (await world.bird.routes(`${address}/32`)).map(({ med }) => med ?? 0);

  async function serve(name: string, annotations: Readonly<Record<string, string>> = {}) {
    await cluster.setEndpoints({ namespace, name }, 1);
    await cluster.addService({ namespace, name, annotations });
  }

  async function served(name: string): Promise<string> {
    await serve(name);
    return await untilValue(
      `${name} has an address`,
      () => addressOf(name),
      (found) => found !== '',
      PATIENT,
    );
  }

  async function flagged(claim: string, reason: string): Promise<void> {
    await untilValue(
      `the claim is flagged ${reason}`,
      async () => {
        const found = conditionOf(await cluster.api.get(IP_CLAIMS, claim), 'InPool');
        return `${at(found, 'status')} ${at(found, 'reason')}`;
      },
      (found) => found === `False ${reason}`,
      PATIENT,
    );
  }

  async function advertised(name: string, accept: (words: string) => boolean): Promise<void> {
    await untilValue(
      'the condition Advertised',
      async () => {
        const found = conditionOf(await service(name), ADVERTISED);
        return `${at(found, 'reason')}: ${at(found, 'message')}`;
      },
      accept,
      PATIENT,
    );
  }

  it('nothing is announced out of a pool that is refused, whoever claims it (C19)', async () => {
    await cluster.applyObjects(poolBody('first', ['198.51.100.128/29']));
    const pool = async (name: string) =>
      conditionOf(await cluster.api.get(IP_POOLS, name), 'Ready');
    const ready = (name: string, words: string) =>
      untilValue(
        `IPPool ${name} is ${words}`,
        async () => `${at(await pool(name), 'status')} ${at(await pool(name), 'reason')}`,
        (found) => found === words,
        PATIENT,
      );
    await ready('first', 'True Accepted');
    await cluster.applyObjects(poolBody('second', ['198.51.100.132-198.51.100.140']));
    await ready('second', 'False Overlaps');
    // of the second one alone, of both and for the second, of the first; the last is the sign that the others have been looked at
    const made = {
      '198.51.100.138': {},
      '198.51.100.133': { pool: 'second' },
      '198.51.100.129': {},
    };
    for (const [name, spec] of Object.entries(made)) {
      const labels = { 'herald.dev/anycast': '' };
      const apiVersion = 'herald.dev/v1alpha1';
      await cluster.applyObjects({ apiVersion, kind: 'IPClaim', metadata: { name, labels }, spec });
    }
    await world.heldBy('198.51.100.129', 'a b');
    for (const refused of ['198.51.100.138', '198.51.100.133']) {
      expect(await ways(refused), refused).to.deep.equal([]);
    }
    await untilValue(
      'the claim says so',
      async () => conditionOf(await cluster.api.get(IP_CLAIMS, '198.51.100.138'), 'Placed'),
      (found) => at(found, 'reason') === 'NoPool',
      PATIENT,
    );
    await cluster.api.delete(IP_POOLS, 'first');
    await world.heldBy('198.51.100.138', 'a b');
    for (const name of Object.keys(made)) await cluster.api.delete(IP_CLAIMS, name);
    await world.routed([]);
    await cluster.api.delete(IP_POOLS, 'second');
  });

  it('the route never leaves, over a shrink, the end of the pool and a restart; it goes with the Service', async () => {
    await cluster.applyObjects(poolBody('vips', ['198.51.100.0/30'], MED));
    const address = await served('web');
    await world.heldBy(address, 'a b');
    expect(await ways(address)).to.deep.equal([7, 7]);
    await advertised('web', (words) => words.includes('advertised by 2 of 2 nodes to 1 of 1 peer'));

    const sampler = world.sample();
    await cluster.applyObjects(poolBody('vips', SMALL, MED));
    await flagged(address, 'PoolShrunk');
    // who asks for it by name does not get it, who asks for none gets another
    await serve('greedy', { [ANNOTATION.addresses]: address });
    expect(await served('next')).to.match(/^198\.51\.100\.(8|9|10|11)$/);
    expect(await ways(address)).to.deep.equal([7, 7]);

    await cluster.api.delete(IP_POOLS, 'vips');
    // the agents have heard of that when the first Service of another pool is announced
    await cluster.applyObjects(poolBody('more', ['198.51.100.32/30']));
    const others = await Promise.all(['x', 'y'].map((name) => served(name)));
    for (const other of others) {
      expect(other).to.not.equal(address);
      await world.heldBy(other, 'a b');
    }
    await flagged(address, 'PoolShrunk');
    expect(await ways(address), 'as its own pool said last').to.deep.equal([7, 7]);
    expect(await addressOf('greedy')).to.equal('');

    // an agent that has never known the pool refuses it, and says so
    await world.agent('late');
    await untilIpNode({ cluster, node: 'late' }, 'it refuses what it cannot know', ({ status }) =>
      (status.refused ?? []).some(
        (each) => each.address === address && each.message.includes('has never known it'),
      ),
    );
    await advertised('web', (words) =>
      words.startsWith('PartlyAdvertised: advertised by 2 of 3 nodes to 1 of 1 peer; node late: '),
    );
    const samples = await sampler.stop();
    expect(absentAt(samples, [address]), 'no path at all').to.deep.equal([]);

    // a restart: the last form is in the saved View
    await world.agents.get('a')?.kill();
    await world.heldBy(address, 'b');
    await world.agent('a');
    await world.heldBy(address, 'a b');
    await untilIpNode({ cluster, node: 'a' }, 'it goes by the API again', ({ status }) =>
      (status.conditions ?? []).some(({ type, status: is }) => type === 'Stale' && is === 'False'),
    );
    expect(await ways(address)).to.deep.equal([7, 7]);

    // another pool has the address now: the claim goes over to it, and nodes that did not know the first one can have it too
    const again = world.sample();
    await cluster.applyObjects(poolBody('heir', ['198.51.100.0/30']));
    await world.heldBy(address, 'a b late');
    await untilValue(
      'all announce it as the heir says',
      async () => (await ways(address)).join(),
      (found) => found === '0,0,0',
      PATIENT,
    );
    expect(absentAt(await again.stop(), [address]), 'no path at all').to.deep.equal([]);
    expect(await addressOf('greedy')).to.equal('');

    for (const name of ['web', 'greedy', 'next', 'x', 'y']) {
      await cluster.api.delete(inNamespace(SERVICES, namespace), name);
    }
    await world.routed([]);
    await untilValue(
      'no claim is left',
      async () => (await cluster.api.list(IP_CLAIMS)).items.length,
      (count) => count === 0,
      PATIENT,
    );
  });

  it('an aggregate goes with its pool: the Services keep their host routes, and nothing is announced that no pool has', async () => {
    const wide = { aggregationLength: { ipv4: 26 }, discardRoute: true };
    await cluster.applyObjects(poolBody('wide', ['198.51.100.192/26'], { advertisements: [wide] }));
    await serve('inside', { [ANNOTATION.pool]: 'wide' });
    const prefixes = async () =>
      [...new Set((await world.bird.routes()).map(({ prefix }) => prefix))].sort().join(' ');
    const has = (wanted: string) =>
      untilValue(`the router has ${wanted}`, prefixes, (found) => found === wanted, PATIENT);
    // the agents of this test are on one machine, of which one alone keeps discard routes
    await has('198.51.100.192/26 198.51.100.192/32');
    // a node that learns of the claim after the pool is gone has never known the pool, and refuses it
    await untilValue(
      'every agent announces the aggregate or the host route',
      async () => (await world.bird.routes()).length,
      (count) => count === world.agents.size,
      PATIENT,
    );
    await cluster.api.delete(IP_POOLS, 'wide');
    await has('198.51.100.192/32');
    await world.heldBy('198.51.100.192', [...world.agents.keys()].sort().join(' '));
    await cluster.api.delete(inNamespace(SERVICES, namespace), 'inside');
    await world.routed([]);
  });

  it('a word written into a released claim makes nobody wait for it: the nodes have answered to the release', async () => {
    await cluster.applyObjects(poolBody('short', ['198.51.100.64/32']));
    await serve('brief', { [ANNOTATION.pool]: 'short' });
    await world.heldBy('198.51.100.64', 'a b late');
    // it answers after the word is written, the others before
    const late = world.agents.get('late');
    late?.freeze();
    await cluster.api.delete(inNamespace(SERVICES, namespace), 'brief');
    const released = await untilValue(
      'the claim is released',
      () => cluster.api.get(IP_CLAIMS, '198.51.100.64'),
      (found) => at(found, 'spec', 'withdrawn') !== undefined,
      PATIENT,
    );
    const version = BigInt(released.metadata.resourceVersion ?? '0');
    for (const node of ['a', 'b']) {
      await untilIpNode({ cluster, node }, 'it has let go', ({ status }) => {
        return BigInt(status.observedClaims ?? '0') >= version;
      });
    }
    const body = { status: { conditions: [LATE_WORD] } };
    const patch = { kind: 'merge', body } as const;
    await cluster.api.patch(IP_CLAIMS, '198.51.100.64', patch, { subresource: 'status' });
    late?.thaw();
    // numbers alone are told after 45 s and more; a release within seconds
    await untilValue(
      'the claim is gone',
      async () => (await cluster.api.list(IP_CLAIMS)).items.length,
      (count) => count === 0,
      { timeoutMs: 40_000 },
    );
  });
});
