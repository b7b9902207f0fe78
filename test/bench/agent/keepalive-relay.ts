/**
 * A process between the agent and BIRD that passes everything on and knows when each message of the agent came: what a router sees of a main
 * thread that is held up. Told to its parent: the longest pause between two messages, and how many keepalives came more than a second late.
 */

import { fork } from 'node:child_process';
import { connect, createServer } from 'node:net';
import { agentAddress, BIRD_PORT, birdAddress } from './loopback-bird.ts';

export const RELAY_ADDRESS = '127.0.3.1';
export const RELAY_PORT = BIRD_PORT + 1;
const HEADER_OCTETS = 19;

export interface Pauses {
  readonly longestMs: number;
  /** over the keepalive time and a second */
  readonly late: number;
  /** connections that the agent made */
  readonly sessions: number;
}

export class KeepaliveRelay {
  readonly #child = fork(import.meta.filename, ['relay'], { execArgv: [...process.execArgv] });

  /** resolves once it listens */
  async ready(): Promise<this> {
    await new Promise((resolve) => this.#child.once('message', resolve));
    return this;
  }

  /** of the time since the last call */
  async pauses(keepaliveMs: number): Promise<Pauses> {
    const answer = new Promise<Pauses>((resolve) => this.#child.once('message', resolve));
    this.#child.send(keepaliveMs);
    return await answer;
  }

  stop(): void {
    this.#child.kill('SIGKILL');
  }
}

/** Moments of the messages on one connection: whole messages of the stream, each by its length. */
class MessageClock {
  readonly pausesMs: number[] = [];
  #rest: Buffer = Buffer.alloc(0);
  #lastMs = performance.now();
  sessions = 0;

  begin(): void {
    this.sessions += 1;
    this.#rest = Buffer.alloc(0);
    this.#lastMs = performance.now();
  }

  take(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    while (this.#rest.length - at >= HEADER_OCTETS) {
      const length = this.#rest.readUInt16BE(at + 16);
      if (length < HEADER_OCTETS || this.#rest.length - at < length) break;
      at += length;
      this.#note();
    }
    this.#rest = this.#rest.subarray(at);
  }

  #note(): void {
    const nowMs = performance.now();
    this.pausesMs.push(nowMs - this.#lastMs);
    this.#lastMs = nowMs;
  }

  told(keepaliveMs: number): Pauses {
    // the one that lasts counts too: a thread that never comes back sends nothing more
    const all = [...this.pausesMs, performance.now() - this.#lastMs];
    const late = all.filter((each) => each > keepaliveMs + 1000).length;
    const told = { longestMs: Math.max(...all), late, sessions: this.sessions };
    this.pausesMs.length = 0;
    this.sessions = 0;
    return told;
  }
}

function relay(): void {
  const clock = new MessageClock();
  const server = createServer((agent) => {
    clock.begin();
    const bird = connect({
      host: birdAddress(1),
      port: BIRD_PORT,
      localAddress: agentAddress(1),
    });
    agent.on('data', (chunk: Buffer) => clock.take(chunk));
    agent.pipe(bird);
    bird.pipe(agent);
    for (const [one, other] of [
      [agent, bird],
      [bird, agent],
    ] as const) {
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    }
  });
  server.listen(RELAY_PORT, RELAY_ADDRESS, () => process.send?.('ready'));
  process.on('message', (keepaliveMs) => process.send?.(clock.told(Number(keepaliveMs))));
  process.on('disconnect', () => process.exit());
}

if (process.argv[2] === 'relay') relay();
