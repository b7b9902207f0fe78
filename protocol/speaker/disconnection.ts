/** What the end of a TCP connection says of the neighbour. Pure. */

import type { Disconnection } from '../bgp/session.ts';
import type { TransportError } from '../io/transport.ts';

/**
 * A FIN (no error) and a RST are words of the neighbour, or of its kernel: it has no session any more. Whatever else ended the
 * connection, such as keepalives of TCP that nobody answered, happened on this side alone.
 */
export function disconnection(error: TransportError | undefined): Disconnection {
  if (error === undefined) return { detail: 'the neighbour closed the connection' };
  const { code, message: detail } = error;
  return code === 'RESET' || code === 'REFUSED' ? { detail } : { detail, isOneSided: true };
}
