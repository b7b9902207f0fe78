/**
 * How long a process that has come back from a planned restart says so (R bit, RFC 4724 §3): to each neighbour until it has our End-of-RIB, and
 * no longer than the neighbour keeps the old routes. Whoever comes later meets a speaker like any other: with the bit it would not wait
 * for our routes before it forwards (§4.1).
 */

import type { Clock } from '../io/clock.ts';
import { addressKey } from '../net/address.ts';
import type { PeerSettings } from './settings.ts';

type Neighbour = Pick<PeerSettings, 'address' | 'port' | 'gracefulRestart'>;

export class RestartWindow {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #beganMs: number | undefined;
  /** neighbours that have our End-of-RIB */
  readonly #over = new Set<string>();

  constructor(clock: Pick<Clock, 'now'>, restarting: boolean) {
    this.#clock = clock;
    this.#beganMs = restarting ? clock.now() : undefined;
  }

  isOpen(neighbour: Neighbour): boolean {
    const { gracefulRestart } = neighbour;
    if (this.#beganMs === undefined || gracefulRestart === undefined) return false;
    const untilMs = this.#beganMs + gracefulRestart.restartSeconds * 1000;
    return this.#clock.now() < untilMs && !this.#over.has(keyOf(neighbour));
  }

  /** this neighbour has our End-of-RIB */
  close(neighbour: Neighbour): void {
    if (this.isOpen(neighbour)) this.#over.add(keyOf(neighbour));
  }
}

function keyOf({ address, port = 0 }: Neighbour): string {
  return `${addressKey(address)} ${port}`;
}
