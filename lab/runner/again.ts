/** Starts the program of a node again, where it has ended: the machine and its network were there all the time. */

import { enter, isRunning, startContainer } from './container.ts';
import { checkout } from './images.ts';
import { plan } from './plan.ts';
import { readTopology } from './read.ts';
import { LabRefusal } from './refusal.ts';
import { readState, type StartedContainer, writeState } from './state.ts';

export async function startAgain(name: string, node: string): Promise<StartedContainer> {
  const state = readState(name);
  if (state === undefined) throw new LabRefusal(`there is no lab ${name}`);
  const before = state.containers.find((each) => each.node === node);
  if (before === undefined) throw new LabRefusal(`there is no node ${node} with a program`);
  if (isRunning(before)) throw new LabRefusal(`${node} is running`);
  const topology = readTopology(state.topology, process.env);
  const planned = plan(topology, { name, folder: topology.folder, checkout });
  const container = planned.containers.find((each) => each.node === node);
  if (container === undefined)
    throw new LabRefusal(`${state.topology} has no node ${node} any more`);
  const started = await startContainer(name, container);
  const containers = state.containers.map((each) => (each.node === node ? started : each));
  writeState({ ...state, containers });
  for (const command of planned.commands.filter((each) => each.node === node)) {
    // addresses and routes are still there
    if (!command.isForNetwork) await enter(command, started);
  }
  return started;
}
