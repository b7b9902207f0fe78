/**
 * Plays many agents in one process, as the API server sees them: of each its two filtered watches of claims (anycast, and its own label), each on a
 * connection of its own, its Lease every 5 s, and its IPNode, which answers for claims that are new to it. No routers, no routes.
 *
 *   node … simulated-agents-main.ts KUBECONFIG NAME,NAME,… HABITS
 *
 * HABITS is JSON (simulated-agents.ts). Reads lines: `silence NAME,NAME` ends the Lease and the reports of these. Writes `ready` when all watches are open, and for each silence `silent MS` with the
 * moment of their last renewal on the monotonic clock.
 */

import { createInterface } from 'node:readline';
import { SimulatedAgents } from './simulated-agents.ts';

const [, , kubeconfig = '', list = '', habits = '{}'] = process.argv;
const agents = new SimulatedAgents(kubeconfig, list.split(','), JSON.parse(habits));
await agents.start();
process.stdout.write('ready\n');
const input = createInterface({ input: process.stdin });
input.on('line', (line) => {
  const [verb = '', names = ''] = line.split(' ');
  if (verb === 'silence') process.stdout.write(`silent ${agents.silence(names.split(','))}\n`);
});
// whoever started it is gone
input.on('close', () => process.exit(0));
