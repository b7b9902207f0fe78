/**
 * Text of others (a router's words, a kernel's, a document's) made fit for an API object: one line, nothing that moves a cursor or turns the
 * reading direction around, and not longer than asked. Pure.
 */

/** C0, DEL, C1, line and paragraph separators, marks and overrides of direction, byte order mark */
const UNFIT = /[\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+/gu;

/** `most` counts UTF-16 units, of which there are never fewer than the characters that a schema counts */
export function plainText(text: string, most: number): string {
  // what is cut off anyway is not looked at: a neighbour may say much
  const clean = text
    .slice(0, 4 * most)
    .toWellFormed()
    .replace(UNFIT, ' ')
    .trim();
  if (clean.length <= most) return clean;
  if (most < 1) return '';
  // half of a pair that the cut went through is no character
  return `${clean.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
