import { expect } from 'chai';
import { Controller } from '../../../src/controller/controller.ts';
import { ELECTION_TIMES } from '../../../src/controller/election-rules.ts';
import type { LoopContext } from '../../../src/controller/loops.ts';
import { ApiUnreachable } from '../../../src/sources/kube/api.ts';
import { BGP_PEERS, IP_POOLS } from '../../../src/sources/kube/resources.ts';
import { ClusterWorld } from './cluster-world.ts';

/** a controller whose one loop tells what becomes of it */
function underTest(world: ClusterWorld, identity: string, hasElection = true) {
  const told: string[] = [];
  const contexts: LoopContext[] = [];
  const controller = new Controller({
    api: world.api,
    clock: world.clock,
    random: world.random,
    log: world.log,
    identity,
    ...(hasElection && { election: ELECTION_TIMES }),
    settings: { defaultClass: false, maxStaleMs: 1000 },
    loops: (context) => {
      contexts.push(context);
      return [{ start: () => void told.push('start'), stop: () => void told.push('stop') }];
    },
  });
  const write = () =>
    contexts.at(-1)?.api.create(IP_POOLS, { metadata: { name: `p${world.api.calls.length}` } });
  return { controller, told, contexts, write };
}

async function failure(work: Promise<unknown> | undefined): Promise<unknown> {
  return await work?.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('the controller', () => {
  it('starts its loops when it leads and everything is listed, not before', async () => {
    const world = new ClusterWorld();
    world.api.uninstall(BGP_PEERS);
    const { controller, told } = underTest(world, 'a');
    controller.start();
    await world.advance(10_000);
    expect(told).to.deep.equal([]);
    expect(controller.unsynced).to.deep.equal(['peers']);
    world.api.install(BGP_PEERS);
    await world.advance(30_000);
    expect(controller.unsynced).to.deep.equal([]);
    expect(told).to.deep.equal(['start']);
    expect(controller.isLeading).to.equal(true);
    await controller.stop();
    expect(told).to.deep.equal(['start', 'stop']);
  });

  it('keeps a standby that knows everything and writes nothing, and that takes over at once', async () => {
    const world = new ClusterWorld();
    const a = underTest(world, 'a');
    const b = underTest(world, 'b');
    a.controller.start();
    await world.settle();
    b.controller.start();
    await world.advance(5000);
    expect(b.told).to.deep.equal([]);
    expect(b.controller.unsynced).to.deep.equal([]);
    const beforeMs = world.clock.now();
    await a.controller.stop();
    await world.settle();
    expect(world.clock.now(), 'the watch on the Lease has told it').to.equal(beforeMs);
    expect(b.told).to.deep.equal(['start']);
  });

  it('ends its term when the API is away, refuses writes of the old one, and begins a new one after', async () => {
    const world = new ClusterWorld();
    const { controller, told, contexts, write } = underTest(world, 'a');
    controller.start();
    await world.advance(1000);
    expect(await failure(write())).to.equal(undefined);
    const old = contexts.at(-1);
    world.api.fault = () => ({ kind: 'before', error: new ApiUnreachable('down', undefined) });
    await world.advance(15_000);
    expect(told).to.deep.equal(['start', 'stop']);
    expect(controller.isLeading).to.equal(false);
    world.api.fault = undefined;
    await world.advance(5000);
    expect(told).to.deep.equal(['start', 'stop', 'start']);
    const late = old?.api.create(IP_POOLS, { metadata: { name: 'late' } });
    expect(await failure(late), 'of the old term').to.be.instanceOf(ApiUnreachable);
    expect(await failure(write())).to.equal(undefined);
    await controller.stop();
  });

  it('leads without a Lease where there is no election', async () => {
    const world = new ClusterWorld();
    const { controller, told } = underTest(world, 'a', false);
    controller.start();
    await world.settle();
    expect(told).to.deep.equal(['start']);
    expect(world.writes()).to.deep.equal([]);
    await controller.stop();
  });

  it('waits at a stop for writes that are under way, three seconds at most, then gives the Lease back', async () => {
    const world = new ClusterWorld();
    const { controller, write } = underTest(world, 'a');
    controller.start();
    await world.advance(1000);
    world.api.fault = ({ verb, resource }) =>
      verb === 'create' && resource === IP_POOLS
        ? { kind: 'hold', until: new Promise(() => undefined) }
        : undefined;
    void write();
    let isStopped = false;
    const stopping = controller.stop().then(() => {
      isStopped = true;
    });
    world.writes();
    await world.advance(2900, 100);
    expect(isStopped).to.equal(false);
    await world.advance(200, 100);
    await stopping;
    expect(world.writes()).to.include('update leases herald-controller');
  });
});
