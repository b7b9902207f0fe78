/** What a server of HTTPS may cost whoever asks it: the main thread's CPU time is measured, the server is a process of its own. */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { probe, type Timed } from './probing.ts';

const SERVER = new URL('../../support/costly-tls.ts', import.meta.url).pathname;

describe('probeHttp over TLS: the server does not decide what a check costs', function () {
  this.timeout(60_000);
  let folder: string;
  let server: ChildProcess | undefined;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'herald-costly-'));
    const [key, cert] = [join(folder, 'key'), join(folder, 'cert')];
    const made = ['-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert];
    execFileSync('openssl', ['req', '-x509', '-subj', '/CN=x', ...made], { stdio: 'ignore' });
  });
  afterEach(() => {
    server?.kill();
    server = undefined;
  });
  after(() => rmSync(folder, { recursive: true }));

  async function start(what: 'group' | 'chain'): Promise<string> {
    const files = [join(folder, 'key'), join(folder, 'cert')];
    server = spawn(process.execPath, [SERVER, '0', '127.0.0.1', what, ...files]);
    const [said] = server.stdout === null ? [''] : await once(server.stdout, 'data');
    const [, port] = /listens on (\d+)/.exec(String(said)) ?? [];
    return `https://127.0.0.1:${port}/`;
  }

  async function costOf(ask: () => Promise<readonly Timed[]>) {
    const started = process.threadCpuUsage();
    const answers = await ask();
    const { user, system } = process.threadCpuUsage(started);
    return { answers, cpuMs: (user + system) / 1000 };
  }

  it('a DHE group of 10,000 bits is not worked with', async () => {
    const url = await start('group');
    const { answers, cpuMs } = await costOf(async () => [await probe({ kind: 'http', url })]);
    expect(cpuMs, 'milliseconds of CPU').to.be.lessThan(200);
    expect(answers[0]?.kind).to.equal('fail');
    expect(answers[0]?.sentence).to.include('does not speak TLS as it should');
  });

  it('a chain of 90 KB of certificates is not read, also where a pin decides', async () => {
    const url = await start('chain');
    const { answers, cpuMs } = await costOf(() =>
      Promise.all([
        ...Array.from({ length: 10 }, () => probe({ kind: 'http', url })),
        ...Array.from({ length: 10 }, () => probe({ kind: 'http', url, pin: 'a'.repeat(64) })),
      ]),
    );
    expect(cpuMs, 'milliseconds of CPU').to.be.lessThan(500);
    for (const { kind, sentence } of answers) {
      expect(kind).to.equal('fail');
      expect(sentence).to.include('its TLS handshake is longer than 32 KB');
    }
  });
});
