/** What the neighbours of one speaker share: time, chance, the network, and who hears of what happens. */

import type { Clock } from '../io/clock.ts';
import type { InterfaceAddresses } from '../io/interface-addresses.ts';
import type { Random } from '../io/random.ts';
import type { Endpoint, Transport } from '../io/transport.ts';
import type { PeerSpeakerEvent } from './events.ts';
import type { RestartWindow } from './restart-window.ts';

export interface PeerWorld {
  readonly clock: Clock;
  readonly random: Random;
  readonly transport: Transport;
  /** addresses on the interface that owns this local address, for "next hop self" of the other family */
  readonly interfaceAddresses: (local: Endpoint) => InterfaceAddresses | undefined;
  /** to whom we say that we have come back from a planned restart */
  readonly restart: RestartWindow;
  readonly emit: (event: PeerSpeakerEvent) => void;
}
