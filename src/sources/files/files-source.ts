/**
 * Documents in a directory, watched. Tells what is in force whenever that may have changed; what a reading does to it is ledger.ts.
 *
 * The kernel's notices (fs.watch) say when to look; a slow sweep catches what they miss: links to files elsewhere, network file
 * systems, a directory that was not there yet or has been replaced. A change counts when it has been quiet for a moment, so a
 * file that is still being written is not read half.
 */

import { type FSWatcher, statSync, watch } from 'node:fs';
import { basename } from 'node:path';
import type { Clock, Timer } from 'bgp-ts';
import type { Documents } from '../../model/documents.ts';
import { DirectoryReader, isDocumentName } from './directory-reader.ts';
import {
  documentsOf,
  isSameResult,
  type Ledger,
  type LedgerResult,
  updateLedger,
} from './ledger.ts';

export interface FilesSourceOptions {
  readonly directory: string;
  readonly clock: Clock;
  /** called with all documents after the first reading, and whenever one differs from the one before */
  readonly onChange: (documents: Documents) => void;
  /** wall-clock milliseconds by `Kind/name`, from an earlier run */
  readonly firstSeen?: ReadonlyMap<string, number>;
}

const QUIET_MS = 10;
/** a file that is written without a pause is read after this long all the same */
const LONGEST_WAIT_MS = 1000;
const SWEEP_MS = 2000;
/** while the directory is not there */
const ABSENT_SWEEP_MS = 250;
/** sweeps take at most this share of the time, however many files there are */
const SWEEP_SHARE = 0.01;
const NOTHING: Ledger = new Map();

export class FilesSource {
  readonly #options: FilesSourceOptions;
  readonly #reader: DirectoryReader;
  #last: LedgerResult | undefined;
  #watcher: FSWatcher | undefined;
  /** device and inode of the directory that is watched */
  #watched: string | undefined;
  #quietTimer: Timer | undefined;
  #sweepTimer: Timer | undefined;
  #firstNoticeMs: number | undefined;
  /** files that notices were about; undefined = look at all */
  #changed: Set<string> | undefined = new Set();
  /** readings follow each other, never side by side */
  #reading: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(options: FilesSourceOptions) {
    this.#options = options;
    this.#reader = new DirectoryReader(options.directory);
  }

  /** Resolves when the first reading has been told. */
  async start(): Promise<void> {
    this.#watch();
    this.#changed = undefined;
    await this.#read();
    this.#scheduleSweep(0);
  }

  stop(): void {
    this.#isStopped = true;
    this.#watcher?.close();
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
    const { directory, clock, onChange, firstSeen = new Map() } = this.#options;
    const changed = this.#changed;
    this.#changed = new Set();
    const reading = await this.#reader.read(changed);
    if (this.#isStopped) return;
    const wallTimeMs = clock.wallTimeMs();
    const before = this.#last?.ledger ?? NOTHING;
    const result = updateLedger({ before, reading, directory, wallTimeMs, firstSeen });
    const isNews = this.#last === undefined || !isSameResult(this.#last, result);
    this.#last = result;
    if (isNews) onChange(documentsOf(result));
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

  /** Watches the directory that the path leads to now; true if that is another one than before. */
  #watch(): boolean {
    const { directory } = this.#options;
    const id = identity(directory);
    if (id === this.#watched) return false;
    this.#watcher?.close();
    this.#watcher = undefined;
    this.#watched = id;
    if (id === undefined) return true;
    try {
      this.#watcher = watch(directory, (_event, name) => this.#notice(name));
      // the sweep goes on without it
      this.#watcher.on('error', () => this.#watcher?.close());
    } catch (error) {
      // no more inotify watches, or the directory went away just now: the sweep finds what changes
      if (!(error instanceof Error && 'code' in error)) throw error;
    }
    return true;
  }

  #scheduleSweep(lastTookMs: number): void {
    const usual = this.#watched === undefined ? ABSENT_SWEEP_MS : SWEEP_MS;
    this.#sweepIn(Math.max(usual, lastTookMs / SWEEP_SHARE));
  }

  #sweepIn(waitMs: number): void {
    this.#sweepTimer?.cancel();
    this.#sweepTimer = this.#options.clock.startTimer(waitMs, () => this.#sweep());
  }

  #sweep(): void {
    if (this.#isStopped) return;
    const startMs = this.#options.clock.now();
    const isOther = this.#watch();
    const isGone = this.#watched === undefined;
    if (isOther || (!isGone && this.#reader.hasChanged())) {
      this.#changed = undefined;
      this.#schedule();
    }
    this.#scheduleSweep(this.#options.clock.now() - startMs);
  }
}

function identity(directory: string): string | undefined {
  try {
    const stat = statSync(directory, { bigint: true });
    return stat.isDirectory() ? `${stat.dev} ${stat.ino}` : undefined;
  } catch (error) {
    // not there, or not for us: the reading says which
    if (error instanceof Error && 'code' in error) return undefined;
    throw error;
  }
}

/** A reading never fails for what users do: this is a mistake of ours, and the process shall end with it. */
function rethrow(error: unknown): never {
  throw error;
}
