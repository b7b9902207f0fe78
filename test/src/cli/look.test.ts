/** The look commands against a real control socket, with streams in place of a terminal. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { type Address, formatAddress } from 'bgp-ts';
import { expect } from 'chai';
import type { AgentStatus, ClaimPeerStatus } from '../../../src/agent/status.ts';
import { type Command, UsageError, type World } from '../../../src/cli/command.ts';
import { drainCommand } from '../../../src/cli/drain.ts';
import { explainCommand } from '../../../src/cli/explain.ts';
import { routesCommand } from '../../../src/cli/routes.ts';
import { statusCommand } from '../../../src/cli/status.ts';
import { undrainCommand } from '../../../src/cli/undrain.ts';
import { ControlServer } from '../../../src/control/server.ts';
import { untilValue } from '../../support/poll.ts';
import { claim, claimPeer, gates, sampleStatus } from '../control/sample-status.ts';

const ESCAPE = '\u001b';

class Run {
  stdout = '';
  stderr = '';
  readonly stop: (signal: string) => void;
  readonly exit: Promise<number>;

  constructor(command: Command, args: readonly string[], terminal?: object, env = {}) {
    const stdout = Object.assign(new PassThrough({ encoding: 'utf8' }), terminal ?? {});
    const stderr = new PassThrough({ encoding: 'utf8' });
    stdout.on('data', (chunk: string) => {
      this.stdout += chunk;
    });
    stderr.on('data', (chunk: string) => {
      this.stderr += chunk;
    });
    let handler: (signal: string) => void = () => {};
    this.stop = (signal) => handler(signal);
    const world: World = {
      stdin: new PassThrough(),
      stdout,
      stderr,
      env,
      pid: 1,
      version: '0.1.0',
      onStopSignal: (given) => {
        handler = given;
      },
      onReloadSignal: () => undefined,
      onSuddenEnd: () => undefined,
    };
    this.exit = command.run(args, world);
  }
}

describe('the look commands', () => {
  const directory = mkdtempSync(join(tmpdir(), 'herald-look-'));
  const path = join(directory, 'agent.sock');
  const listeners = new Set<() => void>();
  const orders: string[] = [];
  let current: AgentStatus = sampleStatus();
  let onOrder: (verb: string) => void = () => {};
  let server: ControlServer;

  function change(over: Partial<AgentStatus>): void {
    current = { ...current, ...over };
    for (const listener of listeners) listener();
  }

  function newServer(): ControlServer {
    const act = (verb: string) => (address: Address | undefined, reason: string) => {
      const what = address === undefined ? 'node' : formatAddress(address);
      orders.push(`${verb} ${what} (${reason})`);
      onOrder(verb);
      return what === '192.0.2.250'
        ? { ok: false, sentence: '192.0.2.250 is not claimed here' }
        : { ok: true, sentence: `${verb}ing ${what}` };
    };
    return new ControlServer({
      path,
      identity: { pid: 1, version: '0.9.0', node: 'node-a' },
      status: () => current,
      subscribe: (onChange) => {
        listeners.add(onChange);
        return () => listeners.delete(onChange);
      },
      drain: act('drain'),
      undrain: act('undrain'),
    });
  }

  beforeEach(async () => {
    current = sampleStatus();
    orders.length = 0;
    onOrder = () => {};
    server = newServer();
    expect(await server.start()).to.deep.equal({ kind: 'listening' });
  });
  afterEach(() => server.stop());
  after(() => rmSync(directory, { recursive: true }));

  const at = (...args: readonly string[]) => ['--socket', path, ...args];

  async function finished(command: Command, args: readonly string[], terminal?: object, env = {}) {
    const run = new Run(command, args, terminal, env);
    const status = await run.exit;
    return { status, stdout: run.stdout, stderr: run.stderr };
  }

  async function complaint(command: Command, ...args: readonly string[]): Promise<string> {
    try {
      await new Run(command, at(...args)).exit;
    } catch (error) {
      if (error instanceof UsageError) return error.message;
      throw error;
    }
    return 'taken';
  }

  it('print tables without colour where there is no terminal', async () => {
    for (const [command, args, part] of [
      [statusCommand, [], 'Sessions: 1 of 3 established'],
      [routesCommand, [], '192.0.2.7/32'],
      [explainCommand, ['192.0.2.7'], 'announced to 2 peers'],
    ] as const) {
      const { status, stdout, stderr } = await finished(command, at(...args));
      expect({ status, stderr }).to.deep.equal({ status: 0, stderr: '' });
      expect(stdout).to.include(part);
      expect(stdout).to.not.include(ESCAPE);
    }
  });

  it('cut nothing and break no sentence in a pipe, and keep to the width of a terminal', async () => {
    const sentence = `${'the check of this address has failed for a long time; '.repeat(4)}that is why`;
    const shut = gates({ healthy: ['closed', sentence] });
    const before = current;
    change({
      claims: [
        claim('192.0.2.7', { gates: shut, peers: [claimPeer({ route: 'none', gates: shut })] }),
      ],
    });
    for (const [command, args] of [
      [routesCommand, []],
      [explainCommand, ['192.0.2.7']],
      [statusCommand, []],
    ] as const) {
      const piped = await finished(command, at(...args));
      expect(piped.stdout, command.name).to.include(sentence).and.not.include('…');
      const terminal = await finished(command, at(...args), { isTTY: true, columns: 80, rows: 50 });
      for (const line of terminal.stdout
        .replaceAll(new RegExp(`${ESCAPE}\\[\\d+m`, 'g'), '')
        .split('\n')) {
        expect(line.length).to.be.at.most(80);
      }
    }
    change(before);
  });

  it('use the width and colours of a terminal, and no colour where NO_COLOR is set', async () => {
    const terminal = { isTTY: true, columns: 130, rows: 50 };
    const colored = await finished(statusCommand, at(), terminal);
    expect(colored.stdout).to.include(`${ESCAPE}[32mestablished`);
    expect(Math.max(...colored.stdout.split('\n').map((line) => line.length))).to.be.above(90);
    const plain = await finished(statusCommand, at(), terminal, { NO_COLOR: '1' });
    expect(plain.stdout).to.not.include(ESCAPE);
  });

  it('print JSON: the status itself, a list of routes, a claim', async () => {
    const status = await finished(statusCommand, at('-o', 'json'));
    expect(JSON.parse(status.stdout)).to.deep.equal(current);
    const routes = await finished(routesCommand, at('--output', 'json'));
    expect(JSON.parse(routes.stdout)[0]).to.include({
      prefix: '192.0.2.7/32',
      peer: 'tor-a',
      state: 'up',
    });
    const one = await finished(explainCommand, at('-o', 'json', '192.0.2.8/32'));
    expect(JSON.parse(one.stdout)).to.deep.equal({
      address: '192.0.2.8',
      node: 'master-1',
      claimed: true,
      claim: current.claims[1],
    });
  });

  it('find the socket by the environment, and the flag beats it', async () => {
    const found = await finished(statusCommand, [], undefined, { HERALD_SOCKET: path });
    expect(found.status).to.equal(0);
    const lost = await finished(statusCommand, at(), undefined, { HERALD_SOCKET: '/nowhere' });
    expect(lost.status).to.equal(0);
  });

  it('say that no agent answers, and exit 1', async () => {
    for (const command of [statusCommand, routesCommand, drainCommand, undrainCommand]) {
      for (const args of [[], ['--watch']]) {
        const missing = join(directory, 'none');
        const { status, stdout, stderr } = await finished(command, ['--socket', missing, ...args]);
        expect({ status, stdout }).to.deep.equal({ status: 1, stdout: '' });
        expect(stderr).to.equal(
          `herald ${command.name}: no agent answers at ${missing}: is it running? --socket names another path\n`,
        );
      }
    }
  });

  it('say why no cluster was asked either, where nobody has named a socket', async () => {
    const nowhere = join(directory, 'no-kubeconfig');
    for (const [command, args] of [
      [statusCommand, []],
      [explainCommand, ['192.0.2.8']],
    ] as const) {
      const asked = await finished(command, args, undefined, { KUBECONFIG: nowhere });
      expect(asked.status).to.equal(1);
      expect(asked.stderr).to.match(/^herald \w+: no agent answers at .*; nor a cluster: /);
      expect(asked.stderr).to.include(nowhere);
    }
  });

  it('exit 1 for an address that is not claimed, with what to write', async () => {
    const { status, stdout } = await finished(explainCommand, at('192.0.2.200'));
    expect(status).to.equal(1);
    expect(stdout).to.include('name: 192.0.2.200');
    const json = await finished(explainCommand, at('192.0.2.200', '-o', 'json'));
    expect(json.status).to.equal(1);
    expect(JSON.parse(json.stdout)).to.include({ claimed: false });
  });

  it('refuse what cannot be meant', async () => {
    expect(await complaint(explainCommand)).to.equal('name one ADDRESS, or one NAMESPACE/NAME');
    expect(await complaint(explainCommand, '192.0.2.1', '192.0.2.2')).to.include(
      'name one ADDRESS',
    );
    expect(await complaint(explainCommand, '192.0.2')).to.equal(
      "'192.0.2' is not an IPv4 or IPv6 address",
    );
    expect(await complaint(explainCommand, '192.0.2.0/24')).to.include(
      'is not an IPv4 or IPv6 address',
    );
    expect(await complaint(statusCommand, '-o', 'yaml')).to.include("--output 'yaml' is not known");
    expect(await complaint(drainCommand, 'x')).to.include("'x' is not an IPv4");
    expect(await complaint(drainCommand, '--timeout', '0')).to.include('--timeout');
    expect(await complaint(drainCommand, '--timeout', 'soon')).to.include('--timeout');
    expect(orders).to.deep.equal([]);
  });

  describe('with --watch', () => {
    it('print one line of JSON per change until a signal', async () => {
      const run = new Run(statusCommand, at('--watch', '-o', 'json'));
      await untilValue(
        'the first',
        () => run.stdout,
        (text) => text.endsWith('\n'),
      );
      change({ pid: 5000 });
      await untilValue(
        'the second',
        () => run.stdout,
        (text) => text.split('\n').length === 3,
      );
      run.stop('SIGINT');
      expect(await run.exit).to.equal(0);
      const pids = run.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).pid);
      expect(pids).to.deep.equal([4711, 5000]);
    });

    it('print blocks with a time where there is no terminal', async () => {
      const run = new Run(routesCommand, at('-w'));
      await untilValue(
        'the first',
        () => run.stdout,
        (text) => text.includes('192.0.2.7/32'),
      );
      expect(run.stdout).to.match(/^--- 20\d\d-\d\d-\d\dT[\d:.]+Z\nPREFIX/);
      expect(run.stdout).to.not.include(ESCAPE);
      run.stop('SIGTERM');
      expect(await run.exit).to.equal(0);
    });

    it('redraw a terminal, within its rows', async () => {
      const run = new Run(statusCommand, at('-w'), { isTTY: true, columns: 80, rows: 10 });
      await untilValue(
        'the first',
        () => run.stdout,
        (text) => text.includes(`${ESCAPE}[J`),
      );
      const [frame = ''] = run.stdout.split(`${ESCAPE}[J`);
      expect(frame.startsWith(`${ESCAPE}[H`)).to.equal(true);
      expect(frame.split('\n')).to.have.length(10);
      expect(frame).to.match(/… \d+ more lines/);
      run.stop('SIGINT');
      expect(await run.exit).to.equal(0);
    });

    it('outlive a restart of the agent', async () => {
      const run = new Run(statusCommand, at('-w', '-o', 'json'));
      await untilValue(
        'the first',
        () => run.stdout,
        (text) => text.includes('"pid":4711'),
      );
      await server.stop();
      await untilValue(
        'it says so',
        () => run.stderr,
        (text) => text.includes('has stopped'),
      );
      current = sampleStatus({ pid: 4712 });
      server = newServer();
      await server.start();
      await untilValue(
        'it is back',
        () => run.stdout,
        (text) => text.includes('"pid":4712'),
      );
      run.stop('SIGINT');
      expect(await run.exit).to.equal(0);
    });
  });

  describe('drain and undrain', () => {
    const withRoutes = (...routes: readonly ClaimPeerStatus['route'][]) => ({
      claims: [
        claim('192.0.2.7', {
          peers: routes.map((route, index) => claimPeer({ peer: `p${index}`, route })),
        }),
      ],
    });

    it('return when the order is accepted', async () => {
      const drained = await finished(drainCommand, at('192.0.2.7', '--reason', 'disk change'));
      expect(drained).to.deep.equal({ status: 0, stdout: 'draining 192.0.2.7\n', stderr: '' });
      await finished(drainCommand, at());
      await finished(undrainCommand, at('-o', 'json'));
      expect(orders).to.deep.equal([
        'drain 192.0.2.7 (disk change)',
        'drain node (asked for by a person)',
        'undrain node (asked for by a person)',
      ]);
    });

    it('pass on a refusal, with status 1', async () => {
      const { status, stdout, stderr } = await finished(drainCommand, at('192.0.2.250'));
      expect(status).to.equal(1);
      expect(stdout).to.equal('');
      expect(stderr).to.equal('herald drain: 192.0.2.250 is not claimed here\n');
      const json = await finished(drainCommand, at('192.0.2.250', '-o', 'json'));
      expect(JSON.parse(json.stdout)).to.include({ ok: false });
    });

    it('wait until no route is out, and say how far it is when watched', async () => {
      current = { ...current, ...withRoutes('up', 'up') };
      onOrder = () => change(withRoutes('draining', 'draining'));
      const run = new Run(drainCommand, at('--watch'));
      await untilValue(
        'it waits',
        () => run.stdout,
        (text) => text.includes('2 of 2 routes are still out'),
      );
      change(withRoutes('none', 'draining'));
      await untilValue(
        'half',
        () => run.stdout,
        (text) => text.includes('1 of 2 routes'),
      );
      change(withRoutes('none', 'none'));
      expect(await run.exit).to.equal(0);
      expect(run.stdout).to.equal(
        'draining node\n2 of 2 routes are still out\n1 of 2 routes are still out\nno route is out any more\n',
      );
    });

    it('wait for the named address only', async () => {
      change({
        claims: [claim('192.0.2.7'), claim('192.0.2.8', { peers: [claimPeer({ route: 'none' })] })],
      });
      const { status, stdout } = await finished(drainCommand, at('192.0.2.8', '--wait'));
      expect({ status, stdout }).to.deep.equal({ status: 0, stdout: 'draining 192.0.2.8\n' });
    });

    it('give up at the timeout, and say what is left', async () => {
      change(withRoutes('draining', 'none'));
      const { status, stderr } = await finished(drainCommand, at('--wait', '--timeout', '2'));
      expect(status).to.equal(1);
      expect(stderr).to.equal(
        'herald drain: not done within 2 s: 1 of 2 routes are still out; the order stands\n',
      );
    });

    it('wait for routes to come back, but not for those that other gates hold', async () => {
      const shut = gates({ healthy: ['closed', 'no'] });
      const held = claimPeer({ peer: 'p1', route: 'none', gates: shut });
      const drained = gates({ 'not-draining': ['closed', 'drained by itself'] });
      const off = claimPeer({ peer: 'p2', route: 'none', gates: drained });
      onOrder = () =>
        change({
          claims: [
            claim('192.0.2.7', {
              peers: [
                claimPeer({ route: 'none', gates: gates({ bound: ['closed', 'not yet'] }) }),
                held,
                off,
              ],
            }),
          ],
        });
      const run = new Run(undrainCommand, at('-w', '-o', 'json'));
      await untilValue(
        'it waits',
        () => run.stdout,
        (text) => text.includes('"left":1'),
      );
      change({ claims: [claim('192.0.2.7', { peers: [claimPeer(), held, off] })] });
      expect(await run.exit).to.equal(0);
      expect(run.stdout.trim().split('\n').at(-1)).to.equal('{"routes":3,"left":0}');
    });

    it('end with a signal, and say that the order stands', async () => {
      change(withRoutes('draining'));
      const run = new Run(drainCommand, at('-w'));
      await untilValue(
        'it waits',
        () => run.stdout,
        (text) => text.includes('still out'),
      );
      run.stop('SIGINT');
      expect(await run.exit).to.equal(1);
      expect(run.stderr).to.include('the order stands');
    });
  });
});
