import { eventually } from '../poll.ts';
import type { Scenario } from '../scenario.ts';

export const scenario: Scenario = {
  title: 'two racks: the spine has a way to each, and goes on with one when the other is cut off',
  async run(world) {
    const { address, prefix } = await world.serveWeb();
    await world.routerHas('spine', prefix, world.paths('tor1', 'tor2'));
    await world.routerHas('tor1', prefix, world.paths('n1', 'n2'));
    await world.routerHas('tor2', prefix, world.paths('n3'));
    await world.answered(address);
    const probing = await world.probe({ address, everyMs: 5, seconds: 120 });
    await eventually(
      'all three pods answer',
      async () => new Set(probing.read().flatMap(({ who = [] }) => who)).size,
      (found) => (found === 3 ? undefined : `${found} have answered`),
    );
    await world.linkOf('tor2', 'eth1', 'down');
    world.later(() => world.linkOf('tor2', 'eth1', 'up'));
    await world.routerHas('spine', prefix, world.paths('tor1'));
    await world.passes(2000);
    await world.linkOf('tor2', 'eth1', 'up');
    await world.routerHas('spine', prefix, world.paths('tor1', 'tor2'), { withinMs: 90_000 });
    return [{ what: 'a rack is cut off, and back', outage: await probing.stop() }];
  },
};
