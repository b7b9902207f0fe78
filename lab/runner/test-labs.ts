/**
 * Labs that tests bring up: their names end in the number of the test's process. A test that is killed leaves its lab behind, and by that number
 * anyone can tell.
 */

import { existsSync, readdirSync } from 'node:fs';
import { readState, stateNames } from './state.ts';

export const testLabName = (kind: 't' | 'runner', pid: number): string => `${kind}${pid}`;

const testLab = /^(?:t|runner)(\d+)$/;

/** Of these names of labs those of tests that are no more. `isAlive`: whether there is such a process */
export function abandonedLabs(
  names: readonly string[],
  isAlive: (pid: number) => boolean,
): readonly string[] {
  return [...new Set(names)].filter((name) => {
    const pid = testLab.exec(name)?.[1];
    return pid !== undefined && !isAlive(Number(pid));
  });
}

/** All labs that left something in a place of the runner's, up or not. */
export function knownLabs(): readonly string[] {
  const namespaces = existsSync('/run/netns') ? readdirSync('/run/netns') : [];
  // lab.NAME.NODE: a lab's name has no dot
  return [
    ...stateNames(),
    ...namespaces.flatMap((each) => /^lab\.([^.]+)\./.exec(each)?.[1] ?? []),
  ];
}

/** Whether somebody brings it up just now: a test may be gone before the program that it has started. */
export function isComingUp(name: string): boolean {
  const starter = readState(name)?.startedBy;
  return starter !== undefined && existsSync(`/proc/${starter}`);
}
