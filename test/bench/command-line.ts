/** What the command lines of the benches have in common. Pure. */

import { type ParseArgsConfig, parseArgs } from 'node:util';

export class UsageError extends Error {}

export function parseFlags<const Flags extends NonNullable<ParseArgsConfig['options']>>(
  argv: readonly string[],
  flags: Flags,
) {
  try {
    return parseArgs({ args: [...argv], options: flags }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

/** the row of a bench that `--row` names */
export function rowOf<Name extends string>(names: readonly Name[], text: string): Name {
  const name = names.find((known) => known === text);
  if (name === undefined) throw new UsageError(`--row is one of ${names.join(', ')}, not ${text}`);
  return name;
}

export function positive(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1)
    throw new UsageError(`${text} is no whole number above 0`);
  return number;
}
