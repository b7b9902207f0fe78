/** What the agent holds with few claims, a minute after its start, beside an empty Node process. */

import { spawn } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { AgentProcess, claimDocuments, residentMegabytes } from '../agent-process.ts';
import { LoopbackBird } from '../loopback-bird.ts';
import type { Row } from '../report.ts';
import { NOW, type Stage } from '../stage.ts';

export async function measureMemory({ folder, say }: Stage): Promise<readonly Row[]> {
  const agent = new AgentProcess(folder);
  const bird = await LoopbackBird.start(folder);
  const floor = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  try {
    agent.reset();
    agent.write('claims.yaml', claimDocuments(10));
    agent.start(NOW);
    await bird.moment('the routes', async () => (await bird.count()) === 10);
    say('a minute of rest, then the memory');
    await pause(60_000);
    const bare = residentMegabytes(floor.pid);
    const values = [agent.residentMegabytes()];
    await agent.end('SIGTERM');
    return [
      { name: 'RSS with 10 claims, 60 s after start', unit: 'MB', limit: 90, values },
      { name: 'RSS of an empty Node process beside it (floor)', unit: 'MB', values: [bare] },
    ];
  } finally {
    floor.kill();
    await bird.stop();
  }
}
