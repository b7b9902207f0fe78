/** The last success of the join check to the route in BIRD. */

import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { AgentProcess, address, claimDocument } from '../agent-process.ts';
import { listening } from '../listening.ts';
import { LoopbackBird } from '../loopback-bird.ts';
import type { Row } from '../report.ts';
import { repeat, type Stage } from '../stage.ts';

export async function measureRoute(stage: Stage): Promise<readonly Row[]> {
  const agent = new AgentProcess(stage.folder);
  const bird = await LoopbackBird.start(stage.folder);
  try {
    const words = { name: 'last success to route', times: stage.options.runs };
    const values = await repeat(stage, words, () => successToRoute(agent, bird));
    return [{ name: 'the last of the k successes → route in BIRD', unit: 'ms', limit: 20, values }];
  } finally {
    await bird.stop();
  }
}

/** the answer that is the last of the successes leaves the API server; its route is in BIRD */
async function successToRoute(agent: AgentProcess, bird: LoopbackBird): Promise<number> {
  const needed = 3;
  let answered = 0;
  let lastAt = 0;
  let isReady = false;
  const api = createServer((_request, response) => {
    response.statusCode = isReady ? 200 : 503;
    if (isReady) answered += 1;
    if (answered === needed) lastAt = performance.now();
    response.end();
  });
  const port = await listening(api);
  agent.reset();
  agent.write('claims.yaml', [claimDocument(address(7))]);
  const check = `http://127.0.0.1:${port}/readyz`;
  agent.start([
    '--join-check',
    check,
    '--join-successes',
    String(needed),
    '--join-interval',
    '0.1',
  ]);
  await bird.moment('the session', () => bird.isUp());
  // what runs has settled: no code that runs for the first time but this path's
  await pause(1000);
  isReady = true;
  const at = await bird.moment('the route', () => bird.has(`${address(7)}/32`));
  await agent.end('SIGKILL');
  api.close();
  await bird.moment('nothing left', async () => (await bird.count()) === 0);
  return at - lastAt;
}
