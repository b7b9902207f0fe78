/**
 * What comes from outside must not hold up the agent: readers of its metrics, a disk that does not answer, a flood of its own addresses.
 * The judge is BIRD, with a hold time of three seconds: a main thread that stands still for longer costs the session.
 */

import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, symlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { documentText } from '../../support/document.ts';
import { untilValue } from '../../support/poll.ts';
import { DeadFileSystem } from '../support/dead-file-system.ts';
import { skipWithoutStandalone } from '../support/require-standalone.ts';
import { SlowFileSystem } from '../support/slow-file-system.ts';
import {
  AgentLab,
  claim,
  NODE_ADDRESS,
  NODE_ASN,
  peer,
  pool,
  ROUTER_ASN,
  SAME_SESSION_MS,
} from './agent-lab.ts';

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

/** Answers what is asked with an error whose body has no end, an octet per chunk. */
const ENDLESS = `
const head = 'HTTP/1.1 500 no\\r\\ntransfer-encoding: chunked\\r\\n\\r\\n';
const piece = Buffer.from('1\\r\\nx\\r\\n'.repeat(100000));
require('node:net').createServer((socket) => {
  const more = () => { while (socket.writable && socket.write(piece)); };
  socket.on('error', () => {}).on('drain', more).once('data', () => { socket.write(head); more(); });
}).listen(8080, '127.0.0.1', () => console.log('listens'));
`;

