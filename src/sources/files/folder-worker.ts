/** The thread of a folder of documents: looks at it, reads it and watches it, so that nobody else has to wait for its file system. */

import { type FSWatcher, watch } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import { digestOfFolder, identityOf, readFolder } from './folder-look.ts';
import type { FolderQuestion, FolderSaid, Look } from './folder-thread.ts';

let watcher: FSWatcher | undefined;
let watched: string | undefined;

const say = (said: FolderSaid, transfer: readonly ArrayBuffer[] = []) =>
  parentPort?.postMessage(said, [...transfer]);

/** Watches the directory that the path leads to now; true if that is another one than before. */
function follow(directory: string): boolean {
  const id = identityOf(directory);
  if (id === watched) return false;
  watcher?.close();
  watcher = undefined;
  watched = id;
  if (id === undefined) return true;
  try {
    watcher = watch(directory, (_event, name) => say({ kind: 'notice', name }));
    // the sweep goes on without it
    watcher.on('error', () => watcher?.close());
  } catch (error) {
    // no more inotify watches, or the directory went away just now: the sweep finds what changes
    if (!(error instanceof Error && 'code' in error)) throw error;
  }
  return true;
}

function look(directory: string): Look {
  const isOther = follow(directory);
  const isThere = watched !== undefined;
  const looked = isThere ? digestOfFolder(directory) : { digest: '', files: 0 };
  return { isOther, isThere, ...looked };
}

parentPort?.on('message', ({ directory, wish }: FolderQuestion) => {
  if (wish === undefined) return say({ kind: 'look', look: look(directory) });
  const folder = readFolder(directory, wish);
  const files = folder.ok ? folder.files : [];
  const transfer = files.flatMap((file) => (file.kind === 'bytes' ? [file.bytes.buffer] : []));
  say({ kind: 'folder', folder }, transfer);
});
