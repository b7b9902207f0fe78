/** What the turn probe wrote down, and the agent's own measure of the same. */

import { existsSync, readFileSync } from 'node:fs';
import { untilValue } from '../../support/poll.ts';

export interface Turn {
  /** when it ended */
  readonly atMs: number;
  readonly ms: number;
  readonly cpuMs: number;
}

/** Of several turns, each number for itself: on a machine that is busy otherwise the longest is not the one with most work. */
export interface Longest {
  readonly ms: number;
  readonly cpuMs: number;
}

/** Of the turns that ended after `sinceMs` of the wall clock. */
export function longestTurn(file: string, sinceMs: number): Longest {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const turns = text.split('\n').filter(Boolean).map(turnOf);
  const after = turns.filter(({ atMs }) => atMs >= sinceMs);
  return {
    ms: Math.max(0, ...after.map(({ ms }) => ms)),
    cpuMs: Math.max(0, ...after.map(({ cpuMs }) => cpuMs)),
  };
}

function turnOf(line: string): Turn {
  const [atMs = 0, ms = 0, cpuMs = 0] = line.split(' ').map(Number);
  return { atMs, ms, cpuMs };
}

/** `herald_longest_turn_seconds` of the agent there, in milliseconds; undefined: it has none. */
export async function ownLongestMs(port: number): Promise<number | undefined> {
  const text = await untilValue(
    'the metrics',
    async () => await (await fetch(`http://127.0.0.1:${port}/metrics`)).text(),
    (found) => found.length > 0,
  );
  const seconds = /^herald_longest_turn_seconds(?:\{[^}]*\})? (\S+)$/m.exec(text)?.[1];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}
