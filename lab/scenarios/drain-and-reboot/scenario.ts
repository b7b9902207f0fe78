import { EXCLUDE_LABEL } from '../../../src/model/names.ts';
import type { Scenario } from '../scenario.ts';
import { expectNoneLost } from '../verdicts.ts';

const EVERY_MS = 5;
const HELD = { connections: 100, everyMs: 200 } as const;

export const scenario: Scenario = {
  title: 'a node is drained, rebooted and comes back',
  async run(world) {
    const { address, prefix } = await world.serveWeb();
    await world.routerHas('tor1', prefix, world.paths('n1', 'n2'));
    await world.answered(address);
    const holding = await world.hold({ address, ...HELD });
    const probing = await world.probe({ address, everyMs: EVERY_MS, seconds: 300 });
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
    const powerOn = () => world.lab.powerOn('n2', (line) => world.say(line));
    world.later(powerOn);
    await world.lab.machines.switchOff('n2');
    await world.passes(3000);
    await powerOn();
    await world.kubectl(['wait', 'node/n2', '--for=condition=Ready', '--timeout=120s']);
    await world.kubectl(['uncordon', 'n2']);
    await world.kubectl(['label', 'node', 'n2', `${EXCLUDE_LABEL}-`]);
    await world.routerHas('tor1', prefix, world.paths('n1', 'n2'), { withinMs: 120_000 });
    await world.passes(2000);
    const outage = await probing.stop();
    const held = await holding.stop();
    // the way through the node goes, and comes back
    expectNoneLost(outage, { everyMs: EVERY_MS, changes: 2 });
    // those that neither came in through the node nor ended on it have nothing to do with it
    if (held.cut === held.open) throw new Error(`all ${held.open} connections were cut`);
    return [{ what: 'drain, reboot, back', outage, held }];
  },
};
