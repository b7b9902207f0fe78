/**
 * What the log of held connections (hold-main.ts) says: how many were open, how many of those were cut, and by what. Pure.
 *
 *   open 100            all have been tried, so many of them were answered
 *   cut 8123.402 reset  one of those was cut, at this moment of CLOCK_MONOTONIC
 */

import { tally } from './probe-log.ts';

export type Held = {
  /** Answered at least once before the count began. */
  readonly open: number;
  /** Of those: reset, closed or silent since. */
  readonly cut: number;
  readonly reasons: Readonly<Record<string, number>>;
};

/** Undefined while connections are still being opened. */
export function parseHeld(text: string): Held | undefined {
  // The last line may be half written.
  const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
  const words = lines.map((line) => line.split(' '));
  const opened = words.find(([kind]) => kind === 'open')?.[1];
  if (opened === undefined) return undefined;
  const cuts = words.filter(([kind]) => kind === 'cut');
  return {
    open: Number(opened),
    cut: cuts.length,
    reasons: tally(cuts.map(([, , reason]) => reason)),
  };
}
