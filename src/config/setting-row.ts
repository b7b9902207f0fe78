/**
 * One row of a table of settings, and what its values may be. Every value is kept as it was written and read by its row, so `5x` is
 * refused and `010` is ten, from every source alike. A check throws a sentence without a subject.
 */

export interface SettingRow {
  readonly flag: string;
  /** what stands for the value in help texts */
  readonly metavar: string;
  /** empty = none, or found out at start */
  readonly default: string;
  readonly doc: string;
  /** what the flag means without a value; absent: it needs one */
  readonly bare?: string;
  /** throws a sentence, without a subject, for a value that cannot be */
  readonly check: (text: string) => void;
}

export function environmentName({ flag }: SettingRow): string {
  return `HERALD_${flag.toUpperCase().replaceAll('-', '_')}`;
}

// biome-ignore lint/complexity/useMaxParams: a table row reads best as a row
export function row(
  flag: string,
  metavar: string,
  fallback: string,
  check: (text: string) => unknown,
  doc: string,
): SettingRow {
  return { flag, metavar, default: fallback, check: (text) => void check(text), doc };
}

export function anything(): void {
  // every text will do
}

export function optional(check: (text: string) => unknown): (text: string) => void {
  return (text) => {
    if (text !== '') check(text);
  };
}

export function path(text: string): void {
  if (text === '') throw new Error('write a path');
}

export function oneOf(values: readonly string[]): (text: string) => void {
  return (text) => {
    if (!values.includes(text)) throw new Error(`write one of ${values.join(', ')}`);
  };
}

export function wholeNumber(low: number, high: number): (text: string) => void {
  return (text) => {
    const number = Number(text);
    if (!/^\d+$/.test(text) || number < low || number > high) {
      throw new Error(`write a whole number from ${low} to ${high}`);
    }
  };
}

export function seconds(low: number): (text: string) => void {
  return (text) => {
    if (!/^\d+(\.\d+)?$/.test(text) || Number(text) < low) {
      throw new Error(`write a number of seconds, ${low} or more`);
    }
  };
}

/** in place of a value: not at all */
export const OFF = 'off';

export function orOff(check: (text: string) => void): (text: string) => void {
  return (text) => {
    if (text === OFF) return;
    try {
      check(text);
    } catch (error) {
      if (error instanceof Error) throw new Error(`${error.message}, or ${OFF}`);
      throw error;
    }
  };
}

/** `true` or `false`; the flag alone means true */
export function yesNo(flag: string, fallback: 'true' | 'false', doc: string): SettingRow {
  const values = ['true', 'false'];
  return { ...row(flag, 'true|false', fallback, oneOf(values), doc), bare: 'true' };
}
