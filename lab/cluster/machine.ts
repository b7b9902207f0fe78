/**
 * A machine of the lab's cluster: a network namespace that exists already, with processes, mounts and a host name of its own. Its folders /run, /var/lib
 * and /var/log are its own too, so containerd and kubelet of three nodes use the usual paths and never meet. All processes
 * of a machine are children of its first one, whatever they fork: when that one is killed the kernel ends all of them,
 * containers too, and with the last one the mounts are gone. So a machine can be switched off, and leaves nothing.
 */

import { spawn } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { run } from '../../tools/kubernetes/run.ts';
import {
  enterMachine,
  folderOfFirstProcess,
  isStarterOn,
  LAST_LINE,
  startFirstProcess,
} from './first-process.ts';

export interface MachineOptions {
  readonly name: string;
  readonly netns: string;
  /** its files, logs and disk */
  readonly folder: string;
  /** what the first process is: `pod pause` of pod-program.ts */
  readonly pause: string;
  /** files under /proc/sys that read differently in it */
  readonly sysctls?: Readonly<Record<string, string>>;
}

const START_MS = 10_000;
const RUN_MS = 60_000;
const POLL_MS = 20;
const OWN_FOLDERS: Readonly<Record<string, string>> = {
  '/var/lib': 'disk/lib',
  '/var/log': 'disk/log',
};

export class Machine {
  readonly name: string;
  readonly folder: string;
  /** the first process, as this machine numbers it */
  readonly pid: number;

  constructor(name: string, folder: string, pid: number) {
    this.name = name;
    this.folder = folder;
    this.pid = pid;
  }

  /** The command line that runs something on this machine. */
  argv(command: string, args: readonly string[]): string[] {
    return [...enterMachine(this.pid), command, ...args];
  }

  /** Runs something to its end, stdout returned. */
  async run(command: string, args: readonly string[], timeoutMs = RUN_MS): Promise<string> {
    const [first = '', ...rest] = this.argv(command, args);
    return await run(first, rest, { timeoutMs });
  }

  /** A program that stays, also when this process ends; its output goes to NAME.log. */
  start(name: string, command: string, args: readonly string[]): Daemon {
    return new Daemon(name, this.argv(command, args), join(this.folder, `${name}.log`));
  }

  /** One that is started again when it ends, as a kubelet does it with a static pod; not where it does not even come up. */
  keep(name: string, command: string, args: readonly string[]): Daemon {
    return this.start(name, 'sh', ['-c', START_AGAIN, name, command, ...args]);
  }
}

const START_AGAIN =
  'while :; do begun=$(date +%s); "$@"; [ $(($(date +%s) - begun)) -ge 5 ] || exit 1; done';

/** A program that outlives us. */
export class Daemon {
  readonly name: string;
  readonly logFile: string;
  #ended: string | undefined;

  constructor(name: string, argv: readonly string[], logFile: string) {
    const [command = '', ...args] = argv;
    this.name = name;
    this.logFile = logFile;
    const log = openSync(logFile, 'a');
    const child = spawn(command, args, { detached: true, stdio: ['ignore', log, log] });
    closeSync(log);
    child.once('error', (error) => {
      this.#ended = error.message;
    });
    child.once('exit', (status, signal) => {
      this.#ended = signal ?? `exit ${status}`;
    });
    child.unref();
  }

  /** Throws with the end of its log when it has ended. */
  check(): void {
    if (this.#ended === undefined) return;
    const last = readFileSync(this.logFile, 'utf8').trimEnd().split('\n').slice(-5).join('\n');
    throw new Error(`${this.name} ended (${this.#ended}): ${last}`);
  }
}

export async function startMachine(options: MachineOptions): Promise<Machine> {
  const { name, netns, folder, pause } = options;
  mkdirSync(folder, { recursive: true });
  for (const each of Object.values(OWN_FOLDERS))
    mkdirSync(join(folder, each), { recursive: true, mode: 0o755 });
  const script = machineScript(options);
  for (const [path, value] of Object.entries(options.sysctls ?? {})) {
    const file = sysctlFile(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${value}\n`);
  }
  const argv = startFirstProcess({ netns, script, program: pause, folder });
  const init = new Daemon(`machine ${name}`, argv, join(folder, 'machine.log'));
  const started = performance.now();
  for (;;) {
    init.check();
    const pid = machineProcess(folder, pause);
    if (pid !== undefined) return new Machine(name, folder, pid);
    if (performance.now() - started > START_MS)
      throw new Error(`the machine ${name} does not start; look at ${folder}/machine.log.`);
    await delay(POLL_MS);
  }
}

const sysctlFile = (folder: string, path: string): string => join(folder, 'sysctl', path);

export function machineScript({
  name,
  folder,
  sysctls = {},
}: Pick<MachineOptions, 'name' | 'folder' | 'sysctls'>): string {
  return [
    'set -e',
    `hostname ${name}`,
    'mount -t proc proc /proc',
    ...Object.keys(sysctls).map(
      (path) => `mount --bind ${sysctlFile(folder, path)} /proc/sys/${path}`,
    ),
    'mount -t tmpfs -o mode=755 tmpfs /run',
    'mkdir -p /run/lock /run/netns',
    ...Object.entries(OWN_FOLDERS).map(
      ([path, own]) => `mount --bind ${join(folder, own)} ${path}`,
    ),
    LAST_LINE,
  ].join('\n');
}

/** The first process of the machine with this folder, once it has become what stays. */
function machineProcess(folder: string, pause: string): number | undefined {
  return processes(([program, word, last]) => {
    return program === pause && word === 'pause' && last === folder;
  })[0];
}

/** The first processes of all machines whose folder is accepted, and what starts them: nobody else's, however it is called. */
export function machineProcesses(accept: (folder: string) => boolean): readonly number[] {
  return processes((argv) => accept(folderOfFirstProcess(argv) ?? '')).filter(isOurs);
}

/** What waits outside for the programs that it has started on these machines. */
export function startersOn(machines: readonly number[]): readonly number[] {
  return processes((argv) => machines.some((pid) => isStarterOn(pid, argv))).filter(isOurs);
}

function isOurs(pid: number): boolean {
  return statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid === process.getuid?.();
}

/** Whether it has not ended; a process that nobody has asked for its status yet has no words left. */
export const isAlive = (pid: number): boolean => commandLine(String(pid)).length > 0;

/** All processes of the machine that has this first one, as this machine numbers them. */
export function processesOnMachine(first: number): readonly number[] {
  const numbering = readlinkSync(`/proc/${first}/ns/pid`);
  return processes(() => true).filter((pid) => {
    try {
      return readlinkSync(`/proc/${pid}/ns/pid`) === numbering;
    } catch {
      // it ended while we looked
      return false;
    }
  });
}

function processes(accept: (argv: readonly string[]) => boolean): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && accept(commandLine(name)))
    .map(Number);
}

function commandLine(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
  } catch {
    return [];
  }
}
