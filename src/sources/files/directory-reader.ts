/**
 * Reads the documents of a directory, and again only what has changed: a file whose inode, size and times are the same is not
 * opened, a piece of a file whose text is the same is not parsed. All files are read in one go by the folder's thread (folder-thread.ts), so that a
 * reading is of one moment; while they are parsed the event loop has its turn, and a large piece has a thread of its own, since no mass of documents may keep a session waiting. Known ones cost nearly
 * nothing: the largest case (10,000 documents in one file) is a few milliseconds after the first time.
 */

import { setImmediate } from 'node:timers/promises';
import { optional } from '../../model/optional.ts';
import { digestOf, type FoundFile, type FoundFolder } from './folder-look.ts';
import type { FolderThread } from './folder-thread.ts';
import { type LocatedDocument, locatePiece, MAX_LINES } from './locate-piece.ts';
import { PieceThread } from './piece-thread.ts';
import { MAX_DOCUMENTS, TOO_MANY } from './read-document.ts';
import { cutDocuments } from './split-documents.ts';

export type { LocatedDocument } from './locate-piece.ts';

export type DirectoryReading =
  | { readonly ok: true; readonly files: readonly FileReading[] }
  | { readonly ok: false; readonly sentence: string };

export type FileReading =
  | { readonly ok: true; readonly name: string; readonly documents: readonly LocatedDocument[] }
  | { readonly ok: false; readonly name: string; readonly sentence: string };

interface KnownFile {
  /** inode, size and times, or why there are none */
  readonly mark: string;
  readonly reading: FileReading;
  readonly pieces: ReadonlyMap<string, ReadPiece>;
}

/** the documents of a piece, with lines from the piece's own start */
type ReadPiece = readonly LocatedDocument[];

/** What one reading shares, however many files it is of. */
interface Work {
  readonly thread: PieceThread;
  /** when this turn of the main thread began for us */
  turnMs: number;
  /** so many refusals still get their line */
  lines: number;
}

/** what is larger takes too long for the main thread */
const MAX_SMALL_LENGTH = 8 * 1024;
/** so long the event loop may wait for us */
const TURN_MS = 10;
/** each refusal of a small file costs a parser some milliseconds for its line; the others have that of their document */
const MAX_LINES_OF_ALL = 1000;
const NO_PIECES: ReadonlyMap<string, ReadPiece> = new Map();

export class DirectoryReader {
  readonly #folder: FolderThread;
  #files: ReadonlyMap<string, KnownFile> = new Map();
  #digest: string | undefined;

  constructor(folder: FolderThread) {
    this.#folder = folder;
  }

  /** of the files of the last reading, kept ones too: a folder with another one has changed since */
  get digest(): string {
    this.#digest ??= digestOf(this.#marks);
    return this.#digest;
  }

  /** `changed` are the known files to look at; without it all are. */
  find(changed?: ReadonlySet<string>): Promise<FoundFolder> {
    const known = new Map(this.#marks);
    return this.#folder.read({ known, ...optional('changed', changed) });
  }

  get #marks(): readonly (readonly [string, string])[] {
    return [...this.#files].map(([name, { mark }]) => [name, mark] as const);
  }

  /** What `find` has found since the last one; one at a time. */
  async read(folder: FoundFolder): Promise<DirectoryReading> {
    if (!folder.ok) return folder;
    const files = new Map<string, KnownFile>();
    const thread = new PieceThread();
    const work: Work = { thread, turnMs: performance.now(), lines: MAX_LINES_OF_ALL };
    for (const found of folder.files) {
      const known = this.#files.get(found.name);
      const file = found.kind === 'same' ? known : await readFound(found, known, work);
      if (file !== undefined) files.set(found.name, file);
    }
    thread.end();
    this.#files = files;
    this.#digest = undefined;
    return { ok: true, files: [...files.values()].map(({ reading }) => reading) };
  }
}

async function readFound(
  found: Exclude<FoundFile, { readonly kind: 'same' }>,
  known: KnownFile | undefined,
  work: Work,
): Promise<KnownFile> {
  const { name, mark } = found;
  const pieces = known?.pieces ?? NO_PIECES;
  const text = found.kind === 'unread' ? found : textOf(found.bytes);
  if (typeof text === 'string') return { mark, ...(await readFile(name, text, pieces, work)) };
  return { mark, reading: { ok: false, name, sentence: text.sentence }, pieces };
}

function textOf(bytes: Uint8Array): string | { readonly sentence: string } {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return { sentence: 'the file is not UTF-8 text' };
    throw error;
  }
}

async function readFile(
  name: string,
  text: string,
  known: ReadonlyMap<string, ReadPiece>,
  work: Work,
): Promise<Omit<KnownFile, 'mark'>> {
  const pieces = new Map<string, ReadPiece>();
  const documents: LocatedDocument[] = [];
  let lines = Math.min(MAX_LINES, work.lines);
  for (const piece of cutDocuments(text)) {
    if (performance.now() - work.turnMs > TURN_MS) {
      await setImmediate();
      work.turnMs = performance.now();
    }
    const before = pieces.get(piece.text) ?? known.get(piece.text);
    const read = before ?? (await readOnce(piece.text, lines, work.thread));
    const refused = before === undefined ? read.filter(({ result }) => !result.ok).length : 0;
    work.lines -= Math.min(refused, Math.max(lines, 0));
    lines -= refused;
    pieces.set(piece.text, read);
    for (const { result, line } of read) documents.push({ result, line: line + piece.line });
    if (documents.length > MAX_DOCUMENTS) {
      return { reading: { ok: false, name, sentence: TOO_MANY }, pieces: known };
    }
  }
  return { reading: { ok: true, name, documents }, pieces };
}

function readOnce(text: string, lines: number, thread: PieceThread): Promise<ReadPiece> {
  return text.length > MAX_SMALL_LENGTH ? thread.read(text, lines) : locatePiece(text, lines);
}
