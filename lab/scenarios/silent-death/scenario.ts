import { nowMs } from '../../../tools/probe/monotonic.ts';
import { analyse } from '../../../tools/probe/probe-log.ts';
import { eventually } from '../poll.ts';
import type { Scenario } from '../scenario.ts';
import { expectNone } from '../verdicts.ts';

/** the hold time of 9 s, the router's own delay, and a margin for a machine that is busy; without a hold time it is never */
const GONE_WITHIN_MS = 30_000;

export const scenario: Scenario = {
  title: 'a node dies in silence: its router takes the route away by hold time',
  isShort: true,
  async run(world) {
    const { address, prefix } = await world.serveWeb();
    await world.routerHas('tor1', prefix, world.paths('n1', 'n2'));
    await world.answered(address);
    const probing = await world.probe({ address, everyMs: 10, seconds: 120 });
    const diedMs = nowMs();
    world.later(() => world.plugIn('n2'));
    await world.cutOff('n2');
    await world.routerHas('tor1', prefix, world.paths('n1'), { withinMs: GONE_WITHIN_MS });
    await eventually(
      "tor1's kernel has one way",
      () => world.lab.on('tor1', ['ip', 'route', 'show', address]),
      (shown) => (/10\.1\.0\.12\b/.test(shown) ? shown : undefined),
      { everyMs: 20 },
    );
    const goneMs = nowMs();
    await world.passes(3000);
    const after = analyse(probing.read(), goneMs, nowMs() - 1000, 10);
    const outage = await probing.stop(diedMs);
    if (outage.lost === 0) throw new Error('nothing was lost: has the node died at all?');
    expectNone(after);
    return [{ what: 'until the hold time is over', outage }];
  },
};
