/** The test's side of the subject: starts it in a namespace, sends it commands, counts what its monitor tells. */

import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { KernelAddress, Link, Outcome } from '../../../src/linux/address-table.ts';
import type { TableUnderTest } from '../../compliance/address-table.ts';
import type { Host } from '../../support/netns.ts';
import type { SubjectCommand, SubjectLine, SubjectStart } from './subject.ts';

const answerWithinMs = 60_000;

export class LinuxSubject implements TableUnderTest {
  readonly #child: ChildProcess;
  readonly #answers: { resolve(value: unknown): void; reject(error: Error): void }[] = [];
  readonly changesTold: string[] = [];
  readonly ended: Promise<void>;
  #complaints = '';

  /** `wrap` goes in front of node, for example to drop capabilities */
  constructor(host: Host, start: SubjectStart = {}, wrap: readonly string[] = []) {
    const node = [
      process.execPath,
      '--conditions=bgp-ts-source',
      join(import.meta.dirname, 'subject.ts'),
      JSON.stringify(start),
    ];
    const [program = '', ...rest] = [...wrap, ...node];
    const [command = '', ...args] = host.argv(program, rest);
    this.#child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    this.ended = new Promise((resolve) => this.#child.once('close', () => resolve()));
    void this.ended.then(() => {
      for (const { reject } of this.#answers.splice(0)) {
        reject(new Error(`the subject has ended: ${this.#complaints}`));
      }
    });
    this.#child.stdin?.on('error', () => undefined);
    this.#child.stderr?.on('data', (chunk: Uint8Array) => {
      this.#complaints += Buffer.from(chunk).toString('utf8');
    });
    if (this.#child.stdout === null) throw new Error('the subject has no stdout');
    createInterface({ input: this.#child.stdout }).on('line', (text) =>
      this.#read(JSON.parse(text)),
    );
  }

  changes(): number {
    return this.changesTold.length;
  }

  list = () => this.ask<readonly KernelAddress[]>({ kind: 'list' });
  links = () => this.ask<readonly Link[]>({ kind: 'links' });
  add = (address: string, name: string) =>
    this.ask<Outcome>({ kind: 'add', address, interface: name });
  remove = (address: string, name: string) =>
    this.ask<Outcome>({ kind: 'remove', address, interface: name });
  subscribe = () => this.ask<void>({ kind: 'subscribe' });
  unsubscribe = () => this.ask<void>({ kind: 'unsubscribe' });

  async vanish(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
  }

  ask<T>(command: SubjectCommand): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`no answer to ${command.kind}: ${this.#complaints}`)),
        answerWithinMs,
      );
      const settle = (run: () => void) => {
        clearTimeout(timer);
        run();
      };
      this.#answers.push({
        // The subject answers what the command promises; both sides are in this folder.
        resolve: (value: T) => settle(() => resolve(value)),
        reject: (error) => settle(() => reject(error)),
      });
      this.#child.stdin?.write(`${JSON.stringify(command)}\n`);
    });
  }

  #read(line: SubjectLine): void {
    if (line.kind === 'change') this.changesTold.push(line.change);
    else if (line.kind === 'answer') this.#answers.shift()?.resolve(line.value);
    else this.#answers.shift()?.reject(new Error(line.error));
  }
}
