import type { Scenario } from '../scenario.ts';
import { expectNone } from '../verdicts.ts';

export const scenario: Scenario = {
  title: 'rolling update of the pods (preStop 5 s), 500 connections a second',
  async run(world) {
    const { address } = await world.serveWeb();
    await world.answered(address);
    const probing = await world.probe({ address, everyMs: 2, seconds: 240 });
    await world.kubectl(['rollout', 'restart', 'deployment/web']);
    await world.rolledOut('deployment/web');
    await world.passes(6000);
    const outage = await probing.stop();
    expectNone(outage);
    return [{ what: 'all pods replaced', outage }];
  },
};
