import type { Scenario } from '../scenario.ts';
import { expectNone } from '../verdicts.ts';

export const scenario: Scenario = {
  title: 'scaled to zero and back: the route goes with the last pod and comes with the first',
  async run(world) {
    const { address, prefix } = await world.serveWeb();
    await world.answered(address);
    await world.kubectl(['scale', 'deployment/web', '--replicas=0']);
    for (const router of ['spine', 'tor1', 'tor2']) {
      await world.routerHas(router, prefix, { paths: [] });
    }
    await world.kubectl(['scale', 'deployment/web', '--replicas=2']);
    await world.routerHas('spine', prefix, world.paths('tor1', 'tor2'));
    await world.answered(address);
    const probing = await world.probe({ address, everyMs: 10, seconds: 20 });
    await world.passes(3000);
    const outage = await probing.stop();
    expectNone(outage);
    return [{ what: 'after it is back', outage }];
  },
};
