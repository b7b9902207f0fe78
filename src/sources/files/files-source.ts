/**
 * Documents in a directory, watched. Tells what is in force whenever that may have changed; what a reading does to it is ledger.ts.
 *
 * The kernel's notices (fs.watch) say when to look; a slow sweep catches what they miss: links to files elsewhere, network file
 * systems, a directory that was not there yet or has been replaced. A change counts when it has been quiet for a moment, so a
 * file that is still being written is not read half.
 *
 * A thread looks, reads and watches (folder-thread.ts): a file system that is slow or does not answer keeps that thread and not the sessions. All
 * documents stay as they are meanwhile, and after a while a fault says so.
 */

import { basename } from 'node:path';
import type { Clock, Timer } from 'bgp-ts';
import type { Documents } from '../../model/documents.ts';
import { labelled } from '../../turns/work-labels.ts';
import { DirectoryReader, type DirectoryReading } from './directory-reader.ts';
import { isDocumentName } from './folder-look.ts';
import { FolderThread, type Look } from './folder-thread.ts';
import {
  documentsOf,
  isSameResult,
  type LastGood,
  type LedgerResult,
  ledgerOf,
  updateLedger,
  withKnownFaults,
} from './ledger.ts';

export interface FilesSourceOptions {
  readonly directory: string;
  readonly clock: Clock;
  /** called with all documents after the first reading, and whenever one differs from the one before */
  readonly onChange: (documents: Documents) => void;
  /** wall-clock milliseconds by `Kind/name`, from an earlier run */
  readonly firstSeen?: ReadonlyMap<string, number>;
  /** pools and peers that were in force when that run ended */
  readonly lastGood?: LastGood;
}

const QUIET_MS = 10;
/** a file that is written without a pause is read after this long all the same */
const LONGEST_WAIT_MS = 1000;
const SWEEP_MS = 2000;
/** while the directory is not there */
const ABSENT_SWEEP_MS = 250;
/** a look at one of thousands of files is some hundredths of a millisecond: sweeps take a few hundredths of the time, however many there are */
const SWEEP_PER_FILE_MS = 0.5;
/** a file system that has not answered for so long is a fault */
const LATE_MS = 5000;
const LATE =
  'its file system does not answer, so that the documents stay as they are; see the mount';
const NOTHING: LastGood = { peers: [], pools: [] };

export class FilesSource {
  readonly #options: FilesSourceOptions;
  readonly #reader: DirectoryReader;
  #last: LedgerResult | undefined;
  readonly #folder: FolderThread;
  /** the directory was there at the last look */
  #isThere = false;
  /** the last reading was none: there may be something to read although nothing has changed */
  #isUnread = false;
  #quietTimer: Timer | undefined;
  #sweepTimer: Timer | undefined;
  #firstNoticeMs: number | undefined;
  /** files that notices were about; undefined = look at all */
  #changed: Set<string> | undefined = new Set();
  /** readings follow each other, never side by side */
  #reading: Promise<void> = Promise.resolve();
  #isStopped = false;
  /** the fault of a file system that does not answer is what was told last */
  #isLate = false;
  readonly #told = Promise.withResolvers<void>();

  constructor(options: FilesSourceOptions) {
    this.#options = options;
    this.#folder = new FolderThread(options.directory, (name) => this.#notice(name));
    this.#reader = new DirectoryReader(this.#folder);
  }

