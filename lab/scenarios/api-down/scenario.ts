import type { Scenario } from '../scenario.ts';
import { expectNone } from '../verdicts.ts';

const DOWN_MS = 120_000;
/** until everything that had lost the server has found it again: the controller manager waits for its old Lease to run out */
const AFTER_MS = 60_000;

export const scenario: Scenario = {
  title: 'the API server is down for two minutes',
  async run(world) {
    const { address, prefix } = await world.serveWeb();
    await world.routerHas('spine', prefix, world.paths('tor1', 'tor2'));
    await world.answered(address);
    const probing = await world.probe({ address, everyMs: 10, seconds: 400 });
    world.later(() => world.lab.thawApi());
    await world.lab.freezeApi();
    await world.passes(DOWN_MS);
    await world.routerHas('spine', prefix, world.paths('tor1', 'tor2'));
    await world.lab.thawApi();
    await world.passes(AFTER_MS);
    await world.routerHas('tor1', prefix, world.paths('n1', 'n2'));
    const outage = await probing.stop();
    expectNone(outage);
    return [{ what: 'down, and a minute more', outage }];
  },
};
