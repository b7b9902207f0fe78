/**
 * Reads the documents of a directory, and again only what has changed: a file whose inode, size and times are the same is not
 * opened, a piece of a file whose text is the same is not parsed. All files are read in one go, so that a reading is of one moment; while
 * they are parsed the event loop has its turn, and a large piece has a thread of its own, since no mass of documents may keep a session waiting. Known ones cost nearly
 * nothing: the largest case (10,000 documents in one file) is a few milliseconds after the first time.
 *
 * Symbolic links are followed, so the swap of a ConfigMap mount (`..data`) shows as files with other inodes.
 */

import { type BigIntStats, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { errorCode } from '../../error-code.ts';
import { type LocatedDocument, locatePiece, MAX_LINES } from './locate-piece.ts';
import { PieceThread } from './piece-thread.ts';
import { splitDocuments } from './split-documents.ts';

export type { LocatedDocument } from './locate-piece.ts';

export type DirectoryReading =
  | { readonly ok: true; readonly files: readonly FileReading[] }
  | { readonly ok: false; readonly sentence: string };

export type FileReading =
  | { readonly ok: true; readonly name: string; readonly documents: readonly LocatedDocument[] }
  | { readonly ok: false; readonly name: string; readonly sentence: string };

interface KnownFile {
  readonly signature: string;
  readonly reading: FileReading;
  readonly pieces: ReadonlyMap<string, ReadPiece>;
}

interface UnreadFile {
  readonly signature: string;
  readonly text: string;
}

/** the documents of a piece, with lines from the piece's own start */
type ReadPiece = readonly LocatedDocument[];

/** a hundred thousand documents */
const MAX_FILE_BYTES = 16 * 1024 * 1024;
/** what is larger takes too long for the main thread */
const MAX_SMALL_LENGTH = 8 * 1024;
/** so long the event loop may wait for us */
const TURN_MS = 10;
const NO_PIECES: ReadonlyMap<string, ReadPiece> = new Map();

export class DirectoryReader {
  readonly #directory: string;
  #files: ReadonlyMap<string, KnownFile> = new Map();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** True when a reading would find something else than the last one did. */
  hasChanged(): boolean {
    const names = this.#names();
    if (!Array.isArray(names)) return true;
    if (names.length !== this.#files.size) return true;
    return names.some((name) => this.#files.get(name)?.signature !== signature(this.#stat(name)));
  }

  /** `changed` are the files to look at; without it all are. */
  async read(changed?: ReadonlySet<string>): Promise<DirectoryReading> {
    const names = this.#names();
    if (!Array.isArray(names)) return { ok: false, sentence: names };
    const found = names.map((name) => {
      const known = this.#files.get(name);
      const isKept = known !== undefined && changed !== undefined && !changed.has(name);
      return { name, known, look: isKept ? known : this.#look(name, known) };
    });
    const files = new Map<string, KnownFile>();
    const thread = new PieceThread();
    for (const { name, known, look } of found) {
      const { signature: mark } = look;
      const pieces = known?.pieces ?? NO_PIECES;
      const file =
        'text' in look
          ? { signature: mark, ...(await readFile(name, look.text, pieces, thread)) }
          : look;
      files.set(name, file);
    }
    thread.end();
    this.#files = files;
    return { ok: true, files: [...files.values()].map(({ reading }) => reading) };
  }

  /** Names of documents, sorted; or why they cannot be listed. */
  #names(): string[] | string {
    try {
      return readdirSync(this.#directory).filter(isDocumentName).sort();
    } catch (error) {
      return `the directory cannot be read (${reasonOf(error)}); create it or correct the path`;
    }
  }

  #stat(name: string): BigIntStats | string {
    try {
      return statSync(join(this.#directory, name), { bigint: true });
    } catch (error) {
      return `the file cannot be read (${reasonOf(error)})`;
    }
  }

  /** What there is to parse, or what is known without. */
  #look(name: string, known: KnownFile | undefined): KnownFile | UnreadFile {
    const stat = this.#stat(name);
    const mark = signature(stat);
    if (known?.signature === mark) return known;
    const text = typeof stat === 'string' ? { sentence: stat } : this.#text(name, stat);
    if (typeof text === 'string') return { signature: mark, text };
    const reading = { ok: false, name, sentence: text.sentence } as const;
    return { signature: mark, reading, pieces: known?.pieces ?? NO_PIECES };
  }

  #text(name: string, stat: BigIntStats): string | { readonly sentence: string } {
    if (!stat.isFile()) return { sentence: 'this is not a file; move it elsewhere' };
    if (stat.size > MAX_FILE_BYTES) return { sentence: 'the file is larger than 16 MB; split it' };
    // what an editor leaves for a moment while it saves must not remove anything
    if (stat.size === 0n) return { sentence: 'the file is empty; delete it if that is meant' };
    try {
      const bytes = readFileSync(join(this.#directory, name));
      return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    } catch (error) {
      if (error instanceof TypeError) return { sentence: 'the file is not UTF-8 text' };
      return { sentence: `the file cannot be read (${reasonOf(error)})` };
    }
  }
}

async function readFile(
  name: string,
  text: string,
  known: ReadonlyMap<string, ReadPiece>,
  thread: PieceThread,
): Promise<Omit<KnownFile, 'signature'>> {
  const pieces = new Map<string, ReadPiece>();
  const documents: LocatedDocument[] = [];
  let turnMs = performance.now();
  let lines = MAX_LINES;
  for (const piece of splitDocuments(text)) {
    if (performance.now() - turnMs > TURN_MS) {
      await setImmediate();
      turnMs = performance.now();
    }
    const before = pieces.get(piece.text) ?? known.get(piece.text);
    const read = before ?? (await readOnce(piece.text, lines, thread));
    if (before === undefined) lines -= read.filter(({ result }) => !result.ok).length;
    pieces.set(piece.text, read);
    for (const { result, line } of read) documents.push({ result, line: line + piece.line });
  }
  return { reading: { ok: true, name, documents }, pieces };
}

function readOnce(text: string, lines: number, thread: PieceThread): Promise<ReadPiece> {
  return text.length > MAX_SMALL_LENGTH ? thread.read(text, lines) : locatePiece(text, lines);
}

/** Hidden files, editors' leftovers and everything else is not ours. */
export function isDocumentName(name: string): boolean {
  return !name.startsWith('.') && /\.(ya?ml|json)$/.test(name);
}

function signature(stat: BigIntStats | string): string {
  if (typeof stat === 'string') return stat;
  return [stat.dev, stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs].join(' ');
}

/** ENOENT and its like; anything without such a code is our mistake */
function reasonOf(error: unknown): string {
  const code = errorCode(error);
  if (code === undefined) throw error;
  return code;
}
