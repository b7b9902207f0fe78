/**
 * Questions to file systems, on threads of their own. A dead network file system keeps whoever asks it in the kernel for as long as it
 * likes. On Node's four threads, which all of the program shares, four such paths would stop every other file and name look-up; on the main
 * thread one would stop the sessions. Here a question that hangs costs its own thread, and the next one gets another, up to a bound.
 *
 * What is read was named by others: a pipe, a device or a directory is refused without waiting, and so is more than 1 MB. A path is never
 * asked twice at a time, and a file that has not changed (device, inode, size, times) is not read again.
 *
 * A thread is started with the first question; most agents have none. Each sort of asker (a lane) has a share of its own of the threads:
 * paths that hang in one lane hold up nobody in another, so that no claim's files keep the join check or a password waiting.
 */

import { Worker } from 'node:worker_threads';
import { RecentMap } from './recent-map.ts';

export type FileAnswer =
  | { readonly kind: 'there' }
  | { readonly kind: 'text'; readonly text: string }
  /** `code` of the system, or none where the file was looked at and is not fit */
  | { readonly kind: 'error'; readonly code?: string; readonly sentence: string };

type Reply =
  | { readonly kind: 'there' }
  | { readonly kind: 'same' }
  | { readonly kind: 'text'; readonly text: string; readonly mark: string }
  | { readonly kind: 'error'; readonly code?: string; readonly sentence: string };

/** for whom a file is looked at */
export type Lane = 'join' | 'password' | 'state' | 'claim';

interface KnownText {
  readonly text: string;
  readonly mark: string;
}

interface Question {
  readonly lane: Lane;
  readonly path: string;
  readonly wants: 'presence' | 'text' | 'folder';
  /** what the file held when it was last read */
  known?: KnownText;
  readonly settle: (reply: Reply) => void;
}

interface Thread {
  readonly worker: Worker;
  question: Question | undefined;
  sinceMs: number;
}

const MAX_FILE_BYTES = 1024 * 1024;
/** hanging paths beyond so many hold up the others of their lane; in this order lanes get a thread that is free */
const SHARES: Readonly<Record<Lane, number>> = {
  join: 2,
  password: 4,
  state: 1,
  claim: 8,
};
const LANES = ['join', 'password', 'state', 'claim'] as const;
/** so long a thread may be busy before the next question gets another one */
const PATIENCE_MS = 100;

/** It is started from this text, so that the bundle needs no file for it. */
const THREAD = `
'use strict';
const { parentPort } = require('node:worker_threads');
const fs = require('node:fs');
const { O_RDONLY, O_NONBLOCK, O_NOCTTY } = fs.constants;
const unfit = (sentence) => ({ kind: 'error', sentence });
function read({ path, mark, most }) {
  const file = fs.openSync(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  try {
    const stat = fs.fstatSync(file, { bigint: true });
    if (!stat.isFile()) return unfit('it is not a file');
    const now = [stat.dev, stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs].join(' ');
    if (now === mark) return { kind: 'same' };
    const bytes = Buffer.alloc(Number(stat.size < BigInt(most) ? stat.size : BigInt(most)) + 1);
    let length = 0;
    for (;;) {
      const got = fs.readSync(file, bytes, length, bytes.length - length, null);
      length += got;
      if (got === 0 || length === bytes.length) break;
    }
    if (length > most) return unfit('it is larger than 1 MB');
    return { kind: 'text', text: bytes.toString('utf8', 0, length), mark: now };
  } finally {
    fs.closeSync(file);
  }
}
const quietly = (ask) => {
  try {
    return ask();
  } catch {}
};
function touch(path) {
  if (!quietly(() => fs.statSync(path))?.isFile()) return;
  const file = quietly(() => fs.openSync(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  if (file === undefined) return;
  quietly(() => fs.readSync(file, Buffer.alloc(1), 0, 1, 0));
  quietly(() => fs.closeSync(file));
}
function folder({ path }) {
  for (const name of fs.readdirSync(path)) touch(path + '/' + name);
  return { kind: 'there' };
}
parentPort.on('message', (question) => {
  let reply;
  try {
    if (question.wants === 'text') reply = read(question);
    else if (question.wants === 'folder') reply = folder(question);
    else reply = (fs.statSync(question.path), { kind: 'there' });
  } catch (error) {
    reply = { kind: 'error', code: error.code, sentence: String(error.code ?? error.message) };
  }
  parentPort.postMessage(reply);
});
`;

