/**
 * What this machine remembers of its agent beside the View: the id by which it is told apart from a machine of the same name, and that it went
 * for a planned restart. Small files in the state folder; one that cannot be had is told, and is no reason not to run.
 */

import { rmSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../../error-code.ts';
import { makeFolderLater } from '../../linux/make-folder.ts';
import { readRegularFile, readRegularFileLater } from '../../linux/read-regular-file.ts';
import type { Log } from '../../log/log.ts';

export interface MachineMemoryOptions {
  readonly folder: string;
  readonly log: Log;
  /** a new id, should none be kept */
  readonly makeId: () => string;
  /** of this boot; undefined where it cannot be read */
  readonly bootId?: string;
}

/** a router keeps routes for 4095 s at most, and nobody sets that */
const LONGEST_RESTART_MS = 300_000;
/** they are a line each */
const MAX_BYTES = 4096;
const ID = /^[0-9a-z-]{8,64}$/;
const ANNOUNCED = /^yes (\d{1,10})\s*$/;

export class MachineMemory {
  readonly #options: MachineMemoryOptions;
  #announcer: Promise<void> = Promise.resolve();

  constructor(options: MachineMemoryOptions) {
    this.#options = options;
  }

  /** The same for every process on this machine. */
  async instance(): Promise<string> {
    const kept = (await this.#readLater('instance'))?.trim();
    if (kept !== undefined && ID.test(kept)) return kept;
    const made = this.#options.makeId();
    await this.#write('instance', `${made}\n`);
    return made;
  }

  /** Routers keep our routes: the next start is to tell them that it is us. */
  async rememberRestart(wallMs: number): Promise<void> {
    const { bootId = '' } = this.#options;
    await this.#write('restart', `${bootId} ${wallMs}\n`);
  }

  /** Whether this start follows a planned restart; true at most once. Waits for the disk: it is the first thing of all. */
  takeRestart(wallMs: number): boolean {
    const { bootId = '' } = this.#options;
    const kept = this.#read('restart');
    if (kept === undefined) return false;
    this.#remove('restart');
    const [boot, atText] = kept.trimEnd().split(' ');
    const ageMs = wallMs - Number(atText);
    return boot === bootId && ageMs >= 0 && ageMs < LONGEST_RESTART_MS;
  }

  /** Simple mode: as which holder of the controller's Lease an agent of this machine announced when it read that last; undefined: as none. */
  announcedTurn(): number | undefined {
    const turn = ANNOUNCED.exec(this.#read('announcer') ?? '')?.[1];
    return turn === undefined ? undefined : Number(turn);
  }

  /** One write at a time, in their order. */
  rememberAnnounced(turn: number | undefined): void {
    const text = turn === undefined ? 'no\n' : `yes ${turn}\n`;
    this.#announcer = this.#announcer.then(() => this.#write('announcer', text));
  }

  #read(name: string): string | undefined {
    try {
      return readRegularFile(join(this.#options.folder, name), MAX_BYTES);
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') this.#tell(name, error);
      return undefined;
    }
  }

  async #readLater(name: string): Promise<string | undefined> {
    try {
      return await readRegularFileLater(join(this.#options.folder, name), MAX_BYTES);
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') this.#tell(name, error);
      return undefined;
    }
  }

  async #write(name: string, text: string): Promise<void> {
    const { folder } = this.#options;
    try {
      await makeFolderLater(folder);
      const file = join(folder, name);
      // beside it first: whoever opens a pipe in its place to write waits for a reader
      await rm(`${file}.new`, { force: true });
      await writeFile(`${file}.new`, text, { mode: 0o600, flush: true, flag: 'wx' });
      await rename(`${file}.new`, file);
    } catch (error) {
      this.#tell(name, error);
    }
  }

  #remove(name: string): void {
    try {
      rmSync(join(this.#options.folder, name), { force: true });
    } catch (error) {
      this.#tell(name, error);
    }
  }

  #tell(name: string, error: unknown): void {
    const code = errorCode(error);
    // what has no code is a mistake of ours, not of the disk
    if (code === undefined) throw error;
    const file = join(this.#options.folder, name);
    this.#options.log.warn('state.save', { file, code }, 'a small file of the state folder failed');
  }
}
