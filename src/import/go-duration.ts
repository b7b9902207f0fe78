/** Durations as Go writes them, `1m30s`, and the timers of a session in whole seconds. Pure. */

const UNITS: Readonly<Record<string, number>> = { h: 3600, m: 60, s: 1, ms: 0.001 };
const WHOLE = /^(?:\d+(?:\.\d+)?(?:ms|h|m|s))+$/;

/** undefined where it is none; a part of a second counts as one */
export function durationSeconds(text: string): number | undefined {
  if (!WHOLE.test(text)) return undefined;
  let seconds = 0;
  for (const [, number = '', unit = ''] of text.matchAll(/(\d+(?:\.\d+)?)(ms|h|m|s)/g)) {
    seconds += Number(number) * (UNITS[unit] ?? 0);
  }
  return Math.ceil(seconds);
}

/** A keepalive that nobody named is a third of the hold time. */
export function timersOf(hold: string | undefined, keepalive: string | undefined) {
  const holdSeconds = durationSeconds(hold ?? '');
  const named = durationSeconds(keepalive ?? '');
  if (holdSeconds === undefined || holdSeconds === 0) {
    return holdSeconds === undefined ? {} : { holdSeconds };
  }
  const bounded = Math.max(holdSeconds, 3);
  const keepaliveSeconds = named ?? Math.max(Math.floor(bounded / 3), 1);
  return { holdSeconds: bounded, keepaliveSeconds: Math.min(keepaliveSeconds, bounded - 1) };
}
