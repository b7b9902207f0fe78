import { NAMESPACE } from '../../../src/model/names.ts';
import type { Measured, Scenario } from '../scenario.ts';
import { expectNone } from '../verdicts.ts';
import type { World } from '../world.ts';

export const scenario: Scenario = {
  title: 'rolling update of the DaemonSet, 500 connections a second',
  async run(world) {
    const { address } = await world.serveWeb();
    world.later(() => world.gracefulRestart(false));
    await world.gracefulRestart(true);
    await world.agreedOnGracefulRestart(true);
    await world.everywhere(address);
    const kept = await roll(world, address, 'graceful restart on');
    expectNone(kept.outage);
    await world.gracefulRestart(false);
    await world.agreedOnGracefulRestart(false);
    await world.everywhere(address);
    const drained = await roll(world, address, 'graceful restart off');
    return [kept, drained];
  },
};

async function roll(world: World, address: string, what: string): Promise<Measured> {
  const probing = await world.probe({ address, everyMs: 2, seconds: 300 });
  await world.kubectl(['-n', NAMESPACE, 'rollout', 'restart', 'daemonset/herald-agent']);
  await world.rolledOut('daemonset/herald-agent', 240, NAMESPACE);
  await world.passes(5000);
  return { what, outage: await probing.stop() };
}
