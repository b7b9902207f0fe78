/** The counters of one neighbour, over all its connections. */

import type { UpdateMessage } from '../bgp/message.ts';
import type { PeerCounters } from './events.ts';
import type { Wire } from './wire.ts';

export class PeerTally {
  establishedCount = 0;
  notificationsSent = 0;
  notificationsReceived = 0;
  faults = 0;
  #updatesReceived = 0;
  #prefixesReceived = 0;
  #prefixesWithdrawn = 0;
  /** traffic of connections that have ended */
  readonly #ended = { messagesSent: 0, messagesReceived: 0, bytesSent: 0, bytesReceived: 0 };

  /** every route of a neighbour is rejected; this is how many were offered and taken back */
  count(update: UpdateMessage): void {
    const { mpReach, mpUnreach } = update.attributes;
    this.#updatesReceived += 1;
    this.#prefixesReceived += update.nlri.length;
    this.#prefixesWithdrawn += update.withdrawn.length;
    if (mpReach?.kind === 'prefixes') this.#prefixesReceived += mpReach.nlri.length;
    if (mpUnreach?.kind === 'prefixes') this.#prefixesWithdrawn += mpUnreach.withdrawn.length;
  }

  /** a connection has ended: its traffic is kept in the sums */
  keep(wire: Wire): void {
    this.#ended.messagesSent += wire.messagesSent;
    this.#ended.messagesReceived += wire.messagesReceived;
    this.#ended.bytesSent += wire.bytesSent;
    this.#ended.bytesReceived += wire.bytesReceived;
  }

  counters(live: readonly (Wire | undefined)[]): PeerCounters {
    const traffic = { ...this.#ended };
    for (const wire of live) {
      if (wire === undefined) continue;
      traffic.messagesSent += wire.messagesSent;
      traffic.messagesReceived += wire.messagesReceived;
      traffic.bytesSent += wire.bytesSent;
      traffic.bytesReceived += wire.bytesReceived;
    }
    return {
      ...traffic,
      establishedCount: this.establishedCount,
      updatesReceived: this.#updatesReceived,
      prefixesReceived: this.#prefixesReceived,
      prefixesWithdrawnByPeer: this.#prefixesWithdrawn,
      notificationsSent: this.notificationsSent,
      notificationsReceived: this.notificationsReceived,
      faults: this.faults,
    };
  }
}
