/**
 * Network namespaces for tests: a `Lab` of hosts joined by veth pairs, each host one namespace.
 *
 * Names carry the process that owns them (`hd-<pid>.<start time>-<lab>-<host>`): a run that was killed leaves
 * namespaces whose owner no longer exists, the next run removes exactly those, and two runs side by side do not
 * touch each other. The start time makes a recycled pid a different owner.
 *
 * Every namespace is set up the same way, because a new one inherits from the host: no IPv6 duplicate address
 * detection (an address would be unusable for a second), no reverse-path filter, forwarding only where it is
 * asked for, multipath by flow, and no checksum offload on veth (tshark would call every packet broken).
 * HERALD_KEEP_LAB=1 leaves namespaces, processes and files for a look; the next run removes them.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { statFields } from '../../tools/proc-stat.ts';
import { done, notYet, until } from './poll.ts';
import { type Output, Running, type RunOptions, run, type SpawnOptions } from './process.ts';

const namespaceFolder = '/run/netns';
const ownedName = /^hd-(\d+)\.(\d+)-/;

export type HostOptions = {
  /** Whether the host forwards packets; said on purpose, since a namespace inherits 1. */
  readonly forward: boolean;
};

export type LinkOptions = {
  /** Addresses with length for the first and second host, IPv4 and IPv6. */
  readonly a: readonly string[];
  readonly b: readonly string[];
  /** Keep checksum and segmentation offload, for measurements where nobody captures. */
  readonly offload?: boolean;
  readonly mtu?: number;
};

export type Link = { readonly a: Interface; readonly b: Interface };
export type Interface = { readonly name: string; readonly linkLocal: string };

/** The start time of a process in clock ticks since boot, or undefined when there is no such process. */
function startTicks(pid: number): string | undefined {
  try {
    return statFields(`/proc/${pid}/stat`).at(19);
  } catch {
    return undefined;
  }
}

const ownPrefix = `hd-${process.pid}.${startTicks(process.pid)}-`;

function isLeftOver(name: string): boolean {
  const match = ownedName.exec(name);
  return match !== null && startTicks(Number(match[1])) !== match[2];
}

function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Kills what runs inside a namespace, then removes it. Synchronous: it also runs when the process ends. */
function removeNamespace(name: string): void {
  const pids = spawnSync('ip', ['netns', 'pids', name], { encoding: 'utf8' }).stdout ?? '';
  for (const pid of pids.split('\n').filter((line) => /^\d+$/.test(line.trim()))) {
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch {
      // It ended between being listed and being killed.
    }
  }
  spawnSync('ip', ['netns', 'delete', name], { stdio: 'ignore' });
}

/** Removes namespaces and folders of runs whose process is gone. Two runs may sweep at the same time. */
export function removeLeftOvers(): string[] {
  const namespaces = listFolder(namespaceFolder).filter(isLeftOver);
  for (const name of namespaces) removeNamespace(name);
  const folders = listFolder(tmpdir()).filter(isLeftOver);
  for (const name of folders) rmSync(join(tmpdir(), name), { recursive: true, force: true });
  return [...namespaces, ...folders];
}

/** Adds an IPv6 flag that iproute2 refuses on IPv4 addresses. */
const addressLine = (address: string, device: string) =>
  `address add ${address} dev ${device}${address.includes(':') ? ' nodad' : ''}`;

/** One namespace: a machine of the test network. */
export class Host {
  readonly name: string;
  readonly namespace: string;
  readonly folder: string;
  readonly #running = new Set<Running>();
  #interfaces = 0;

  constructor(name: string, namespace: string, folder: string) {
    this.name = name;
    this.namespace = namespace;
    this.folder = folder;
  }

  nextInterface(): string {
    const name = `eth${this.#interfaces}`;
    this.#interfaces += 1;
    return name;
  }

  /** The command line that runs something in this namespace; `ip netns exec` execs, so the pid is the program's. */
  argv(command: string, args: readonly string[]): string[] {
    return ['ip', 'netns', 'exec', this.namespace, command, ...args];
  }

  exec(command: string, args: readonly string[], options: RunOptions = {}): Promise<Output> {
    return run('ip', ['netns', 'exec', this.namespace, command, ...args], options);
  }

  /** A child that stays until the lab ends; its output goes to `<name>.log` in the host's folder. */
  spawn(
    name: string,
    command: string,
    args: readonly string[],
    options: SpawnOptions = {},
  ): Running {
    const child = new Running(this.argv(command, args), join(this.folder, `${name}.log`), options);
    this.#running.add(child);
    return child;
  }

  /** Lines of `ip -batch`, for example `route add 192.0.2.0/24 via 10.0.0.1`. */
  async ip(...lines: readonly string[]): Promise<void> {
    const input = `${lines.join('\n')}\n`;
    await run('ip', ['-netns', this.namespace, '-batch', '-'], { input });
  }

  /** Loads an nft script, for example to drop packets. */
  async nft(script: string): Promise<void> {
    await this.exec('nft', ['-f', '-'], { input: script });
  }

  async address(...addresses: readonly string[]): Promise<void> {
    await this.ip(...addresses.map((address) => addressLine(address, 'lo')));
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.#running].map((child) => child.kill()));
    this.#running.clear();
  }

