/** What a machine does to a daemon that has nothing to do with routes, and must not cost any: signals, logs, disks. */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { untilValue } from '../../support/poll.ts';
import { heraldProgram } from '../support/herald-program.ts';
import { skipWithoutStandalone } from '../support/require-standalone.ts';
import { AgentLab, claim, NODE_ADDRESS, peer, pool, SAME_SESSION_MS } from './agent-lab.ts';

const VIP = '198.51.100.10';
const BOUND = '198.51.100.11';
const WITHOUT_NETLINK = join(import.meta.dirname, '../support/without-netlink');
/** a terminal that is not read until a line comes in, and then shown */
const TERMINAL = `
import os, pty, sys, tty
master, slave = pty.openpty()
tty.setraw(slave)
print(os.ttyname(slave), flush=True)
sys.stdin.readline()
while True:
    os.write(1, os.read(master, 4096))
`;
const NO_KOFFI = `const modules = require('node:module');
const load = modules._load;
modules._load = function (name, ...rest) {
  if (name === 'koffi') throw new Error('Cannot find module koffi');
  return load.call(this, name, ...rest);
};
`;

describe('standalone: the surroundings of an agent', function () {
  this.timeout(180_000);
  let lab: AgentLab;
  let child: ChildProcess | undefined;

  before(async function () {
    skipWithoutStandalone(this);
    lab = await AgentLab.create('around');
  });
  afterEach(async () => {
    child?.kill('SIGKILL');
    child = undefined;
    await lab?.reset();
  });
  after(async () => await lab?.destroy());

  function documents(): void {
    lab.write({ 'all.yaml': [peer(), pool(), claim(VIP)] });
    lab.ready(true);
  }

  /** with a stdout of the test's own */
  async function serving(stdout: number | 'pipe', flags: readonly string[] = []) {
    documents();
    const [command = '', ...args] = lab.node.argv(heraldProgram(), lab.arguments(flags));
    const started = spawn(command, args, { stdio: ['ignore', stdout, 'ignore'] });
    child = started;
    await lab.announces([VIP]);
    return started;
  }

  /** the agent logs at least a line for each, and has said the last of them */
  async function talk(times: number): Promise<void> {
    for (let time = 0; time < times; time += 1) {
      const word = `Nonsense${time}-${'x'.repeat(2000)}`;
      writeFileSync(join(lab.documents, 'talk.yaml'), `kind: ${word}\n`);
      await untilValue(
        'the agent has read it',
        () => lab.status(),
        ({ faults }) => faults.some(({ sentence }) => sentence.includes(word)),
        { everyMs: 5 },
      );
    }
  }

  it('SIGHUP looks at the files again, SIGUSR1 and SIGUSR2 do nothing; none of them costs the session', async () => {
    documents();
    lab.start();
    await lab.announces([VIP]);
    const since = await lab.upSince();
    for (const signal of ['SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGPIPE', 'SIGHUP'] as const) {
      lab.agent.signal(signal);
      await lab.status();
      expect(lab.agent.isRunning, signal).to.equal(true);
    }
    await talk(1);
    expect(await lab.upSince()).to.be.closeTo(since, SAME_SESSION_MS);
    // Node answers SIGUSR1 with a debugger that every local user can reach
    const { stdout } = await lab.node.exec('ss', ['-Hltn']);
    expect(stdout).to.not.contain(':9229');
    expect(lab.agent.log()).to.not.contain('Debugger');
  });

  it('there is no place for its state: it says so, and serves', async () => {
    documents();
    lab.start(['--state-dir', '/proc/herald']);
    await lab.announces([VIP]);
    await untilValue(
      'the agent says so',
      async () => lab.agent.log(),
      (log) => log.includes('the View was not saved'),
    );
    await talk(1);
    expect(await lab.agent.stop()).to.equal(0);
  });

  it('nor on an old kernel, where bound addresses are told apart by a file (A8)', async () => {
    documents();
    const args = [
      '--uname-2.6',
      heraldProgram(),
      ...lab.arguments(['--state-dir', '/proc/herald']),
    ];
    const old = lab.node.spawn('old-kernel', 'setarch', args);
    await lab.announces([VIP]);
    await old.stop();
  });

  it('the kernel gives it no netlink socket: it announces, and refuses only what is to be bound (B8)', async () => {
    lab.write({
      'all.yaml': [peer(), pool(), claim(VIP), claim(BOUND, { bind: { interface: 'lo' } })],
    });
    lab.ready(true);
    const args = [heraldProgram(), ...lab.arguments()];
    const confined = lab.node.spawn('no-netlink', WITHOUT_NETLINK, args);
    try {
      await announcesButDoesNotBind('EAFNOSUPPORT', () => confined.log());
      expect(await confined.stop()).to.equal(0);
      await lab.announces([]);
    } finally {
      await confined.stop();
    }
  });

  it('nor when the package that opens one cannot be loaded', async () => {
    lab.write({
      'all.yaml': [peer(), pool(), claim(VIP), claim(BOUND, { bind: { interface: 'lo' } })],
    });
    lab.ready(true);
    const hook = join(lab.node.folder, 'no-koffi.cjs');
    writeFileSync(hook, NO_KOFFI);
    const agent = lab.start([], { env: { NODE_OPTIONS: `--require ${hook}` } });
    await announcesButDoesNotBind('ENOTSUP', () => agent.log());
    expect(await agent.stop()).to.equal(0);
  });

  /** BIRD has the route of the one, the status says why the other has none, the log says it once */
  async function announcesButDoesNotBind(code: string, log: () => string): Promise<void> {
    await lab.announces([VIP]);
    const { warnings } = await untilValue(
      'the status says so',
      () => lab.status(),
      ({ claims }) => claims.length === 2,
    );
    expect(warnings.filter((each) => each.includes(code))).to.have.length(1);
    const { stdout } = await lab.node.exec(heraldProgram(), ['status', '--socket', lab.socket]);
    expect(stdout.replaceAll(/\s+/g, ' ')).to.contain('no address can be bound');
    const explained = await untilValue(
      'why it is not bound',
      () => lab.status(),
      ({ claims }) =>
        claims.some(
          ({ address, gates }) =>
            address === BOUND && gates.some(({ sentence }) => sentence.includes(code)),
        ),
    );
    const bound = explained.claims.find(({ address }) => address === BOUND);
    expect(bound?.gates.find(({ name }) => name === 'bound')?.state).to.equal('closed');
    // looked at each second: some of these have passed by then
    const startedMs = Date.parse(explained.startedAt);
    await untilValue(
      'three seconds',
      () => Date.now(),
      (now) => now - startedMs > 3000,
    );
    const lines = log()
      .split('\n')
      .filter((line) => line.includes(code));
    expect(lines, 'lines of the log about it').to.have.length(1);
    await lab.announces([VIP]);
  }

  it('its address comes a second after it: that is its router id, with its router and in its status', async () => {
    documents();
    const add = `address add ${NODE_ADDRESS}/24 dev ${lab.device}`;
    await lab.node.ip(`address flush dev ${lab.device}`);
    try {
      const agent = lab.start();
      const startedMs = performance.now();
      await untilValue(
        'it has run for a second',
        () => performance.now(),
        (now) => now - startedMs > 1000 && agent.isRunning,
      );
      await lab.node.ip(add);
      await lab.announces([VIP]);
      expect(await neighbourId()).to.equal(NODE_ADDRESS);
      const { stdout } = await lab.node.exec(heraldProgram(), ['status', '--socket', lab.socket]);
      expect(stdout).to.match(/^router id +10\.50\.0\.2$/m);
      expect(await agent.stop()).to.equal(0);
    } finally {
      await lab.node.ip(add).catch(() => undefined);
    }
  });

  it('a number of its name that stood in for an address does not stay once there is one', async () => {
    documents();
    await lab.node.ip(`address flush dev ${lab.device}`);
    const add = `address add ${NODE_ADDRESS}/24 dev ${lab.device}`;
    try {
      const agent = lab.start();
      const made = await untilValue(
        'it has waited long enough',
        () => lab.control().status(),
        (asked) => asked.ok,
      );
      expect(made.ok && made.value.routerId).to.match(/^\d+\.\d+\.\d+\.\d+$/);
      expect(made.ok && made.value.routerId).to.not.equal(NODE_ADDRESS);
      await lab.node.ip(add);
      await lab.announces([VIP]);
      await agent.stop();
      lab.start();
      await lab.announces([VIP]);
      expect(await neighbourId()).to.equal(NODE_ADDRESS);
    } finally {
      await lab.node.ip(add).catch(() => undefined);
    }
  });

  /** BIRD's word on who we are */
  async function neighbourId(): Promise<string | undefined> {
    const socket = join(lab.routerHost.folder, 'bird.ctl');
    const asked = ['-s', socket, 'show', 'protocols', 'all'];
    const { stdout } = await lab.routerHost.exec('birdc', asked);
    return /Neighbor ID: +(\S+)/.exec(stdout)?.[1];
  }

  it('no descriptor is left: the session stays, and it drains, unbinds and ends as ever', async () => {
    lab.write({
      'all.yaml': [
        peer(),
        pool({ drain: { waitSeconds: 2 } }),
        claim(VIP, { bind: { interface: 'lo' } }),
      ],
    });
    lab.ready(true);
    // a join check of a file would need a descriptor itself
    const agent = lab.start(['--join-check', 'none']);
    await lab.announces([VIP]);
    const used = new Set(readdirSync(`/proc/${agent.pid}/fd`).map(Number));
    let open = 0;
    while (used.has(open)) open += 1;
    await lab.node.exec('prlimit', ['--pid', String(agent.pid), `--nofile=${open}`]);
    await untilValue(
      'the kernel gives it no descriptor any more',
      () => readFileSync(`/proc/${agent.pid}/limits`, 'utf8'),
      (text) => new RegExp(`Max open files +${open} `).test(text),
    );
    const stopped = agent.stop();
    await untilValue(
      'the router is told of the drain',
      () => lab.routes(),
      (routes) => routes.some(({ communities }) => communities.includes('65535:0')),
      { everyMs: 20 },
    );
    expect(await stopped).to.equal(0);
    await lab.announces([]);
    expect(await lab.addressesOn('lo')).to.not.include(VIP);
  });

  it('whoever read its log goes away', async () => {
    const agent = await serving('pipe');
    const since = await lab.upSince();
    agent.stdout?.destroy();
    await talk(5);
    expect(agent.exitCode).to.equal(null);
    expect(await lab.upSince()).to.be.closeTo(since, SAME_SESSION_MS);
    agent.kill('SIGTERM');
    expect(await once(agent, 'exit')).to.deep.equal([0, null]);
  });

  it('whoever reads its log stands still: the session stays, and so does the way to stop', async () => {
    const agent = await serving('pipe');
    agent.stdout?.pause();
    const since = await lab.upSince();
    // a pipe holds 64 KiB, and our side reads as much ahead
    await talk(100);
    expect(await lab.upSince()).to.be.closeTo(since, SAME_SESSION_MS);
    const started = performance.now();
    agent.kill('SIGTERM');
    expect(await once(agent, 'exit')).to.deep.equal([0, null]);
    expect(performance.now() - started).to.be.below(20_000);
    await lab.announces([]);
  });

  it('nobody reads the terminal of its log: the session stays, a change goes out, and so does the stop', async () => {
    const terminal = spawn('python3', ['-c', TERMINAL], { stdio: ['pipe', 'pipe', 'inherit'] });
    try {
      const [name] = await once(terminal.stdout, 'data');
      const file = openSync(String(name).trim(), constants.O_RDWR | constants.O_NOCTTY);
      const agent = await serving(file, ['--log-level', 'debug']);
      closeSync(file);
      const since = await lab.upSince();
      // a terminal holds a few KiB
      await talk(40);
      lab.write({ 'two.yaml': [claim(BOUND)] });
      await lab.announces([VIP, BOUND]);
      expect(await lab.upSince()).to.be.closeTo(since, SAME_SESSION_MS);
      // somebody reads again: what was kept is there, up to the last
      terminal.stdin.write('\n');
      let shown = '';
      terminal.stdout.on('data', (text) => {
        shown += String(text);
      });
      await untilValue(
        'the last line is shown',
        () => shown,
        (text) => text.includes('Nonsense39-'),
      );
      terminal.stdout.pause();
      await talk(100);
      const started = performance.now();
      agent.kill('SIGTERM');
      expect(await once(agent, 'exit')).to.deep.equal([0, null]);
      expect(performance.now() - started).to.be.below(20_000);
      await lab.announces([]);
    } finally {
      terminal.kill('SIGKILL');
    }
  });

  it('the disk of its log is full, and the log goes on when there is room', async () => {
    const disk = join(lab.node.folder, 'disk');
    mkdirSync(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=32k', 'herald-test', disk]);
    try {
      writeFileSync(join(disk, 'other'), 'x'.repeat(16_384));
      const file = openSync(join(disk, 'log'), 'a');
      const agent = await serving(file);
      closeSync(file);
      const since = await lab.upSince();
      await talk(40);
      expect(readFileSync(join(disk, 'log')).length).to.be.at.most(16_384);
      expect(agent.exitCode).to.equal(null);
      expect(await lab.upSince()).to.be.closeTo(since, SAME_SESSION_MS);
      const before = readFileSync(join(disk, 'log')).length;
      rmSync(join(disk, 'other'));
      await talk(3);
      // an agent that has read a document may still be about to write down what it thinks of it
      const log = await untilValue(
        'the log goes on',
        () => readFileSync(join(disk, 'log')),
        (bytes) => bytes.subarray(before).includes('Nonsense2-'),
      );
      expect(log.length).to.be.above(16_384);
      agent.kill('SIGTERM');
      expect(await once(agent, 'exit')).to.deep.equal([0, null]);
    } finally {
      child?.kill('SIGKILL');
      execFileSync('umount', ['--lazy', disk]);
    }
  });
});
