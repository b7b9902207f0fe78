/**
 * The live view on a terminal: draws frames over each other without flicker (only lines that differ are written), reads single keys,
 * and leaves the terminal as it was. Draws at most 20 times a second, and less when the terminal is slow to take it.
 */

import type { ReadStream, WriteStream } from 'node:tty';
import type { Demo } from './demo.ts';
import { frame } from './terminal-frame.ts';
import { renderLine } from './terminal-text.ts';
import type { Verb } from './verbs.ts';

export interface TerminalOptions {
  readonly demo: Demo;
  readonly stdin: ReadStream;
  readonly stdout: WriteStream;
  readonly url: string | undefined;
}

const DRAW_MS = 50;
const DEFAULT_COLUMNS = 80;
const DEFAULT_ROWS = 24;
/** alternate screen, cursor hidden, no wrapping; and back */
const ENTER = '\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J';
const LEAVE = '\x1b[?7h\x1b[?25h\x1b[?1049l';
/** synchronised output: a terminal that knows it shows the whole frame at once, others ignore it */
const BEGIN_FRAME = '\x1b[?2026h';
const END_FRAME = '\x1b[?2026l';
const CTRL_C = '\x03';

const VERB_KEYS: ReadonlyMap<string, Verb> = new Map([
  ['d', 'drain'],
  ['f', 'freeze'],
  ['k', 'kill'],
  ['a', 'api'],
]);

export class Terminal {
  readonly #options: TerminalOptions;
  #selected = 1;
  #shown: readonly string[] = [];
  #isActive = false;
  #isStale = true;
  #quit: () => void = () => undefined;

  constructor(options: TerminalOptions) {
    this.#options = options;
  }

  /** Resolves when the user quits. */
  async run(): Promise<void> {
    const { demo, stdin, stdout } = this.#options;
    const quit = new Promise<void>((resolve) => {
      this.#quit = resolve;
    });
    this.#isActive = true;
    stdin.setRawMode(true);
    stdin.setEncoding('utf8');
    stdout.write(ENTER);
    const onKeys = (keys: string) => {
      for (const key of keys) this.#onKey(key);
    };
    const onResize = () => {
      this.#shown = [];
      this.#isStale = true;
      stdout.write('\x1b[2J');
    };
    stdin.on('data', onKeys).resume();
    stdout.on('resize', onResize);
    const unsubscribe = demo.subscribe(() => {
      this.#isStale = true;
    });
    const timer = setInterval(() => this.#draw(), DRAW_MS);
    await quit;
    clearInterval(timer);
    unsubscribe();
    stdin.off('data', onKeys).pause();
    stdout.off('resize', onResize);
  }

  /** As it was before; also from an exit handler, hence at once. */
  restore(): void {
    if (!this.#isActive) return;
    this.#isActive = false;
    const { stdin, stdout } = this.#options;
    try {
      stdin.setRawMode(false);
      // writes to a terminal are synchronous
      stdout.write(LEAVE);
    } catch {
      // the terminal is gone, and nothing of it to restore
    }
  }

  #onKey(key: string): void {
    const { demo } = this.#options;
    const verb = VERB_KEYS.get(key);
    if (verb !== undefined) void demo.act(verb, this.#selected);
    if (key === '1' || key === '2' || key === '3') this.#selected = Number(key);
    if (key === 's') void demo.skip();
    // raw mode turns Ctrl-C into a key
    if (key === 'q' || key === CTRL_C) this.#quit();
    this.#isStale = true;
  }

  #draw(): void {
    const { demo, stdout, url } = this.#options;
    if (!this.#isStale || stdout.writableNeedDrain) return;
    this.#isStale = false;
    const { columns = DEFAULT_COLUMNS, rows = DEFAULT_ROWS } = stdout;
    const isColor = stdout.hasColors();
    const lines = frame(demo.scene(), { selected: this.#selected, columns, url })
      .slice(0, rows)
      .map((line) => renderLine(line, columns, isColor));
    const changed = lines.flatMap((line, at) =>
      line === this.#shown[at] ? [] : [`\x1b[${at + 1};1H${line}\x1b[K`],
    );
    this.#shown = lines;
    if (changed.length > 0) stdout.write(`${BEGIN_FRAME}${changed.join('')}${END_FRAME}`);
  }
}
