/** The engine's own random numbers: good for jitter (RFC 4271 §10), not for secrets. */

import type { Random } from './random.ts';

export const nodeRandom: Random = { next: () => Math.random() };
