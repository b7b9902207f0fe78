import { EXCLUDE_LABEL } from '../../../src/model/names.ts';
import type { Scenario } from '../scenario.ts';

export const scenario: Scenario = {
  title: 'a node is drained, rebooted and comes back',
  async run(world) {
    const { address, prefix } = await world.serveWeb();
    await world.routerHas('tor1', prefix, world.paths('n1', 'n2'));
    await world.answered(address);
    const probing = await world.probe({ address, everyMs: 5, seconds: 300 });
    world.later(() => world.kubectl(['uncordon', 'n2']));
    world.later(() => world.kubectl(['label', 'node', 'n2', `${EXCLUDE_LABEL}-`]));
    await world.kubectl(['label', 'node', 'n2', `${EXCLUDE_LABEL}=`]);
    await world.routerHas('tor1', prefix, world.paths('n1'));
    await world.kubectl([
      'drain',
      'n2',
      '--ignore-daemonsets',
      '--delete-emptydir-data',
      '--force',
      '--timeout=120s',
    ]);
    await world.lab.machines.switchOff('n2');
    await world.passes(3000);
    await world.lab.machines.switchOn('n2', (line) => world.say(line));
    await world.kubectl(['wait', 'node/n2', '--for=condition=Ready', '--timeout=120s']);
    await world.kubectl(['uncordon', 'n2']);
    await world.kubectl(['label', 'node', 'n2', `${EXCLUDE_LABEL}-`]);
    await world.routerHas('tor1', prefix, world.paths('n1', 'n2'), { withinMs: 120_000 });
    await world.passes(2000);
    const outage = await probing.stop();
    world.expectNoneLost(outage);
    return [{ what: 'drain, reboot, back', outage }];
  },
};
