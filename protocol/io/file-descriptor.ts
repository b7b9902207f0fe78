/** The number by which the kernel knows a socket of Node, for what Node has no words for. */

import { TransportError } from './transport.ts';

/** Node keeps the descriptor on an undocumented field; that it is there is checked, not assumed. */
export function fileDescriptor(owner: object): number {
  const handle: unknown = '_handle' in owner ? owner._handle : undefined;
  if (typeof handle === 'object' && handle !== null && 'fd' in handle) {
    const { fd } = handle;
    if (typeof fd === 'number' && fd >= 0) return fd;
  }
  throw new TransportError('CLOSED', 'the socket has no file descriptor any more');
}
