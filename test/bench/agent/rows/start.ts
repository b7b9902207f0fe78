/** Process start to the OPEN on the wire, beside what Node itself takes. */

import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { AgentProcess, claimDocuments } from '../agent-process.ts';
import { listening } from '../listening.ts';
import { birdAddress } from '../loopback-bird.ts';
import type { Row } from '../report.ts';
import { NOW, repeat, type Stage } from '../stage.ts';

export async function measureStart(stage: Stage): Promise<readonly Row[]> {
  const { runs: times } = stage.options;
  const agent = new AgentProcess(stage.folder);
  const floor = await repeat(stage, { name: 'bare Node to its first octet', times }, bareStart);
  const open = await repeat(stage, { name: 'start to OPEN', times }, () => startToOpen(agent));
  return [
    { name: 'bare Node, process start → first octet (floor)', unit: 'ms', values: floor },
    { name: 'agent start → OPEN on the wire', unit: 'ms', limit: 300, values: open },
  ];
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
  return { port: await listening(server, birdAddress(1)), first, close: () => server.close() };
}

/** process start to the first octet of the OPEN */
async function startToOpen(agent: AgentProcess): Promise<number> {
  const { port, first, close } = await listener();
  agent.reset();
  agent.write('claims.yaml', claimDocuments(10));
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
  const script = `require('net').connect(${port}, '${birdAddress(1)}').write('x')`;
  const child = spawn(process.execPath, ['-e', script], { stdio: 'ignore' });
  const at = await first;
  child.kill('SIGKILL');
  close();
  return at - started;
}
