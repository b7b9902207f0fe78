/**
 * Ends a request whose answer costs more than its octets are worth: interim answers without an end, and chunks of a few octets, for each of
 * which Node's parser calls back before any timer has its turn. No API server answers so; what stands in its place, or between it and us,
 * may, and must not cost the BGP sessions of this node.
 */

import type { ClientRequest, IncomingMessage } from 'node:http';

const MAX_INTERIM = 8;
/** so many chunks are let through, whatever is in them; then they are to hold this much each, on average */
const FREE_CHUNKS = 5000;
const LEAST_OCTETS = 32;

export function boundInterim(request: ClientRequest): void {
  let interim = 0;
  request.on('information', () => {
    interim += 1;
    if (interim > MAX_INTERIM) request.destroy(new Error('its interim answers do not end'));
  });
}

/** After whoever reads it has begun to. */
export function boundChunks(request: ClientRequest, answer: IncomingMessage): void {
  let chunks = 0;
  let octets = 0;
  answer.on('data', ({ length }: Buffer) => {
    chunks += 1;
    octets += length;
    if (chunks > FREE_CHUNKS && octets < chunks * LEAST_OCTETS) {
      request.destroy(new Error('its answer comes in chunks of a few octets'));
    }
  });
}
