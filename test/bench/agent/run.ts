/**
 * `make bench-agent`: the speed and memory of the agent without a cluster, from process start to BIRD's table. Everything is on
 * loopback; no root. Medians of the rounds, and the worst beside them; progress on stderr, the table on stdout.
 */

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { median } from '../median.ts';
import { AgentProcess, address, claimDocument, residentMegabytes } from './agent-process.ts';
import { LoopbackBird } from './loopback-bird.ts';

interface Row {
  readonly name: string;
  readonly unit: 'ms' | 'MB';
  readonly limit?: number;
  readonly values: readonly number[];
}

const CLAIMS = 10_000;
const NOW = ['--join-check', 'none'];
const rounds = Number(process.argv.find((one) => /^--runs=\d+$/.test(one))?.slice(7) ?? 10);
const isSaving = process.argv.includes('--save');
const say = (line: string) => process.stderr.write(`bench-agent: ${line}\n`);

const folder = mkdtempSync(join(tmpdir(), 'herald-bench-agent-'));
const agent = new AgentProcess(folder);

async function repeat(
  name: string,
  once: () => Promise<number>,
  times = rounds,
): Promise<number[]> {
  const values: number[] = [];
  for (let round = 0; round < times; round += 1) {
    agent.reset();
    const value = await once();
    values.push(value);
    say(`${name}: ${value.toFixed(1)}`);
  }
  return values;
}

/** Somebody to dial: its port, and the moment of the first octet that comes. */
async function listener(): Promise<{ port: number; first: Promise<number>; close: () => void }> {
  const server = createServer();
  const first = new Promise<number>((resolve) => {
    server.on('connection', (socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => resolve(performance.now()));
    });
  });
  return { port: await listening(server), first, close: () => server.close() };
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const local = server.address();
  if (local === null || typeof local === 'string') throw new Error('no port');
  return local.port;
}

/** process start to the first octet of the OPEN */
async function startToOpen(): Promise<number> {
  const { port, first, close } = await listener();
  agent.write(
    'claims.yaml',
    Array.from({ length: 10 }, (_, n) => claimDocument(address(n + 1))),
  );
  agent.start(NOW, port);
  const at = await first;
  await agent.end('SIGKILL');
  close();
  return at - agent.startedAt;
}

/** the floor of that: the same Node, one connection, one octet */
async function bareStart(): Promise<number> {
  const { port, first, close } = await listener();
  const started = performance.now();
  const script = `require('net').connect(${port}, '127.0.0.1').write('x')`;
  const child = spawn(process.execPath, ['-e', script], { stdio: 'ignore' });
  const at = await first;
  child.kill('SIGKILL');
  close();
  return at - started;
}

