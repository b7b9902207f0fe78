/** `herald status`: what the agent of this machine does, and what keeps it from doing more. */

import { parseArgs } from 'node:util';
import { renderStatus } from '../control/render-status.ts';
import type { Command } from './command.ts';
import { LOOK_FLAGS, LOOK_HELP, look } from './look.ts';

const HELP = `usage: herald status [options]

Shows the agent of this machine: whether it has joined, its BGP sessions, its claims with the first
gate that is not open, documents that were refused, and warnings.

${LOOK_HELP}

Exit status: 0 an agent answered, 1 none did, 2 wrong usage.
`;

export const statusCommand: Command = {
  name: 'status',
  summary: "show the agent's sessions, claims and what needs attention",
  help: HELP,
  async run(args, world) {
    const { values } = parseArgs({ args: [...args], options: LOOK_FLAGS });
    return await look('status', { text: renderStatus, json: (status) => status }, values, world);
  },
};
