import { eventually } from '../poll.ts';
import type { Scenario } from '../scenario.ts';

export const scenario: Scenario = {
  title: 'externalTrafficPolicy Local: the route is where the pods are, and moves with them',
  isShort: true,
  async run(world) {
    await world.apply('web.yaml');
    await world.rolledOut('deployment/web');
    const address = await world.addressOf('web');
    const prefix = `${address}/32`;
    const nodes = async () =>
      (
        await world.kubectl([
          'get',
          'pods',
          '-l',
          'app=web',
          '-o',
          'jsonpath={.items[*].spec.nodeName}',
        ])
      )
        .split(' ')
        .filter((name) => name !== '');
    const [first = ''] = await nodes();
    await world.routerHas(world.torOf(first), prefix, world.paths(first));
    for (const tor of ['tor1', 'tor2']) {
      if (tor !== world.torOf(first)) await world.routerHas(tor, prefix, world.throughSpine(tor));
    }
    await world.answered(address);
    const probing = await world.probe({ address, everyMs: 10, seconds: 180 });
    await world.kubectl(['cordon', first]);
    world.later(() => world.kubectl(['uncordon', first]));
    await world.kubectl(['rollout', 'restart', 'deployment/web']);
    await world.rolledOut('deployment/web');
    const [second = ''] = await eventually('one pod is left, elsewhere', nodes, (found) => {
      return found.length === 1 && found[0] !== first ? undefined : found.join();
    });
    await world.routerHas(world.torOf(second), prefix, world.paths(second));
    await world.passes(2000);
    const outage = await probing.stop();
    world.expectBrief(outage);
    return [{ what: `the pod moves from one node to another`, outage }];
  },
};
