/**
 * The thread of a folder of documents, as the main thread sees it: asks and is answered, and hears of changes. The main thread never touches the
 * folder, so that a file system that is slow, or does not answer, keeps the thread and not the sessions.
 *
 * One question at a time; whoever asks says what happens while there is no answer. A thread that ends (no memory, no more threads to be had) is
 * an answer as well, and the next question gets another one.
 */

import { Worker } from 'node:worker_threads';
import type { FoundFolder, ReadWish } from './folder-look.ts';

/** the bundle has the thread's file at its top */
declare const HERALD_FOLDER_WORKER: string | undefined;

/** What a look at the folder says, without its texts. */
export interface Look {
  /** the path leads to another directory than at the look before, or to the first one, or to none now */
  readonly isOther: boolean;
  readonly isThere: boolean;
  /** of the files in it */
  readonly digest: string;
  /** how many they are */
  readonly files: number;
}

/** without a wish: a look */
export interface FolderQuestion {
  readonly directory: string;
  readonly wish?: ReadWish;
}

type FolderAnswer =
  | { readonly kind: 'look'; readonly look: Look }
  | { readonly kind: 'folder'; readonly folder: FoundFolder };

export type FolderSaid = FolderAnswer | { readonly kind: 'notice'; readonly name: string | null };

type Answer = FolderAnswer | { readonly kind: 'none'; readonly sentence: string };

/** texts are beside its heap */
const MAX_HEAP_MB = 64;

export class FolderThread {
  readonly #directory: string;
  readonly #onNotice: (name: string | null) => void;
  #worker: Worker | undefined;
  #settle: ((answer: Answer) => void) | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #hasEnded = false;

  constructor(directory: string, onNotice: (name: string | null) => void = () => undefined) {
    this.#directory = directory;
    this.#onNotice = onNotice;
  }

  /** And watches it from then on. undefined: there is no answer to be had. */
  async look(): Promise<Look | undefined> {
    const answer = await this.#ask({ directory: this.#directory });
    return answer.kind === 'look' ? answer.look : undefined;
  }

  async read(wish: ReadWish): Promise<FoundFolder> {
    const answer = await this.#ask({ directory: this.#directory, wish });
    if (answer.kind === 'folder') return answer.folder;
    const why = answer.kind === 'none' ? answer.sentence : 'its thread gave another answer';
    return { ok: false, sentence: `the directory cannot be read now: ${why}` };
  }

  /** What is out is never answered. */
  end(): void {
    this.#hasEnded = true;
    this.#settle = undefined;
    void this.#worker?.terminate();
    this.#worker = undefined;
  }

  #ask(question: FolderQuestion): Promise<Answer> {
    const answer = this.#last.then(() => this.#askNow(question));
    this.#last = answer;
    return answer;
  }

  #askNow(question: FolderQuestion): Promise<Answer> {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    if (this.#hasEnded) {
      resolve({ kind: 'none', sentence: 'it is not read any more' });
      return promise;
    }
    this.#settle = resolve;
    try {
      this.#worker ??= this.#start();
      this.#worker.postMessage(question);
    } catch (error) {
      resolve({ kind: 'none', sentence: `no thread can be started (${String(error)})` });
    }
    return promise;
  }

  #start(): Worker {
    const worker = new Worker(workerFile(), {
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    });
    worker.on('message', (said: FolderSaid) => {
      if (said.kind === 'notice') this.#onNotice(said.name);
      else this.#settle?.(said);
    });
    worker.on('error', (error) => this.#isGone(worker, `its thread failed (${String(error)})`));
    worker.on('exit', () => this.#isGone(worker, 'its thread ended'));
    // whoever waits for an answer has a timer; after the listeners, since a listener of messages takes this back
    worker.unref();
    return worker;
  }

  #isGone(worker: Worker, sentence: string): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#settle?.({ kind: 'none', sentence });
  }
}

function workerFile(): URL {
  if (typeof HERALD_FOLDER_WORKER === 'undefined') {
    return new URL('./folder-worker.ts', import.meta.url);
  }
  const above = new URL('.', import.meta.url).pathname.endsWith('/chunks/') ? '../' : './';
  return new URL(`${above}${HERALD_FOLDER_WORKER}`, import.meta.url);
}
