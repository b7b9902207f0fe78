/**
 * What stands in for a machine's API server: answers /readyz with `ok` and everything else with its name. A process of its own, so that
 * it freezes and dies with its machine. On SIGTERM it takes no more connections and finishes what it has begun.
 */

import { createServer } from 'node:http';

export interface ApiServerOptions {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly onStopSignal: (handler: () => void) => void;
}

/** Resolves when it has been stopped; rejects where it cannot listen. */
export function runApiServer({ name, host, port, onStopSignal }: ApiServerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer((request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', connection: 'close' });
      response.end(request.url === '/readyz' ? 'ok\n' : `${name}\n`);
    });
    server.once('error', reject);
    server.once('close', resolve);
    server.listen({ host, port });
    onStopSignal(() => server.close());
  });
}
