/** What a row needs of the bench: a folder of its own, the options, and a place for progress. */

import type { BenchOptions } from './options.ts';

export interface Stage {
  readonly folder: string;
  readonly options: BenchOptions;
  readonly say: (line: string) => void;
}

/** the join check is not what is measured */
export const NOW = ['--join-check', 'none'];
export const PEERS = 8;

/** `once` so often, each value told. */
export async function repeat(
  { say }: Stage,
  { name, times }: { readonly name: string; readonly times: number },
  once: () => Promise<number>,
): Promise<number[]> {
  const values: number[] = [];
  for (let round = 0; round < times; round += 1) {
    const value = await once();
    values.push(value);
    say(`${name}: ${value.toFixed(1)}`);
  }
  return values;
}

/** The same work on this release, and on the other one where one is named. */
export async function onBoth<T>(
  { options, say }: Stage,
  work: (program: string | undefined) => Promise<T>,
): Promise<{ readonly now: T; readonly old?: T }> {
  const now = await work(undefined);
  if (options.old === undefined) return { now };
  say('the other release');
  return { now, old: await work(options.old) };
}
