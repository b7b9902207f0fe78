/** Whether the NOTIFICATION with which we ended a session has arrived at the neighbour. Until then the neighbour may know of no end. */

import type { DownReason } from '../bgp/session.ts';
import { ArrivalPoll } from './arrival-poll.ts';
import type { PeerWorld } from './peer-world.ts';
import type { Wire } from './wire.ts';

export class EndWatch {
  readonly #poll: ArrivalPoll;
  readonly #world: PeerWorld;
  readonly #name: () => string;
  /** of the session that we ended last */
  #wire: Wire | undefined;

  constructor(world: PeerWorld, name: () => string) {
    this.#poll = new ArrivalPoll(world.clock);
    this.#world = world;
    this.#name = name;
  }

  /** A session has ended. `wire`: its connection; undefined: it was closed without a NOTIFICATION. */
  begin({ kind }: DownReason, wire: Wire | undefined): void {
    this.#poll.stop();
    const isOurs = kind === 'notification-sent' || kind === 'stopped';
    this.#wire = isOurs ? wire : undefined;
    if (!isOurs || wire === undefined) return;
    const isOver = () => hasArrived(wire);
    this.#poll.start(isOver, () => this.closed(wire));
  }

  /** Nothing more can arrive on this connection. */
  closed(wire: Wire): void {
    if (this.#wire !== wire) return;
    this.#wire = undefined;
    this.#poll.stop();
    const { connection } = wire;
    if (connection === undefined || !hasArrived(wire)) return;
    const { local, remote } = connection;
    this.#world.emit({ kind: 'end-arrived', peer: this.#name(), local, remote });
  }
}

function hasArrived({ connection }: Wire): boolean {
  return connection?.bufferedBytes === 0 && connection.isAcknowledged;
}
