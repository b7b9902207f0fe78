/**
 * The saved View on disk. Written beside and renamed, so that a crash or a full disk leaves the old one whole. Not being able
 * to save is told and nothing more: routes matter more than the memory of them. Hence nothing waits for the disk, either: one View is
 * written at a time, in pieces and beside everything else, and of those that come meanwhile the newest.
 */

import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from '../error-code.ts';
import { makeFolderLater } from '../linux/make-folder.ts';
import { readRegularFile } from '../linux/read-regular-file.ts';
import type { Log } from '../log/log.ts';
import type { ViewStore } from './agent-options.ts';
import { parseSavedView, type SavedDrains, type SavedView, savedViewPieces } from './saved-view.ts';

/** several times that of a hundred thousand claims */
const MAX_BYTES = 256 * 1024 * 1024;

export class SavedViewFile implements ViewStore {
  readonly #path: string;
  readonly #log: Log;
  /** the newest that is not being written yet */
  #next: SavedView | undefined;
  #writing: Promise<boolean> | undefined;
  #drains: SavedDrains | undefined;

  constructor(path: string, log: Log) {
    this.#path = path;
    this.#log = log;
  }

  load(): SavedView | undefined {
    let text: string;
    try {
      text = readRegularFile(this.#path, MAX_BYTES);
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return undefined;
      this.#tell('the saved View cannot be read', error);
      return undefined;
    }
    const parsed = parseSavedView(text);
    if (parsed.ok) return parsed.saved;
    const { sentence: reason, drains } = parsed;
    this.#drains = drains;
    const but = drains === undefined ? '' : ', but for the drains that somebody asked for';
    this.#log.warn('state.save', { file: this.#path, reason }, `the saved View is not used${but}`);
    return undefined;
  }

  /** of a View that `load` could not use */
  get drains(): SavedDrains | undefined {
    return this.#drains;
  }

  /** Resolves once this one, or a newer one, is on disk (true) or cannot be. */
  save(view: SavedView): Promise<boolean> {
    this.#next = view;
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async #writeAll(): Promise<boolean> {
    let isKept = false;
    while (this.#next !== undefined) {
      const view = this.#next;
      this.#next = undefined;
      try {
        await this.#write(view);
        isKept = true;
      } catch (error) {
        isKept = false;
        this.#tell('the View was not saved; a restart would begin without it', error);
      }
    }
    return isKept;
  }

  async #write(view: SavedView): Promise<void> {
    const temporary = `${this.#path}.new`;
    await makeFolderLater(dirname(this.#path));
    // documents hold no secrets, but who serves what is nobody's business either
    const file = await open(temporary, 'w', 0o600);
    try {
      for (const piece of savedViewPieces(view)) await file.writeFile(piece);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, this.#path);
    await syncFolder(dirname(this.#path));
  }

  #tell(message: string, error: unknown): void {
    const code = errorCode(error);
    // what has no code is a mistake of ours, not of the disk
    if (code === undefined) throw error;
    this.#log.warn('state.save', { file: this.#path, code }, message);
  }
}

/** The new name is on disk, too: a loss of power brings no older View back. Not every file system can say so of a folder. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } catch (error) {
    if (errorCode(error) !== 'EINVAL' && errorCode(error) !== 'ENOTSUP') throw error;
  } finally {
    await folder.close();
  }
}
