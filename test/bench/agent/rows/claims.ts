/** Ten thousand claims: process start to all routes in BIRD, and what one change takes among them. */

import { setTimeout as pause } from 'node:timers/promises';
import { AgentProcess, address, claimDocument, claimDocuments } from '../agent-process.ts';
import { LoopbackBird } from '../loopback-bird.ts';
import type { Row } from '../report.ts';
import { NOW, repeat, type Stage } from '../stage.ts';

const CLAIMS = 10_000;

export async function measureClaims(stage: Stage): Promise<readonly Row[]> {
  const agent = new AgentProcess(stage.folder);
  const bird = await LoopbackBird.start(stage.folder);
  const changed: number[] = [];
  const changedFile: number[] = [];
  const once = async (): Promise<number> => {
    agent.reset();
    const documents = claimDocuments(CLAIMS);
    agent.write('claims.yaml', documents);
    agent.start(NOW);
    const at = await bird.moment('all routes', async () => (await bird.count()) === CLAIMS);
    const took = at - agent.startedAt;
    await pause(2000);
    // one document among 10,000 of its file becomes another claim
    documents[CLAIMS / 2] = claimDocument(address(CLAIMS + 1));
    const before = performance.now();
    agent.write('claims.yaml', documents);
    const other = await bird.moment('the new route', () => bird.has(`${address(CLAIMS + 1)}/32`));
    changed.push(other - before);
    await pause(1000);
    const beforeFile = performance.now();
    agent.write('one.yaml', [claimDocument(address(CLAIMS + 2))]);
    const seen = await bird.moment('the file', () => bird.has(`${address(CLAIMS + 2)}/32`));
    changedFile.push(seen - beforeFile);
    await agent.end('SIGKILL');
    await bird.moment('nothing left', async () => (await bird.count()) === 0);
    return took;
  };
  try {
    const words = { name: '10,000 claims', times: Math.min(stage.options.runs, 5) };
    const all = await repeat(stage, words, once);
    return [
      row('10,000 claims: process start → all routes in BIRD', 2000, all),
      row('… one of them changed in its file of 10,000', 150, changed),
      row('… one more in a file of its own', 150, changedFile),
    ];
  } finally {
    await bird.stop();
  }
}

function row(name: string, limit: number, values: readonly number[]): Row {
  return { name, unit: 'ms', limit, values };
}
