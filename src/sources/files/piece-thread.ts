/**
 * Reads large pieces on a thread of their own: to parse and judge some megabytes takes seconds, and the sessions are on the main thread.
 * The thread is there while a reading needs it. What makes it fail (memory, a mistake of ours) is a refusal of that piece.
 */

import { Worker } from 'node:worker_threads';
import type { LocatedDocument } from './locate-piece.ts';

/** the bundle has the thread's file at its top */
declare const HERALD_PIECE_WORKER: string | undefined;

const MAX_HEAP_MB = 256;

type Bundle = readonly LocatedDocument[];

interface Started {
  readonly worker: Worker;
  /** an empty bundle is the end of a piece, a text is that of the thread */
  take: (said: Bundle | string) => void;
}

export class PieceThread {
  #started: Started | undefined;

  async read(text: string, lines: number): Promise<readonly LocatedDocument[]> {
    const started = this.#startOrSay();
    if (typeof started === 'string') return refusal(started);
    const documents: LocatedDocument[] = [];
    const failure = await new Promise<string | undefined>((settle) => {
      started.take = (said) => {
        if (typeof said === 'string') settle(said);
        else if (said.length === 0) settle(undefined);
        else documents.push(...said);
      };
      started.worker.postMessage({ text, lines });
    });
    if (failure === undefined) return documents;
    this.end();
    return refusal(failure);
  }

  /** a process at its limit of threads gets none */
  #startOrSay(): Started | string {
    try {
      this.#started ??= start();
      return this.#started;
    } catch (error) {
      return `no thread can be started: ${String(error)}`;
    }
  }

  /** gives its memory back */
  end(): void {
    const started = this.#started;
    this.#started = undefined;
    void started?.worker.terminate();
  }
}

function refusal(failure: string): readonly LocatedDocument[] {
  const sentence = `the document cannot be read; split it (${failure})`;
  return [{ result: { ok: false, sentence, path: [] }, line: 0 }];
}

function start(): Started {
  const worker = new Worker(workerFile(), {
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  const started: Started = { worker, take: () => undefined };
  worker.on('message', (bundle: Bundle) => started.take(bundle));
  worker.on('error', (error) => started.take(String(error)));
  worker.on('exit', () => started.take('its thread ended'));
  return started;
}

function workerFile(): URL {
  if (typeof HERALD_PIECE_WORKER === 'undefined') {
    return new URL('./piece-worker.ts', import.meta.url);
  }
  const above = new URL('.', import.meta.url).pathname.endsWith('/chunks/') ? '../' : './';
  return new URL(`${above}${HERALD_PIECE_WORKER}`, import.meta.url);
}
