import { join } from 'node:path';
import { NAMESPACE } from '../../../src/model/names.ts';
import { nowMs } from '../../../tools/probe/monotonic.ts';
import { eventually } from '../poll.ts';
import type { Scenario } from '../scenario.ts';
import type { World } from '../world.ts';

/** Kubernetes' grace of 50 s, the 5 s of the overlay, the start of a pod, and a margin for a machine that is busy */
const STARTED_WITHIN_MS = 180_000;

export const scenario: Scenario = {
  title: 'simple mode: its node dies, and Kubernetes starts the one replica on another',
  isDestructive: true,
  async run(world) {
    const overlay = join(world.lab.deployFolder, '../overlays/simple');
    // whatever happens: what comes next is played with what deploy/base has
    world.later(() => world.lab.install());
    world.later(() => world.removeHerald(overlay));
    await world.removeHerald();
    await world.lab.install(overlay);

    const { address, prefix } = await world.serveWeb();
    const first = await nodeOfHerald(world, []);
    await world.routerHas(world.torOf(first), prefix, world.paths(first));
    await world.answered(address);
    const probing = await world.probe({ address, everyMs: 20, seconds: 400 });
    world.later(() =>
      world.kubectl(['wait', `node/${first}`, '--for=condition=Ready', '--timeout=120s']),
    );
    world.later(() => world.lab.powerOn(first, (line) => world.say(line)));
    const diedMs = nowMs();
    await world.lab.machines.switchOff(first);

    const second = await nodeOfHerald(world, [first]);
    await world.routerHas(world.torOf(second), prefix, world.paths(second));
    await world.answered(address);
    const outage = await probing.stop(diedMs);
    if (outage.lost === 0) throw new Error('nothing was lost: has the node died at all?');
    return [{ what: 'until Kubernetes has started it elsewhere', outage }];
  },
};

/** The node of the one pod that runs and is not on its way out. */
async function nodeOfHerald(world: World, without: readonly string[]): Promise<string> {
  const line = '{.spec.nodeName} {.status.phase} {.metadata.deletionTimestamp}{"\\n"}';
  const selector = ['-l', 'app.kubernetes.io/component=simple'];
  const look = async () => {
    const path = `jsonpath={range .items[*]}${line}{end}`;
    const text = await world.kubectl(['-n', NAMESPACE, 'get', 'pods', ...selector, '-o', path]);
    const living = text.split('\n').filter((each) => / Running $/.test(each));
    return living.map((each) => each.split(' ')[0] ?? '').filter((node) => !without.includes(node));
  };
  const [node = ''] = await eventually(
    'the pod of simple mode runs',
    look,
    (nodes) => (nodes.length === 1 ? undefined : `on ${nodes.join(', ')}`),
    { withinMs: STARTED_WITHIN_MS, everyMs: 500 },
  );
  return node;
}
