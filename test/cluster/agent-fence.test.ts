/**
 * An exclusive claim whose node loses the API, or is frozen (SEEDS H1): judged in BIRD's own table, which is sampled all the while. The test is the
 * controller: it watches the node's Lease on its own clock and moves the claim 15 s after the last renewal that it has seen.
 */

import { join } from 'node:path';
import { expect } from 'chai';
import { IP_CLAIMS, LEASES } from '../../src/sources/kube/resources.ts';
import { nowMs } from '../../tools/probe/monotonic.ts';
import { done, notYet, until, untilValue } from '../support/poll.ts';
import { EXCLUSIVE_POOL, exclusiveClaim, poolBody } from './support/agent-documents.ts';
import {
  type AgentRun,
  agentKubeconfig,
  leaseRenewedMs,
  startAgent,
  untilIpNode,
} from './support/agent-run.ts';
import { type BirdRouter, startBird } from './support/bird.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { loopbackPeer } from './support/loopback.ts';
import { equalPaths, noPath, PathSampler, pathsOf } from './support/path-sampler.ts';
import { type FailingProxy, startProxy } from './support/proxy.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const BASE = join(import.meta.dirname, '../../deploy/base');
const VIP = '198.51.100.7';
const PREFIX = `${VIP}/32`;
const NODES = ['a', 'b'];
/** the controller's patience, DESIGN 4 */
const REASSIGN_MS = 15_000;
/** the agent's, from the beginning of its last good renewal */
const FENCE_MS = 12_000;
/** two clocks are read one after the other */
const READING_MS = 100;

