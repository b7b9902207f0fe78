/**
 * The lab's router image: FRR, BIRD and a client's tools on a minimal Debian, made on this machine by debootstrap from the mirror that apt uses. It takes about two minutes
 * the first time; its file system is kept in the cache until the recipe, or the release of Debian, is another.
 *
 *   await withDocker({}, async (docker) => {
 *     await ensureRouterImage(docker, say);
 *     await docker.run(['run', '--detach', '--network', 'none', routerImage]);
 *   });
 */

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { imageCache } from '../../tools/image/names.ts';
import { withLock } from '../../tools/kubernetes/lock.ts';
import { run } from '../../tools/kubernetes/run.ts';
import type { Docker } from '../docker/docker.ts';
import { type DebianMirror, debianMirror } from './debian-mirror.ts';

export const routerImage = 'herald-lab/router:local';

const packages = [
  ...['frr', 'bird2'],
  ...['iproute2', 'iputils-ping', 'procps', 'curl', 'socat', 'tcpdump'],
];
const recipe = ['make-root.sh', 'start-router'].map((name) =>
  join(import.meta.dirname, 'router', name),
);
const progressMs = 5_000;

export type Say = (sentence: string) => void;

/** The image is in this Docker afterwards. */
export async function ensureRouterImage(docker: Docker, say: Say = () => undefined): Promise<void> {
  const file = await routerFileSystem(say);
  // an image that was made by another recipe has the same name
  const key = `recipe=${keyOf(file)}`;
  const known = await docker.run([
    'image',
    'ls',
    '--quiet',
    '--filter',
    `label=${key}`,
    routerImage,
  ]);
  if (known.trim() !== '') return;
  say(`${routerImage}: handing it to Docker`);
  const change = (line: string) => ['--change', line];
  await docker.run([
    'import',
    ...change('CMD ["/usr/local/bin/start-router"]'),
    ...change('ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'),
    ...change(`LABEL ${key}`),
    file,
    routerImage,
  ]);
}

/** Its file system as a tar file, made where there is none yet. */
export async function routerFileSystem(say: Say): Promise<string> {
  const mirror = await debianMirror();
  const contents = recipe.map((path) => readFileSync(path, 'utf8'));
  const file = join(imageCache(), `router-${recipeKey(contents, mirror.suite)}.tar`);
  if (existsSync(file)) return file;
  mkdirSync(imageCache(), { recursive: true });
  await withLock(join(imageCache(), '.lock'), say, async () => {
    // whoever held the lock before us may have made it
    if (!existsSync(file)) await make(file, mirror, say);
  });
  return file;
}

/** Another recipe, another file. The mirror is not part of it: all mirrors have the same packages. */
export function recipeKey(contents: readonly string[], suite: string): string {
  const hash = createHash('sha256').update(JSON.stringify([suite, packages, process.arch]));
  for (const each of contents) hash.update(each);
  return hash.digest('hex').slice(0, 12);
}

function keyOf(file: string): string {
  return /router-([0-9a-f]+)\.tar$/.exec(file)?.[1] ?? '';
}

async function make(file: string, { uri, suite }: DebianMirror, say: Say): Promise<void> {
  if (process.getuid?.() !== 0)
    throw new Error(`${routerImage} is made by debootstrap, and that needs root.`);
  const started = performance.now();
  const seconds = () => Math.round((performance.now() - started) / 1000);
  say(`${routerImage}: debootstrap of ${suite}, some minutes the first time`);
  let last = '';
  const timer = setInterval(() => say(`${routerImage}: ${seconds()} s, ${last}`), progressMs);
  try {
    const onLine = (line: string) => {
      if (line.startsWith('I: ')) last = line.slice(3);
    };
    const apart = [
      'setpriv',
      '--pdeathsig',
      'TERM',
      'unshare',
      '--mount',
      '--propagation',
      'slave',
    ];
    const script = join(import.meta.dirname, 'router/make-root.sh');
    const args = [...apart, 'sh', script, file, suite, uri, ...packages];
    await run('nice', ['-n', '10', ...args], { onLine });
  } catch (cause) {
    throw new Error(`${routerImage} could not be made: ${String(cause)}`, { cause });
  } finally {
    clearInterval(timer);
  }
  say(`${routerImage}: its file system took ${seconds()} s`);
}
