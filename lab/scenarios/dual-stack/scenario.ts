import { isIPv4, isIPv6 } from 'node:net';
import type { Json } from '../partial.ts';
import { nodesOf, uplinkOf } from '../places.ts';
import { eventually } from '../poll.ts';
import type { Measured, Scenario } from '../scenario.ts';
import { expectNone } from '../verdicts.ts';

export const scenario: Scenario = {
  title: 'dual-stack: an address of each family, both announced and reached from outside',
  async run(world) {
    await world.apply('web.yaml');
    await world.rolledOut('deployment/web');
    const addresses = await eventually(
      'the Service has an address of each family',
      async () =>
        (await world.field('service/web', '.status.loadBalancer.ingress[*].ip'))
          .split(' ')
          .filter((each) => each !== ''),
      (found) => {
        const isOneOfEach = found.length === 2 && found.some(isIPv4) && found.some(isIPv6);
        return isOneOfEach ? undefined : found.join();
      },
    );
    const measured: Measured[] = [];
    for (const address of addresses.toSorted((a) => (isIPv4(a) ? -1 : 1))) {
      const family = isIPv4(address) ? 'ipv4' : 'ipv6';
      const prefix = `${address}/${family === 'ipv4' ? 32 : 128}`;
      for (const tor of ['tor1', 'tor2']) {
        const paths = nodesOf(tor).map((node) => ({ nextHop: uplinkOf(node, family) }));
        await world.routerHas(tor, prefix, { paths });
      }
      // a way to each rack; by which of its addresses the spine knows a router is theirs to agree on
      const racks: Json = family === 'ipv4' ? world.paths('tor1', 'tor2') : { paths: [{}, {}] };
      await world.routerHas('spine', prefix, racks);
      await world.answered(address);
      const probing = await world.probe({ address, everyMs: 10, seconds: 30 });
      await world.passes(3000);
      const outage = await probing.stop();
      expectNone(outage);
      measured.push({ what: family === 'ipv4' ? 'IPv4' : 'IPv6', outage });
    }
    return measured;
  },
};
