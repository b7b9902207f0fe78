/**
 * The stage: a real `herald router`, three machines, a directory for all of it, and the guard that cleans up behind them. It builds, does
 * what it is told, and takes down; it decides nothing.
 */

import { mkdirSync, mkdtempSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { HOLD_SECONDS, MEMBERS, ROUTER_ADDRESS, ROUTER_ASN } from './cast.ts';
import { Child, type Program } from './child.ts';
import { Guard } from './guard.ts';
import { Machine } from './machine.ts';
import { RouterFeed } from './router-feed.ts';
import type { Order } from './story.ts';

export interface StageOptions {
  readonly program: Program;
  /** where its directory is made */
  readonly temporary: string;
  /** a router that never expires anybody, to see the story fail */
  readonly isHoldBroken: boolean;
  readonly onChange: () => void;
  /** something of it has ended that should not have */
  readonly onTrouble: (sentence: string) => void;
}

/** The stage cannot be built here: a sentence for the user. */
export class StageError extends Error {
  constructor(sentence: string, options?: ErrorOptions) {
    super(sentence, options);
    this.name = 'StageError';
  }
}

const ROUTER_START_MS = 15_000;
const LOOK_MS = 20;
/** below the range that Linux takes ports for outgoing connections from */
const PORTS = { from: 20_000, count: 10_000, attempts: 50 } as const;
/** sun_path of unix(7) has 108 bytes */
const MAX_SOCKET_PATH = 107;

export class Stage {
  readonly #options: StageOptions;
  #guard: Guard | undefined;
  #feed: RouterFeed | undefined;
  #machines: readonly Machine[] = [];
  #apiPort = 0;
  #isStopping = false;

  constructor(options: StageOptions) {
    this.#options = options;
  }

  get machines(): readonly Machine[] {
    return this.#machines;
  }

  get apiPort(): number {
    return this.#apiPort;
  }

  /** the router's own words; before `start` there is none */
  get feed(): RouterFeed | undefined {
    return this.#feed;
  }

  /** Resolves when the router listens and three agents have been started. */
  async start(): Promise<void> {
    const { program, onChange, onTrouble } = this.#options;
    const directory = this.#makeDirectory();
    const guard = new Guard(directory);
    this.#guard = guard;
    this.#apiPort = await freePort();
    const router = await this.#startRouter(directory, guard);
    router.child.onExit(() => {
      if (!this.#isStopping) onTrouble(`the router has ended: ${router.child.tail()}`);
    });
    this.#feed = new RouterFeed({
      host: ROUTER_ADDRESS,
      port: router.httpPort,
      onChange,
      onEnd: onTrouble,
    });
    this.#feed.start();
    this.#machines = MEMBERS.map((member) => {
      const place = join(directory, member.name);
      mkdirSync(place);
      const { apiPort } = this;
      const parts = { member, program, guard, directory: place, apiPort, onChange, onTrouble };
      return new Machine({ ...parts, routerPort: router.port });
    });
    for (const machine of this.#machines) machine.start();
  }

  async perform({ kind, id }: Order): Promise<void> {
    const machine = this.#machines.find(({ member }) => member.id === id);
    await machine?.perform(kind);
  }

  /** Nothing of it is left when this resolves. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#feed?.stop();
    for (const machine of this.#machines) machine.stop();
    await this.#guard?.release();
  }

  #makeDirectory(): string {
    const { temporary } = this.#options;
    const directory = mkdtempSync(join(temporary, 'herald-demo-'));
    const longest = Buffer.byteLength(join(directory, 'node-1', 'agent.sock'));
    if (longest <= MAX_SOCKET_PATH) return directory;
    throw new StageError(
      `${temporary} is too long a path for sockets; set TMPDIR to a shorter one`,
    );
  }

  async #startRouter(directory: string, guard: Guard) {
    const { program, isHoldBroken } = this.#options;
    const args = [
      ['--listen', `${ROUTER_ADDRESS}:0`],
      ['--http', `${ROUTER_ADDRESS}:0`],
      ['--asn', String(ROUTER_ASN)],
      ['--router-id', ROUTER_ADDRESS],
      ['--neighbor-range', '127.0.0.0/8'],
      ['--hold', isHoldBroken ? '0' : String(HOLD_SECONDS)],
    ];
    const log = join(directory, 'router.log');
    const child = new Child(program, ['router', ...args.flat()], log, guard);
    const deadline = performance.now() + ROUTER_START_MS;
    for (;;) {
      const ports = readPorts(child.log());
      if (ports !== undefined) return { child, ...ports };
      if (!child.isRunning || performance.now() > deadline) {
        throw new StageError(`the router does not start: ${child.tail() || 'it says nothing'}`);
      }
      await delay(LOOK_MS);
    }
  }
}

/** from what `herald router` says first */
function readPorts(log: string): { readonly port: number; readonly httpPort: number } | undefined {
  const port = /^listening on [^ ]*:(\d+),/m.exec(log)?.[1];
  const httpPort = /^serving http:[^ ]*:(\d+)\/routes/m.exec(log)?.[1];
  if (port === undefined || httpPort === undefined) return undefined;
  return { port: Number(port), httpPort: Number(httpPort) };
}

/** One port that is free on every machine's address: it stands in the join checks before anybody listens. */
async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < PORTS.attempts; attempt += 1) {
    const port = PORTS.from + Math.floor(Math.random() * PORTS.count);
    const free = await Promise.all(MEMBERS.map(({ address }) => isFree(address, port)));
    if (free.every(Boolean)) return port;
  }
  throw new StageError('no port is free on 127.0.1.1, 127.0.1.2 and 127.0.1.3');
}

function isFree(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host, port }, () => server.close(() => resolve(true)));
  });
}
