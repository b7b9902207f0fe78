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
export const AGENT_ADDRESS = '127.0.1.1';

const CONFIGURATION = `
router id 127.0.0.1;
protocol device { scan time 3600; }
protocol bgp agent {
  local 127.0.0.1 port ${BIRD_PORT} as ${BIRD_ASN};
  neighbor ${AGENT_ADDRESS} as ${AGENT_ASN};
  multihop; passive yes; hold time 90; connect delay time 1; error wait time 1,2;
  ipv4 { import all; export none; };
}
`;

export class LoopbackBird {
  readonly #process: ChildProcess;
  readonly #control: BirdControl;

  private constructor(process: ChildProcess, control: BirdControl) {
    this.#process = process;
    this.#control = control;
  }

  static async start(folder: string): Promise<LoopbackBird> {
    const [config, socket] = [join(folder, 'bird.conf'), join(folder, 'bird.ctl')];
    writeFileSync(config, CONFIGURATION);
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

  async count(): Promise<number> {
    const lines = await this.#control.ask('show route count');
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
