import type { Clock } from 'bgp-ts';
import { expect } from 'chai';
import { ReleaseWatch } from '../../../src/controller/release-watch.ts';
import { IP_CLAIMS, SERVICES } from '../../../src/sources/kube/resources.ts';
import { Bed } from '../../support/service-bed.ts';
import { ServiceLoopsRun } from '../../support/service-loops-run.ts';
import { ClusterWorld } from './cluster-world.ts';

const HOUR = 3_600_000;
const VIP = '192.0.2.0';

describe('the quarantine and clocks (B2)', () => {
  let bed: Bed;
  beforeEach(() => {
    bed = new Bed();
  });
  afterEach(() => bed.stop());

  /** a controller whose clock of the day differs; time passes for it as for all */
  function run(aheadMs: number): ServiceLoopsRun {
    const { clock } = bed;
    const skewed: Clock = {
      now: () => clock.now(),
      wallTimeMs: () => clock.wallTimeMs() + aheadMs,
      startTimer: (delayMs, fire) => clock.startTimer(delayMs, fire),
    };
    const made = new ServiceLoopsRun({ api: bed.api, clock: skewed, maxStaleMs: 24 * HOUR });
    bed.runs.push(made);
    return made.start();
  }

  for (const aheadHours of [25, 24 * 365, -25]) {
    it(`frees nothing early where the next leader's clock is ${aheadHours} h ahead`, async () => {
      bed.pool('lab', ['192.0.2.0/29']);
      bed.node('silent', '1');
      bed.service('web');
      const first = run(0);
      await bed.settle();
      bed.api.remove(SERVICES, 'a/web');
      await bed.settle();
      first.stop();
      run(aheadHours * HOUR);
      await bed.settle();
      expect(bed.claim(VIP), 'at once').to.not.equal(undefined);
      bed.clock.advance(23.9 * HOUR);
      await bed.settle();
      expect(bed.claim(VIP), 'after 23.9 h').to.not.equal(undefined);
      bed.clock.advance(0.2 * HOUR);
      await bed.settle();
      expect(bed.claim(VIP), 'after maxStale').to.equal(undefined);
    });
  }

  it('frees nothing early where the clock of the first one was behind when it was released', async () => {
    bed.pool('lab', ['192.0.2.0/29']);
    bed.node('silent', '1');
    bed.service('web');
    const first = run(-48 * HOUR);
    await bed.settle();
    bed.api.remove(SERVICES, 'a/web');
    await bed.settle();
    expect(bed.claim(VIP), 'by the first').to.not.equal(undefined);
    first.stop();
    run(0);
    await bed.settle();
    expect(bed.claim(VIP), 'by the second').to.not.equal(undefined);
  });

  it('is counted by a standby too, from when it has seen the release, and each release by itself', async () => {
    const world = new ClusterWorld();
    const watch = new ReleaseWatch(world);
    watch.start();
    const put = (annotations: Readonly<Record<string, string>>) => {
      world.api.put(IP_CLAIMS, { metadata: { name: VIP, annotations }, spec: { checks: [] } });
      return world.settle();
    };
    const seenMs = () => {
      const { meta } = world.caches.claims.get(VIP) ?? {};
      if (meta === undefined) throw new Error('no claim');
      return watch.seenForMs(meta);
    };
    const released = { 'herald.dev/released-by': 'a/web', 'herald.dev/released-at': 'x' };
    await world.sync();
    await put(released);
    world.clock.advance(5000);
    expect(seenMs()).to.equal(5000);
    await put({ ...released, note: 'written again' });
    expect(seenMs(), 'the same release').to.equal(5000);
    await put({});
    await put(released);
    expect(seenMs(), 'taken back meanwhile').to.equal(0);
    world.clock.advance(1000);
    await put({ ...released, 'herald.dev/released-at': 'y' });
    expect(seenMs(), 'another one').to.equal(0);
    watch.stop();
    world.caches.stop();
  });
});
