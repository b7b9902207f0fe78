/** The counters of one neighbour, over all its connections and sessions. */

import { type AdjRibInCounters, noCounters } from '../bgp/adj-rib-in.ts';
import type { PeerCounters } from './events.ts';
import type { Wire } from './wire.ts';

export class PeerTally {
  establishedCount = 0;
  notificationsSent = 0;
  notificationsReceived = 0;
  faults = 0;
  /** traffic of connections that have ended */
  readonly #traffic = { messagesSent: 0, messagesReceived: 0, bytesSent: 0, bytesReceived: 0 };
  /** what the neighbour sent in sessions that have ended */
  readonly #received = noCounters();

  /** a connection has ended: its traffic is kept in the sums */
  keepTraffic(wire: Wire): void {
    add(this.#traffic, wire);
  }

  /** a session has ended */
  keepReceived(counters: AdjRibInCounters): void {
    add(this.#received, counters);
  }

  counters(
    live: readonly (Wire | undefined)[],
    session: AdjRibInCounters | undefined,
  ): PeerCounters {
    const traffic = { ...this.#traffic };
    for (const wire of live) if (wire !== undefined) add(traffic, wire);
    const received = { ...this.#received };
    if (session !== undefined) add(received, session);
    return {
      ...traffic,
      establishedCount: this.establishedCount,
      updatesReceived: received.updates,
      routesReceived: received.announced,
      routesWithdrawnByPeer: received.withdrawn,
      routesTreatedAsWithdraw: received.treatedAsWithdraw,
      routesRejected: received.rejected,
      notificationsSent: this.notificationsSent,
      notificationsReceived: this.notificationsReceived,
      faults: this.faults,
    };
  }
}

/** adds each number of `from` that `sums` has */
function add<T extends Record<string, number>>(
  sums: T,
  from: Readonly<Record<keyof T, number>>,
): void {
  for (const key in sums) (sums as Record<string, number>)[key] = (sums[key] ?? 0) + from[key];
}
