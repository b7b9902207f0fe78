import { EXCLUDE_LABEL } from '../../../src/model/names.ts';
import { eventually } from '../poll.ts';
import type { Scenario } from '../scenario.ts';

export const scenario: Scenario = {
  title: 'an exclusive address moves from node to node, and the router always has one way',
  async run(world) {
    await world.apply('pool.yaml');
    const { address, prefix } = await world.serveWeb();
    const holder = () => world.field(`ipclaim/${address}`, '.spec.node');
    const first = await eventually('a node holds it', holder, (found) =>
      found === '' ? 'nobody' : undefined,
    );
    await world.routerHas(world.torOf(first), prefix, world.paths(first));
    await world.answered(address);
    const probing = await world.probe({ address, everyMs: 5, seconds: 180 });
    await world.kubectl(['label', 'node', first, `${EXCLUDE_LABEL}=`]);
    world.later(() => world.kubectl(['label', 'node', first, `${EXCLUDE_LABEL}-`]));
    const second = await eventually('another node holds it', holder, (found) =>
      found === '' || found === first ? found : undefined,
    );
    await world.routerHas(world.torOf(second), prefix, world.paths(second));
    await world.passes(3000);
    const outage = await probing.stop();
    world.expectBrief(outage);
    return [{ what: 'one planned move', outage }];
  },
};
