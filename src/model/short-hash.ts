/** The first hex digits of SHA-256, for names that must be short and still different. Deterministic, so it may stand in pure code. */

// biome-ignore lint/style/noRestrictedImports: a digest is a function of its text alone
import { createHash } from 'node:crypto';

const SHORT = 8;
/** 128 bits: nobody finds two texts with the same, also who may choose both */
const UNFORGEABLE = 32;

export function shortHash(text: string): string {
  return digits(text, SHORT);
}

/** for what somebody gains by who finds two texts with the same hash: 8 digits take less than a second */
export function unforgeableHash(text: string): string {
  return digits(text, UNFORGEABLE);
}

function digits(text: string, count: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, count);
}
