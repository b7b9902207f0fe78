/** Questions to the API server of the lab's cluster: whether it is ready, and by kubectl everything that a user would ask too. */

import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import type { KeyPair } from '../../tools/cluster/pki.ts';
import { run } from '../../tools/kubernetes/run.ts';
import type { Daemon } from './machine.ts';

const POLL_MS = 100;
const READY_MS = 90_000;
const ANSWER_MS = 2_000;
/** Longer than any roll-out is waited for: a request may be the watch of one. */
const REQUEST_SECONDS = 150;
const KUBECTL_MS = 180_000;

export interface ApiAccess {
  readonly url: string;
  readonly caFile: string;
  readonly client: KeyPair;
}

/** Resolves when /readyz says so; a server that has ended is an error at once. */
export async function apiReady(access: ApiAccess, servers: readonly Daemon[]): Promise<void> {
  const started = performance.now();
  while (!(await isReady(access))) {
    for (const server of servers) server.check();
    if (performance.now() - started > READY_MS)
      throw new Error(
        `the API server is not ready after ${READY_MS / 1000} s; look at ${servers.at(-1)?.logFile}.`,
      );
    await delay(POLL_MS);
  }
}

function isReady({ url, caFile, client }: ApiAccess): Promise<boolean> {
  const [ca, cert, key] = [caFile, client.certFile, client.keyFile].map((file) =>
    readFileSync(file),
  );
  return new Promise((resolve) => {
    const options = { ca, cert, key, agent: false, timeout: ANSWER_MS } as const;
    const asked = request(`${url}/readyz`, options, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    asked.once('error', () => resolve(false));
    asked.once('timeout', () => asked.destroy());
    asked.end();
  });
}

/** Behind all that is kubectl's own: what follows `--` is another program's. */
export function bounded(args: readonly string[]): readonly string[] {
  const others = args.indexOf('--');
  const end = others < 0 ? args.length : others;
  return args.toSpliced(end, 0, `--request-timeout=${REQUEST_SECONDS}s`);
}

/** kubectl with the cluster's own kubeconfig, its stdout returned. */
export class Kubectl {
  readonly kubeconfig: string;
  readonly program: string;
  readonly #folder: string;

  constructor(program: string, kubeconfig: string, folder: string) {
    this.program = program;
    this.kubeconfig = kubeconfig;
    this.#folder = folder;
  }

  run(...args: readonly string[]): Promise<string> {
    return this.#run(args);
  }

  /** The same, broken off by the signal. */
  runUntil(signal: AbortSignal | undefined, ...args: readonly string[]): Promise<string> {
    return this.#run(args, signal === undefined ? {} : { signal });
  }

  #run(args: readonly string[], options: { readonly signal?: AbortSignal } = {}): Promise<string> {
    const env = { KUBECONFIG: this.kubeconfig, KUBECACHEDIR: `${this.#folder}/kubectl` };
    return run(this.program, bounded(args), { env, timeoutMs: KUBECTL_MS, ...options });
  }

  async json(...args: readonly string[]): Promise<unknown> {
    return JSON.parse(await this.run(...args, '-o', 'json'));
  }
}
