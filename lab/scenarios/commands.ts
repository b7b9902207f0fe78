/** Programs that end by themselves: run, and what they said; one that fails is an error with its last words. */

import { spawn } from 'node:child_process';

export interface CommandOptions {
  readonly input?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly timeoutMs?: number;
  /** a failure is an answer too */
  readonly anyStatus?: boolean;
}

const LAST_WORDS = 2000;

export function run(
  program: string,
  args: readonly string[],
  { input = '', env = process.env, timeoutMs = 120_000, anyStatus = false }: CommandOptions = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env, timeout: timeoutMs });
    let output = '';
    let words = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      words += chunk;
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (code === 0 || (anyStatus && signal === null)) resolve(output);
      else {
        const end = signal === null ? `exit status ${code}` : signal;
        const said = `${words}${words === '' ? output : ''}`.slice(-LAST_WORDS).trim();
        reject(new Error(`${program} ${args.join(' ')}: ${end}: ${said}`));
      }
    });
    // who ends before it has read everything is not our concern: its exit status tells
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });
}
