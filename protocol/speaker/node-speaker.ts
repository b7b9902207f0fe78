/** The speaker on this machine: Node's clock, randomness and TCP. */

import { type InterfaceAddresses, resolveLocalAddresses } from '../io/interface-addresses.ts';
import { nodeClock } from '../io/node-clock.ts';
import { nodeRandom } from '../io/node-random.ts';
import { NodeTcpTransport } from '../io/node-tcp.ts';
import type { Endpoint } from '../io/transport.ts';
import { Speaker, type SpeakerOptions } from './speaker.ts';

/** A neighbour that does not answer our FIN is not waited for: what we said is in the kernel's hands. */
const CLOSE_TIMEOUT_MS = 2000;

/**
 * A speaker with real sockets and timers.
 *
 * @example
 * const speaker = createSpeaker({ listen: { port: 179 } });
 * await speaker.start();
 */
export function createSpeaker(
  options: Pick<SpeakerOptions, 'listen' | 'restarting'> = {},
): Speaker {
  return new Speaker({
    ...options,
    clock: nodeClock,
    random: nodeRandom,
    transport: new NodeTcpTransport({ closeTimeoutMs: CLOSE_TIMEOUT_MS }),
    interfaceAddresses,
  });
}

/** Without a descriptor left nothing can be read, and nothing about this machine has changed: a session goes on with what it has. */
function interfaceAddresses({ address, zone }: Endpoint): InterfaceAddresses | undefined {
  try {
    return resolveLocalAddresses(address, zone);
  } catch (error) {
    if (error instanceof Error && 'code' in error) return undefined;
    throw error;
  }
}
