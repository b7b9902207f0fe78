/** Processes that play many agents (simulated-agents-main.ts), led from here. */

import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Cluster } from '../../cluster/support/cluster.ts';
import { EXCLUSIVE_HABITS, type Habits } from './simulated-agents.ts';

const PER_PROCESS = 250;
const main = join(import.meta.dirname, 'simulated-agents-main.ts');

interface Troop {
  readonly names: readonly string[];
  readonly child: ChildProcess;
  /** the next line that it writes */
  line(): Promise<string>;
}

export function crowdNames(howMany: number): string[] {
  return Array.from({ length: howMany }, (_, index) => `sim-${String(index).padStart(4, '0')}`);
}

export class AgentCrowd {
  readonly #troops: readonly Troop[];

  private constructor(troops: readonly Troop[]) {
    this.#troops = troops;
  }

  /** Resolves when all of them watch and renew. */
  static async start(
    { kubeconfig }: Cluster,
    names: readonly string[],
    habits: Habits = EXCLUSIVE_HABITS,
  ): Promise<AgentCrowd> {
    const troops: Troop[] = [];
    for (let first = 0; first < names.length; first += PER_PROCESS) {
      troops.push(enlist(kubeconfig, names.slice(first, first + PER_PROCESS), habits));
    }
    const crowd = new AgentCrowd(troops);
    try {
      await Promise.all(troops.map((troop) => troop.line()));
    } catch (error) {
      crowd.stop();
      throw error;
    }
    return crowd;
  }

  /** These renew no more; the moment of their last renewal. */
  async silence(names: readonly string[]): Promise<number> {
    const answers = this.#troops.map(async ({ child, line }) => {
      child.stdin?.write(`silence ${names.join(',')}\n`);
      return Number((await line()).split(' ')[1]);
    });
    return Math.max(...(await Promise.all(answers)));
  }

  stop(): void {
    for (const { child } of this.#troops) child.kill('SIGKILL');
  }
}

function enlist(kubeconfig: string, names: readonly string[], habits: Habits): Troop {
  const args = [main, kubeconfig, names.join(','), JSON.stringify(habits)];
  const node = [process.execPath, '--conditions=bgp-ts-source', ...args];
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', ...node], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const line = async () => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error('simulated agents have ended');
    return value;
  };
  return { names, child, line };
}
