/** What the small HTTP servers answer with: a JSON document, or one event of a stream (server-sent events). */

import type { ServerResponse } from 'node:http';

export function sendJson(response: ServerResponse, status: number, body: object): void {
  sendJsonText(response, JSON.stringify(body), status);
}

/** the same where the text is there already */
export function sendJsonText(response: ServerResponse, text: string, status = 200): void {
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
  });
  response.end(`${text}\n`);
}

/** one event, as it goes over the wire */
export function eventFrame(event: string, data: object): string {
  return eventText(event, JSON.stringify(data));
}

/** `json` on one line */
export function eventText(event: string, json: string): string {
  return `event: ${event}\ndata: ${json}\n\n`;
}
