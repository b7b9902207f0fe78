/**
 * Texts of files that are looked at again and again, for who cannot wait: the last that is known at once, and a word when it is another.
 * The looking happens on threads of its own (file-threads.ts), so a file system that hangs holds up nobody.
 */

import type { FileAnswer, FileThreads, Lane } from './file-threads.ts';
import { RecentMap } from './recent-map.ts';

/** The file has not been read yet, or says no more than that. */
export class FileTextError extends Error {
  readonly code?: string;

  constructor(sentence: string, code?: string) {
    super(sentence);
    if (code !== undefined) this.code = code;
  }
}

/** of a file whose first answer is still to come */
export const NOT_READ_YET = 'EAGAIN';

export class FileTexts {
  readonly #threads: Pick<FileThreads, 'text'>;
  readonly #onChange: () => void;
  readonly #lane: Lane;
  readonly #known = new RecentMap<FileAnswer>();

  constructor(threads: Pick<FileThreads, 'text'>, lane: Lane, onChange: () => void) {
    this.#threads = threads;
    this.#lane = lane;
    this.#onChange = onChange;
  }

  /** What the file held when it was last read; it is read again after that. Throws what the file system said. */
  read(path: string): string {
    void this.#threads.text(path, this.#lane).then((answer) => this.#learn(path, answer));
    const known = this.#known.get(path);
    if (known === undefined) throw new FileTextError('it has not been read yet', NOT_READ_YET);
    if (known.kind === 'text') return known.text;
    const { code, sentence } = known.kind === 'error' ? known : { sentence: 'it was not read' };
    throw new FileTextError(sentence, code);
  }

  #learn(path: string, answer: FileAnswer): void {
    const before = this.#known.get(path);
    this.#known.set(path, answer);
    if (JSON.stringify(before) !== JSON.stringify(answer)) this.#onChange();
  }
}
