import { eventually } from '../poll.ts';
import type { Scenario } from '../scenario.ts';

const KINDS = [
  'crds',
  'clusterroles',
  'clusterrolebindings',
  'validatingadmissionpolicies',
  'validatingadmissionpolicybindings',
  'priorityclasses',
  'namespaces',
  'apiservices',
].join();

export const scenario: Scenario = {
  title: 'Herald is taken away: the routers and the API have nothing of it left',
  isDestructive: true,
  async run(world) {
    const { address, prefix } = await world.serveWeb();
    await world.routerHas('spine', prefix, world.paths('tor1', 'tor2'));
    await world.answered(address);
    world.later(() => world.lab.install());
    await world.removeHerald();
    for (const router of ['spine', 'tor1', 'tor2']) {
      await world.routerHas(router, prefix, { paths: [] });
    }
    await eventually(
      'nothing of it is left in the API',
      async () =>
        (await world.kubectl(['get', KINDS, '-o', 'name']))
          .split('\n')
          .filter((name) => name.includes('herald')),
      (left) => (left.length === 0 ? undefined : left.join(', ')),
    );
    return [];
  },
};
