/**
 * One lab, deployed and destroyed by containerlab itself. What containerlab keeps about it goes to a folder of ours instead
 * of beside the topology file, and it asks nobody for newer versions.
 */

import {
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../tools/kubernetes/run.ts';
import type { Docker } from '../docker/docker.ts';
import { type Container, containersOf, troubles, withoutLab } from './words.ts';

/**
 * What a run that was killed has left of this lab: names of namespaces whose containers are gone, and files. A lab that is alive is somebody
 * else's, and is not touched.
 */
export function removeLeftOvers(name: string): void {
  const links = globSync(`/run/netns/clab-${name}-*`);
  const alive = links.filter(isAlive);
  if (alive.length > 0)
    throw new Error(
      `a lab ${name} is deployed already (${alive.join(', ')}); run \`containerlab destroy\` first.`,
    );
  for (const path of links) rmSync(path);
  if (links.length > 0) {
    rmSync(`/etc/ssh/ssh_config.d/clab-${name}.conf`, { force: true });
    writeFileSync('/etc/hosts', withoutLab(readFileSync('/etc/hosts', 'utf8'), name));
  }
  for (const folder of globSync(join(tmpdir(), `${folderPrefix}*`))) {
    const [pid] = folder.slice(join(tmpdir(), folderPrefix).length).split('-');
    if (!existsSync(`/proc/${pid}`)) rmSync(folder, { recursive: true, force: true });
  }
}

/** It leads to a process; a number that was given to another process by now leads to the namespace that we are in. */
function isAlive(link: string): boolean {
  const process = readlinkSync(link);
  return existsSync(process) && readlinkSync(process) !== readlinkSync('/proc/self/ns/net');
}

/** Then the process that it belongs to. */
const folderPrefix = 'herald-clab-';

/** What containerlab changes on the machine for good. */
const settingsItChanges = [
  '/proc/sys/net/ipv4/conf/all/rp_filter',
  '/proc/sys/net/ipv4/conf/default/rp_filter',
];
const lockFile = '/run/lock/clab-hosts.lock';

export interface LabOptions {
  /** containerlab, see program.ts */
  readonly program: string;
  readonly docker: Docker;
  readonly topology: string;
  /** `name:` of the topology; containers are clab-<name>-<node> */
  readonly name: string;
}

const containerlabMs = 300_000;
const execMs = 120_000;

export class ContainerlabLab {
  readonly #options: LabOptions;
  readonly #folder = mkdtempSync(join(tmpdir(), `${folderPrefix}${process.pid}-`));
  readonly #settings = settingsItChanges.map((path) => ({ path, was: readFileSync(path, 'utf8') }));
  readonly #hadLockFile = existsSync(lockFile);
  /** Ctrl-C reaches a containerlab that deploys as well; what it has begun by then is known when it has ended. */
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: LabOptions) {
    this.#options = options;
  }

  /** A command of the file that fails makes no difference to containerlab's status; here it does. */
  async deploy(): Promise<void> {
    const said = await this.#containerlab('deploy');
    const wrong = troubles(said);
    if (wrong.length > 0) throw new Error(`containerlab deployed with errors: ${wrong.join('; ')}`);
  }

  /** Also what was deployed by half; then what containerlab never takes back by itself. */
  async destroy(): Promise<void> {
    await this.#running.catch(() => undefined);
    await this.#containerlab('destroy', '--cleanup');
    rmSync(this.#folder, { recursive: true, force: true });
    for (const { path, was } of this.#settings) writeFileSync(path, was);
    if (!this.#hadLockFile) rmSync(lockFile, { force: true });
  }

  /** Runs a program in a node and returns what it prints. */
  exec(node: string, command: readonly string[]): Promise<string> {
    const words = ['exec', this.#nameOf(node), ...command];
    return this.#options.docker.run(words, { timeoutMs: execMs });
  }

  /** What Docker says about every container of the lab. */
  async containers(): Promise<readonly Container[]> {
    const { docker, name } = this.#options;
    const filter = `label=containerlab=${name}`;
    const ids = await docker.run(['ps', '--all', '--quiet', '--no-trunc', '--filter', filter]);
    const words = ids.split('\n').filter((id) => id !== '');
    return words.length === 0 ? [] : containersOf(await docker.run(['inspect', ...words]));
  }

  #nameOf(node: string): string {
    return `clab-${this.#options.name}-${node}`;
  }

  async #containerlab(...words: readonly string[]): Promise<string> {
    const { program, docker, topology } = this.#options;
    const said: string[] = [];
    this.#running = run(program, [...words, '--topo', topology], {
      env: {
        ...docker.env,
        CLAB_LABDIR_BASE: this.#folder,
        CLAB_VERSION_CHECK: 'disable',
        NO_COLOR: '1',
      },
      onLine: (line) => said.push(line),
      timeoutMs: containerlabMs,
    });
    await this.#running;
    return said.join('\n');
  }
}
