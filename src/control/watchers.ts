/**
 * Those who watch the status: each gets it once at the start and after changes, one JSON line each. However many changes and watchers
 * there are, it is built at most five times a second, and less often where building it takes long (ten thousand claims are
 * megabytes), so that looking costs a bounded share of the agent's time. It is written in pieces (piece-writer.ts).
 *
 * A watcher that reads slowly misses what is between; one that reads nothing for ten seconds is dropped. Never is more
 * than one piece of a document buffered for anybody.
 */

import type { ServerResponse } from 'node:http';
import type { StatusDocument } from '../agent/status.ts';
import type { PieceWriter } from './piece-writer.ts';
import { type GateForm, statusPieces } from './status-text.ts';

const MIN_GAP_MS = 200;
/** time spent on telling : time between */
const COST_FACTOR = 9;
const WATCH_PATIENCE_MS = 10_000;

interface Watcher {
  readonly response: ServerResponse;
  readonly form: GateForm;
  /** `writing`: pieces are on their way; `unread`: the last of them is */
  state: 'ready' | 'writing' | 'unread';
  /** something has changed since the document that is on its way */
  isBehind: boolean;
}

export interface WatchersOptions {
  readonly status: () => StatusDocument;
  readonly subscribe: (onChange: () => void) => () => void;
  readonly writer: PieceWriter;
  readonly onFailed: (error: unknown) => void;
  readonly patienceMs?: number;
}

export class Watchers {
  readonly #options: WatchersOptions;
  readonly #patienceMs: number;
  readonly #watchers = new Set<Watcher>();
  #unsubscribe: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #notBeforeMs = 0;

  constructor(options: WatchersOptions) {
    this.#options = options;
    this.#patienceMs = options.patienceMs ?? WATCH_PATIENCE_MS;
  }

  get size(): number {
    return this.#watchers.size;
  }

  add(response: ServerResponse, form: GateForm): void {
    const document = this.#document();
    const watcher: Watcher = { response, form, state: 'ready', isBehind: false };
    this.#watchers.add(watcher);
    this.#unsubscribe ??= this.#options.subscribe(() => this.#changed());
    response.on('close', () => this.#remove(watcher));
    response.on('drain', () => {
      if (watcher.state === 'unread') this.#relieved(watcher);
    });
    this.#send(watcher, document);
  }

  stop(): void {
    for (const { response } of this.#watchers) response.end();
  }

  #remove(watcher: Watcher): void {
    this.#watchers.delete(watcher);
    if (this.#watchers.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
  }

  #changed(): void {
    this.#timer ??= setTimeout(
      () => {
        this.#timer = undefined;
        try {
          this.#tell();
        } catch (error) {
          this.#options.onFailed(error);
        }
      },
      Math.max(this.#notBeforeMs - performance.now(), 0),
    );
  }

  #tell(): void {
    const ready: Watcher[] = [];
    for (const watcher of this.#watchers) {
      if (watcher.state === 'ready') ready.push(watcher);
      else watcher.isBehind = true;
    }
    if (ready.length === 0) return;
    const document = this.#document();
    for (const watcher of ready) this.#send(watcher, document);
  }

  #document(): StatusDocument {
    const startedMs = performance.now();
    const document = this.#options.status();
    this.#spent(performance.now() - startedMs);
    return document;
  }

  #spent(tookMs: number): void {
    const gapMs = Math.max(MIN_GAP_MS, tookMs * COST_FACTOR);
    this.#notBeforeMs = Math.max(this.#notBeforeMs, performance.now() + gapMs);
  }

  #send(watcher: Watcher, document: StatusDocument): void {
    const { response, form } = watcher;
    const { writer, onFailed } = this.#options;
    watcher.isBehind = false;
    watcher.state = 'writing';
    // of a reader that takes nothing in the meantime
    response.setTimeout(this.#patienceMs, () => response.destroy());
    const onWritten = (tookMs: number) => {
      this.#spent(tookMs);
      watcher.state = 'unread';
      if (!response.writableNeedDrain) this.#relieved(watcher);
    };
    writer.write({ response, pieces: statusPieces(document, form), onWritten, onFailed });
  }

  #relieved(watcher: Watcher): void {
    watcher.response.setTimeout(0);
    watcher.state = 'ready';
    if (watcher.isBehind) this.#changed();
  }
}
