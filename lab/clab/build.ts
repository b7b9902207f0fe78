/** Has containerlab ready and prints where it is: `node lab/clab/build.ts`. Progress goes to stderr. */

import { containerlabProgram } from './program.ts';

const say = (sentence: string) => process.stderr.write(`containerlab: ${sentence}\n`);
try {
  process.stdout.write(`${await containerlabProgram(say)}\n`);
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
