/**
 * The receiver of every transfer: a fresh BIRD 2 in its own namespace, and the one observer that all senders share.
 *
 * Method. BIRD is asked `show protocols all sender` over one open control connection, every two milliseconds. The
 * answer is counters that BIRD keeps anyway (`show route count` would walk the table and hold up the import), and
 * it is one line of BIRD's own event loop, so an answer tells what was true between two rounds of reading.
 *  - session up: the time stamp, with microseconds, that BIRD itself wrote when the protocol went up;
 *  - last route: the moment the answer with the full count arrived here;
 *  - empty: the moment an answer said no routes, or said that the channel is down, which BIRD does after it flushed.
 * `show route count` is asked once behind each of the last two, outside the timing, and must agree.
 *
 * BIRD is passive (only the sender dials, so nobody waits for the other's timer; GoBGP is the exception), has no kernel protocol, and is new
 * for every run: no sender inherits memory that an earlier one made BIRD allocate. It does not help with graceful
 * restart: told to, it keeps the routes of FRR through FRR's own Cease until the restart time is over.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Host } from '../support/netns.ts';
import { done, until } from '../support/poll.ts';
import type { Running } from '../support/process.ts';
import { BirdControl } from './bird-control.ts';
import { network } from './network.ts';
import { wallMs } from './wall-clock.ts';

const pollEveryMs = 2;

/** Who opens the TCP connection. */
export type Dialling = 'sender' | 'receiver';

const dialOften = 'connect delay time 1; connect retry time 1; error wait time 1, 1';

export type Sight = {
  /** when the answer was here, wall clock */
  readonly atMs: number;
  readonly isUp: boolean;
  /** BIRD's own time of the last change of state, wall clock */
  readonly sinceMs: number;
  /** undefined in the moments where BIRD prints no counters and the channel is not down either */
  readonly routes: number | undefined;
};

export type Filled = { readonly upAtMs: number; readonly lastRouteAtMs: number };

export class Receiver {
  readonly #process: Running;
  readonly #control: BirdControl;

  private constructor(child: Running, control: BirdControl) {
    this.#process = child;
    this.#control = control;
  }

  static async start(host: Host, dialling: Dialling): Promise<Receiver> {
    const config = join(host.folder, 'receiver.conf');
    const socket = join(host.folder, 'receiver.ctl');
    writeFileSync(config, receiverConfig(dialling));
    const child = host.spawn('receiver', 'bird', ['-f', '-c', config, '-s', socket], {
      env: { TZ: 'UTC' },
    });
    const control = await until(
      'the receiver answers on its control socket',
      async () => done(await BirdControl.open(socket)),
      { everyMs: 10 },
    );
    // Listening before the sender starts, or its first dial is refused and its retry timer is what we measure.
    await until('the receiver listens', async () => {
      const sight = await look(control);
      if (sight.isUp) throw new Error('a session before there is a sender');
      return done(sight);
    });
    return new Receiver(child, control);
  }

  /** Waits until the table holds `count` routes. */
  async filled(count: number, boundMs: number): Promise<Filled> {
    const sight = await this.#watch(
      `${count} routes in the receiver`,
      (seen) => seen.isUp && seen.routes === count,
      boundMs,
    );
    await this.#verifyCount(count);
    return { upAtMs: sight.sinceMs, lastRouteAtMs: sight.atMs };
  }

  /** Waits until no route is left, the session up or not; the time of the answer that said so. */
  async emptied(boundMs: number): Promise<number> {
    const sight = await this.#watch(
      'an empty table in the receiver',
      (seen) => seen.routes === 0,
      boundMs,
    );
    await this.#verifyCount(0);
    return sight.atMs;
  }

  async stop(): Promise<void> {
    this.#control.close();
    await this.#process.kill();
  }

  async #watch(
    describe: string,
    accept: (sight: Sight) => boolean,
    boundMs: number,
  ): Promise<Sight> {
    const startedMs = wallMs();
    for (;;) {
      const sight = await look(this.#control);
      if (accept(sight)) return sight;
      if (sight.atMs - startedMs > boundMs) {
        throw new Error(
          `not within ${boundMs} ms: ${describe}; last seen ${JSON.stringify(sight)}`,
        );
      }
      await delay(pollEveryMs);
    }
  }

  async #verifyCount(count: number): Promise<void> {
    const lines = await this.#control.ask('show route table master4 count');
    const counted = /(\d+) of (\d+) routes/.exec(lines.join('\n'))?.[2];
    if (Number(counted) !== count) {
      throw new Error(`the counters say ${count} routes, the table holds ${counted}`);
    }
  }
}

async function look(control: BirdControl): Promise<Sight> {
  const text = (await control.ask('show protocols all sender')).join('\n');
  const atMs = wallMs();
  const line = /sender\s+BGP\s+\S+\s+(\S+)\s+(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)\.(\d+)/.exec(text);
  if (line === null) throw new Error(`unexpected answer of BIRD: ${text}`);
  const [, state, day, second, micros] = line;
  // A channel that is down has no counters: BIRD takes it down after the last route was flushed.
  const imported = /\bState:\s+DOWN\b/.test(text)
    ? '0'
    : /Routes:\s+(\d+) imported/.exec(text)?.[1];
  return {
    atMs,
    isUp: state === 'up',
    sinceMs: Date.parse(`${day}T${second}Z`) + Number(micros) / 1000,
    routes: imported === undefined ? undefined : Number(imported),
  };
}

const receiverConfig = (dialling: Dialling): string => `
router id ${network.receiver};
timeformat protocol iso long us;
log stderr { warning, error, fatal, bug, auth };
protocol device { }
protocol bgp sender {
  local ${network.receiver} as ${network.receiverAsn};
  neighbor ${network.sender} as ${network.senderAsn};
  ${dialling === 'sender' ? 'passive yes' : dialOften};
  graceful restart off;
  ipv4 { import all; export none; };
}
`;
