/**
 * What is measured: something that watches Services and makes routes of them. Herald is one (herald-balancer.ts); any other takes part by
 * three commands, which find all they need in their environment.
 */

import { spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../support/process.ts';
import type { BalancerCommands } from './options.ts';

export interface BalancerProcess {
  /** `controller`, `agent`; of another balancer whatever it calls them */
  readonly role: string;
  readonly pid: number;
}

export interface Balancer {
  readonly name: string;
  /** resolves when it runs; it need not be ready */
  start(): Promise<void>;
  stop(): Promise<void>;
  pids(): Promise<readonly BalancerProcess[]>;
}

/** What the commands find in their environment. */
export interface BalancerPlace {
  readonly folder: string;
  readonly kubeconfig: string;
  readonly router: { readonly address: string; readonly port: number; readonly asn: number };
  /** takes note of when routes come; a balancer that speaks BGP should announce to it too */
  readonly receiver: { readonly address: string; readonly port: number; readonly asn: number };
  /** with BIRD's bird.conf and bird.ctl */
  readonly birdFolder: string;
  readonly node: string;
  /** where the node's sessions come from: both routers take neighbours from 127.0.0.0/8 */
  readonly source: string;
  readonly pool: string;
  readonly loadBalancerClass: string;
}

const START_TIMEOUT_MS = 120_000;

export class CommandBalancer implements Balancer {
  readonly name = 'other';
  readonly #commands: BalancerCommands;
  readonly #env: Readonly<Record<string, string>>;
  readonly #logFile: string;
  #isRunning = false;
  readonly #endWithProcess = () => {
    if (this.#isRunning) spawnSync('sh', ['-c', this.#commands.stop], { env: this.#whole });
  };

  constructor(commands: BalancerCommands, place: BalancerPlace) {
    this.#commands = commands;
    this.#env = environment(place);
    this.#logFile = join(place.folder, 'balancer.log');
  }

  async start(): Promise<void> {
    this.#isRunning = true;
    process.once('exit', this.#endWithProcess);
    // to a file: a balancer that goes on in the background would hold a pipe open
    const log = openSync(this.#logFile, 'a');
    const child = spawn('sh', ['-c', this.#commands.start], {
      env: this.#whole,
      stdio: ['ignore', log, log],
      timeout: START_TIMEOUT_MS,
    });
    closeSync(log);
    const status = await new Promise((resolve) => child.once('exit', resolve));
    if (status === 0) return;
    throw new Error(`--start ended with ${status}: ${readFileSync(this.#logFile, 'utf8')}`);
  }

  async stop(): Promise<void> {
    process.off('exit', this.#endWithProcess);
    if (!this.#isRunning) return;
    this.#isRunning = false;
    await run('sh', ['-c', this.#commands.stop], { env: this.#env, timeoutMs: START_TIMEOUT_MS });
  }

  async pids(): Promise<readonly BalancerProcess[]> {
    const { stdout } = await run('sh', ['-c', this.#commands.pids], { env: this.#env });
    return parsePids(stdout);
  }

  get #whole(): Record<string, string | undefined> {
    return { ...process.env, ...this.#env };
  }
}

/** `ROLE PID` per line, or bare numbers. */
export function parsePids(text: string): readonly BalancerProcess[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const words = line.trim().split(/\s+/);
      const pid = Number(words.at(-1));
      if (!Number.isInteger(pid) || words.length > 2) {
        throw new Error(`--pids prints ROLE PID per line, not '${line}'`);
      }
      return { role: words.length === 2 ? (words[0] ?? '') : 'balancer', pid };
    });
}

function environment(place: BalancerPlace): Readonly<Record<string, string>> {
  const { router, receiver } = place;
  return {
    KUBECONFIG: place.kubeconfig,
    BENCH_FOLDER: place.folder,
    BENCH_ROUTER_ADDRESS: router.address,
    BENCH_ROUTER_PORT: String(router.port),
    BENCH_ROUTER_ASN: String(router.asn),
    BENCH_RECEIVER_ADDRESS: receiver.address,
    BENCH_RECEIVER_PORT: String(receiver.port),
    BENCH_RECEIVER_ASN: String(receiver.asn),
    BENCH_BIRD_FOLDER: place.birdFolder,
    BENCH_NODE: place.node,
    BENCH_SOURCE: place.source,
    BENCH_POOL: place.pool,
    BENCH_CLASS: place.loadBalancerClass,
  };
}
