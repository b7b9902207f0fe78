/** The first 8 hex digits of SHA-256, for names that must be short and still different. Deterministic, so it may stand in pure code. */

// biome-ignore lint/style/noRestrictedImports: a digest is a function of its text alone
import { createHash } from 'node:crypto';

export function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}
