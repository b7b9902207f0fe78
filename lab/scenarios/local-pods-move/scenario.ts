import { uplinkOf } from '../places.ts';
import { eventually } from '../poll.ts';
import type { Scenario } from '../scenario.ts';
import { expectBrief } from '../verdicts.ts';

export const scenario: Scenario = {
  title: 'externalTrafficPolicy Local: the route is where the pods are, and moves with them',
  async run(world) {
    const { address, prefix } = await world.serveWeb();
    const nodes = async () =>
      [...(await world.nodesOfPods()).values()].filter((name) => name !== '');
    const [first = ''] = await nodes();
    await world.routerHas(world.torOf(first), prefix, world.paths(first));
    for (const tor of ['tor1', 'tor2']) {
      if (tor !== world.torOf(first)) await world.routerHas(tor, prefix, world.throughSpine(tor));
    }
    await world.answered(address);
    const probing = await world.probe({ address, everyMs: 10, seconds: 180 });
    world.later(() => world.kubectl(['uncordon', first]));
    await world.kubectl(['cordon', first]);
    await world.kubectl(['scale', 'deployment/web', '--replicas=2']);
    const both = await eventually('a second pod, elsewhere', nodes, (found) => {
      return new Set(found).size === 2 ? undefined : found.join();
    });
    const second = both.find((name) => name !== first) ?? '';
    await world.rolledOut('deployment/web');
    await world.routerHas(world.torOf(second), prefix, {
      paths: [first, second]
        .filter((name) => world.torOf(name) === world.torOf(second))
        .map((name) => ({ nextHop: uplinkOf(name) })),
    });
    const pods = ['get', 'pods', '-l', 'app=web', `--field-selector=spec.nodeName=${first}`];
    const [old = ''] = (await world.kubectl([...pods, '-o', 'name'])).split('\n');
    const cost = 'controller.kubernetes.io/pod-deletion-cost=-100';
    await world.kubectl(['annotate', old, cost]);
    await world.kubectl(['scale', 'deployment/web', '--replicas=1']);
    await world.routerHas(world.torOf(second), prefix, world.paths(second));
    await world.passes(7000);
    const outage = await probing.stop();
    // the second way comes, the first goes
    expectBrief(outage, { everyMs: 10, changes: 2 });
    return [{ what: `the pod moves from one node to another`, outage }];
  },
};
