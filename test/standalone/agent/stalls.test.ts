/**
 * What comes from outside must not hold up the agent: readers of its metrics, a disk that does not answer, a flood of its own addresses.
 * The judge is BIRD, with a hold time of three seconds: a main thread that stands still for longer costs the session.
 */

import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { untilValue } from '../../support/poll.ts';
import { skipWithoutStandalone } from '../support/require-standalone.ts';
import { AgentLab, claim, NODE_ADDRESS, peer, pool, SAME_SESSION_MS } from './agent-lab.ts';

const VIP = '198.51.100.10';
const HOLD_MS = 3000;
const quick = { holdSeconds: HOLD_MS / 1000, keepaliveSeconds: 1, connectRetrySeconds: 1 };

/** 60 connections at a time, each with 1,500 requests in one piece, for as long as it is told; says how many answers there were */
const FLOOD = `
const { connect } = require('node:net');
const [host, forMs] = process.argv.slice(1);
const piece = 'GET /metrics HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'.repeat(1500);
const until = performance.now() + Number(forMs);
let answers = 0, open = 0;
function one() {
  if (performance.now() > until) return;
  open += 1;
  const socket = connect(9179, host, () => socket.write(piece));
  socket.on('data', (chunk) => { answers += chunk.toString('latin1').split('HTTP/1.1 200').length - 1; });
  socket.on('error', () => {});
  socket.on('close', () => { open -= 1; setTimeout(one, 5); });
  setTimeout(() => socket.destroy(), 2000);
}
for (let n = 0; n < 60; n += 1) one();
setTimeout(() => { console.log(answers); process.exit(); }, Number(forMs) + 200);
`;

describe('standalone: nothing from outside stalls the agent', function () {
  this.timeout(120_000);
  let lab: AgentLab;

  before(async function () {
    skipWithoutStandalone(this);
    lab = await AgentLab.create('stall');
  });
  afterEach(async () => await lab?.reset());
  after(async () => await lab?.destroy());

  it('readers of the metrics: 60 connections with 1,500 pipelined requests each', async () => {
    const addresses = Array.from({ length: 200 }, (_, n) => `198.51.100.${n + 1}`);
    lab.write({
      'all.yaml': [peer({ timers: quick }), pool(), ...addresses.map((one) => claim(one))],
    });
    lab.ready(true);
    lab.start(['--metrics-address', `${NODE_ADDRESS}:9179`]);
    await lab.announces(addresses);
    const since = await lab.upSince();
    const program = [process.execPath, '-e', FLOOD, NODE_ADDRESS, String(2 * HOLD_MS)] as const;
    const { stdout } = await lab.routerHost.exec(program[0], program.slice(1));
    expect(await lab.upSince(), 'since when BIRD has the session').to.be.closeTo(
      since,
      SAME_SESSION_MS,
    );
    expect(Number(stdout), 'readers that had an answer').to.be.greaterThan(60);
    await lab.announces(addresses);
  });

  it('a disk that does not answer: the session lives, changes go out, and the stop withdraws', async () => {
    mkdirSync(lab.state, { recursive: true });
    // who writes the View waits for a reader of this, as for a disk that hangs
    const stuck = join(lab.state, 'view.json.new');
    execFileSync('mkfifo', [stuck]);
    lab.write({ 'all.yaml': [peer({ timers: quick }), pool(), claim(VIP)] });
    lab.ready(true);
    lab.start();
    await lab.announces([VIP]);
    const since = await lab.upSince();
    await pause(2 * HOLD_MS);
    const second = '198.51.100.11';
    lab.write({ 'two.yaml': [claim(second)] });
    await lab.announces([VIP, second]);
    expect(await lab.upSince(), 'since when BIRD has the session').to.be.closeTo(
      since,
      SAME_SESSION_MS,
    );
    const stopped = lab.agent.stop();
    await lab.announces([]);
    await untilValue(
      'the agent is done with the disk',
      async () => lab.agent.log(),
      (log) => /"msg":"stopped"/.test(log),
    );
    // a thread that waits for a disk outlives all else of a process
    await (await open(stuck, 'r')).close();
    expect(await stopped).to.equal(0);
  });

  it('1,000 addresses bound at once: all on the interface, all announced, and calm again', async () => {
    const addresses = Array.from({ length: 1000 }, (_, n) => `198.51.${100 + (n >> 8)}.${n & 255}`);
    const bound = addresses.map((one) => claim(one, { bind: { interface: 'lo' } }));
    const wide = pool({ addresses: ['198.51.100.0/22'] });
    lab.write({ 'all.yaml': [peer({ maxRoutes: 2000 }), wide] });
    lab.ready(true);
    lab.start();
    await lab.established();
    const since = await lab.upSince();
    const startedMs = cpuMs(lab.agent.pid);
    lab.write({ 'claims.yaml': bound });
    await lab.announces(addresses, 90_000);
    const on = new Set(await lab.addressesOn('lo'));
    expect(addresses.filter((one) => !on.has(one))).to.deep.equal([]);
    // the kernel tells of each address; what that costs is over once a second passes with hardly any work
    let before = cpuMs(lab.agent.pid);
    await untilValue(
      'the agent is calm',
      async () => {
        await pause(1000);
        const now = cpuMs(lab.agent.pid);
        const used = now - before;
        before = now;
        return used;
      },
      (used) => used < 200,
      { timeoutMs: 60_000, everyMs: 0 },
    );
    expect(cpuMs(lab.agent.pid) - startedMs, 'CPU time of it all').to.be.lessThan(10_000);
    expect(await lab.upSince()).to.be.closeTo(since, SAME_SESSION_MS);
  });
});

/** what a process has used of the CPU; ticks are hundredths of a second */
function cpuMs(pid: number): number {
  const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  const fields = rest.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
