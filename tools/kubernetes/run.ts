/** Programs that a build calls: run to the end, stdout returned, stderr line by line to whoever wants to show progress. */

import { spawn } from 'node:child_process';

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** each line of stderr while it runs */
  readonly onLine?: (line: string) => void;
  /** ends it, and the answer is an error */
  readonly signal?: AbortSignal;
}

const keptLines = 20;

export function run(
  command: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...options.env },
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    let stdout = '';
    let pending = '';
    const last: string[] = [];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      const lines = (pending + text).split('\n');
      pending = lines.pop() ?? '';
      for (const line of lines) {
        options.onLine?.(line);
        last.push(line);
        if (last.length > keptLines) last.shift();
      }
    });
    child.on('error', (cause) => reject(new Error(`cannot run ${command}`, { cause })));
    child.on('close', (status) => {
      if (status === 0) resolve(stdout);
      else reject(new Error(`${command} ${args[0] ?? ''}: exit ${status}: ${last.join('\n')}`));
    });
  });
}
