/** Programs that a build calls: run to the end, stdout returned, stderr line by line to whoever wants to show progress. */

import { spawn } from 'node:child_process';

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** each line of stderr while it runs */
  readonly onLine?: (line: string) => void;
  /** ends it, and the answer is an error */
  readonly signal?: AbortSignal;
  /** it is killed then, and the answer is an error; without it, it may take for ever */
  readonly timeoutMs?: number;
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
    const timer =
      options.timeoutMs === undefined ? undefined : setTimeout(giveUp, options.timeoutMs);
    function giveUp(): void {
      child.kill('SIGKILL');
      // what it has started may live on with its ends of these
      child.stdout.destroy();
      child.stderr.destroy();
      const seconds = (options.timeoutMs ?? 0) / 1000;
      const said = last.length === 0 ? '' : ` It said: ${last.join('\n')}`;
      reject(
        new Error(`${command} ${args.join(' ')}: not done after ${seconds} s, and killed.${said}`),
      );
    }
    child.on('error', (cause) => {
      clearTimeout(timer);
      reject(new Error(`cannot run ${command}`, { cause }));
    });
    child.on('close', (status) => {
      clearTimeout(timer);
      if (status === 0) resolve(stdout);
      else reject(new Error(`${command} ${args[0] ?? ''}: exit ${status}: ${last.join('\n')}`));
    });
  });
}
