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
  // what another gate holds, an address drained by itself among them, is not ours to wait for
  isLeft: ({ route, gates }) => route !== 'up' && gates.every(({ state }) => state === 'open'),
  leftText: 'are not out yet',
  doneText: 'every route that may be out is out',
};

export const undrainCommand: Command = {
  name: 'undrain',
  summary: 'take back a drain',
  help: HELP,
  run: (args, world) => runOrder(UNDRAIN, args, world),
};
