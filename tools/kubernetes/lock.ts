/**
 * One builder at a time, whatever ends the others: flock(1) holds the lock in a child that lives as long as its stdin, which
 * is ours. A builder that is killed lets go by dying; there is no file with a pid that could lie.
 */

import { spawn } from 'node:child_process';
import type { Say } from './go.ts';

export async function withLock<T>(path: string, say: Say, work: () => Promise<T>): Promise<T> {
  const child = spawn('flock', [path, 'sh', '-c', 'echo held; exec cat >/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const patience = setTimeout(() => say(`another build holds ${path}; waiting for it`), 1000);
  try {
    await new Promise<void>((resolve, reject) => {
      child.stdout.once('data', () => resolve());
      child.once('error', (cause) =>
        reject(new Error('flock (Debian: util-linux) is missing.', { cause })),
      );
      child.once('close', (status) => reject(new Error(`flock ended with ${status}.`)));
    });
    clearTimeout(patience);
    return await work();
  } finally {
    clearTimeout(patience);
    child.stdin.end();
  }
}
