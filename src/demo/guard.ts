/**
 * Takes care that nothing of the demo outlives it. A shell waits at the end of a pipe for the demo to go, in whatever way: at the
 * normal end, in a crash, by SIGKILL. Then it kills what is on its list and removes the demo's directory. There is no second way of
 * cleaning up that would be tried out less.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

/** `+ PID` and `- PID` lines; frozen processes die by SIGKILL too. The list is of process groups. */
const SCRIPT = `
trap '' INT TERM HUP QUIT
list=' '
while read -r sign pid; do
  case $sign in
    +) list="$list$pid " ;;
    -) case $list in *" $pid "*) list="\${list%% $pid *} \${list#* $pid }" ;; esac ;;
  esac
done
for pid in $list; do kill -s KILL -- "-$pid" 2>/dev/null; done
# one that is just dying may still have made a file
tries=0
while [ -e "$1" ] && [ $tries -lt 50 ]; do
  rm -rf -- "$1" 2>/dev/null || sleep 0.1
  tries=$((tries + 1))
done
`;

export class Guard {
  readonly #shell: ChildProcess;

  /** `directory` is removed at the end */
  constructor(directory: string) {
    // a session of its own: Ctrl-C on the terminal is for the demo
    this.#shell = spawn('/bin/sh', ['-c', SCRIPT, 'herald-demo-guard', directory], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      cwd: '/',
    });
    this.#shell.stdin?.on('error', () => undefined);
  }

  watch(pid: number): void {
    this.#shell.stdin?.write(`+ ${pid}\n`);
  }

  /** It has ended, and its number may become another's. */
  forget(pid: number): void {
    this.#shell.stdin?.write(`- ${pid}\n`);
  }

  /** Everything ends; resolves when it has. */
  async release(): Promise<void> {
    if (this.#shell.exitCode !== null || this.#shell.signalCode !== null) return;
    const gone = once(this.#shell, 'exit');
    this.#shell.stdin?.end();
    await gone;
  }
}
