import { nowMs } from '../../../tools/probe/monotonic.ts';
import { analyse, type Probe } from '../../../tools/probe/probe-log.ts';
import { torOf } from '../places.ts';
import { eventually } from '../poll.ts';
import type { Scenario } from '../scenario.ts';
import { expectWithin } from '../verdicts.ts';

const EVERY_MS = 5;
/** A link that goes down is seen at once: a tenth of the hold time is much already. */
const NOTICED_WITHIN_MS = 900;
/** of the connections that a rack has at least; half of them would be fair */
const LEAST_SHARE = 0.1;
const ENOUGH = 300;

export const scenario: Scenario = {
  title: 'two racks: the spine deals out over both, and goes on with one when the other is cut off',
  async run(world) {
    const { address, prefix } = await world.serveWeb();
    await world.routerHas('spine', prefix, world.paths('tor1', 'tor2'));
    await world.routerHas('tor1', prefix, world.paths('n1', 'n2'));
    await world.routerHas('tor2', prefix, world.paths('n3'));
    await world.answered(address);
    // a pod of a Local Service is reached through its own node alone, so who answers tells the way
    const nodes = await world.nodesOfPods();
    const racksOf = (probes: readonly Probe[]) =>
      probes.flatMap(({ who }) => (who === undefined ? [] : rackOf(nodes, who)));
    const probing = await world.probe({ address, everyMs: EVERY_MS, seconds: 180 });
    await eventually(
      'pods of all three nodes answer',
      async () => probing.read().flatMap(({ who }) => (who === undefined ? [] : who)),
      (found) => {
        const isEnough = found.length >= ENOUGH && new Set(found).size === 3;
        return isEnough ? undefined : `${found.length} answers of ${[...new Set(found)].join()}`;
      },
    );
    expectBoth(racksOf(probing.read()));

    world.later(() => world.linkOf('tor2', 'eth1', 'up'));
    const cutMs = nowMs();
    await world.linkOf('tor2', 'eth1', 'down');
    await world.routerHas('spine', prefix, world.paths('tor1'));
    const goneMs = nowMs();
    await world.passes(3000);
    const backMs = nowMs();
    await world.linkOf('tor2', 'eth1', 'up');
    await world.routerHas('spine', prefix, world.paths('tor1', 'tor2'), { withinMs: 90_000 });
    const bothMs = nowMs();
    await world.passes(3000);
    const endMs = nowMs();
    const probes = await probing.finish();

    const cut = analyse(probes, cutMs, backMs, EVERY_MS);
    const back = analyse(probes, backMs, endMs, EVERY_MS);
    expectWithin(cut, NOTICED_WITHIN_MS, { everyMs: EVERY_MS });
    expectWithin(back, NOTICED_WITHIN_MS, { everyMs: EVERY_MS });
    const alone = racksOf(between(probes, goneMs, backMs));
    if (alone.includes('tor2')) throw new Error('a rack that is cut off has answered');
    expectBoth(racksOf(between(probes, bothMs, endMs)));
    return [
      { what: 'a rack is cut off', outage: cut },
      { what: 'and is back', outage: back },
    ];
  },
};

function rackOf(nodes: ReadonlyMap<string, string>, pod: string): string {
  const node = nodes.get(pod);
  if (node === undefined) throw new Error(`${pod} answers and is no pod of this Service`);
  return torOf(node);
}

function between(probes: readonly Probe[], fromMs: number, toMs: number): readonly Probe[] {
  return probes.filter(({ sentMs }) => sentMs >= fromMs && sentMs <= toMs);
}

/** Connections have come in through both racks. */
function expectBoth(racks: readonly string[]): void {
  for (const tor of ['tor1', 'tor2']) {
    const share = racks.filter((each) => each === tor).length / racks.length;
    if (share >= LEAST_SHARE) continue;
    throw new Error(`of ${racks.length} connections ${tor} had ${(share * 100).toFixed(1)} %`);
  }
}