  /** Resolves when the first reading has been told, or that there is none for now. */
  async start(): Promise<void> {
    await Promise.race([this.#begin(), this.#told.promise]);
  }

  async #begin(): Promise<void> {
    await this.#look();
    if (this.#isStopped) return;
    this.#changed = undefined;
    await this.#read();
    if (!this.#isStopped) this.#scheduleSweep(0);
  }

  stop(): void {
    this.#isStopped = true;
    this.#folder.end();
    this.#quietTimer?.cancel();
    this.#sweepTimer?.cancel();
  }

  /** Reads everything again now, for a signal or a command; resolves when it has been told. */
  async reload(): Promise<void> {
    this.#changed = undefined;
    await this.#read();
  }

  #read(): Promise<void> {
    this.#quietTimer?.cancel();
    this.#quietTimer = undefined;
    this.#firstNoticeMs = undefined;
    this.#reading = this.#reading.then(() => this.#readOnce());
    return this.#reading;
  }

  async #readOnce(): Promise<void> {
    if (this.#isStopped) return;
    const changed = this.#changed;
    // what is heard of while this is read is for the next one
    this.#changed = new Set();
    const found = await this.#patiently(this.#reader.find(changed));
    this.#isUnread = !found.ok;
    if (!this.#isStopped) this.#learn(await this.#reader.read(found));
  }

  #learn(reading: DirectoryReading): void {
    if (this.#isStopped) return;
    const { directory, clock, onChange, firstSeen = new Map(), lastGood = NOTHING } = this.#options;
    const wallTimeMs = clock.wallTimeMs();
    const before = this.#last?.ledger ?? ledgerOf(lastGood);
    labelled('documents', () => {
      const read = updateLedger({ before, reading, directory, wallTimeMs, firstSeen });
      const result = withKnownFaults(read, this.#last);
      const isNews = this.#last === undefined || !isSameResult(this.#last, result);
      this.#last = result;
      if (isNews) onChange(documentsOf(result));
    });
    this.#told.resolve();
  }

  /** Resolves when the file system answers; that it is late is told meanwhile. */
  async #patiently<T>(answer: Promise<T>): Promise<T> {
    const late = setTimeout(() => {
      this.#isLate = true;
      this.#learn({ ok: false, sentence: LATE });
    }, LATE_MS);
    const given = await answer;
    clearTimeout(late);
    if (!this.#isLate) return given;
    this.#isLate = false;
    // what was told is not so any more
    this.#changed = undefined;
    if (!this.#isStopped) this.#schedule();
    return given;
  }

  #notice(name: string | null): void {
    if (this.#isStopped) return;
    // a link beside the files (a ConfigMap's ..data) may stand for all of them
    if (name === null || name.startsWith('..')) this.#changed = undefined;
    else if (isDocumentName(name)) this.#changed?.add(name);
    else {
      // the directory itself was moved or removed: see what its path leads to now
      if (name === basename(this.#options.directory)) this.#sweepIn(QUIET_MS);
      return;
    }
    this.#schedule();
  }

  #schedule(): void {
    const now = this.#options.clock.now();
    this.#firstNoticeMs ??= now;
    const longest = this.#firstNoticeMs + LONGEST_WAIT_MS - now;
    this.#quietTimer?.cancel();
    const waitMs = Math.max(0, Math.min(QUIET_MS, longest));
    this.#quietTimer = this.#options.clock.startTimer(waitMs, () => this.#readLater());
  }

  #readLater(): void {
    this.#read().catch(rethrow);
  }

  #scheduleSweep(files: number): void {
    const usual = this.#isThere ? SWEEP_MS : ABSENT_SWEEP_MS;
    this.#sweepIn(Math.max(usual, files * SWEEP_PER_FILE_MS));
  }

  #sweepIn(waitMs: number): void {
    this.#sweepTimer?.cancel();
    this.#sweepTimer = this.#options.clock.startTimer(waitMs, () => {
      this.#sweep().catch(rethrow);
    });
  }

  async #sweep(): Promise<void> {
    const look = await this.#look();
    if (this.#isStopped) return;
    const isOther = look?.isOther === true;
    const isNew = this.#isUnread || look?.digest !== this.#reader.digest;
    if (isOther || (this.#isThere && isNew)) {
      this.#changed = undefined;
      this.#schedule();
    }
    this.#scheduleSweep(look?.files ?? 0);
  }

  /** undefined: nobody knows */
  async #look(): Promise<Look | undefined> {
    const look = await this.#patiently(this.#folder.look());
    this.#isThere = look?.isThere ?? this.#isThere;
    return look;
  }
}

/** A reading never fails for what users do: this is a mistake of ours, and the process shall end with it. */
function rethrow(error: unknown): never {
  throw error;
}
