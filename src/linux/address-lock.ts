/**
 * One keeper of addresses per machine: two agents that both believe that every marked address is theirs would take them from each
 * other. The lock is a file beside the control socket's usual place, one per network namespace (addresses belong to that),
 * held by flock and so released by any death. Whoever cannot even make the file has no right to change addresses either, as a
 * rule, and goes on without.
 */

import {
  closeSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../error-code.ts';
import { makeFolder } from './make-folder.ts';
import { lockFile } from './netlink-calls.ts';

export type AddressLock =
  | { readonly kind: 'held'; readonly release: () => void }
  | { readonly kind: 'taken'; readonly sentence: string };

const NOTHING = () => undefined;

export function takeAddressLock(folder: string, pid: number): AddressLock {
  let fd: number;
  let path: string;
  try {
    path = join(folder, `addresses-${statSync('/proc/self/ns/net').ino}.lock`);
    makeFolder(folder);
    fd = openSync(path, 'a+', 0o600);
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return { kind: 'held', release: NOTHING };
  }
  try {
    if (lockFile(fd)) return holdOrRetry(fd, path, () => takeAddressLock(folder, pid), pid);
  } catch (error) {
    closeSync(fd);
    // no locks in this file system, or no room for our name
    if (errorCode(error) !== undefined) return { kind: 'held', release: NOTHING };
    throw error;
  }
  closeSync(fd);
  const sentence = `another agent on this machine${holder(path)} keeps its addresses; run one agent per machine`;
  return { kind: 'taken', sentence };
}

/** The last holder removes the file: who has locked one that is not there any more has locked nothing. */
function holdOrRetry(fd: number, path: string, again: () => AddressLock, pid: number): AddressLock {
  const named = statSync(path, { throwIfNoEntry: false });
  if (named?.ino !== fstatSync(fd).ino) {
    closeSync(fd);
    return again();
  }
  ftruncateSync(fd, 0);
  writeSync(fd, `${pid}\n`);
  const release = () => {
    rmSync(path, { force: true });
    closeSync(fd);
  };
  return { kind: 'held', release };
}

function holder(path: string): string {
  try {
    return ` (process ${readFileSync(path, 'utf8').trim()})`;
  } catch {
    // it has just ended; the next attempt will tell
    return '';
  }
}
