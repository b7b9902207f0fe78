/**
 * The test's side of the subject: starts it in a namespace, sends it commands, keeps its events. Freezing and killing are
 * signals to the process, since a frozen speaker is one of the things to be tested.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { SpeakerStop } from 'bgp-ts';
import type { Host } from '../support/netns.ts';
import { done, notYet, type PollOptions, until } from '../support/poll.ts';
import type {
  SubjectCommand,
  SubjectEvent,
  SubjectLine,
  SubjectPeer,
  SubjectStart,
  SubjectStatus,
} from './subject-protocol.ts';

/** Much of it is the start of the process, and ten may start on two processors. */
const answerWithinMs = 120_000;
/** How many of the last events a failure shows. */
const eventsShown = 8;

export class Subject {
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  readonly #answers: ((line: SubjectLine) => void)[] = [];
  /** Everything the speaker has said, oldest first. */
  readonly events: SubjectEvent[] = [];
  #complaints = '';

  /** Spawns the process; `start` brings it to life. */
  constructor(host: Host) {
    const program = join(import.meta.dirname, 'subject.ts');
    const [command = '', ...args] = host.argv(process.execPath, [
      '--conditions=bgp-ts-source',
      program,
    ]);
    const log = join(host.folder, 'subject.log');
    this.#child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    // Not `exit`: the last answer may still be on its way then.
    this.#ended = new Promise((resolve) => this.#child.once('close', () => resolve()));
    this.#child.stdin?.on('error', () => undefined);
    this.#child.stderr?.on('data', (chunk: Uint8Array) => {
      this.#complaints += Buffer.from(chunk).toString('utf8');
    });
    if (this.#child.stdout === null) throw new Error('the subject has no stdout');
    createInterface({ input: this.#child.stdout }).on('line', (text) => {
      appendFileSync(log, `${text}\n`);
      this.#read(JSON.parse(text));
    });
  }

  async start(options: SubjectStart = {}): Promise<void> {
    await this.#ask({ kind: 'start', ...options });
  }

  /** The whole of what is wanted: neighbours that are not listed are removed. */
  async apply(...peers: readonly SubjectPeer[]): Promise<void> {
    await this.#ask({ kind: 'apply', peers });
  }

  status(): Promise<readonly SubjectStatus[]> {
    return this.#ask({ kind: 'status' });
  }

  /** Resolves when the speaker has stopped and its process has ended. */
  async stop(how: SpeakerStop): Promise<void> {
    await this.#ask({ kind: 'stop', how });
    await this.#ended;
  }

  /** Waits for an event that is not older than `since` (an index into `events`; 0 unless said). */
  async event(
    describe: string,
    accept: (event: SubjectEvent) => boolean,
    options: PollOptions & { readonly since?: number } = {},
  ): Promise<SubjectEvent> {
    return await until(
      `our side says: ${describe}`,
      () => {
        const events = this.events.slice(options.since ?? 0);
        const found = events.find(accept);
        return found === undefined ? notYet(events.slice(-eventsShown)) : done(found);
      },
      options,
    );
  }

  freeze(): void {
    this.#child.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child.kill('SIGCONT');
  }

  /** Resolves when it will say nothing more, also where it has ended by itself: its last words may still be on their way. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }

  async #ask(command: SubjectCommand): Promise<readonly SubjectStatus[]> {
    const line = await new Promise<SubjectLine>((resolve) => {
      const failed = (error: string) => resolve({ kind: 'failed', error });
      const timer = setTimeout(
        () => failed(`no answer to ${command.kind} within ${answerWithinMs} ms`),
        answerWithinMs,
      );
      const answer = (given: SubjectLine) => {
        clearTimeout(timer);
        resolve(given);
      };
      this.#answers.push(answer);
      this.#child.stdin?.write(`${JSON.stringify(command)}\n`);
      void this.#ended.then(() => failed('the subject ended'));
    });
    if (line.kind === 'answer') return line.status;
    const why = line.kind === 'failed' ? line.error : 'an event instead of an answer';
    throw new Error(`the subject failed at ${command.kind}: ${why} ${this.#complaints}`);
  }

  #read(line: SubjectLine): void {
    if (line.kind === 'event') this.events.push(line.event);
    else this.#answers.shift()?.(line);
  }
}
