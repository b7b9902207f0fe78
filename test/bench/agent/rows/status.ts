/** `herald status` with fifteen thousand claims and eight neighbours: what the agent holds at most meanwhile. */

import { setTimeout as pause } from 'node:timers/promises';
import { untilValue } from '../../../support/poll.ts';
import { AgentProcess, claimDocuments, peerDocument } from '../agent-process.ts';
import { askStatus } from '../ask-status.ts';
import { LoopbackBird } from '../loopback-bird.ts';
import type { Row } from '../report.ts';
import { NOW, onBoth, PEERS, type Stage } from '../stage.ts';

const READERS = 3;

export async function measureStatus(stage: Stage): Promise<readonly Row[]> {
  const claims = stage.options.claims ?? 15_000;
  const times = Math.min(stage.options.runs, 3);
  const { now, old } = await onBoth(stage, async (program) => {
    const all: Peaks[] = [];
    for (let round = 0; round < times; round += 1) all.push(await once(stage, { program, claims }));
    return all;
  });
  const size = `${claims.toLocaleString('en')} × ${PEERS}`;
  const row = (name: string, pick: (peaks: Peaks) => number, limit?: number): Row => ({
    name: `${size}: ${name}`,
    unit: 'MB',
    ...(limit === undefined ? {} : { limit }),
    values: now.map(pick),
    ...(old === undefined ? {} : { old: old.map(pick) }),
  });
  return [
    row('peak RSS of the agent, herald status asked three times', ({ asked }) => asked, 200),
    row('RSS before that', ({ rest }) => rest),
    row('peak RSS of the start', ({ start }) => start),
  ];
}

interface Peaks {
  readonly start: number;
  readonly rest: number;
  readonly asked: number;
}

async function once(
  { folder, say }: Stage,
  { program, claims }: { readonly program: string | undefined; readonly claims: number },
): Promise<Peaks> {
  const peers = Array.from({ length: PEERS }, (_, index) => peerDocument({ number: index + 1 }));
  const agent = new AgentProcess(folder, {
    ...(program === undefined ? {} : { program }),
    peers,
  });
  agent.reset();
  agent.write('claims.yaml', claimDocuments(claims));
  const bird = await LoopbackBird.start(folder, PEERS);
  try {
    agent.start(NOW);
    await untilValue(
      'all routes',
      () => bird.count(),
      (count) => count === claims * PEERS,
      { timeoutMs: 120_000, everyMs: 100 },
    );
    await pause(5000);
    const start = agent.peakMegabytes();
    agent.forgetPeak();
    const rest = agent.residentMegabytes();
    for (let n = 0; n < READERS; n += 1) {
      if (!(await askStatus(agent))) throw new Error('herald status was not answered');
    }
    const peaks = { start, rest, asked: agent.peakMegabytes() };
    say(`start ${start.toFixed(0)}, rest ${rest.toFixed(0)}, asked ${peaks.asked.toFixed(0)} MB`);
    return peaks;
  } finally {
    await agent.end('SIGKILL');
    await bird.stop();
  }
}
