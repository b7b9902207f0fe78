import { eventually } from '../poll.ts';
import type { Scenario } from '../scenario.ts';
import { expectNone } from '../verdicts.ts';

export const scenario: Scenario = {
  title: 'a first Service: created, announced by both racks, reached from outside, deleted',
  isShort: true,
  async run(world) {
    const { address, prefix } = await world.serveWeb();
    await world.routerHas('spine', prefix, world.paths('tor1', 'tor2'));
    await world.routerHas('tor1', prefix, world.paths('n1', 'n2'));
    await world.routerHas('tor2', prefix, world.paths('n3'));
    await world.answered(address);
    const probing = await world.probe({ address, everyMs: 5, seconds: 30 });
    await eventually(
      'all three pods answer',
      async () => new Set(probing.read().flatMap(({ who = [] }) => who)).size,
      (found) => (found === 3 ? undefined : `${found} have answered`),
    );
    await world.passes(2000);
    const outage = await probing.stop();
    expectNone(outage);
    await world.kubectl(['delete', 'service', 'web']);
    for (const router of ['spine', 'tor1', 'tor2']) {
      await world.routerHas(router, prefix, { paths: [] });
    }
    await eventually(
      'no claim is left',
      () => world.kubectl(['get', 'ipclaims', '-o', 'name']),
      (left) => (left.includes(address) ? left : undefined),
      { withinMs: 90_000 },
    );
    return [{ what: 'while it stood', outage }];
  },
};
