/**
 * Names for pieces of work on the main thread, so that a long turn can be told from its cause. `labelled` measures a piece that runs without a
 * pause; what runs inside it under a name of its own is not counted twice. It changes nothing of what it runs.
 */

/** also the values of a label of metrics: a fixed list */
export const WORKS = [
  'deciding',
  'sessions',
  'documents',
  'kernel',
  'api',
  'status',
  'metrics',
  'other',
] as const;

export type Work = (typeof WORKS)[number];

/** milliseconds by name, since they were taken last */
const spent = new Map<Work, number>();
/** milliseconds of named pieces inside the one that runs */
let insideMs = 0;

export function labelled<T>(what: Work, work: () => T): T {
  const outerMs = insideMs;
  insideMs = 0;
  const startedMs = performance.now();
  try {
    return work();
  } finally {
    const tookMs = performance.now() - startedMs;
    spent.set(what, (spent.get(what) ?? 0) + tookMs - insideMs);
    insideMs = outerMs + tookMs;
  }
}

/** What ran since the last call, longest first. */
export function takeSpent(): readonly (readonly [Work, number])[] {
  if (spent.size === 0) return [];
  const all = [...spent].toSorted(([, a], [, b]) => b - a);
  spent.clear();
  return all;
}
