/**
 * The folder of a cluster, known by the cluster's name: keys, disks, logs. It is in a place where every user of this machine may write, and what is in it
 * is believed by root: so it is made by us and for us alone, and a folder of that name that somebody else has made is nothing of ours.
 */

import { lstatSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ONLY_US = 0o700;
const WRITTEN_BY_OTHERS = 0o022;

export const clusterFolder = (name: string): string => join(tmpdir(), `herald-lab-${name}`);

/** Whether there is one, and ours. */
export const hasFolder = (name: string): boolean => isOurs(clusterFolder(name)) === true;

/** undefined where there is nothing */
function isOurs(path: string): boolean | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  // who lets others look into it has still not let them write
  const isOthersToo = (found.mode & WRITTEN_BY_OTHERS) !== 0;
  return found.isDirectory() && found.uid === process.getuid?.() && !isOthersToo;
}

/** Before anything is begun that would have to be taken away again. */
export function refuseForeignFolder(name: string): void {
  if (isOurs(clusterFolder(name)) === false) throw new Error(refusal(name));
}

/** Makes it, empty. Whatever is there already is a refusal, and may be a trap. */
export function makeFolder(name: string): string {
  const folder = clusterFolder(name);
  try {
    mkdirSync(folder, { mode: ONLY_US });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    throw new Error(refusal(name), { cause: error });
  }
  return folder;
}

const refusal = (name: string): string =>
  `${clusterFolder(name)} is there already, and not made by this lab; look who made it, and remove it.`;
