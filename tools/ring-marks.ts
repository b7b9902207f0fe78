/**
 * What the process of a ring writes between the lines of its tests, for the process that started it: in which file it is, what came of each file, and that all were run.
 * A mark begins with a control character, since a test may have printed half a line before it.
 */

export interface Count {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** one file of a ring, run once */
export interface FileResult extends Count {
  readonly file: string;
  readonly ms: number;
  /** a line for each test that failed */
  readonly failures: readonly string[];
}

export type Mark =
  /** this file is being loaded, or its tests are being run */
  | { readonly kind: 'at'; readonly file: string }
  /** all that is known of a file; a later one of the same file takes its place */
  | { readonly kind: 'file'; readonly result: FileResult }
  | { readonly kind: 'trouble'; readonly sentence: string }
  | { readonly kind: 'end' };

const START = '\u0001ring-mark ';

export const markLine = (mark: Mark): string => `${START}${JSON.stringify(mark)}\n`;

/** What stands before the mark belongs to the line that follows. */
export function readMark(line: string): { before: string; mark: Mark } | undefined {
  const at = line.indexOf(START);
  if (at < 0) return undefined;
  return { before: line.slice(0, at), mark: JSON.parse(line.slice(at + START.length)) };
}
