/** What the small HTTP servers answer with: a JSON document, or one event of a stream (server-sent events). */

import type { ServerResponse } from 'node:http';

export function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
  });
  response.end(`${JSON.stringify(body)}\n`);
}

/** one event, as it goes over the wire */
export function eventFrame(event: string, data: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
