/**
 * What there is in a folder of documents, by questions to the file system alone: names, marks by which a change is known, bytes. Waits for as
 * long as the file system does, so it runs on a thread (folder-worker.ts).
 *
 * Symbolic links are followed, so the swap of a ConfigMap mount (`..data`) shows as files with other inodes.
 */

import { createHash } from 'node:crypto';
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../../error-code.ts';

/** What was found of one file. */
export type FoundFile =
  /** it was not to be looked at, or is as it was */
  | { readonly kind: 'same'; readonly name: string }
  | { readonly kind: 'bytes'; readonly name: string; readonly mark: string; readonly bytes: Bytes }
  | {
      readonly kind: 'unread';
      readonly name: string;
      readonly mark: string;
      readonly sentence: string;
    };

export type FoundFolder =
  | { readonly ok: true; readonly files: readonly FoundFile[] }
  | { readonly ok: false; readonly sentence: string };

export interface ReadWish {
  /** marks of the files that were read before, by name */
  readonly known: ReadonlyMap<string, string>;
  /** the known files to look at; absent: all */
  readonly changed?: ReadonlySet<string>;
}

type Bytes = Uint8Array<ArrayBuffer>;

/** a hundred thousand documents */
const MAX_FILE_BYTES = 16 * 1024 * 1024;
const TOO_LARGE = 'the file is larger than 16 MB; split it';
const NOT_A_FILE = 'this is not a file; move it elsewhere';
const MAX_FILES = 10_000;
const TOO_MANY_FILES =
  'the directory has more than 10,000 files of documents; put more documents into each';
/** what has become a pipe since it was looked at is not waited for */
const HOW = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** Hidden files, editors' leftovers and everything else is not ours. */
export function isDocumentName(name: string): boolean {
  return !name.startsWith('.') && /\.(ya?ml|json)$/.test(name);
}

/** Two folders with the same one hold the same files. */
export function digestOf(marks: Iterable<readonly [string, string]>): string {
  const hash = createHash('sha256');
  for (const [name, mark] of marks) hash.update(`${name}\0${mark}\n`);
  return hash.digest('hex');
}

/** device and inode of the directory that the path leads to; undefined: to none, or not for us */
export function identityOf(directory: string): string | undefined {
  try {
    const stat = statSync(directory, { bigint: true });
    return stat.isDirectory() ? `${stat.dev} ${stat.ino}` : undefined;
  } catch (error) {
    reasonOf(error);
    return undefined;
  }
}

/** one that cannot be listed has its reason in the place of a digest */
export function digestOfFolder(directory: string): {
  readonly digest: string;
  readonly files: number;
} {
  const names = namesIn(directory);
  if (typeof names === 'string') return { digest: names, files: 0 };
  const marks = names.map((name) => [name, markOf(lookAt(directory, name))] as const);
  return { digest: digestOf(marks), files: names.length };
}

export function readFolder(directory: string, { known, changed }: ReadWish): FoundFolder {
  const names = namesIn(directory);
  if (typeof names === 'string') return { ok: false, sentence: names };
  const files = names.map((name): FoundFile => {
    const before = known.get(name);
    const isKept = before !== undefined && changed !== undefined && !changed.has(name);
    return isKept ? { kind: 'same', name } : found(directory, name, before);
  });
  return { ok: true, files };
}

function found(directory: string, name: string, before: string | undefined): FoundFile {
  const stat = lookAt(directory, name);
  const mark = markOf(stat);
  if (mark === before) return { kind: 'same', name };
  const bytes = typeof stat === 'string' ? stat : bytesOf(join(directory, name), stat);
  if (typeof bytes === 'string') return { kind: 'unread', name, mark, sentence: bytes };
  return { kind: 'bytes', name, mark, bytes };
}

/** Names of documents, sorted; or why they cannot be listed. */
function namesIn(directory: string): readonly string[] | string {
  try {
    const names = readdirSync(directory).filter(isDocumentName).sort();
    return names.length > MAX_FILES ? TOO_MANY_FILES : names;
  } catch (error) {
    return `the directory cannot be read (${reasonOf(error)}); create it or correct the path`;
  }
}

function lookAt(directory: string, name: string): BigIntStats | string {
  try {
    return statSync(join(directory, name), { bigint: true });
  } catch (error) {
    return unreadable(error);
  }
}

function markOf(stat: BigIntStats | string): string {
  if (typeof stat === 'string') return stat;
  return [stat.dev, stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs].join(' ');
}

/** a text: why there are none */
function bytesOf(path: string, stat: BigIntStats): Bytes | string {
  if (!stat.isFile()) return NOT_A_FILE;
  if (stat.size > MAX_FILE_BYTES) return TOO_LARGE;
  // what an editor leaves for a moment while it saves must not remove anything
  if (stat.size === 0n) return 'the file is empty; delete it if that is meant';
  try {
    const fd = openSync(path, HOW);
    try {
      return fstatSync(fd).isFile() ? allBytes(fd, Number(stat.size)) : NOT_A_FILE;
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    return unreadable(error);
  }
}

/** To its end, which may be further than it was a moment ago. */
function allBytes(fd: number, size: number): Bytes | string {
  let bytes: Bytes = new Uint8Array(size + 1);
  let length = 0;
  for (;;) {
    const got = readSync(fd, bytes, length, bytes.length - length, null);
    if (got === 0) return bytes.slice(0, length);
    length += got;
    if (length > MAX_FILE_BYTES) return TOO_LARGE;
    if (length < bytes.length) continue;
    const larger: Bytes = new Uint8Array(Math.min(2 * length, MAX_FILE_BYTES + 1));
    larger.set(bytes);
    bytes = larger;
  }
}

function unreadable(error: unknown): string {
  return `the file cannot be read (${reasonOf(error)})`;
}

/** ENOENT and its like; anything without such a code is our mistake */
function reasonOf(error: unknown): string {
  const code = errorCode(error);
  if (code === undefined) throw error;
  return code;
}
