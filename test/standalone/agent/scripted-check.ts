/**
 * A check whose answers come in the order that a test wrote down, however fast or slow agent and machine are: two failures are two, because
 * the third question waits for the test. See scripted-check.sh for the letters.
 */

import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const program = join(import.meta.dirname, 'scripted-check.sh');

export class ScriptedCheck {
  readonly command: readonly string[];
  readonly #plan: string;

  constructor(plan: string) {
    this.#plan = plan;
    this.command = [program, plan];
  }

  /** Only while one letter is left of the plan before, which the program then does not write to. */
  answers(letters: string): void {
    const temporary = `${this.#plan}.new`;
    writeFileSync(temporary, `${letters}\n`);
    renameSync(temporary, this.#plan);
  }
}
