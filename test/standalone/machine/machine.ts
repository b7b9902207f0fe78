/**
 * A machine that boots by the real systemd, in the network namespace of a host of the test's network. It has its own disk above a shared Debian,
 * its own processes, mounts, control groups and host name, and this kernel.
 */

import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Host } from '../../support/netns.ts';
import { done, notYet, until, untilValue } from '../../support/poll.ts';
import { type Output, type Running, type RunOptions, run } from '../../support/process.ts';

const BOOT_MS = 180_000;

export class Machine {
  readonly host: Host;
  readonly name: string;
  readonly #folder: string;
  #boot: Running | undefined;

  constructor(host: Host, name: string) {
    this.host = host;
    this.name = name;
    this.#folder = join(host.folder, 'machine');
  }

  /** A file of its disk, before it boots. */
  async put(path: string, content: string, mode = 0o644): Promise<void> {
    const file = join(this.#folder, 'upper', path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content, { mode });
  }

  /** Process 1 begins; it is not waited for. */
  boot(base: string): void {
    const script = join(import.meta.dirname, 'boot.sh');
    const args = [script, base, this.#folder, this.host.namespace];
    this.#boot = this.host.spawn('boot', 'bash', args);
  }

  /** Boots and waits until systemd has started all that it was to start, without a failure. */
  async running(): Promise<void> {
    const state = async () => {
      const { stdout } = await this.exec('systemctl', ['is-system-running'], { anyStatus: true });
      return stdout.trim();
    };
    const within = { timeoutMs: BOOT_MS, everyMs: 200 };
    await untilValue(`${this.name} is running`, state, (word) => word === 'running', within);
  }

  /** A program on the machine, as root's shell there would start it. */
  async exec(command: string, args: readonly string[], options: RunOptions = {}): Promise<Output> {
    const pid = await this.#firstProcess();
    const all = ['--mount', '--pid', '--net', '--uts', '--ipc', '--cgroup', '--'];
    return run('nsenter', ['-t', String(pid), ...all, command, ...args], options);
  }

  /** Where a file of the running machine is for us. */
  async file(path: string): Promise<string> {
    return join('/proc', String(await this.#firstProcess()), 'root', path);
  }

  async read(path: string): Promise<string> {
    return readFileSync(await this.file(path), 'utf8');
  }

  /** What the machine says of itself, for a test that fails. */
  async log(...units: readonly string[]): Promise<string> {
    const chosen = units.flatMap((unit) => ['-u', unit]);
    const args = ['--no-pager', '-n', '60', ...chosen];
    const { stdout } = await this.exec('journalctl', args, { anyStatus: true }).catch((error) => ({
      stdout: `${error}\n${this.#boot?.log() ?? 'never booted'}`,
    }));
    return `--- ${this.name}\n${stdout}`;
  }

  /** Power off in one moment. Its control groups go too: they are this host's. */
  async destroy(): Promise<void> {
    if (this.#boot === undefined) return;
    await this.#boot.kill();
    this.#boot = undefined;
    const groups = join(this.#folder, 'groups');
    const script = `mount -t cgroup2 cgroup2 "$0" && cd "$0" && [ ! -d "$1" ] || find "$1" -depth -type d -exec rmdir {} +`;
    const remove = ['--mount', '--propagation', 'private', 'sh', '-c', script];
    await until(`the control groups of ${this.name} are gone`, async () => {
      const args = [...remove, groups, this.host.namespace];
      const { status, stderr } = await run('unshare', args, { anyStatus: true });
      return status === 0 ? done(true) : notYet(stderr);
    });
  }

  /** unshare stays outside as the parent of process 1, which is systemd as soon as it is in its own root. */
  #firstProcess(): Promise<number> {
    const boot = this.#boot;
    if (boot === undefined) throw new Error(`${this.name} was not booted`);
    return until(`process 1 of ${this.name}`, () => {
      if (!boot.isRunning) throw new Error(`${this.name} does not boot: ${boot.log()}`);
      const children = readFileSync(`/proc/${boot.pid}/task/${boot.pid}/children`, 'utf8');
      const pid = Number(children.trim().split(' ')[0]);
      if (!(pid > 0)) return notYet('not forked');
      const program = readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
      return program === 'systemd' ? done(pid) : notYet(program);
    });
  }
}
