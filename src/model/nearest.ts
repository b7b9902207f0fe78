/** The word that somebody who wrote another one most likely meant. */

export function nearest(written: string, words: readonly string[]): string | undefined {
  const lower = written.toLowerCase();
  let best: string | undefined;
  // a third of the letters may be wrong; beyond that a guess is noise
  let bestDistance = Math.max(1, Math.floor(written.length / 3)) + 1;
  for (const word of words) {
    const distance = editDistance(lower, word.toLowerCase());
    if (distance < bestDistance) {
      best = word;
      bestDistance = distance;
    }
  }
  return best;
}

/** Levenshtein, where two neighbours swapped count as one. */
function editDistance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 8) return FAR;
  const rows = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  const at = (i: number, j: number) => rows[i]?.[j] ?? FAR;
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      const isSwapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwapped ? at(i - 2, j - 2) + 1 : FAR;
      row[j] = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + cost, swapped);
    }
  }
  return at(a.length, b.length);
}

const FAR = 99;
