import { eventually } from '../poll.ts';
import type { Measured, Scenario } from '../scenario.ts';

export const scenario: Scenario = {
  title: 'dual-stack: an address of each family, both reached from outside',
  async run(world) {
    await world.apply('web.yaml');
    await world.rolledOut('deployment/web');
    const addresses = await eventually(
      'the Service has two addresses',
      async () =>
        (await world.field('service/web', '.status.loadBalancer.ingress[*].ip'))
          .split(' ')
          .filter((each) => each !== ''),
      (found) => (found.length === 2 ? undefined : found.join()),
    );
    const measured: Measured[] = [];
    for (const address of addresses) {
      await world.answered(address);
      const probing = await world.probe({ address, everyMs: 10, seconds: 30 });
      await world.passes(3000);
      const outage = await probing.stop();
      world.expectNone(outage);
      measured.push({ what: address.includes(':') ? 'IPv6' : 'IPv4', outage });
    }
    return measured;
  },
};
