/** SIGTERM to the routes gone in BIRD, and to the process gone. */

import { setTimeout as pause } from 'node:timers/promises';
import { AgentProcess, claimDocuments } from '../agent-process.ts';
import { LoopbackBird } from '../loopback-bird.ts';
import type { Row } from '../report.ts';
import { NOW, repeat, type Stage } from '../stage.ts';

export async function measureStop(stage: Stage): Promise<readonly Row[]> {
  const agent = new AgentProcess(stage.folder);
  const bird = await LoopbackBird.start(stage.folder);
  const gone: number[] = [];
  const once = async (): Promise<number> => {
    agent.reset();
    agent.write('claims.yaml', claimDocuments(10));
    agent.start(NOW);
    await bird.moment('the routes', async () => (await bird.count()) === 10);
    await pause(1000);
    const started = performance.now();
    const ended = agent.end('SIGTERM');
    const at = await bird.moment('no route', async () => (await bird.count()) === 0);
    gone.push((await ended) - started);
    return at - started;
  };
  try {
    const words = { name: 'SIGTERM to route gone', times: stage.options.runs };
    const values = await repeat(stage, words, once);
    return [
      { name: 'SIGTERM, drain 0 → routes gone in BIRD', unit: 'ms', limit: 100, values },
      { name: 'SIGTERM, drain 0 → process gone', unit: 'ms', limit: 100, values: gone },
    ];
  } finally {
    await bird.stop();
  }
}
