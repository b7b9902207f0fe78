/**
 * The ground under the interop tests: waiting that ends, namespaces that a killed run leaves and the next removes,
 * and captures that miss nothing.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { expect } from 'chai';
import { startCapture } from '../support/capture.ts';
import { createLab, type Lab, removeLeftOvers } from '../support/netns.ts';
import { done, notYet, until, untilValue } from '../support/poll.ts';
import { run } from '../support/process.ts';
import { skipWithoutLab } from './require-lab.ts';

describe('until', () => {
  it('returns the value of the first answer that is done', async () => {
    let asked = 0;
    const probe = () => {
      asked += 1;
      return asked === 3 ? done('third') : notYet(asked);
    };
    expect(await until('third time', probe, { everyMs: 1 })).to.equal('third');
  });

  it('fails within its bound and shows what it saw last', async () => {
    const failure = await until('never', () => notYet({ state: 'active' }), {
      timeoutMs: 20,
      everyMs: 5,
    }).catch((error: Error) => error.message);
    expect(failure).to.match(/^not within 20 ms .*: never; last seen: { state: 'active' }$/);
  });

  it('takes an exception as not yet and reports it in the end', async () => {
    const broken = () => Promise.reject(new Error('connection refused'));
    const options = { timeoutMs: 10, everyMs: 5 };
    const failure = await untilValue('cli', broken, () => true, options).catch(
      (error: Error) => error.message,
    );
    expect(failure).to.include('connection refused');
  });
});

describe('a lab of namespaces', function () {
  this.timeout(120_000);
  let lab: Lab | undefined;

  before(function () {
    skipWithoutLab(this, []);
  });

  afterEach(async () => {
    await lab?.destroy();
    lab = undefined;
  });

  /** A process of its own that builds a lab with a sleeping child and says its names, then waits. */
  async function otherRun() {
    const script = `
      import { createLab } from ${JSON.stringify(import.meta.resolve('../support/netns.ts'))};
      const lab = createLab('other');
      const host = await lab.host('h', { forward: false });
      const child = host.spawn('sleep', 'sleep', ['600']);
      process.stdout.write(JSON.stringify({ namespace: host.namespace, folder: lab.folder, pid: child.pid }) + '\\n');
      setInterval(() => undefined, 1000);
    `;
    const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = await once(child.stdout, 'data');
    const said: unknown = JSON.parse(String(line));
    const get = (name: string) =>
      String(Object.entries(said ?? {}).find(([key]) => key === name)?.[1]);
    return { child, namespace: get('namespace'), folder: get('folder'), pid: Number(get('pid')) };
  }

  const exists = (namespace: string) => existsSync(`/run/netns/${namespace}`);

  it('leaves a run beside it alone and removes what a killed one left', async () => {
    const other = await otherRun();
    try {
      expect(removeLeftOvers()).to.not.include(other.namespace);
      expect(exists(other.namespace)).to.equal(true);
    } finally {
      other.child.kill('SIGKILL');
      await once(other.child, 'exit');
    }
    expect(exists(other.namespace)).to.equal(true);
    expect(existsSync(`/proc/${other.pid}/ns/net`)).to.equal(true);
    expect(removeLeftOvers()).to.include(other.namespace);
    expect(exists(other.namespace)).to.equal(false);
    expect(existsSync(other.folder)).to.equal(false);
    await until('its child is gone', async () => {
      const { stdout } = await run('ps', ['-o', 'stat=', '-p', String(other.pid)], {
        anyStatus: true,
      });
      return /^[^Z]/.test(stdout.trim()) ? notYet(stdout) : done(true);
    });
  });

  it('cleans up when it is asked to end', async () => {
    const other = await otherRun();
    other.child.kill('SIGTERM');
    await once(other.child, 'exit');
    expect(exists(other.namespace)).to.equal(false);
    expect(existsSync(other.folder)).to.equal(false);
  });

  it('sets every namespace up on purpose', async () => {
    lab = createLab('settings');
    const [a, b] = [
      await lab.host('a', { forward: false }),
      await lab.host('b', { forward: true }),
    ];
    await lab.link(a, b, { a: ['10.0.0.1/24', 'fd00::1/64'], b: ['10.0.0.2/24', 'fd00::2/64'] });
    const setting = async (name: string) =>
      (await Promise.all([a, b].map((host) => host.exec('sysctl', ['-n', name])))).map((output) =>
        output.stdout.trim(),
      );
    expect(await setting('net.ipv4.ip_forward')).to.deep.equal(['0', '1']);
    expect(await setting('net.ipv6.conf.all.forwarding')).to.deep.equal(['0', '1']);
    expect(await setting('net.ipv4.conf.eth0.rp_filter')).to.deep.equal(['0', '0']);
    expect(await setting('net.ipv4.fib_multipath_hash_policy')).to.deep.equal(['1', '1']);
    expect(await setting('net.ipv6.conf.eth0.accept_dad')).to.deep.equal(['0', '0']);
    const { stdout } = await a.exec('ethtool', ['-k', 'eth0']);
    expect(stdout).to.match(/^tx-checksumming: off/m);
  });

  it('drops what an nft script says, and the capture shows both sides of it', async () => {
    lab = createLab('loss');
    const [a, b] = [
      await lab.host('a', { forward: false }),
      await lab.host('b', { forward: false }),
    ];
    await lab.link(a, b, { a: ['10.0.0.1/24'], b: ['10.0.0.2/24'] });
    const capture = await startCapture(b, 'eth0');
    const send = (port: number) =>
      a.exec('bash', ['-c', `printf x >/dev/udp/10.0.0.2/${port}`], { anyStatus: true });
    const seen = (port: number) => capture.frames(`udp.dstport == ${port} && !icmp`, ['ip.src']);
    await send(4001);
    expect(await seen(4001)).to.deep.equal([{ 'ip.src': '10.0.0.1' }]);
    await a.nft(
      'table ip t { chain out { type filter hook output priority 0; udp dport 4002 drop; }; }',
    );
    await send(4002);
    await capture.stop();
    expect(await seen(4002)).to.deep.equal([]);
  });
});
