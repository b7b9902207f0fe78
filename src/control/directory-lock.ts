/**
 * One at a time in a directory: flock on the directory itself, so nothing is left behind and any death releases it. Held for the
 * few milliseconds in which a socket's name is looked at and taken; without it two agents that both find a dead socket
 * could each move the other's living one aside.
 */

import { closeSync, openSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { lockFile, NetlinkError } from '../linux/netlink-calls.ts';

const ATTEMPTS = 400;
const PAUSE_MS = 5;

/** Resolves to what ends it. Whoever cannot have the lock within two seconds, or at all, goes on without. */
export async function lockDirectory(path: string): Promise<() => void> {
  const fd = openSync(path, 'r');
  const release = () => closeSync(fd);
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    if (isLocked(fd)) return release;
    await pause(PAUSE_MS);
  }
  return release;
}

function isLocked(fd: number): boolean {
  try {
    return lockFile(fd);
  } catch (error) {
    // no such call on this platform: no lock is needed to run at all
    if (error instanceof NetlinkError) return true;
    throw error;
  }
}
