/** The engine's own random numbers: good for jitter (RFC 4271 §10), not for secrets. */

import type { Random } from './random.ts';

/**
 * For jitter.
 *
 * @example
 * const factor = 0.75 + 0.25 * nodeRandom.next();
 */
export const nodeRandom: Random = { next: () => Math.random() };