export class FileThreads {
  readonly #threads = new Set<Thread>();
  readonly #underWay = new Map<string, Promise<FileAnswer>>();
  readonly #texts = new RecentMap<KnownText>();
  readonly #waiting: Record<Lane, Question[]> = {
    join: [],
    password: [],
    state: [],
    claim: [],
  };
  #timer: NodeJS.Timeout | undefined;

  /** Is there something at this path? */
  presence(path: string, lane: Lane): Promise<FileAnswer> {
    return this.#ask({ path, lane, wants: 'presence' });
  }

  /** The text of a regular file of at most 1 MB. */
  text(path: string, lane: Lane): Promise<FileAnswer> {
    return this.#ask({ path, lane, wants: 'text' });
  }

  /**
   * Resolves when the file system behind a folder has answered, also for each file in it, which is opened and read. What it answers
   * says no more than that: after it the caller reads the folder without being held up.
   */
  async folder(path: string, lane: Lane): Promise<void> {
    await this.#ask({ path, lane, wants: 'folder' });
  }

  /** Ends the threads; what is out is never answered. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    for (const lane of LANES) this.#waiting[lane] = [];
    const threads = [...this.#threads];
    this.#threads.clear();
    await Promise.all(threads.map(({ worker }) => worker.terminate()));
  }

  #ask(wish: Omit<Question, 'settle'>): Promise<FileAnswer> {
    const { path, lane, wants } = wish;
    const key = `${lane} ${wants} ${path}`;
    const earlier = this.#underWay.get(key);
    if (earlier !== undefined) return earlier;
    const { promise, resolve } = Promise.withResolvers<Reply>();
    const question: Question = { ...wish, settle: resolve };
    const answer = promise.then((reply) => {
      this.#underWay.delete(key);
      return this.#answerOf(question, reply);
    });
    this.#underWay.set(key, answer);
    this.#waiting[lane].push(question);
    this.#dispatch();
    return answer;
  }

  #answerOf({ path, known }: Question, reply: Reply): FileAnswer {
    if (reply.kind === 'text') this.#texts.set(path, reply);
    else if (reply.kind === 'error') this.#texts.delete(path);
    if (reply.kind !== 'same') return reply;
    return { kind: 'text', text: known?.text ?? '' };
  }

  #dispatch(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (;;) {
      const lane = this.#nextLane();
      if (lane === undefined) return;
      const thread = this.#free();
      if (thread === undefined) return;
      const question = this.#waiting[lane].shift();
      if (question === undefined) return;
      if (thread instanceof Error) {
        question.settle(noThread(`no thread can be started (${thread.message})`));
        continue;
      }
      thread.question = question;
      thread.sinceMs = performance.now();
      const { path, wants } = question;
      const known = wants === 'text' ? this.#texts.get(path) : undefined;
      if (known !== undefined) question.known = known;
      thread.worker.postMessage({ path, wants, mark: known?.mark, most: MAX_FILE_BYTES });
    }
  }

  /** that has a question, and a thread left of its share */
  #nextLane(): Lane | undefined {
    const busy = [...this.#threads].map(({ question }) => question?.lane);
    return LANES.find((lane) => {
      const isFull = () => busy.filter((each) => each === lane).length >= SHARES[lane];
      return this.#waiting[lane].length > 0 && !isFull();
    });
  }

  /** undefined: there is none now, and it will be looked at again; an Error: there is none at all, and none can be had */
  #free(): Thread | Error | undefined {
    const threads = [...this.#threads];
    const idle = threads.find(({ question }) => question === undefined);
    if (idle !== undefined) return idle;
    const nowMs = performance.now();
    const quickMs = threads.map(({ sinceMs }) => sinceMs + PATIENCE_MS - nowMs);
    const waitMs = Math.max(0, ...quickMs);
    if (waitMs === 0) return this.#startOrWait();
    this.#timer = setTimeout(() => this.#dispatch(), waitMs);
    this.#timer.unref();
    return undefined;
  }

  /** Where the process may have no more threads, those that are busy are waited for. */
  #startOrWait(): Thread | Error | undefined {
    try {
      return this.#start();
    } catch (error) {
      if (this.#threads.size > 0) return undefined;
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  #start(): Thread {
    const worker = new Worker(THREAD, {
      eval: true,
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4, stackSizeMb: 1 },
    });
    const thread: Thread = { worker, question: undefined, sinceMs: 0 };
    this.#threads.add(thread);
    worker.on('message', (reply: Reply) => this.#answered(thread, reply));
    worker.on('error', (error) => {
      this.#ended(thread, noThread(`its thread failed (${String(error)})`));
    });
    worker.on('exit', () => {
      this.#ended(thread, noThread('its thread ended'));
    });
    // a file system that hangs keeps no process alive: each question has a timer of its own; after the listeners, since a listener of messages takes this back
    worker.unref();
    return thread;
  }

  #answered(thread: Thread, reply: Reply): void {
    const { question } = thread;
    thread.question = undefined;
    question?.settle(reply);
    this.#dispatch();
    const idle = [...this.#threads].filter((each) => each.question === undefined);
    // one is kept for the next question
    for (const { worker } of idle.slice(1)) void worker.terminate();
    for (const each of idle.slice(1)) this.#threads.delete(each);
  }

  #ended(thread: Thread, reply: Reply): void {
    if (!this.#threads.delete(thread)) return;
    const { question } = thread;
    thread.question = undefined;
    question?.settle(reply);
    this.#dispatch();
  }
}

/** With a code: it says nothing about the file, which is still what it was. */
function noThread(sentence: string): Reply {
  return { kind: 'error', code: 'EAGAIN', sentence };
}

/** The threads of this process. */
export const fileThreads = new FileThreads();
