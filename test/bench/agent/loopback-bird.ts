/**
 * A BIRD on loopback that agents of this machine can dial, and its table asked through an open control socket: a question takes
 * a fraction of a millisecond, so the moment of a change is known to about one.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { done, notYet, until } from '../../support/poll.ts';
import { BirdControl } from '../bird-control.ts';

export const BIRD_PORT = 1790;
export const BIRD_ASN = 64500;
export const AGENT_ASN = 64512;
/** several neighbours are one BIRD at several addresses */
export const birdAddress = (peer: number): string => `127.0.2.${peer}`;
export const agentAddress = (peer: number): string => `127.0.1.${peer}`;

const protocol = (peer: number): string => `
protocol bgp agent${peer} {
  local ${birdAddress(peer)} port ${BIRD_PORT} as ${BIRD_ASN};
  neighbor ${agentAddress(peer)} as ${AGENT_ASN};
  multihop; passive yes; hold time 90; connect delay time 1; error wait time 1,2;
  ipv4 { import all; export none; };
}
`;

function configuration(peers: number): string {
  const protocols = Array.from({ length: peers }, (_, index) => protocol(index + 1));
  const head = 'router id 127.0.0.1;\nprotocol device { scan time 3600; }\n';
  return `${head}${protocols.join('')}`;
}

const SAME_SESSION_MS = 500;

export class LoopbackBird {
  readonly #process: ChildProcess;
  readonly #control: BirdControl;

  private constructor(process: ChildProcess, control: BirdControl) {
    this.#process = process;
    this.#control = control;
  }

  static async start(folder: string, peers = 1): Promise<LoopbackBird> {
    const [config, socket] = [join(folder, 'bird.conf'), join(folder, 'bird.ctl')];
    writeFileSync(config, configuration(peers));
    const process = spawn('bird', ['-f', '-c', config, '-s', socket], { stdio: 'ignore' });
    const control = await until('BIRD answers', async () => {
      try {
        return done(await BirdControl.open(socket));
      } catch (error) {
        return notYet(error);
      }
    });
    return new LoopbackBird(process, control);
  }

  /** paths, of all neighbours together */
  async count(): Promise<number> {
    const lines = await this.#control.ask('show route count');
    return Number(/(\d+) of \d+ routes/.exec(lines.join('\n'))?.[1] ?? 0);
  }

  /** of these, how many ask to be left (GRACEFUL_SHUTDOWN, RFC 8326) */
  async drainingCount(): Promise<number> {
    const lines = await this.#control.ask('show route where (65535, 0) ~ bgp_community count');
    return Number(/(\d+) of \d+ routes/.exec(lines.join('\n'))?.[1] ?? 0);
  }

  async has(prefix: string): Promise<boolean> {
    const lines = await this.#control.ask(`show route for ${prefix}`);
    return lines.some((line) => line.includes(prefix));
  }

  async isUp(): Promise<boolean> {
    const lines = await this.#control.ask('show protocols');
    return lines.some((line) => / BGP .*Established/.test(line));
  }

  /** since when BIRD has each session, in milliseconds of its day; of those that are up */
  async sessions(): Promise<ReadonlyMap<string, number>> {
    const lines = await this.#control.ask('show protocols');
    const up = lines.flatMap((line) => {
      const found = /(agent\d+) +BGP .* (\d+):(\d+):([\d.]+) +Established/.exec(line);
      if (found === null) return [];
      const [, name = '', hours, minutes, seconds] = found;
      const sinceMs = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
      return [[name, sinceMs] as const];
    });
    return new Map(up);
  }

  /** Of the sessions that were up then, how many are gone, or are not the same any more. */
  async lostSince(before: ReadonlyMap<string, number>): Promise<number> {
    const now = await this.sessions();
    // BIRD works the time out anew for each answer, to a millisecond or two
    const isSame = ([name, sinceMs]: [string, number]) =>
      Math.abs((now.get(name) ?? Number.POSITIVE_INFINITY) - sinceMs) < SAME_SESSION_MS;
    return [...before].filter((each) => !isSame(each)).length;
  }

  /** The moment at which `question` is answered yes, on performance.now(); asked again and again without a pause. */
  async moment(what: string, question: () => Promise<boolean>, withinMs = 30_000): Promise<number> {
    const started = performance.now();
    for (;;) {
      if (await question()) return performance.now();
      if (performance.now() - started > withinMs)
        throw new Error(`not within ${withinMs} ms: ${what}`);
      await turn();
    }
  }

  async stop(): Promise<void> {
    this.#control.close();
    const ended = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.kill('SIGKILL');
    await ended;
  }
}