  /** Lets the test process end while the children go on, for a kept lab. */
  release(): void {
    for (const child of this.#running) child.release();
  }

  /** For the end of the process, where nothing can be awaited. */
  killNow(): void {
    for (const child of this.#running) child.signal('SIGKILL');
  }
}

/** The namespaces of one test and their files. */
export class Lab {
  readonly #hosts = new Map<string, Host>();
  readonly #prefix: string;
  readonly folder: string;

  constructor(prefix: string, folder: string) {
    this.#prefix = prefix;
    this.folder = folder;
  }

  async host(name: string, options: HostOptions): Promise<Host> {
    if (this.#hosts.has(name)) throw new Error(`host ${name} exists already`);
    const namespace = `${this.#prefix}${name}`;
    const folder = join(this.folder, name);
    mkdirSync(folder);
    await run('ip', ['netns', 'add', namespace]);
    const host = new Host(name, namespace, folder);
    this.#hosts.set(name, host);
    await host.exec('sysctl', ['-q', '-w', ...hostSettings(options)]);
    await host.ip('link set lo up');
    return host;
  }

  /** Joins two hosts; interfaces are named eth0, eth1, … on each in the order of linking. */
  async link(a: Host, b: Host, options: LinkOptions): Promise<Link> {
    const [nameA, nameB] = [a.nextInterface(), b.nextInterface()];
    const between = ['type', 'veth', 'peer', 'name', nameB, 'netns', b.namespace];
    await run('ip', ['link', 'add', 'name', nameA, 'netns', a.namespace, ...between]);
    await Promise.all([raise(a, nameA, options.a, options), raise(b, nameB, options.b, options)]);
    const [linkLocalA, linkLocalB] = await Promise.all([linkLocal(a, nameA), linkLocal(b, nameB)]);
    return {
      a: { name: nameA, linkLocal: linkLocalA },
      b: { name: nameB, linkLocal: linkLocalB },
    };
  }

  /** Ends all processes, removes namespaces and files; nothing happens under HERALD_KEEP_LAB. */
  async destroy(): Promise<void> {
    if (isKept()) {
      for (const host of this.#hosts.values()) host.release();
      process.stderr.write(
        `kept: ${[...this.#hosts.values()].map((host) => host.namespace).join(' ')} ${this.folder}\n`,
      );
      return;
    }
    await Promise.all([...this.#hosts.values()].map((host) => host.stopAll()));
    this.destroyNow();
  }

  /** The same without waiting, for the end of the process. */
  destroyNow(): void {
    for (const host of this.#hosts.values()) {
      host.killNow();
      removeNamespace(host.namespace);
    }
    this.#hosts.clear();
    rmSync(this.folder, { recursive: true, force: true });
    labs.delete(this);
  }
}

const labs = new Set<Lab>();
let labCount = 0;

export function isKept(): boolean {
  const { HERALD_KEEP_LAB: keep = '' } = process.env;
  return keep !== '';
}

/** A new, empty lab; left-overs of dead runs are removed before the first one of a process. */
export function createLab(label = 'lab'): Lab {
  if (labCount === 0) {
    removeLeftOvers();
    const destroyAll = () => {
      if (!isKept()) for (const lab of labs) lab.destroyNow();
    };
    process.once('exit', destroyAll);
    for (const signal of ['SIGTERM', 'SIGHUP'] as const) {
      process.once(signal, () => {
        destroyAll();
        process.kill(process.pid, signal);
      });
    }
  }
  labCount += 1;
  const prefix = `${ownPrefix}${labCount}${label}-`;
  const lab = new Lab(prefix, mkdtempSync(join(tmpdir(), prefix)));
  // Routers drop privileges and must still reach their folder.
  execFileSync('chmod', ['755', lab.folder]);
  labs.add(lab);
  return lab;
}

function hostSettings(options: HostOptions): string[] {
  const forward = options.forward ? 1 : 0;
  return [
    'net.ipv6.conf.all.accept_dad=0',
    'net.ipv6.conf.default.accept_dad=0',
    'net.ipv6.conf.all.disable_ipv6=0',
    'net.ipv6.conf.default.disable_ipv6=0',
    `net.ipv6.conf.all.forwarding=${forward}`,
    `net.ipv6.conf.default.forwarding=${forward}`,
    'net.ipv4.conf.all.rp_filter=0',
    'net.ipv4.conf.default.rp_filter=0',
    `net.ipv4.ip_forward=${forward}`,
    'net.ipv4.fib_multipath_hash_policy=1',
    'net.ipv6.fib_multipath_hash_policy=1',
  ];
}

async function raise(
  host: Host,
  device: string,
  addresses: readonly string[],
  options: LinkOptions,
): Promise<void> {
  const mtu = options.mtu === undefined ? '' : ` mtu ${options.mtu}`;
  await host.ip(
    ...addresses.map((address) => addressLine(address, device)),
    `link set ${device}${mtu} up`,
  );
  if (options.offload !== true) await host.exec('ethtool', ['-K', device, 'tx', 'off']);
}

/** The kernel makes the link-local address when it has noticed, in a thread of its own, that both ends are up; without DAD it is usable at once. */
async function linkLocal(host: Host, device: string): Promise<string> {
  const show = ['-netns', host.namespace, '-6', '-o', 'address', 'show', 'dev', device];
  return until(
    `${host.name} ${device} has a link-local address`,
    async () => {
      const { stdout } = await run('ip', [...show, 'scope', 'link']);
      const address = /inet6 (fe80[^/]*)\//.exec(stdout)?.[1];
      return address === undefined ? notYet(stdout) : done(address);
    },
    { everyMs: 10 },
  );
}
