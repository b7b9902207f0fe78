/**
 * BIRD's control socket, spoken directly and kept open: what `birdc` does, without starting a program per question.
 *
 * The protocol is lines: four digits, then `-` (more lines of this reply follow) or a space (its last line); a line
 * that starts with a space continues the code before it. Codes below 1000 and from 8000 end a reply on their
 * space form; 0001 is the greeting.
 */

import { connect, type Socket } from 'node:net';
import { StringDecoder } from 'node:string_decoder';

const questionTimeoutMs = 30_000;
const lastLine = /^\d{4} /;

export class BirdControl {
  readonly #socket: Socket;
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';
  #lines: string[] = [];
  #waiting: ((lines: string[]) => void) | undefined;
  #failed: ((error: Error) => void) | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#take(this.#decoder.write(chunk)));
    socket.on('error', (error) => this.#failed?.(error));
    socket.on('close', () => this.#failed?.(new Error('BIRD closed its control socket')));
  }

  static async open(path: string): Promise<BirdControl> {
    const socket = connect(path);
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    const control = new BirdControl(socket);
    await control.#reply();
    return control;
  }

  /** One command, all lines of its answer. One at a time: BIRD answers in order and so do we. */
  async ask(command: string): Promise<string[]> {
    if (this.#socket.destroyed) throw new Error('the control socket is closed');
    this.#socket.write(`${command}\n`);
    return await this.#reply();
  }

  close(): void {
    this.#socket.destroy();
    this.#failed?.(new Error('the control socket is closed'));
  }

  #take(text: string): void {
    const parts = (this.#rest + text).split('\n');
    this.#rest = parts.pop() ?? '';
    for (const line of parts) {
      this.#lines.push(line);
      if (!lastLine.test(line) || !isEnd(Number(line.slice(0, 4)))) continue;
      const lines = this.#lines;
      this.#lines = [];
      this.#waiting?.(lines);
    }
  }

  #reply(): Promise<string[]> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => finish(new Error('BIRD did not answer')), questionTimeoutMs);
      const finish = (answer: string[] | Error): void => {
        clearTimeout(timer);
        this.#waiting = undefined;
        this.#failed = undefined;
        if (answer instanceof Error) reject(answer);
        else resolve(answer);
      };
      this.#waiting = finish;
      this.#failed = finish;
    });
  }
}

const isEnd = (code: number): boolean => code < 1000 || code >= 8000;
