/**
 * A router that takes note of when: our own speaker in a thread of its own, so that a busy test does not make routes look late. Each change carries the
 * monotonic time of the moment at which its UPDATE was read; nobody polls. It has no route selection: beside it stands BIRD,
 * which says what a real router makes of the same routes.
 */

import { Worker } from 'node:worker_threads';
import { freePorts } from './servers.ts';

export interface ReceivingRouterOptions {
  /** default 127.0.0.1, with a free port */
  readonly address?: string;
  readonly port?: number;
  /** default 64501 */
  readonly asn?: number;
  /** who may dial; default 127.0.0.0/8 */
  readonly range?: string;
  /** default 9 */
  readonly holdSeconds?: number;
}

export interface RouteAttributes {
  readonly med?: number;
  readonly localPref?: number;
  readonly communities: readonly string[];
  readonly asPath: readonly number[];
}

export type RouterMessage =
  | { readonly kind: 'listening' }
  | { readonly kind: 'failed'; readonly error: string }
  | { readonly kind: 'up' | 'down'; readonly peer: string; readonly atMs: number }
  | {
      readonly kind: 'update';
      readonly peer: string;
      readonly atMs: number;
      readonly announced: readonly string[];
      readonly withdrawn: readonly string[];
      readonly attributes: RouteAttributes;
    };

/** One change of one route; the end of a session withdraws what came by it. */
export interface RouteChange {
  readonly kind: 'announced' | 'withdrawn';
  readonly prefix: string;
  readonly peer: string;
  /** CLOCK_MONOTONIC: compare with `nowMs()` of any process on this machine */
  readonly atMs: number;
  readonly attributes?: RouteAttributes;
}

export async function startReceivingRouter(
  options: ReceivingRouterOptions = {},
): Promise<ReceivingRouter> {
  const { port = (await freePorts(1))[0] ?? 0, address = '127.0.0.1', asn = 64_501 } = options;
  const { range = '127.0.0.0/8', holdSeconds = 9 } = options;
  const worker = new Worker(new URL('./receiving-router-worker.ts', import.meta.url), {
    workerData: { port, address, asn, range, holdSeconds },
  });
  const router = new ReceivingRouter(worker, { address, port, asn });
  await router.listening;
  return router;
}

export class ReceivingRouter {
  readonly address: string;
  readonly port: number;
  readonly asn: number;
  readonly listening: Promise<void>;
  readonly #worker: Worker;
  /** prefix → neighbour → the last announcement */
  readonly #table = new Map<string, Map<string, RouteChange>>();
  readonly #history = new Map<string, RouteChange[]>();
  readonly #up = new Set<string>();
  readonly #waiters = new Set<() => void>();

  constructor(
    worker: Worker,
    {
      address,
      port,
      asn,
    }: { readonly address: string; readonly port: number; readonly asn: number },
  ) {
    this.#worker = worker;
    this.address = address;
    this.port = port;
    this.asn = asn;
    this.listening = new Promise((resolve, reject) => {
      worker.once('error', reject);
      worker.on('message', (message: RouterMessage) => {
        if (message.kind === 'listening') resolve();
        if (message.kind === 'failed') reject(new Error(message.error));
        this.#take(message);
      });
    });
  }

  /** Neighbours whose session is up. */
  get established(): readonly string[] {
    return [...this.#up].sort();
  }

  /** Prefixes that somebody announces. */
  get prefixes(): readonly string[] {
    return [...this.#table.keys()];
  }

  /** Who announces it, and as what. */
  paths(prefix: string): readonly RouteChange[] {
    return [...(this.#table.get(prefix)?.values() ?? [])];
  }

  /** Every change since the start or the last `forget`, in the order in which they were read. */
  get history(): readonly RouteChange[] {
    return [...this.#history.values()].flat().sort((a, b) => a.atMs - b.atMs);
  }

  /** An empty history; the table stays. */
  forget(): void {
    this.#history.clear();
  }

  /** When the prefix was first announced, by anybody or by this neighbour, since then; waits for it. */
  arrival(prefix: string, options: WaitOptions = {}): Promise<number> {
    return this.#first('announced', prefix, options);
  }

  /** When it was first withdrawn, by anybody or by this neighbour, since then; waits for it. Others may announce it still. */
  departure(prefix: string, options: WaitOptions = {}): Promise<number> {
    return this.#first('withdrawn', prefix, options);
  }

  /** Waits until something is so; it is asked again at every change. */
  async waitFor(what: string, isSo: () => boolean, timeoutMs = 30_000): Promise<void> {
    if (isSo()) return;
    await new Promise<void>((resolve, reject) => {
      const look = () => {
        if (isSo()) finish(resolve);
      };
      const finish = (then: () => void) => {
        clearTimeout(timer);
        this.#waiters.delete(look);
        then();
      };
      const seen = () =>
        `${this.#up.size} sessions, ${this.#table.size} prefixes, last: ${JSON.stringify(this.history.at(-1))}`;
      const late = () => reject(new Error(`not within ${timeoutMs} ms: ${what}; ${seen()}`));
      const timer = setTimeout(() => finish(late), timeoutMs);
      this.#waiters.add(look);
    });
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#worker.once('exit', resolve));
    this.#worker.postMessage('stop');
    await ended;
  }

  async #first(
    kind: RouteChange['kind'],
    prefix: string,
    { peer, sinceMs = 0, timeoutMs }: WaitOptions,
  ): Promise<number> {
    const fits = (change: RouteChange) =>
      change.kind === kind &&
      change.atMs >= sinceMs &&
      (peer === undefined || change.peer === peer);
    const find = () => this.#history.get(prefix)?.find(fits)?.atMs;
    await this.waitFor(`${prefix} is ${kind}`, () => find() !== undefined, timeoutMs);
    return find() ?? 0;
  }

  #take(message: RouterMessage): void {
    if (message.kind === 'up') this.#up.add(message.peer);
    if (message.kind === 'down') {
      this.#up.delete(message.peer);
      for (const prefix of this.#table.keys()) this.#withdraw(prefix, message);
    }
    if (message.kind === 'update') {
      for (const prefix of message.withdrawn) this.#withdraw(prefix, message);
      for (const prefix of message.announced) {
        const { peer, atMs, attributes } = message;
        const change = { kind: 'announced', prefix, peer, atMs, attributes } as const;
        const paths = this.#table.get(prefix) ?? new Map<string, RouteChange>();
        this.#table.set(prefix, paths.set(peer, change));
        this.#note(change);
      }
    }
    for (const look of [...this.#waiters]) look();
  }

  #withdraw(
    prefix: string,
    { peer, atMs }: { readonly peer: string; readonly atMs: number },
  ): void {
    const paths = this.#table.get(prefix);
    if (paths?.delete(peer) !== true) return;
    if (paths.size === 0) this.#table.delete(prefix);
    this.#note({ kind: 'withdrawn', prefix, peer, atMs });
  }

  #note(change: RouteChange): void {
    const changes = this.#history.get(change.prefix);
    if (changes === undefined) this.#history.set(change.prefix, [change]);
    else changes.push(change);
  }
}

export interface WaitOptions {
  readonly peer?: string;
  /** on the clock of `nowMs()` */
  readonly sinceMs?: number;
  /** default 30 s */
  readonly timeoutMs?: number;
}
