import { eventually } from '../poll.ts';
import type { Scenario } from '../scenario.ts';
import { expectNone } from '../verdicts.ts';

const ALLOCATED = 'herald.dev/Allocated';
const SERVICES = ['one', 'two', 'three'] as const;

export const scenario: Scenario = {
  title:
    'a pool that is full: the third Service waits and says why, and is served when the pool grows',
  async run(world) {
    await world.apply('pool.yaml');
    await world.apply('services.yaml');
    await world.rolledOut('deployment/web');
    const addresses = async () =>
      await Promise.all(
        SERVICES.map((name) =>
          world.field(`service/${name}`, '.status.loadBalancer.ingress[0].ip'),
        ),
      );
    await eventually('two have an address', addresses, (found) => {
      return found.filter((each) => each !== '').length === 2 ? undefined : found.join();
    });
    const left = SERVICES[(await addresses()).indexOf('')] ?? 'three';
    await world.conditionIs(`service/${left}`, ALLOCATED, {
      status: 'False',
      reason: 'PoolExhausted',
      says: 'pool lab-small has no free IPv4 address',
    });
    await world.apply('grown.yaml');
    const address = await world.addressOf(left);
    await world.conditionIs(`service/${left}`, ALLOCATED, {
      status: 'True',
      reason: 'Allocated',
      says: address,
    });
    await world.routerHas('spine', `${address}/32`, world.paths('tor1', 'tor2'));
    await world.answered(address);
    const probing = await world.probe({ address, everyMs: 10, seconds: 20 });
    await world.passes(2000);
    const outage = await probing.stop();
    expectNone(outage);
    return [{ what: 'the Service that had waited', outage }];
  },
};
