/** How an agent leaves: in which order, how fast when told twice, and what a crash leaves behind. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { startCapture } from '../../support/capture.ts';
import { untilValue } from '../../support/poll.ts';
import type { SpawnOptions } from '../../support/process.ts';
import { skipWithoutStandalone } from '../support/require-standalone.ts';
import { AddressMonitor, LateStamp, repeatLate } from './address-monitor.ts';
import { AgentLab, claim, peer, pool } from './agent-lab.ts';

const VIP = '198.51.100.10';

describe('standalone: how an agent leaves', function () {
  this.timeout(180_000);
  let lab: AgentLab;

  before(async function () {
    skipWithoutStandalone(this);
    lab = await AgentLab.create('stop');
  });
  afterEach(async () => await lab?.reset());
  after(async () => await lab?.destroy());

  async function serving(waitSeconds: number): Promise<void> {
    lab.write({
      'all.yaml': [
        peer(),
        pool({ drain: { waitSeconds } }),
        claim(VIP, { bind: { interface: 'lo' } }),
      ],
    });
    lab.ready(true);
    lab.start();
    await lab.announces([VIP]);
    await lab.holds('lo', VIP);
  }

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`${signal}: GRACEFUL_SHUTDOWN, wait, withdraw, unbind, Cease with a text, exit 0, in that order`, () =>
      repeatLate(() => leavesInOrder(signal)));
  }

  async function leavesInOrder(signal: 'SIGTERM' | 'SIGINT'): Promise<void> {
    await lab.reset();
    const capture = await startCapture(lab.routerHost, lab.routerDevice);
    const monitor = await AddressMonitor.start(lab.node);
    await serving(1);
    lab.agent.signal(signal);
    const status = await lab.agent.ended;
    expect(status).to.equal(0);
    expect(await lab.addressesOn('lo')).to.not.include(VIP);
    await lab.announces([]);
    const fields = [
      'frame.time_epoch',
      'bgp.update.path_attribute.community_wellknown',
      'bgp.update.withdrawn_routes.length',
      'bgp.notify.minor_error_cease',
      'bgp.notify.communication',
    ] as const;
    const frames = await capture.frames('bgp.type == 2 || bgp.type == 3', [...fields]);
    await capture.stop();
    await monitor.stop();
    const said = frames.map((frame) => ({
      at: Number(frame['frame.time_epoch']),
      isShutdown: frame['bgp.update.path_attribute.community_wellknown'].length > 0,
      isWithdraw: /[1-9]/.test(frame['bgp.update.withdrawn_routes.length']),
      isCease: frame['bgp.notify.minor_error_cease'] === '2',
      text: frame['bgp.notify.communication'],
    }));
    const marked = said.findIndex(({ isShutdown }) => isShutdown);
    const withdrawn = said.findIndex(({ isWithdraw }) => isWithdraw);
    const ceased = said.findIndex(({ isCease }) => isCease);
    expect([marked, withdrawn, ceased], JSON.stringify(frames)).to.satisfy(
      ([a = -1, b = -1, c = -1]: number[]) => a >= 0 && a < b && b <= c,
    );
    const changes = monitor.changes(VIP);
    // neither taken off early and put back, nor left
    expect(changes.map(({ kind }) => kind)).to.deep.equal(['added', 'removed']);
    const unbound = changes.at(-1)?.at;
    expect(unbound, 'off the interface').to.be.at.least(said[withdrawn]?.at ?? Number.NaN);
    const isLate = (unbound ?? 0) > (said[ceased]?.at ?? 0);
    if (isLate) throw new LateStamp('off the interface after the Cease');
    const waited = (said[withdrawn]?.at ?? 0) - (said[marked]?.at ?? 0);
    expect(waited).to.be.within(0.9, 10);
    expect(said[ceased]?.text).to.contain(signal);
  }

  it('a second signal ends it at once, in the middle of the wait', async () => {
    await serving(30);
    lab.agent.signal('SIGTERM');
    await untilValue(
      'the wait has begun',
      () => lab.routes(),
      ([route]) => route?.communities.includes('65535:0') === true,
    );
    const started = performance.now();
    lab.agent.signal('SIGTERM');
    expect(await lab.agent.ended).to.equal(143);
    expect(performance.now() - started, 'of the 30 s').to.be.below(10_000);
    await lab.announces([]);
  });

  describe('at a router that keeps the routes of who vanishes without a word (RFC 4724)', () => {
    before(async () => {
      await lab.router.stop();
      await lab.startRouter({ isGracefulRestartHelper: true });
    });
    after(async () => {
      await lab.router.stop();
      await lab.startRouter();
    });

    async function drainingAtHelper(
      flags: readonly string[] = [],
      env: NonNullable<SpawnOptions['env']> = {},
    ) {
      lab.write({
        'all.yaml': [
          peer({ gracefulRestart: { restartSeconds: 120 } }),
          pool({ drain: { waitSeconds: 3600 } }),
          claim(VIP),
        ],
      });
      lab.ready(true);
      lab.start(flags, { env });
      await lab.announces([VIP]);
      lab.agent.signal('SIGTERM');
      await untilValue(
        'the drain has begun',
        () => lab.routes(),
        ([route]) => route?.communities.includes('65535:0') === true,
      );
    }

    it('a second signal in the middle of a drain: the route goes with a Cease', async () => {
      await drainingAtHelper();
      lab.agent.signal('SIGTERM');
      expect(await lab.agent.ended).to.equal(143);
      await lab.announces([], 15_000);
      const [session] = await lab.router.sessions();
      expect(session?.lastError).to.match(/Received: Administrative shutdown/i);
    });

    it('SIGQUIT, which ends it at once: the route goes with a Cease', async () => {
      await drainingAtHelper();
      lab.agent.signal('SIGQUIT');
      expect(await lab.agent.ended).to.not.equal(0);
      await lab.announces([], 15_000);
      const [session] = await lab.router.sessions();
      expect(session?.lastError).to.match(/Received: Administrative shutdown/i);
    });

    it('an error that nobody caught, in the middle of a drain: the route goes with a Cease', async () => {
      const crash = join(lab.node.folder, 'crash.mjs');
      writeFileSync(crash, "process.on('SIGUSR2', () => { throw new Error('planted'); });");
      await drainingAtHelper([], { NODE_OPTIONS: `--import=${crash}` });
      lab.agent.signal('SIGUSR2');
      expect(await lab.agent.ended).to.not.equal(0);
      expect(lab.agent.log()).to.contain('planted');
      await lab.announces([], 15_000);
    });

    it('a wait that is longer than the process may live: it leaves in order before it is killed', async () => {
      await drainingAtHelper(['--stop-grace', '7']);
      expect(await lab.agent.ended).to.equal(0);
      await lab.announces([], 15_000);
    });
  });

  it('does not wait when no neighbour is there to hear it', async () => {
    lab.write({
      'all.yaml': [
        peer({ address: '10.50.0.99' }),
        pool({ drain: { waitSeconds: 30 } }),
        claim(VIP),
      ],
    });
    lab.ready(true);
    lab.start();
    await untilValue(
      'it would announce',
      () => lab.status(),
      ({ claims }) => claims[0]?.peers[0]?.route === 'waiting',
    );
    const started = performance.now();
    expect(await lab.agent.stop(25_000)).to.equal(0);
    expect(performance.now() - started, 'of the 30 s').to.be.below(20_000);
  });

  it('a pool that does not drain on a stop leaves at once', async () => {
    const drain = { on: ['exclude-label'], waitSeconds: 30 };
    lab.write({ 'all.yaml': [peer(), pool({ drain }), claim(VIP)] });
    lab.ready(true);
    lab.start();
    await lab.announces([VIP]);
    const started = performance.now();
    expect(await lab.agent.stop(25_000)).to.equal(0);
    expect(performance.now() - started, 'of the 30 s').to.be.below(20_000);
  });

  it('what a kill -9 leaves on an interface is cleaned by the next start, even if it never joins', async () => {
    await serving(0);
    await lab.agent.kill();
    await lab.announces([]);
    expect(await lab.addressesOn('lo')).to.include(VIP);
    lab.ready(false);
    lab.start();
    await lab.holdsNot('lo', VIP);
    await lab.established();
    await lab.announces([]);
  });
});