/** As many neighbours of a range as it is told, each from an address of its own, that send KEEPALIVEs as fast as they are taken. */
const TALKERS = `
const { connect } = require('node:net');
const [host, count] = process.argv.slice(1);
const message = (type, ...body) =>
  Buffer.from([...Array(16).fill(255), 0, 19 + body.length, type, ...body]);
const keepalive = message(4);
const flood = Buffer.concat(Array(10000).fill(keepalive));
for (let n = 0; n < Number(count); n += 1) {
  const socket = connect({ host, port: 179, localAddress: '10.50.0.' + (101 + n) });
  const more = () => { while (socket.writable && socket.write(flood)); };
  socket.on('error', () => {}).on('connect', () => {
    socket.write(message(1, 4, 0xfb, 0xf5, 0, 90, 10, 50, 0, 101 + n, 8, 2, 6, 1, 4, 0, 1, 0, 1));
    socket.write(keepalive);
    socket.on('drain', more).resume();
    more();
  });
}
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

  it('60 checks of a server whose answer has no end, an octet per chunk', async () => {
    const server = lab.node.spawn('endless', process.execPath, ['-e', ENDLESS]);
    try {
      await untilValue(
        'the server listens',
        async () => server.log(),
        (log) => log.includes('listens'),
      );
      const since = await lab.startAnnouncing([VIP], peer({ timers: quick }), pool());
      const check = { http: { url: 'http://127.0.0.1:8080/' }, intervalSeconds: 1 };
      const checked = Array.from({ length: 60 }, (_, n) => `198.51.100.${n + 100}`);
      lab.write({ 'checked.yaml': checked.map((one) => claim(one, { checks: [check] })) });
      await untilValue(
        'all were asked and said no',
        async () => JSON.stringify((await lab.status()).claims).split('answered 500').length - 1,
        (count) => count >= checked.length,
        { timeoutMs: 30_000 },
      );
      await pause(2 * HOLD_MS);
      expect(await lab.upSince(), 'since when BIRD has the session').to.be.closeTo(
        since,
        SAME_SESSION_MS,
      );
      await lab.announces([VIP]);
    } finally {
      await server.kill();
    }
  });

  it('20 neighbours of a range that send without a pause: the session with the router lives, and a change goes out', async () => {
    for (let n = 0; n < 20; n += 1) {
      const address = `10.50.0.${101 + n}/32`;
      await lab.routerHost.exec('ip', ['address', 'add', address, 'dev', lab.routerDevice]);
    }
    const range = documentText('BGPPeer', 'range', {
      addressRange: '10.50.0.96/27',
      asn: ROUTER_ASN + 1,
      localASN: NODE_ASN,
      listen: true,
      families: ['ipv4'],
    });
    lab.write({ 'all.yaml': [peer({ timers: quick }), range, pool(), claim(VIP)] });
    lab.ready(true);
    lab.start(['--listen-address', NODE_ADDRESS]);
    await lab.announces([VIP]);
    const since = await lab.upSince();
    const args = ['-e', TALKERS, NODE_ADDRESS, '20'];
    const talkers = lab.routerHost.spawn('talkers', process.execPath, args);
    try {
      await untilValue(
        'all have a session',
        async () => (await lab.status()).sessions.filter(({ state }) => state === 'established'),
        (sessions) => sessions.length === 21,
        { timeoutMs: 30_000 },
      );
      await pause(2 * HOLD_MS);
      const second = '198.51.100.11';
      lab.write({ 'two.yaml': [claim(second)] });
      await lab.announces([VIP, second]);
      expect(await lab.upSince(), 'since when BIRD has the session').to.be.closeTo(
        since,
        SAME_SESSION_MS,
      );
    } finally {
      await talkers.kill();
    }
  });

  it('a folder of documents on a dead file system: the session lives and its routes stay, and the next change counts', async () => {
    // it is mounted first: a process in a namespace does not see what is mounted later
    const dead = new DeadFileSystem(join(lab.node.folder, 'dead'));
    try {
      const since = await lab.startAnnouncing([VIP], peer({ timers: quick }), pool());
      const away = `${lab.documents}.away`;
      renameSync(lab.documents, away);
      symlinkSync(join(dead.folder, 'documents'), lab.documents);
      await untilValue(
        'the agent says that the file system does not answer',
        async () => (await lab.status()).faults.map(({ sentence }) => sentence),
        (sentences) => sentences.some((sentence) => sentence.includes('does not answer')),
      );
      expect(await lab.upSince()).to.be.closeTo(since, SAME_SESSION_MS);
      await lab.announces([VIP]);
      unlinkSync(lab.documents);
      renameSync(away, lab.documents);
      lab.write({ 'more.yaml': [claim('198.51.100.11')] });
      // whoever hangs gets an error, as from a mount that is forced off
      dead.end();
      await lab.announces([VIP, '198.51.100.11']);
      expect(await lab.upSince()).to.be.closeTo(since, SAME_SESSION_MS);
    } finally {
      dead.end();
    }
  });

  it('a folder of documents on a slow file system: the session lives, and a change counts when it has been read', async () => {
    const slow = new SlowFileSystem(lab.documents);
    const second = '198.51.100.11';
    try {
      slow.write('all.yaml', [peer({ timers: quick }), pool(), claim(VIP)].join('\n---\n'));
      lab.ready(true);
      lab.start();
      await lab.announces([VIP]);
      const since = await lab.upSince();
      // a look at the folder is ten requests and more
      slow.delayMs = HOLD_MS * 0.4;
      slow.write('two.yaml', claim(second));
      await untilValue(
        'the router has the second one',
        async () => (await lab.routes()).map(({ prefix }) => prefix),
        (prefixes) => prefixes.includes(`${second}/32`),
        { timeoutMs: 90_000 },
      );
      expect(await lab.upSince(), 'since when BIRD has the session').to.be.closeTo(
        since,
        SAME_SESSION_MS,
      );
      await lab.announces([VIP, second]);
    } finally {
      slow.delayMs = 0;
      slow.end();
    }
  });

  it('a check whose command is on a dead file system: the session lives, and the check fails in its time', async () => {
    const dead = new DeadFileSystem(join(lab.node.folder, 'dead'));
    try {
      const since = await lab.startAnnouncing([VIP], peer({ timers: quick }), pool());
      const command = [join(dead.folder, 'check')];
      const check = { exec: { command }, intervalSeconds: 1, timeoutSeconds: 1 };
      lab.write({ 'checked.yaml': [claim('198.51.100.11', { checks: [check] })] });
      await pause(2 * HOLD_MS);
      expect(await lab.upSince(), 'since when BIRD has the session').to.be.closeTo(
        since,
        SAME_SESSION_MS,
      );
      await untilValue(
        'the check says why',
        async () => JSON.stringify((await lab.status()).claims),
        (claims) => claims.includes('did not end within 1 s'),
      );
      lab.write({ 'two.yaml': [claim('198.51.100.12')] });
      await lab.announces([VIP, '198.51.100.12']);
    } finally {
      dead.end();
    }
  });

  it('a state folder on a dead file system: the agent starts, announces, and stops', async () => {
    const dead = new DeadFileSystem(lab.state);
    try {
      await lab.startAnnouncing([VIP], peer({ timers: quick }), pool());
      lab.write({ 'two.yaml': [claim('198.51.100.11')] });
      await lab.announces([VIP, '198.51.100.11']);
      const stopped = lab.agent.stop();
      await lab.announces([]);
      expect(await stopped).to.equal(0);
    } finally {
      dead.end();
    }
  });

  it('pipes in the place of saved files: the agent starts without them', async () => {
    mkdirSync(lab.state, { recursive: true });
    for (const name of ['view.json', 'addresses', 'restart', 'instance', 'announcer']) {
      execFileSync('mkfifo', [join(lab.state, name)]);
    }
    await lab.startAnnouncing([VIP], peer({ timers: quick }), pool());
  });

  it('a disk that does not answer: the session lives, changes go out, and the stop withdraws', async () => {
    mkdirSync(lab.state, { recursive: true });
    // who writes the View waits for a reader of this, as for a disk that hangs
    const stuck = join(lab.state, 'view.json.new');
    execFileSync('mkfifo', [stuck]);
    const since = await lab.startAnnouncing([VIP], peer({ timers: quick }), pool());
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
    // although a thread still waits for the disk
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
