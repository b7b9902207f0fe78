/**
 * The fields of a `/proc/…/stat` (proc_pid_stat(5)) after the program's name, which stands in parentheses and may hold anything: [0] is the
 * state, [2] the process group, [11] and [12] the ticks of user and system, [19] the start. Throws where there is no such process.
 */

import { readFileSync } from 'node:fs';

export function statFields(path: string): readonly string[] {
  const text = readFileSync(path, 'utf8');
  return text.slice(text.lastIndexOf(')') + 2).split(' ');
}
