/**
 * `ip -ts monitor address` beside a capture: when the kernel had an address and when it had it no more, on the clock that also stamps
 * the frames. Its stamps are taken when `ip` reads the kernel's message, so it runs before every ordinary process; still one may come
 * some milliseconds late on a busy machine (`repeatLate`).
 */

import type { Host } from '../../support/netns.ts';
import { untilValue } from '../../support/poll.ts';
import type { Running } from '../../support/process.ts';
import { firstToRun } from '../support/first-to-run.ts';

export type AddressChange = {
  readonly kind: 'added' | 'removed';
  /** seconds since 1970, like a capture's frame.time_epoch */
  readonly at: number;
};

/** How often a test of an order is repeated where a stamp came late. */
const LATE_STAMPS = 2;

/** A stamp that says less than it seems to: it may have been taken late. */
export class LateStamp extends Error {}

/**
 * A stamp is never taken before its change, only after. So a change that has to come before a frame may look late by the stamp alone, and the test is repeated
 * (`LateStamp`); one that has to come after a frame and is stamped before it was too early for certain, and nothing forgives that.
 */
export async function repeatLate(attempt: () => Promise<void>): Promise<void> {
  for (let late = 0; late < LATE_STAMPS; late += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof LateStamp)) throw error;
    }
  }
  await attempt();
}

const MARKER = '203.0.113.254';
let monitors = 0;

export class AddressMonitor {
  readonly #process: Running;

  private constructor(process: Running) {
    this.#process = process;
  }

  /** Returns when it has seen a change, so that it misses none from now on. */
  static async start(host: Host): Promise<AddressMonitor> {
    monitors += 1;
    const env = { TZ: 'UTC' };
    const call = firstToRun('ip -ts monitor address');
    const process = host.spawn(`addresses-${monitors}`, ...call, { env });
    const made = new AddressMonitor(process);
    await untilValue(
      'the monitor sees its marker',
      async () => {
        await host.ip(`address add ${MARKER}/32 dev lo`, `address delete ${MARKER}/32 dev lo`);
        return made.changes(MARKER);
      },
      (changes) => changes.some(({ kind }) => kind === 'removed'),
    );
    return made;
  }

  changes(address: string): readonly AddressChange[] {
    const lines = this.#process.log().split('\n');
    return lines.flatMap((line) => {
      const [, stamp, deleted] = /^\[([^\]]+)\] (Deleted )?/.exec(line) ?? [];
      if (stamp === undefined || !line.includes(` ${address}/`)) return [];
      const [seconds = '', fraction = '0'] = stamp.split('.');
      const at = Date.parse(`${seconds}Z`) / 1000 + Number(`0.${fraction}`);
      return [{ kind: deleted === undefined ? ('added' as const) : ('removed' as const), at }];
    });
  }

  async stop(): Promise<void> {
    await this.#process.kill();
  }
}
