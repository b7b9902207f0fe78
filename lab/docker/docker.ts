/**
 * A Docker for the lab. Where a daemon answers already, that one is used. Else one of our own is started: Debian's dockerd with its own folders and
 * socket, no bridge and no firewall rules, in a mount namespace of its own, so that nothing of it can be seen or be left behind. It ends with us, however
 * we end (keep-docker.sh). It needs root, no network and no registry.
 *
 *   await withDocker({}, async (docker) => {
 *     await docker.run(['build', '--tag', 'mine:local', folder]);
 *     await docker.run(['run', '--rm', '--network', 'none', 'mine:local']);
 *   });
 *
 * Containers of our own daemon have `--network none`, `--network host`, or a network that was made by `docker network create`. Other programs
 * reach it by `docker.env`.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Running } from '../../test/support/process.ts';
import { type RunOptions, run } from '../../tools/kubernetes/run.ts';
import { dockerdArgs, type StorageDriver, whyItFailed } from './dockerd.ts';

const startMs = 60_000;
/** containers are removed, then the daemon ends; more than all bounds of keep-docker.sh together means that something hangs */
const stopMs = 120_000;
/** The longest thing that it does is to copy an image of 200 MB, with vfs once for each layer, on a busy machine. */
const commandMs = 600_000;
const pollMs = 100;

export interface DockerOptions {
  /** never the daemon that runs already; for tests of our own, and for what must not be seen by others */
  readonly own?: boolean;
  readonly say?: (sentence: string) => void;
}

export interface Docker {
  /** started by us, gone when we stop */
  readonly isOwn: boolean;
  /** what a program needs in its environment to reach it; empty for the daemon that runs already */
  readonly env: Readonly<Record<string, string>>;
  /** the docker client, its stdout returned; a status other than 0 throws what it said; ten minutes at most, unless said otherwise */
  run(args: readonly string[], options?: RunOptions): Promise<string>;
  stop(): Promise<void>;
}

/** Why there can be no Docker here, one sentence for each reason; an empty list means that there can. */
export function whyNoDocker({ own = false }: DockerOptions = {}): readonly string[] {
  if (!isInstalled('docker'))
    return ['docker: not installed (Debian: docker.io); run `make setup`.'];
  if (!own && answers()) return [];
  const missing = ['dockerd', 'containerd', 'runc']
    .filter((program) => !isInstalled(program))
    .map(
      (program) =>
        `${program}: not installed (Debian: docker.io), and no Docker daemon is running.`,
    );
  if (process.getuid?.() !== 0)
    missing.push('root: no Docker daemon can be reached, and only root can start one.');
  return missing;
}

/** The daemon that runs already, or one of our own; whoever calls it calls `stop()`. */
export async function startDocker(options: DockerOptions = {}): Promise<Docker> {
  const missing = whyNoDocker(options);
  if (missing.length > 0) throw new Error(`there is no Docker: ${missing.join(' ')}`);
  if (options.own !== true && answers()) return client({}, undefined);
  const say = options.say ?? (() => undefined);
  say(
    options.own === true
      ? 'starting a Docker of our own'
      : 'no Docker daemon is running; starting one of our own',
  );
  try {
    return await startOwn('overlay2');
  } catch (cause) {
    say(`overlay2 does not work here, now with vfs: ${String(cause)}`);
    return await startOwn('vfs');
  }
}

/** Does some work with a Docker; what was started is gone afterwards, also after Ctrl-C. */
export async function withDocker<T>(
  options: DockerOptions,
  work: (docker: Docker) => Promise<T>,
): Promise<T> {
  const docker = await startDocker(options);
  const onSignal = (signal: NodeJS.Signals) => {
    void docker.stop().finally(() => process.exit(signal === 'SIGINT' ? 130 : 143));
  };
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
  try {
    return await work(docker);
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
    await docker.stop();
  }
}

function client(env: Readonly<Record<string, string>>, keeper: Keeper | undefined): Docker {
  return {
    isOwn: keeper !== undefined,
    env,
    run: (args, options = {}) =>
      run('docker', args, { timeoutMs: commandMs, ...options, env: { ...env, ...options.env } }),
    stop: async () => keeper?.stop(),
  };
}

async function startOwn(storage: StorageDriver): Promise<Docker> {
  const folder = mkdtempSync(join(tmpdir(), 'herald-docker-'));
  const keeper = new Keeper(folder, storage);
  const env = {
    DOCKER_HOST: `unix://${folder}/docker.sock`,
    // nothing is read from or written to the user's own folder
    DOCKER_CONFIG: join(folder, 'client'),
    DOCKER_CONTEXT: '',
    // Debian has no buildx, and without it newer clients refuse to build
    DOCKER_BUILDKIT: '0',
  };
  await keeper.waitUntilItAnswers(env);
  return client(env, keeper);
}

/** The process of keep-docker.sh. */
class Keeper {
  readonly #folder: string;
  readonly #process: Running;

  constructor(folder: string, storage: StorageDriver) {
    this.#folder = folder;
    const script = join(import.meta.dirname, 'keep-docker.sh');
    this.#process = new Running(
      [
        ...['setpriv', '--pdeathsig', 'TERM', 'unshare', '--mount', '--propagation', 'slave'],
        ...['sh', script, folder, basename(folder), 'dockerd'],
        ...dockerdArgs(folder, basename(folder), storage),
      ],
      join(folder, 'log'),
    );
  }

  async waitUntilItAnswers(env: Readonly<Record<string, string>>): Promise<void> {
    const deadline = performance.now() + startMs;
    while (!answers(env)) {
      if (!this.#process.isRunning) {
        const why = whyItFailed(readFileSync(join(this.#folder, 'log'), 'utf8'));
        rmSync(this.#folder, { recursive: true, force: true });
        throw new Error(`dockerd did not start: ${why}`);
      }
      if (performance.now() > deadline) {
        const why = whyItFailed(readFileSync(join(this.#folder, 'log'), 'utf8'));
        await this.stop();
        throw new Error(`dockerd did not answer within ${startMs / 1000} s: ${why}`);
      }
      await delay(pollMs);
    }
  }

  async stop(): Promise<void> {
    await this.#process.stop(stopMs);
    if (existsSync(this.#folder))
      throw new Error(`dockerd did not stop cleanly; look at ${this.#folder}.`);
  }
}

function answers(env: Readonly<Record<string, string>> = {}): boolean {
  return (
    spawnSync('docker', ['version'], {
      env: { ...process.env, ...env },
      stdio: 'ignore',
      timeout: 10_000,
    }).status === 0
  );
}

function isInstalled(program: string): boolean {
  return spawnSync('sh', ['-c', 'command -v "$0"', program]).status === 0;
}
