import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { ControllerCaches } from '../../../src/controller/caches.ts';
import { LivenessLoop } from '../../../src/controller/liveness-loop.ts';
import { PlacementLoop } from '../../../src/controller/placement-loop.ts';
import { SILENT_LOG } from '../../../src/log/log.ts';
import { ANYCAST_LABEL } from '../../../src/model/names.ts';
import { IP_CLAIMS, IP_POOLS, NODES } from '../../../src/sources/kube/resources.ts';
import { claimBody, claimName, exclusivePool } from '../../support/fake-agents.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { MemoryKubeApi } from '../../support/memory-kube-api.ts';

const ANYCAST = { placement: { mode: 'anycast', nodeFilter: 'fair', prependStep: 3 } };

/** what stood in their way is over: only such ones are told that they are placed */
const REFUSED = {
  phase: 'Refused',
  conditions: [{ type: 'Placed', status: 'False', reason: 'NoPool', message: 'no pool' }],
};

describe('what anycast claims are told, which every node hears of', () => {
  let api: MemoryKubeApi;
  let clock: ManualClock;
  let caches: ControllerCaches;
  let loops: readonly { start(): void; stop(): void }[];
  let isBusy: boolean;

  beforeEach(() => {
    api = new MemoryKubeApi();
    clock = new ManualClock();
    isBusy = false;
    api.put(IP_POOLS, exclusivePool('p', ANYCAST));
  });
  afterEach(() => {
    for (const loop of loops) loop.stop();
    caches.stop();
  });

  async function start(claims: number, nodes: number): Promise<void> {
    for (let index = 0; index < nodes; index += 1) {
      api.put(NODES, { metadata: { name: `n${index}` } });
    }
    for (let index = 0; index < claims; index += 1) {
      const labels = { [ANYCAST_LABEL]: '' };
      const body = claimBody(claimName(index), { pool: 'p' }, labels);
      api.put(IP_CLAIMS, { ...body, status: REFUSED });
    }
    const base = { api, clock, random: { next: () => 0.5 }, log: SILENT_LOG };
    caches = new ControllerCaches(base);
    const context = { ...base, caches, events: { record: () => undefined } };
    const liveness = new LivenessLoop(context);
    loops = [liveness, new PlacementLoop({ ...context, liveness, isBusy: () => isBusy })];
    caches.start();
    caches.whenSynced(() => {
      for (const loop of loops) loop.start();
    });
    await pass(0);
  }

  async function pass(seconds: number): Promise<void> {
    for (let step = 0; step <= seconds * 50; step += 1) {
      for (let each = 0; each < 6; each += 1) await turn();
      if (step < seconds * 50) clock.advance(20);
    }
  }

  const told = (): number =>
    api.all(IP_CLAIMS).filter((claim) => Object(claim['status']).phase === 'Placed').length;

  it('is told within a second where nothing else is to be done', async () => {
    await start(3, 3);
    await pass(1);
    expect(told()).to.equal(3);
  });

  it('waits while addresses are given out, but not for ever', async () => {
    isBusy = true;
    await start(3, 3);
    await pass(10);
    expect(told()).to.equal(0);
    isBusy = false;
    await pass(2);
    expect(told()).to.equal(3);
  });

  it('is told after half a minute of that', async () => {
    isBusy = true;
    await start(3, 3);
    await pass(35);
    expect(told()).to.equal(3);
  });

  it('goes slower the more nodes hear of it: five thousand deliveries a second', async () => {
    await start(40, 1000);
    await pass(3);
    expect(told()).to.be.within(10, 20);
  });
});
