/** A thousand addresses bound at once: all on the interface, all announced, and the agent quiet again. */

import { execFileSync } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { AgentProcess, claimDocuments } from '../agent-process.ts';
import { LoopbackBird } from '../loopback-bird.ts';
import type { Row } from '../report.ts';
import { NOW, onBoth, repeat, type Stage } from '../stage.ts';

const ADDRESSES = 1000;
const PATIENCE_MS = 120_000;
/** a quiet second has at most so much work in it */
const QUIET_MS = 1000;
const QUIET_CPU_MS = 50;

export async function measureBound(stage: Stage): Promise<readonly Row[]> {
  const times = Math.min(stage.options.runs, 5);
  const words = { name: '1,000 addresses bound', times };
  const { now, old } = await onBoth(stage, (program) =>
    repeat(stage, words, () => once(stage, program)),
  );
  const name = '1,000 addresses bound at once → on the interface, in BIRD, and quiet again';
  const before = old === undefined ? {} : { old };
  return [{ name, unit: 'ms', limit: 3000, values: now, ...before }];
}

async function once({ folder, say }: Stage, program: string | undefined): Promise<number> {
  const agent = new AgentProcess(folder, program === undefined ? {} : { program });
  agent.reset();
  const bird = await LoopbackBird.start(folder);
  try {
    agent.start(NOW);
    await bird.moment('the session', () => bird.isUp());
    await pause(2000);
    const usedBefore = agent.cpuMs();
    const started = performance.now();
    agent.write('claims.yaml', claimDocuments(ADDRESSES, { bind: { interface: 'lo' } }));
    const quiet = quietSince(agent, started);
    const routed = await bird.moment(
      'all routes',
      async () => {
        await pause(10);
        return (await bird.count()) === ADDRESSES;
      },
      PATIENCE_MS,
    );
    const missing = ADDRESSES - addressesOnLo();
    if (missing > 0) throw new Error(`${missing} addresses are announced and not on the interface`);
    const quietAt = await quiet;
    say(
      `routes after ${(routed - started).toFixed(0)} ms, ${agent.cpuMs() - usedBefore} ms of CPU time`,
    );
    return Math.max(quietAt, routed) - started;
  } finally {
    await agent.end('SIGTERM');
    await bird.stop();
  }
}

function addressesOnLo(): number {
  const text = execFileSync('ip', ['-4', '-o', 'address', 'show', 'dev', 'lo'], {
    encoding: 'utf8',
    maxBuffer: 1 << 24,
  });
  return text.split('\n').filter((line) => line.includes(' 198.18.')).length;
}

/** The moment from which on the agent did hardly anything for a second, once it has worked at all. */
async function quietSince(agent: AgentProcess, startedMs: number): Promise<number> {
  const looks: { readonly atMs: number; readonly cpuMs: number }[] = [];
  const firstCpuMs = agent.cpuMs();
  for (;;) {
    const look = { atMs: performance.now(), cpuMs: agent.cpuMs() };
    looks.push(look);
    const begin = looks.findLast(({ atMs }) => atMs <= look.atMs - QUIET_MS);
    const hasWorked = begin !== undefined && begin.cpuMs - firstCpuMs > QUIET_CPU_MS;
    if (hasWorked && look.cpuMs - begin.cpuMs <= QUIET_CPU_MS) return begin.atMs;
    if (look.atMs - startedMs > PATIENCE_MS) throw new Error('the agent does not come to rest');
    await pause(25);
  }
}
