/**
 * The saved View on disk. Written beside and renamed, so that a crash or a full disk leaves the old one whole. Not being able
 * to save is told and nothing more: routes matter more than the memory of them.
 */

import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Log } from '../log/log.ts';
import type { ViewStore } from './agent.ts';
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
      if (codeOf(error) === 'ENOENT') return undefined;
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
    this.#log.warn('state.save', { file: this.#path, code: codeOf(error) }, message);
  }
}

/** Node's own recursive mkdir never returns where a file system says ENOENT below a folder that exists (/proc, automounts). */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  const above = dirname(path);
  if (above !== path) makeFolder(above);
  mkdirSync(path, { mode: 0o755 });
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string')
    throw error;
  return error.code;
}
