/**
 * Those who watch the status: each gets it once at the start and after changes, one JSON line each. However many changes and watchers
 * there are, it is built at most five times a second, and less often where building it takes long (ten thousand claims are
 * megabytes), so that looking costs a bounded share of the agent's time.
 *
 * A watcher that reads slowly misses what is between; one that reads nothing for ten seconds is dropped. Never is more
 * than one document buffered for anybody.
 */

import type { ServerResponse } from 'node:http';

const MIN_GAP_MS = 200;
/** time spent on telling : time between */
const COST_FACTOR = 9;
const WATCH_PATIENCE_MS = 10_000;

interface Watcher {
  readonly response: ServerResponse;
  /** runs while a document waits for its reader */
  patience: NodeJS.Timeout | undefined;
  /** something has changed since the document that waits */
  isBehind: boolean;
}

export interface WatchersOptions {
  readonly status: () => unknown;
  readonly subscribe: (onChange: () => void) => () => void;
  readonly patienceMs?: number;
}

export class Watchers {
  readonly #status: () => unknown;
  readonly #subscribe: (onChange: () => void) => () => void;
  readonly #patienceMs: number;
  readonly #watchers = new Set<Watcher>();
  #unsubscribe: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #notBeforeMs = 0;

  constructor(options: WatchersOptions) {
    this.#status = options.status;
    this.#subscribe = options.subscribe;
    this.#patienceMs = options.patienceMs ?? WATCH_PATIENCE_MS;
  }

  get size(): number {
    return this.#watchers.size;
  }

  add(response: ServerResponse): void {
    const watcher: Watcher = { response, patience: undefined, isBehind: false };
    this.#watchers.add(watcher);
    this.#unsubscribe ??= this.#subscribe(() => this.#changed());
    response.on('close', () => this.#remove(watcher));
    response.on('drain', () => this.#relieved(watcher));
    this.#send(watcher, this.#document());
  }

  stop(): void {
    for (const { response } of this.#watchers) response.end();
  }

  #remove(watcher: Watcher): void {
    clearTimeout(watcher.patience);
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
        this.#tell();
      },
      Math.max(this.#notBeforeMs - performance.now(), 0),
    );
  }

  #tell(): void {
    const ready: Watcher[] = [];
    for (const watcher of this.#watchers) {
      if (watcher.patience === undefined) ready.push(watcher);
      else watcher.isBehind = true;
    }
    if (ready.length === 0) return;
    const document = this.#document();
    for (const watcher of ready) this.#send(watcher, document);
  }

  #document(): string {
    const startedMs = performance.now();
    const text = `${JSON.stringify(this.#status())}\n`;
    const endedMs = performance.now();
    this.#notBeforeMs = endedMs + Math.max(MIN_GAP_MS, (endedMs - startedMs) * COST_FACTOR);
    return text;
  }

  #send(watcher: Watcher, document: string): void {
    watcher.isBehind = false;
    if (watcher.response.write(document)) return;
    watcher.patience = setTimeout(() => watcher.response.destroy(), this.#patienceMs);
  }

  #relieved(watcher: Watcher): void {
    clearTimeout(watcher.patience);
    watcher.patience = undefined;
    if (watcher.isBehind) this.#changed();
  }
}
