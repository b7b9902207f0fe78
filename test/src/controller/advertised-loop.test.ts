import { expect } from 'chai';
import { AdvertisedLoop } from '../../../src/controller/advertised-loop.ts';
import { ApiError } from '../../../src/sources/kube/api.ts';
import { IP_CLAIMS, inNamespace, SERVICES } from '../../../src/sources/kube/resources.ts';
import { ClusterWorld } from './cluster-world.ts';

const UP = { x: 'Established' };
const DOWN = { x: 'Active' };
const WHOLE = 'True Advertised: advertised by 2 of 2 nodes to 1 of 1 peer';

async function underTest(isBusy: () => boolean = () => false) {
  const world = new ClusterWorld();
  world.pool();
  world.peer('x');
  world.node('a', UP);
  world.node('b', UP);
  world.service('web', '198.51.100.1');
  await world.sync();
  const loop = new AdvertisedLoop({ ...world, caches: world.caches, isBusy });
  loop.start();
  return { world, loop };
}

describe('the loop of the condition Advertised', () => {
  it('writes it once, five seconds after the change, and says nothing of what is expected', async () => {
    const { world } = await underTest();
    await world.advance(4500);
    expect(world.writes()).to.deep.equal([]);
    await world.advance(1000);
    expect(world.advertised('web')).to.equal(WHOLE);
    expect(world.writes()).to.deep.equal(['patch services web']);
    await world.advance(300_000, 5000);
    expect(world.writes()).to.deep.equal([]);
    expect(world.told).to.deep.equal([]);
  });

  it('tells at once that nobody advertises it, but that fewer do only after it has lasted', async () => {
    const { world } = await underTest();
    await world.advance(6000);
    world.report('a', DOWN);
    await world.advance(20_000);
    expect(world.advertised('web'), 'a session that comes back costs nothing').to.equal(WHOLE);
    world.report('a', UP);
    await world.advance(40_000);
    expect(world.writes()).to.deep.equal(['patch services web']);
    world.report('a', DOWN);
    await world.advance(37_000);
    expect(world.advertised('web')).to.match(/^True PartlyAdvertised: advertised by 1 of 2 nodes/);
    world.report('b', DOWN);
    await world.advance(6000);
    expect(world.advertised('web')).to.match(/^False NoSession/);
    world.report('a', UP);
    world.report('b', UP);
    await world.advance(6000);
    expect(world.advertised('web')).to.equal(WHOLE);
    expect(world.told.map((line) => line.split(':')[0])).to.deep.equal([
      'Service/web Warning PartlyAdvertised',
      'Service/web Warning NoSession',
      'Service/web Normal Advertised',
    ]);
  });

  it('says nothing of the normal wait for kube-proxy, and no warning of one that lasts', async () => {
    const wait = 'kube-proxy has not written the rules of its Service yet';
    const { world } = await underTest();
    for (const name of ['a', 'b']) world.refuse(name, '198.51.100.1', wait);
    await world.advance(8000);
    expect(world.advertised('web'), 'seconds are the plan').to.equal(undefined);
    for (const name of ['a', 'b']) world.report(name, UP);
    await world.advance(6000);
    expect(world.advertised('web')).to.equal(WHOLE);
    expect(world.told).to.deep.equal([]);
    for (const name of ['a', 'b']) world.refuse(name, '198.51.100.1', wait);
    await world.advance(20_000);
    expect(world.advertised('web')).to.match(/^False Waiting: not advertised yet/);
    expect(world.told.map((line) => line.split(':')[0])).to.deep.equal([
      'Service/web Normal Waiting',
    ]);
  });

  it('tells that nobody knows only after it has lasted: many new Services at once are refused for a moment', async () => {
    const { world } = await underTest();
    await world.advance(6000);
    const refuseMore = (count: number) => {
      for (const name of ['a', 'b']) world.refuseMore(name, count);
    };
    refuseMore(50);
    await world.advance(20_000);
    refuseMore(0);
    await world.advance(40_000);
    expect(world.writes()).to.deep.equal(['patch services web']);
    refuseMore(50);
    await world.advance(37_000);
    expect(world.advertised('web')).to.match(/^Unknown NotKnown: .* 2 nodes refuse more addresses/);
    refuseMore(0);
    await world.advance(6000);
    expect(world.advertised('web')).to.equal(WHOLE);
  });

  it('brings numbers up to date in its own time where the reason is the same', async () => {
    const { world } = await underTest();
    await world.advance(6000);
    world.node('c', UP);
    await world.advance(50_000, 2000);
    expect(world.advertised('web')).to.equal(WHOLE);
    await world.advance(20_000, 2000);
    expect(world.advertised('web')).to.contain('3 of 3 nodes');
    expect(world.told).to.deep.equal([]);
  });

  it('takes it away with the last claim', async () => {
    const { world } = await underTest();
    await world.advance(6000);
    world.writes();
    world.api.remove(IP_CLAIMS, '198.51.100.1');
    await world.advance(6000);
    const [call] = world.api.calls.filter(({ verb }) => verb === 'patch');
    expect(call?.body).to.deep.equal({
      metadata: { uid: 'uid-of-web' },
      status: { conditions: [{ type: 'herald.dev/Advertised', $patch: 'delete' }] },
    });
  });

  it('tries again what fails, and gives up what is gone', async () => {
    const { world } = await underTest();
    let failures = 2;
    world.api.fault = ({ verb }) => {
      if (verb !== 'patch' || failures === 0) return undefined;
      failures -= 1;
      return { kind: 'before', error: new ApiError(500, 'InternalError', 'etcd') };
    };
    await world.advance(10_000);
    expect(world.advertised('web')).to.equal(WHOLE);
    world.report('a', DOWN);
    world.report('b', DOWN);
    await world.advance(4000);
    world.api.fault = ({ verb }) =>
      verb === 'patch'
        ? { kind: 'before', error: new ApiError(404, 'NotFound', 'gone') }
        : undefined;
    await world.advance(3000);
    world.api.remove(inNamespace(SERVICES, 'shop'), 'shop/web');
    world.writes();
    await world.advance(60_000, 2000);
    expect(world.writes()).to.deep.equal([]);
  });

  it('waits while addresses are being given out, though not for ever', async () => {
    const { world } = await underTest(() => true);
    await world.advance(30_000);
    expect(world.writes()).to.deep.equal([]);
    await world.advance(12_000);
    expect(world.writes()).to.deep.equal(['patch services web']);
  });

  it('writes no faster than its rate, and stops at once', async () => {
    const { world, loop } = await underTest();
    for (let at = 2; at < 202; at += 1) world.service(`s${at}`, `198.51.100.${at}`);
    await world.advance(6000, 100);
    const first = world.writes().length;
    await world.advance(1000, 20);
    expect(world.writes().length).to.be.within(45, 55);
    expect(first).to.be.below(120);
    loop.stop();
    await world.advance(10_000);
    expect(world.writes().length, 'what was under way').to.be.below(6);
    expect(world.clock.pendingTimers, 'but for the informers').to.be.below(20);
  });
});
