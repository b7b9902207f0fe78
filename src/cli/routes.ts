/** `herald routes`: what is announced to whom, one row per address and peer. */

import { parseArgs } from 'node:util';
import { listRoutes, renderRoutes } from '../control/render-routes.ts';
import type { Command } from './command.ts';
import { LOOK_FLAGS, LOOK_HELP, look } from './look.ts';

const HELP = `usage: herald routes [options]

Shows each claimed address and each peer it is meant for: the state of the route (up, waiting for
the session, draining, none), its next hop and attributes, or the reason why there is none.

${LOOK_HELP}

Exit status: 0 an agent answered, 1 none did, 2 wrong usage.
`;

export const routesCommand: Command = {
  name: 'routes',
  summary: 'show what is announced to which peer',
  help: HELP,
  async run(args, world) {
    const { values } = parseArgs({ args: [...args], options: LOOK_FLAGS });
    return await look('routes', { text: renderRoutes, json: listRoutes }, values, world);
  },
};
