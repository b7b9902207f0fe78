/** Readers that flood the metrics: what a router sees of the keepalives meanwhile. */

import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { untilValue } from '../../../support/poll.ts';
import { AgentProcess, claimDocuments, METRICS_PORT, peerDocument } from '../agent-process.ts';
import { KeepaliveRelay, RELAY_ADDRESS, RELAY_PORT } from '../keepalive-relay.ts';
import { LoopbackBird } from '../loopback-bird.ts';
import type { Row } from '../report.ts';
import { NOW, onBoth, type Stage } from '../stage.ts';

const CLAIMS = 1000;
const CONNECTIONS = 60;
const REQUESTS = 1500;
const HOLD_SECONDS = 9;
const KEEPALIVE_MS = (HOLD_SECONDS * 1000) / 3;
/** in which keepalives are looked at: a session that is lost comes back within */
const LOOK_MS = 45_000;

export async function measureReaders(stage: Stage): Promise<readonly Row[]> {
  const times = Math.min(stage.options.runs, 3);
  const { now, old } = await onBoth(stage, async (program) => {
    const all: Seen[] = [];
    for (let round = 0; round < times; round += 1) all.push(await once(stage, program));
    return all;
  });
  const before = (pick: (seen: Seen) => number) =>
    old === undefined ? {} : { old: old.map(pick) };
  const words = `${CONNECTIONS} connections × ${REQUESTS.toLocaleString('en')} pipelined reads of /metrics, 1,000 claims`;
  const late = ({ late: value }: Seen) => value;
  const pauseOf = ({ longestMs }: Seen) => longestMs;
  const bound = { limit: 0, isWorst: true } as const;
  return [
    {
      name: `${words}: keepalives late by more than 1 s`,
      unit: 'late',
      ...bound,
      values: now.map(late),
      ...before(late),
    },
    {
      name: '… longest pause between two messages (keepalive time 3 s)',
      unit: 'ms',
      values: now.map(pauseOf),
      ...before(pauseOf),
    },
  ];
}

interface Seen {
  readonly late: number;
  readonly longestMs: number;
}

async function once({ folder, say }: Stage, program: string | undefined): Promise<Seen> {
  const through = { address: RELAY_ADDRESS, port: RELAY_PORT, holdSeconds: HOLD_SECONDS };
  const agent = new AgentProcess(folder, {
    ...(program === undefined ? {} : { program }),
    peers: [peerDocument(through)],
  });
  agent.reset();
  agent.write('claims.yaml', claimDocuments(CLAIMS));
  const bird = await LoopbackBird.start(folder);
  const relay = await new KeepaliveRelay().ready();
  try {
    agent.start(NOW);
    await untilValue(
      'all routes',
      () => bird.count(),
      (count) => count === CLAIMS,
      { timeoutMs: 60_000, everyMs: 100 },
    );
    await pause(2000);
    await relay.pauses(KEEPALIVE_MS);
    const answers = flood();
    await pause(LOOK_MS);
    const { late, longestMs, sessions } = await relay.pauses(KEEPALIVE_MS);
    // a session that was lost is more than late
    const seen = { late: late + sessions, longestMs };
    say(
      `${late} late, ${sessions} sessions anew, ${longestMs.toFixed(0)} ms, ${answers()} answers`,
    );
    return seen;
  } finally {
    relay.stop();
    await agent.end('SIGKILL');
    await bird.stop();
  }
}

/** All at once, each request of a connection in one piece; the answer counts what came back. */
function flood(): () => number {
  const piece = 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(REQUESTS);
  let answers = 0;
  for (let n = 0; n < CONNECTIONS; n += 1) {
    const socket = connect(METRICS_PORT, '127.0.0.1', () => socket.write(piece));
    socket.on('data', (chunk: Buffer) => {
      answers += chunk.toString('latin1').split('HTTP/1.1 200').length - 1;
    });
    socket.on('error', () => socket.destroy());
  }
  return () => answers;
}
