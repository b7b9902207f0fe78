/**
 * The API server inside a network namespace: the servers listen on this machine's loopback, which a namespace does not share, but files it does. So a
 * relay in the namespace listens on the same port of *its* loopback and goes through a Unix socket to a relay outside. Every
 * kubeconfig holds inside as it holds outside, and no interface or route is added that a test did not ask for.
 */

import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import type { Host } from '../../support/netns.ts';
import { done, notYet, until } from '../../support/poll.ts';
import { Running } from '../../support/process.ts';

const program = join(import.meta.dirname, 'relay-main.ts');

/** `server`: the URL of a server or of a failing proxy, each node with its own if one is to be cut off alone. */
export async function exposeApi(host: Host, server: string): Promise<ApiRelay> {
  const { port } = new URL(server);
  const folder = mkdtempSync(join(host.folder, 'api-'));
  const socket = `unix:${join(folder, 'socket')}`;
  const relay = (from: string, to: string) => [process.execPath, program, from, to];
  const bound = ['setpriv', '--pdeathsig', 'KILL'];
  const outer = new Running([...bound, ...relay(socket, `tcp:${port}`)], join(folder, 'outer.log'));
  const [command = '', ...args] = [...bound, ...relay(`tcp:${port}`, socket)];
  const inner = new Running(host.argv(command, args), join(folder, 'inner.log'));
  for (const each of [outer, inner]) await listens(each);
  return new ApiRelay(outer, inner);
}

async function listens(relay: Running): Promise<void> {
  await until('the relay listens', () =>
    relay.log().includes('listening') ? done(true) : notYet(relay.log()),
  );
}

export class ApiRelay {
  readonly #outer: Running;
  readonly #inner: Running;

  constructor(outer: Running, inner: Running) {
    this.#outer = outer;
    this.#inner = inner;
  }

  /** Connections stay, nothing comes through any more. */
  freeze(): void {
    this.#inner.freeze();
  }

  thaw(): void {
    this.#inner.thaw();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#outer.kill(), this.#inner.kill()]);
  }
}
