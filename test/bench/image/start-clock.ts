/**
 * How long a program takes from its start to its first request to the API: a socket in place of the API server notes when somebody connects. The agent does that when it has
 * read its settings, and before it has learnt anything, so nothing but the start is in it.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const limitMs = 60_000;

export class StartClock {
  readonly #server: Server = createServer();
  readonly #folder: string;

  constructor() {
    this.#folder = mkdtempSync(join(tmpdir(), 'herald-start-'));
  }

  async open(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('no port was given.');
    writeFileSync(join(this.#folder, 'kubeconfig'), kubeconfig(address.port), { mode: 0o644 });
  }

  /** Starts an agent of a cluster by `argv`, and ends it when it has connected. */
  async measureMs(argv: readonly string[]): Promise<number> {
    const [program = '', ...args] = argv;
    const state = mkdtempSync(join(this.#folder, 'machine-'));
    const own = ['agent', '--source', 'kube', '--node-name', 'n1', '--metrics-address', 'off'];
    const places = ['--state-dir', state, '--socket', join(state, 'agent.sock')];
    const connected = once(this.#server, 'connection', { signal: AbortSignal.timeout(limitMs) });
    const started = performance.now();
    const child = spawn(program, [...args, ...own, ...places], {
      env: { ...process.env, KUBECONFIG: join(this.#folder, 'kubeconfig') },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const ended = once(child, 'exit');
    try {
      const early = ended.then(() => Promise.reject(new Error(`${program} ended by itself.`)));
      const [socket] = await Promise.race([connected, early]);
      const took = performance.now() - started;
      socket.destroy();
      return took;
    } finally {
      child.kill('SIGKILL');
      await ended;
      rmSync(state, { recursive: true, force: true });
    }
  }

  close(): void {
    this.#server.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function kubeconfig(port: number): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'none',
        cluster: { server: `https://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true },
      },
    ],
    users: [{ name: 'nobody', user: { token: 'none' } }],
    contexts: [{ name: 'none', context: { cluster: 'none', user: 'nobody' } }],
    'current-context': 'none',
  });
}
