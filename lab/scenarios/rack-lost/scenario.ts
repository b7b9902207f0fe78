import { EXCLUDE_LABEL, NAMESPACE } from '../../../src/model/names.ts';
import { nowMs } from '../../../tools/probe/monotonic.ts';
import { analyse } from '../../../tools/probe/probe-log.ts';
import { nodesOf } from '../places.ts';
import { eventually } from '../poll.ts';
import type { Scenario } from '../scenario.ts';
import { expectWays } from '../table-watch.ts';
import { expectNone } from '../verdicts.ts';
import type { World } from '../world.ts';

const EVERY_MS = 20;
const SURVIVOR = 'n3';
/** as promised, 2 × the lease duration + 3 s, and 3 s for a busy machine; 0.1 never moved it */
const MOVED_WITHIN_MS = 36_000;

export const scenario: Scenario = {
  title: 'two of three nodes lose power at once: the exclusive address moves to the third',
  async run(world) {
    const lost = nodesOf('tor1');
    await world.apply('pool.yaml');
    await controllerOn(world, SURVIVOR);
    world.later(() => world.kubectl(['label', 'node', SURVIVOR, `${EXCLUDE_LABEL}-`]));
    await world.kubectl(['label', 'node', SURVIVOR, `${EXCLUDE_LABEL}=`, '--overwrite']);
    const { address, prefix } = await world.serveWeb();
    await world.routerHas('spine', prefix, world.paths('tor1'));
    await world.kubectl(['label', 'node', SURVIVOR, `${EXCLUDE_LABEL}-`]);
    await world.answered(address);

    const probing = await world.probe({ address, everyMs: EVERY_MS, seconds: 300 });
    const watch = world.watch(['spine'], prefix);
    const powerOn = (node: string) => world.lab.powerOn(node, (line) => world.say(line));
    for (const node of lost) {
      world.later(() => world.kubectl(['wait', `node/${node}`, '--for=condition=Ready']));
      world.later(() => powerOn(node));
    }
    const diedMs = nowMs();
    await Promise.all(lost.map((node) => world.lab.machines.switchOff(node)));
    await world.routerHas('spine', prefix, world.paths('tor2'), { withinMs: MOVED_WITHIN_MS });
    const backMs = nowMs() + 500;
    await world.passes(5000);
    expectWays(await watch.stop(), 'spine', { atLeast: 0, atMost: 1 });
    const after = analyse(probing.read(), backMs, nowMs() - 1000, EVERY_MS);
    const outage = await probing.stop(diedMs);
    if (outage.lost === 0) throw new Error('nothing was lost: has the rack died at all?');
    expectNone(after);
    return [{ what: 'until the third node has it', outage }];
  },
};

/** One controller must outlive the rack; without one, Kubernetes' own time to start another would be measured. */
async function controllerOn(world: World, node: string): Promise<void> {
  const inside = ['-n', NAMESPACE];
  const selector = ['-l', 'app.kubernetes.io/component=controller'];
  const line = '{.metadata.name} {.spec.nodeName} {.status.containerStatuses[0].ready}{"\\n"}';
  const pods = async () => {
    const path = `jsonpath={range .items[*]}${line}{end}`;
    const text = await world.kubectl([...inside, 'get', 'pods', ...selector, '-o', path]);
    return text.split('\n').flatMap((each) => {
      const [name = '', place = '', ready = ''] = each.split(' ');
      return name === '' ? [] : [{ name, place, isReady: ready === 'true' }];
    });
  };
  const isThere = (found: Awaited<ReturnType<typeof pods>>) =>
    found.some(({ place, isReady }) => place === node && isReady);
  const before = await pods();
  if (isThere(before)) return;
  const others = nodesOf('tor1');
  for (const other of others) {
    world.later(() => world.kubectl(['uncordon', other]));
    await world.kubectl(['cordon', other]);
  }
  await world.kubectl([...inside, 'delete', 'pod', before[0]?.name ?? '']);
  await eventually(`a controller on ${node}`, pods, (found) =>
    isThere(found) ? undefined : JSON.stringify(found),
  );
  for (const other of others) await world.kubectl(['uncordon', other]);
}
