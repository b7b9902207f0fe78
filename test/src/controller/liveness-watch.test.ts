import { expect } from 'chai';
import { KubeletLeases } from '../../../src/controller/kubelet-leases.ts';
import { LivenessWatch } from '../../../src/controller/liveness-watch.ts';
import {
  CONTROLLER_LEASE,
  NAMESPACE,
  nodeLease,
  RESTARTING_ANNOTATION,
} from '../../../src/model/names.ts';
import { IP_NODES, LEASES, NODES } from '../../../src/sources/kube/resources.ts';
import { ClusterWorld } from './cluster-world.ts';

describe('LivenessWatch', () => {
  let world: ClusterWorld;
  let watch: LivenessWatch;
  let beats: number;
  beforeEach(() => {
    world = new ClusterWorld();
    watch = new LivenessWatch(world);
    beats = 0;
  });
  afterEach(() => {
    watch.stop();
    world.caches.stop();
  });

  function renew(node: string): void {
    beats += 1;
    const metadata = { namespace: NAMESPACE, name: nodeLease(node) };
    const spec = { holderIdentity: node, renewTime: String(beats) };
    world.api.put(LEASES, { metadata, spec });
  }

  async function run(seconds: number, living: readonly string[]): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      if (second % 5 === 0) for (const node of living) renew(node);
      await world.advance(1000);
    }
  }

  const names = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, index) => `${prefix}${index}`);

  async function start(): Promise<void> {
    await world.sync();
    watch.start();
    await world.settle();
  }

  it('is not made blind by Leases that nodes of long ago left behind', async () => {
    const stale = names('old', 10);
    const living = names('n', 5);
    for (const node of [...stale, ...living]) renew(node);
    for (const name of living) world.api.put(NODES, { metadata: { name } });
    await start();
    let wasBlind = false;
    watch.onLook(() => {
      wasBlind ||= watch.isBlind;
    });
    await run(30, living);
    expect(wasBlind).to.equal(false);
    expect(living.map((node) => watch.lifeOf(node))).to.deep.equal(living.map(() => 'alive'));
    expect(watch.lifeOf('old0')).to.equal('dead');
  });

  it('is blind all the same when most nodes that are there fall silent', async () => {
    const living = names('n', 5);
    for (const name of living) world.api.put(NODES, { metadata: { name } });
    for (const node of living) renew(node);
    await start();
    await run(20, living);
    await run(20, living.slice(0, 2));
    expect(watch.isBlind).to.equal(true);
  });

  it('asks for the Leases of kubelets only while no agent is heard, and believes them', async () => {
    const { api, clock, log } = world;
    watch = new LivenessWatch({ ...world, kubelets: new KubeletLeases({ api, clock, log }) });
    const all = names('n', 3);
    for (const name of all) world.api.put(NODES, { metadata: { name } });
    await start();
    const asked = () =>
      api.calls.filter(({ resource }) => resource.namespace === 'kube-node-lease').length;
    await run(20, all);
    expect(asked()).to.equal(0);
    const kubelets = { ...LEASES, namespace: 'kube-node-lease' };
    const controller = { namespace: NAMESPACE, name: CONTROLLER_LEASE };
    const own = async (seconds: number) => {
      for (let second = 0; second < seconds; second += 2) {
        beats += 1;
        api.put(LEASES, { metadata: controller, spec: { renewTime: String(beats) } });
        await world.advance(2000);
      }
    };
    await own(60);
    expect(asked()).to.be.above(3);
    expect(all.map((node) => watch.lifeOf(node))).to.deep.equal(all.map(() => 'unheard'));
    const metadata = { namespace: 'kube-node-lease', name: 'n0' };
    for (let beat = 0; beat < 4; beat += 1) {
      api.put(kubelets, { metadata, spec: { holderIdentity: 'n0', renewTime: `k${beat}` } });
      await own(10);
    }
    expect(all.map((node) => watch.lifeOf(node))).to.deep.equal(all.map(() => 'dead'));
    // all have been found dead: there is nothing left that a kubelet could tell
    const found = asked();
    await own(20);
    expect(asked()).to.equal(found);
    await run(10, all);
    const before = asked();
    await run(10, all);
    expect(asked()).to.equal(before);
  });

  it('asks for no Leases of kubelets where no agent has one: all addresses are anycast', async () => {
    const { api, clock, log } = world;
    watch = new LivenessWatch({ ...world, kubelets: new KubeletLeases({ api, clock, log }) });
    for (const name of names('n', 3)) world.api.put(NODES, { metadata: { name } });
    await start();
    await world.advance(60_000);
    const asked = api.calls.filter(({ resource }) => resource.namespace === 'kube-node-lease');
    expect(asked).to.deep.equal([]);
  });

  it('counts a Lease whose Node comes after it', async () => {
    renew('n0');
    await start();
    await run(10, ['n0']);
    world.api.put(NODES, { metadata: { name: 'n0' } });
    for (const name of ['n1', 'n2']) {
      world.api.put(NODES, { metadata: { name } });
      renew(name);
    }
    await run(10, ['n0', 'n1', 'n2']);
    await run(10, ['n2']);
    expect(watch.isBlind).to.equal(true);
  });

  describe('what routers may still have of a silent node', () => {
    const session = (more: object) => {
      const base = { peer: 'tor', address: '192.0.2.1', state: 'Established' };
      return { status: { sessions: [{ ...base, ...more }] } };
    };

    /** after how many seconds of silence n0 is given away, beside one that lives */
    async function givenAwayAfter(status: object): Promise<number> {
      for (const name of ['n0', 'n1']) {
        world.api.put(NODES, { metadata: { name } });
        world.api.put(IP_NODES, { metadata: { name }, ...(name === 'n0' && status) });
      }
      world.peer('tor', {
        timers: { holdSeconds: 90, keepaliveSeconds: 30, connectRetrySeconds: 5 },
      });
      await start();
      await run(15, ['n0', 'n1']);
      renew('n0');
      for (let seconds = 0; seconds < 200; seconds += 1) {
        if (watch.lifeOf('n0') === 'dead') return seconds;
        if (seconds % 5 === 0) renew('n1');
        await world.advance(1000);
      }
      return Number.POSITIVE_INFINITY;
    }

    it('is what was agreed on, and 3 s more, from a death that may follow the last renewal', async () => {
      // 30 + 3 + 5.5
      expect(await givenAwayAfter(session({ holdSeconds: 30 }))).to.equal(39);
    });

    it('is the restart time where that is longer', async () => {
      const told = session({ holdSeconds: 9, restartSeconds: 60 });
      expect(await givenAwayAfter(told)).to.equal(69);
    });

    it('is what the BGPPeer allows where an agent of 0.1 does not tell', async () => {
      expect(await givenAwayAfter(session({}))).to.equal(99);
    });

    it('is for ever where there is no hold time', async () => {
      expect(await givenAwayAfter(session({ holdSeconds: 0 }))).to.equal(Number.POSITIVE_INFINITY);
    });

    it('is waited for after a planned restart, from its last word on', async () => {
      for (const name of ['n0', 'n1']) world.api.put(NODES, { metadata: { name } });
      await start();
      await run(15, ['n0', 'n1']);
      world.api.put(LEASES, {
        metadata: {
          namespace: NAMESPACE,
          name: nodeLease('n0'),
          annotations: { [RESTARTING_ANNOTATION]: '60' },
        },
        spec: { holderIdentity: 'n0', renewTime: 'last', leaseDurationSeconds: 15 },
      });
      await run(60, ['n1']);
      expect(watch.lifeOf('n0')).to.equal('silent');
      await run(5, ['n1']);
      expect(watch.lifeOf('n0')).to.equal('dead');
    });
  });

  it('forgets nodes of which neither Lease nor Node is left', async () => {
    const all = names('n', 4);
    for (const name of all) world.api.put(NODES, { metadata: { name } });
    await start();
    await run(15, all);
    expect(watch.remembered).to.equal(4);
    world.api.remove(NODES, 'n0');
    world.api.remove(LEASES, `${NAMESPACE}/node-n0`);
    await run(6, all.slice(1));
    expect(watch.lifeOf('n0'), 'it may still announce').to.equal('alive');
    await run(20, all.slice(1));
    expect(watch.remembered).to.equal(3);
    expect(watch.lifeOf('n0')).to.equal('dead');
  });
});
