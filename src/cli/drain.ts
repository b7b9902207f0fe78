/** `herald drain [ADDRESS]`: take an address, or the whole node, out of service without losing a new connection. */

import type { Command } from './command.ts';
import { ORDER_HELP, type OrderKind, runOrder } from './drain-order.ts';

const HELP = `usage: herald drain [ADDRESS] [options]

Takes an address out of service on this machine, or everything it announces when no ADDRESS is
given: the routes go out again with GRACEFUL_SHUTDOWN (RFC 8326), the pool's wait passes, then they
are withdrawn. Sessions stay up. It stands, over restarts of the agent too, until 'herald undrain'.

${ORDER_HELP}
`;

const DRAIN: OrderKind = {
  verb: 'drain',
  isLeft: ({ route }) => route === 'up' || route === 'draining',
  leftText: 'are still out',
  doneText: 'no route is out any more',
};

export const drainCommand: Command = {
  name: 'drain',
  summary: 'take an address, or this node, out of service gently',
  help: HELP,
  run: (args, world) => runOrder(DRAIN, args, world),
};
