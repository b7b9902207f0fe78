/**
 * What this machine remembers of its agent beside the View: the id by which it is told apart from a machine of the same name, and that it went
 * for a planned restart. Small files in the state folder; one that cannot be had is told, and is no reason not to run.
 */

import { readFileSync, rmSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../../error-code.ts';
import { makeFolderLater } from '../../linux/make-folder.ts';
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
const ID = /^[0-9a-z-]{8,64}$/;

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

  /** Simple mode: whether an agent of this machine announced when it read the controller's Lease last. */
  hasAnnounced(): boolean {
    return this.#read('announcer')?.trim() === 'yes';
  }

  /** One write at a time, in their order. */
  rememberAnnounced(hasAnnounced: boolean): void {
    const text = hasAnnounced ? 'yes\n' : 'no\n';
    this.#announcer = this.#announcer.then(() => this.#write('announcer', text));
  }

  #read(name: string): string | undefined {
    try {
      return readFileSync(join(this.#options.folder, name), 'utf8');
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') this.#tell(name, error);
      return undefined;
    }
  }

  async #readLater(name: string): Promise<string | undefined> {
    try {
      return await readFile(join(this.#options.folder, name), 'utf8');
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') this.#tell(name, error);
      return undefined;
    }
  }

  async #write(name: string, text: string): Promise<void> {
    const { folder } = this.#options;
    try {
      await makeFolderLater(folder);
      await writeFile(join(folder, name), text, { mode: 0o600, flush: true });
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
