/**
 * What is known of a lab that is up: a folder `/run/herald-lab/NAME` with the state and the logs. It is made before anything
 * else and removed after everything else, so a lab that is half up is known too, and its making is the lock against a second `up`.
 */

import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

const root = '/run/herald-lab';

export interface LabState {
  readonly name: string;
  readonly topology: string;
  readonly since: string;
  /** The process that brings it up, while it does. */
  readonly startedBy?: number;
  readonly containers: readonly StartedContainer[];
}

export interface StartedContainer {
  readonly node: string;
  readonly namespace: string;
  /** The first process of the container, as this machine counts. */
  readonly pid: number;
  /** What its programs find in their environment. */
  readonly environment: Readonly<Record<string, string>>;
}

export const stateFolder = (name: string) => join(root, name);
export const logFile = (name: string, node: string) => join(stateFolder(name), `${node}.log`);
const stateFile = (name: string) => join(stateFolder(name), 'state.json');

/** Of all labs that are up, or half. */
export function stateNames(): readonly string[] {
  return existsSync(root) ? readdirSync(root) : [];
}

/** False when there is such a lab already. */
export function createState(state: LabState): boolean {
  mkdirSync(root, { recursive: true });
  try {
    mkdirSync(stateFolder(state.name));
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
  writeState(state);
  return true;
}

export function writeState(state: LabState): void {
  const temporary = `${stateFile(state.name)}.new`;
  writeFileSync(temporary, `${JSON.stringify(state, null, 2)}\n`);
  renameSync(temporary, stateFile(state.name));
}

export function readState(name: string): LabState | undefined {
  try {
    const state: LabState = JSON.parse(readFileSync(stateFile(name), 'utf8'));
    return state;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

export function removeState(name: string): void {
  rmSync(stateFolder(name), { recursive: true, force: true });
  try {
    if (readdirSync(root).length === 0) rmSync(root, { recursive: true });
  } catch {
    // Another lab began or ended at the same moment: the folder is its own to remove.
  }
}