describe('the fence of an exclusive holder, on a real API server and BIRD', function () {
  this.timeout(300_000);
  let cluster: Cluster;
  let proxy: FailingProxy;
  let bird: BirdRouter;
  let a: AgentRun;
  let b: AgentRun;

  const subject = () => ({ bird, prefix: PREFIX, nodes: NODES });
  const lengthOf = async (node: string) =>
    (await pathsOf(subject())).find((path) => path.node === node)?.length;
  const place = (node: string, levels: Readonly<Record<string, string | null>>) =>
    cluster.api.patch(IP_CLAIMS, VIP, {
      kind: 'merge',
      body: exclusiveClaim(VIP, node, levels),
    });
  const leaseVersion = async () =>
    (await cluster.api.get(LEASES, 'node-a')).metadata.resourceVersion;

  /** resolves 15 s after the last renewal that this clock has seen */
  async function untilSilent(): Promise<void> {
    let version = await leaseVersion();
    let sinceMs = nowMs();
    await until(
      'the Lease of a is silent for 15 s',
      async () => {
        const now = await leaseVersion();
        if (now !== version) sinceMs = nowMs();
        version = now;
        return nowMs() - sinceMs >= REASSIGN_MS ? done(true) : notYet(nowMs() - sinceMs);
      },
      { timeoutMs: 60_000, everyMs: 20 },
    );
  }

  before(async function () {
    skipWithoutCluster(this, { bird: true });
    cluster = await startCluster();
    await cluster.installCrds();
    await cluster.applyKustomization(BASE);
    proxy = await startProxy(cluster);
    bird = await startBird({ folder: cluster.folder });
  });

  beforeEach(async () => {
    await proxy.accept();
    for (const node of NODES) await cluster.addNode(node);
    await cluster.applyObjects(
      poolBody('vips', ['198.51.100.0/24'], EXCLUSIVE_POOL),
      loopbackPeer('bird', bird, NODES),
      exclusiveClaim(VIP, 'a', { a: '0' }),
    );
    const kubeconfig = proxy.kubeconfig(await agentKubeconfig(cluster, 'a'));
    [a, b] = await Promise.all([
      startAgent({ cluster, node: 'a', kubeconfig }),
      startAgent({ cluster, node: 'b' }),
    ]);
    await untilIpNode(
      { cluster, node: 'b' },
      'joined',
      ({ status }) => status.joined?.open === true,
    );
    await untilValue(
      'a holds it',
      () => lengthOf('a'),
      (length) => length === 1,
      {
        timeoutMs: 90_000,
      },
    );
  });

  afterEach(async () => {
    await Promise.all([a?.kill(), b?.kill()]);
    await cluster.reset();
  });

  after(async () => {
    await bird?.kill();
    await proxy?.stop();
    await cluster?.stop();
  });

  it('cut off from the API it steps down after 12 s, the other takes over, and it leaves when it hears of it: never two equal, never none', async () => {
    const sampler = new PathSampler(subject());
    // right behind a renewal, so that the test as the controller is as quick as one may be
    const version = await leaseVersion();
    await untilValue('a renewal', leaseVersion, (now) => now !== version, { everyMs: 10 });
    await proxy.refuse();
    const silent = untilSilent();
    // from here on nothing of a gets through, so this stays its last one
    const renewedMs = await leaseRenewedMs(a);
    const stepsDown = bird.moment(
      'a has stepped down',
      async () => (await lengthOf('a')) === 4,
      60_000,
    );
    // the controller does not ask whether a has: the samples say whether it was in time
    const takesOver = silent.then(() => place('b', { a: '1', b: '0' }));
    const [steppedMs] = await Promise.all([stepsDown, takesOver]);
    expect(steppedMs - renewedMs, 'ms after the last renewal').to.be.within(
      FENCE_MS - READING_MS,
      REASSIGN_MS + 5000,
    );
    await untilValue(
      'b has it',
      () => lengthOf('b'),
      (length) => length !== undefined,
    );
    await proxy.accept();
    await untilValue(
      'a has heard of it and stands two steps down, or one',
      () => lengthOf('a'),
      (length) => length !== undefined && length > 1,
    );
    await place('b', { a: null });
    await untilValue(
      'a has left',
      () => lengthOf('a'),
      (length) => length === undefined,
      {
        timeoutMs: 60_000,
      },
    );
    const samples = await sampler.stop();
    expect(equalPaths(samples), 'two paths of equal preference').to.equal(undefined);
    expect(noPath(samples), 'no path at all').to.equal(undefined);
  });

  it('the API back in time: it stays where it is; back later: it comes up again only after it has seen its claim', async () => {
    // behind a renewal that a knows of: at any other moment less than half of its time might be left
    await untilValue(
      'a has just renewed its Lease',
      async () => nowMs() - (await leaseRenewedMs(a)),
      (ageMs) => ageMs < 1000,
      { everyMs: 20 },
    );
    await proxy.refuse();
    const cutMs = nowMs();
    await untilValue(
      'six seconds',
      () => nowMs() - cutMs,
      (passed) => passed > 6000,
    );
    expect(await lengthOf('a')).to.equal(1);
    await proxy.accept();
    const backMs = nowMs();
    await untilValue(
      'ten seconds',
      () => nowMs() - backMs,
      (passed) => passed > 10_000,
      {
        timeoutMs: 15_000,
      },
    );
    expect(await lengthOf('a')).to.equal(1);
    await proxy.refuse();
    await untilValue(
      'it steps down',
      () => lengthOf('a'),
      (length) => length === 4,
      {
        timeoutMs: 30_000,
      },
    );
    const acceptedMs = nowMs();
    await proxy.accept();
    await untilValue(
      'it comes up again',
      () => lengthOf('a'),
      (length) => length === 1,
      {
        timeoutMs: 60_000,
      },
    );
    // two renewals, so that a controller that had not seen the first would have acted by now
    expect(nowMs() - acceptedMs).to.be.above(4000);
  });

  it('frozen for 20 s: it says nothing at its old preference when it wakes, and leaves what was given away', async () => {
    const sampler = new PathSampler(subject());
    a.freeze();
    const frozenMs = nowMs();
    await untilSilent();
    await place('b', { a: null, b: '0' });
    await untilValue(
      'b has it',
      () => lengthOf('b'),
      (length) => length === 1,
    );
    await untilValue(
      '20 s',
      () => nowMs() - frozenMs,
      (passed) => passed > 20_000,
      {
        timeoutMs: 25_000,
      },
    );
    // its router has given it up by hold time long before
    expect(await lengthOf('a')).to.equal(undefined);
    const thawedMs = nowMs();
    a.thaw();
    await a.logged(
      'a session again',
      ({ event, time }) => {
        const isLater =
          typeof time === 'string' && Date.parse(time) > Date.now() - (nowMs() - thawedMs);
        return event === 'bgp.established' && isLater;
      },
      { timeoutMs: 60_000 },
    );
    const upMs = nowMs();
    await untilValue(
      '5 s more',
      () => nowMs() - upMs,
      (passed) => passed > 5000,
    );
    // one step down it may have been there for a moment
    await untilValue(
      'a has left',
      () => lengthOf('a'),
      (length) => length === undefined,
    );
    const samples = await sampler.stop();
    expect(equalPaths(samples), 'two paths of equal preference').to.equal(undefined);
    expect(await lengthOf('b')).to.equal(1);
  });

  it('tells the level of a move within a second, to the controller and to the router', async () => {
    // it began one step down, behind its fence, and says so until it has told of the step up
    await untilIpNode({ cluster, node: 'a' }, 'level 0', ({ status }) =>
      (status.levels ?? []).some(({ address, level }) => address === VIP && level === 0),
    );
    await place('a', { a: '1' });
    const movedMs = nowMs();
    await untilIpNode({ cluster, node: 'a' }, 'level 1', ({ status }) =>
      (status.levels ?? []).some(({ address, level }) => address === VIP && level === 1),
    );
    // what may wait is told after 45 s and more
    expect(nowMs() - movedMs).to.be.below(20_000);
    await untilValue(
      'the router has it too',
      () => lengthOf('a'),
      (length) => length === 4,
    );
    await place('b', { b: '0' });
    await untilIpNode({ cluster, node: 'b' }, 'level 0', ({ status }) =>
      (status.levels ?? []).some(({ address, level }) => address === VIP && level === 0),
    );
    await place('b', { a: null });
    await untilValue(
      'a has left',
      () => lengthOf('a'),
      (length) => length === undefined,
    );
    await untilIpNode(
      { cluster, node: 'a' },
      'no level',
      ({ status }) => (status.levels ?? []).length === 0,
    );
  });
});
