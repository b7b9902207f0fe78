import { EXCLUDE_LABEL } from '../../../src/model/names.ts';
import { nodesOf } from '../places.ts';
import { eventually } from '../poll.ts';
import type { Measured, Scenario } from '../scenario.ts';
import { expectWays, type Sample } from '../table-watch.ts';
import { expectBrief } from '../verdicts.ts';
import type { World } from '../world.ts';

const EVERY_MS = 5;
/** a node that leaves waits for ten seconds, one that did not take an address over is passed by for a minute */
const PATIENCE = { withinMs: 120_000 };

export const scenario: Scenario = {
  title: 'an exclusive address moves from node to node, and the routers always have a way',
  async run(world) {
    await world.apply('pool.yaml');
    const { address, prefix } = await world.serveWeb();
    const labelled = (node: string, sign: '=' | '-') =>
      world.kubectl(['label', 'node', node, `${EXCLUDE_LABEL}${sign}`, '--overwrite']);
    for (const node of ['n1', 'n2', 'n3']) world.later(() => labelled(node, '-'));

    // it begins in rack 1, wherever it was put
    await labelled('n3', '=');
    const first = await heldBy(world, address, nodesOf('tor1'));
    await settled(world, prefix, first);
    const [second = ''] = nodesOf('tor1').filter((node) => node !== first);
    const within = await move(world, address, { what: 'within a rack', from: first, to: second });
    expectWays(within.samples, 'tor1', { atMost: 1 });
    expectWays(within.samples, 'spine', { atMost: 1 });

    await labelled('n3', '-');
    const across = await move(world, address, {
      what: 'to the other rack',
      from: second,
      to: 'n3',
    });
    // the preference of iBGP ends at the router of the rack: to the spine both are equally good for a while
    expectWays(across.samples, 'spine', { atMost: 2 });
    return [within.measured, across.measured];
  },
};

interface Move {
  readonly what: string;
  readonly from: string;
  readonly to: string;
}

/** The node is asked to leave, under the eyes of a client and with a look into the routers all the while. */
async function move(
  world: World,
  address: string,
  { what, from, to }: Move,
): Promise<{ readonly measured: Measured; readonly samples: readonly Sample[] }> {
  const prefix = `${address}/32`;
  await world.answered(address);
  const probing = await world.probe({ address, everyMs: EVERY_MS, seconds: 300 });
  const watch = world.watch(['tor1', 'spine'], prefix);
  await world.kubectl(['label', 'node', from, `${EXCLUDE_LABEL}=`, '--overwrite']);
  await heldBy(world, address, [to]);
  await settled(world, prefix, to);
  await world.passes(3000);
  const samples = await watch.stop();
  const outage = await probing.stop();
  expectBrief(outage, { everyMs: EVERY_MS });
  return { measured: { what, outage }, samples };
}

async function heldBy(world: World, address: string, nodes: readonly string[]): Promise<string> {
  return await eventually(
    `${nodes.join(' or ')} holds ${address}`,
    () => world.field(`ipclaim/${address}`, '.spec.node'),
    (found) => (nodes.includes(found) ? undefined : `${found === '' ? 'nobody' : found} does`),
    PATIENCE,
  );
}

/** The node's router has no way but through it, nor has the spine but through that router. */
async function settled(world: World, prefix: string, node: string): Promise<void> {
  const tor = world.torOf(node);
  await world.routerHas(tor, prefix, world.paths(node), PATIENCE);
  await world.routerHas('spine', prefix, world.paths(tor), PATIENCE);
}