/** the answer that is the last of the successes leaves the API server; its route is in BIRD */
async function successToRoute(bird: LoopbackBird): Promise<number> {
  const needed = 3;
  let answered = 0;
  let lastAt = 0;
  let isReady = false;
  const api = createHttpServer((_request, response) => {
    response.statusCode = isReady ? 200 : 503;
    if (isReady) answered += 1;
    if (answered === needed) lastAt = performance.now();
    response.end();
  });
  const port = await listening(api);
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

const gone: number[] = [];

async function termToGone(bird: LoopbackBird): Promise<number> {
  agent.write(
    'claims.yaml',
    Array.from({ length: 10 }, (_, n) => claimDocument(address(n + 1))),
  );
  agent.start(NOW);
  await bird.moment('the routes', async () => (await bird.count()) === 10);
  await pause(1000);
  const started = performance.now();
  const ended = agent.end('SIGTERM');
  const at = await bird.moment('no route', async () => (await bird.count()) === 0);
  gone.push((await ended) - started);
  return at - started;
}

const changed: number[] = [];
const changedFile: number[] = [];

async function manyClaims(bird: LoopbackBird): Promise<number> {
  const documents = Array.from({ length: CLAIMS }, (_, n) => claimDocument(address(n)));
  agent.write('claims.yaml', documents);
  agent.start(NOW);
  const at = await bird.moment('all routes', async () => (await bird.count()) === CLAIMS);
  const took = at - agent.startedAt;
  await pause(2000);
  // one document among 10,000 of its file becomes another claim
  documents[CLAIMS / 2] = claimDocument(address(CLAIMS + 1));
  const before = performance.now();
  agent.write('claims.yaml', documents);
  changed.push(
    (await bird.moment('the new route', () => bird.has(`${address(CLAIMS + 1)}/32`))) - before,
  );
  await pause(1000);
  const beforeFile = performance.now();
  agent.write('one.yaml', [claimDocument(address(CLAIMS + 2))]);
  const seen = await bird.moment('the file', () => bird.has(`${address(CLAIMS + 2)}/32`));
  changedFile.push(seen - beforeFile);
  await agent.end('SIGKILL');
  await bird.moment('nothing left', async () => (await bird.count()) === 0);
  return took;
}

async function residentAfterAMinute(bird: LoopbackBird): Promise<readonly Row[]> {
  agent.reset();
  agent.write(
    'claims.yaml',
    Array.from({ length: 10 }, (_, n) => claimDocument(address(n + 1))),
  );
  const floor = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  agent.start(NOW);
  await bird.moment('the routes', async () => (await bird.count()) === 10);
  say('a minute of rest, then the memory');
  await pause(60_000);
  const bare = residentMegabytes(floor.pid);
  const values = [agent.residentMegabytes()];
  await agent.end('SIGTERM');
  floor.kill();
  return [
    { name: 'RSS with 10 claims, 60 s after start', unit: 'MB', limit: 90, values },
    { name: 'RSS of an empty Node process beside it (floor)', unit: 'MB', values: [bare] },
  ];
}

function isMissed({ limit, values }: Row): boolean {
  return limit !== undefined && median([...values]) > limit;
}

function printed(rows: readonly Row[]): string {
  const lines = rows.map(({ name, unit, limit, values }) => {
    const middle = median([...values]);
    const bound = limit === undefined ? '' : `≤ ${limit} ${unit}`;
    const verdict = limit === undefined ? '' : middle <= limit ? 'met' : 'MISSED';
    return `| ${name} | ${middle.toFixed(1)} ${unit} | ${Math.max(...values).toFixed(1)} ${unit} | ${values.length} | ${bound} | ${verdict} |`;
  });
  return `| work | median | worst | runs | target | |\n|---|---|---|---|---|---|\n${lines.join('\n')}\n`;
}

async function main(): Promise<number> {
  const bird = await LoopbackBird.start(folder);
  try {
    const floor = await repeat('bare Node to its first octet', bareStart);
    const open = await repeat('start to OPEN', startToOpen);
    const route = await repeat('last success to route', () => successToRoute(bird));
    const withdrawn = await repeat('SIGTERM to route gone', () => termToGone(bird));
    const all = await repeat('10,000 claims', () => manyClaims(bird), Math.min(rounds, 5));
    const memory = await residentAfterAMinute(bird);
    const rows: readonly Row[] = [
      { name: 'bare Node, process start → first octet (floor)', unit: 'ms', values: floor },
      { name: 'agent start → OPEN on the wire', unit: 'ms', limit: 300, values: open },
      ...memory,
      { name: 'the last of the k successes → route in BIRD', unit: 'ms', limit: 20, values: route },
      { name: 'SIGTERM, drain 0 → routes gone in BIRD', unit: 'ms', limit: 100, values: withdrawn },
      { name: 'SIGTERM, drain 0 → process gone', unit: 'ms', limit: 100, values: gone },
      {
        name: '10,000 claims: process start → all routes in BIRD',
        unit: 'ms',
        limit: 2000,
        values: all,
      },
      {
        name: '… one of them changed in its file of 10,000',
        unit: 'ms',
        limit: 150,
        values: changed,
      },
      { name: '… one more in a file of its own', unit: 'ms', limit: 150, values: changedFile },
    ];
    process.stdout.write(printed(rows));
    if (isSaving) {
      const file = new URL('../../../docs/bench-agent.json', import.meta.url);
      writeFileSync(
        file,
        `${JSON.stringify({ date: new Date().toISOString(), rows }, undefined, 2)}\n`,
      );
    }
    return rows.some(isMissed) ? 1 : 0;
  } finally {
    await bird.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exitCode = await main();
