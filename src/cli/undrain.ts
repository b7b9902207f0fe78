/** `herald undrain [ADDRESS]`: take back a drain. */

import type { Command } from './command.ts';
import { ORDER_HELP, type OrderKind, runOrder } from './drain-order.ts';

const HELP = `usage: herald undrain [ADDRESS] [options]

Takes back 'herald drain' of an address, or of the node when no ADDRESS is given. Routes go out again
where all other gates are open: 'herald explain ADDRESS' tells. An address that was drained by itself
stays drained when only the node is undrained.

${ORDER_HELP}
`;

const UNDRAIN: OrderKind = {
  verb: 'undrain',
  // what another gate or a missing session holds, or a drain of the address by itself, is not ours to wait for
  isLeft: ({ route, gates }) =>
    route !== 'up' &&
    route !== 'waiting' &&
    gates.every(({ name, state }) => state === 'open' || name === 'bound'),
  leftText: 'are not out yet',
  doneText: 'every route that has a session and may be out is out',
};

export const undrainCommand: Command = {
  name: 'undrain',
  summary: 'take back a drain',
  help: HELP,
  run: (args, world) => runOrder(UNDRAIN, args, world),
};
