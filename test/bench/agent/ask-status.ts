/** `herald status`, as a person asks, by the program of the same release; its text goes nowhere. True where it was answered. */

import { spawn } from 'node:child_process';
import type { AgentProcess } from './agent-process.ts';

export async function askStatus({ program, socket }: AgentProcess): Promise<boolean> {
  const asked = spawn(program, ['status', '--socket', socket, '--json'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const code = await new Promise((resolve) => asked.once('exit', resolve));
  return code === 0;
}
