/**
 * The saved View on disk. Written beside and renamed, so that a crash or a full disk leaves the old one whole. Not being able
 * to save is told and nothing more: routes matter more than the memory of them.
 */

import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { errorCode } from '../error-code.ts';
import { makeFolder } from '../linux/make-folder.ts';
import type { Log } from '../log/log.ts';
import type { ViewStore } from './agent-options.ts';
import { formatSavedView, parseSavedView, type SavedView } from './saved-view.ts';

export class SavedViewFile implements ViewStore {
  readonly #path: string;
  readonly #log: Log;

  constructor(path: string, log: Log) {
    this.#path = path;
    this.#log = log;
  }

  load(): SavedView | undefined {
    let text: string;
    try {
      text = readFileSync(this.#path, 'utf8');
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return undefined;
      this.#tell('the saved View cannot be read', error);
      return undefined;
    }
    const saved = parseSavedView(text);
    if (saved === undefined) {
      this.#log.warn(
        'state.save',
        { file: this.#path },
        'the saved View is damaged or of another version; starting without it',
      );
    }
    return saved;
  }

  save(view: SavedView): void {
    const temporary = `${this.#path}.new`;
    try {
      makeFolder(dirname(this.#path));
      // documents hold no secrets, but who serves what is nobody's business either
      writeFileSync(temporary, formatSavedView(view), { mode: 0o600, flush: true });
      renameSync(temporary, this.#path);
    } catch (error) {
      this.#tell('the View was not saved; a restart would begin without it', error);
    }
  }

  #tell(message: string, error: unknown): void {
    const code = errorCode(error);
    // what has no code is a mistake of ours, not of the disk
    if (code === undefined) throw error;
    this.#log.warn('state.save', { file: this.#path, code }, message);
  }
}
