/** Starts `herald demo` for the tests: with a directory of its own, so that what it leaves behind can be looked for. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { untilValue } from '../support/poll.ts';

export const root = join(import.meta.dirname, '../..');
export const sources = join(root, 'src/cli/herald');
const bundle = join(root, 'dist/herald');
/** what `make build` made, if it did; then the page inside the bundle is under test too */
export const program = existsSync(bundle) ? bundle : sources;

const NOBODY = '65534';
const DROP = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--'] as const;

/** in front of a command line: without root, also where the tests have it */
export function unprivileged(): readonly string[] {
  if (process.getuid?.() !== 0) return [];
  const [command = '', ...args] = DROP;
  const tried = spawnSync(command, [...args, program, 'demo', '--help'], { stdio: 'ignore' });
  if (tried.status === 0) return DROP;
  process.stderr.write(`the demo runs as root here: user ${NOBODY} may not read ${program}\n`);
  return [];
}

export class DemoRun {
  readonly directory = mkdtempSync(join(tmpdir(), 'hd-'));
  readonly process: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #onText: (text: string) => void;
  output = '';

  constructor(argv: readonly string[], onText: (text: string) => void = () => undefined) {
    chmodSync(this.directory, 0o777);
    this.#onText = onText;
    const [command = '', ...args] = argv;
    this.process = spawn(command, args, {
      env: { ...process.env, TMPDIR: this.directory, TERM: 'xterm-256color' },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#ended = once(this.process, 'close');
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output += text;
        this.#onText(text);
      });
    }
  }

  /** exit status */
  async ended(): Promise<number | null> {
    await this.#ended;
    return this.process.exitCode;
  }

  async says(pattern: RegExp, timeoutMs: number): Promise<string> {
    const text = await untilValue(
      `the demo says ${pattern}`,
      () => this.output,
      (output) => pattern.test(output),
      { timeoutMs },
    );
    return pattern.exec(text)?.[1] ?? '';
  }

  /** Processes and files of it that are still there; both must be gone soon after its end. */
  async leavesNothing(): Promise<void> {
    await untilValue(
      'the demo leaves nothing behind',
      () => ({ processes: this.#processes(), files: readdirSync(this.directory) }),
      ({ processes, files }) => processes.length === 0 && files.length === 0,
    );
  }

  /** for afterEach: whatever the test came to */
  async clear(): Promise<void> {
    this.process.kill('SIGKILL');
    for (const pid of this.#processes()) killIfThere(Number(pid));
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }

  /** everything that was started with this run's TMPDIR */
  #processes(): readonly string[] {
    return readdirSync('/proc').filter((pid) => {
      if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return false;
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`TMPDIR=${this.directory}\0`);
      } catch {
        return false; // it has just ended, or is another user's
      }
    });
  }
}

/** Its own guard may have ended it between being listed and being killed. */
function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
