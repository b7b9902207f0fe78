/** A server on a port that the kernel chooses. */

import type { Server } from 'node:net';

export async function listening(server: Server, host = '127.0.0.1'): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const local = server.address();
  if (local === null || typeof local === 'string') throw new Error('no port');
  return local.port;
}
