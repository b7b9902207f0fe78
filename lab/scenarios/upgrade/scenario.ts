import { NAMESPACE } from '../../../src/model/names.ts';
import { heraldImageName } from '../../cluster/herald-image.ts';
import { release } from '../../cluster/release.ts';
import { eventually } from '../poll.ts';
import type { Scenario } from '../scenario.ts';
import { expectNone } from '../verdicts.ts';
import type { World } from '../world.ts';

const BEFORE = '0.1.0';

export const scenario: Scenario = {
  title: `upgrade from ${BEFORE}, 500 connections a second`,
  isDestructive: true,
  async run(world) {
    const before = await release(BEFORE, (line) => world.say(line));
    await world.lab.machines.importImage(before.imageFile);
    // whatever happens: what comes next is played with what this checkout has
    world.later(() => world.lab.install());
    await world.removeHerald();
    await world.lab.install(`${before.deployFolder}/base`);
    await imagesAre(world, `herald:${BEFORE}`);

    const { address } = await world.serveWeb();
    world.later(() => world.gracefulRestart(false));
    await world.gracefulRestart(true);
    await world.agreedOnGracefulRestart(true);
    await world.everywhere(address);
    const claim = await identity(world, address);

    const probing = await world.probe({ address, everyMs: 2, seconds: 300 });
    await world.lab.install();
    await imagesAre(world, heraldImageName());
    await world.passes(5000);
    const outage = await probing.stop();
    expectNone(outage);

    await world.everywhere(address);
    const after = await identity(world, address);
    if (after !== claim) throw new Error(`the claim was ${claim} and is ${after}`);
    if ((await world.addressOf('web')) !== address) throw new Error('the address is another one');
    await world.saysOf('web', 'advertised by 3 of 3 nodes to 2 of 2 peers');
    return [{ what: `${BEFORE} → ${heraldImageName()}`, outage }];
  },
};

async function identity(world: World, address: string): Promise<string> {
  return await world.field(`ipclaim/${address}`, '.metadata.uid');
}

/** Pods that are on their way out do not count. */
async function imagesAre(world: World, image: string): Promise<void> {
  const line = '{.metadata.deletionTimestamp} {.spec.containers[*].image}{"\\n"}';
  await eventually(
    `all pods run ${image}`,
    () =>
      world.kubectl([
        ...['-n', NAMESPACE, 'get', 'pods', '-o'],
        `jsonpath={range .items[*]}${line}{end}`,
      ]),
    (found) => {
      const living = found.split('\n').filter((each) => each.startsWith(' '));
      const others = living.filter((each) => each !== ` ${image}`);
      if (living.length === 0) return 'there is none';
      return others.length === 0 ? undefined : `one runs${others[0]}`;
    },
  );
}
