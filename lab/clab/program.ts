/**
 * containerlab, wherever it can be had: the program that $CONTAINERLAB names, else the one of PATH (of this very version only), else a
 * build of our own through the Go module proxy, kept in the cache: some minutes the first time and nothing afterwards.
 *
 * It is built as its own main module, in a copy of its source: so its own go.sum holds for everything that it is made of, and
 * the files of Go's module cache, which no build may replace, stay as they are.
 */

import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { findGo, type Say } from '../../tools/kubernetes/go.ts';
import { withLock } from '../../tools/kubernetes/lock.ts';
import { run } from '../../tools/kubernetes/run.ts';
import { cacheFolder } from '../../tools/kubernetes/version.ts';
import { moduleFile, withBuiltInModules } from './built-in-modules.ts';
import {
  containerlabFolder,
  containerlabHash,
  containerlabModule,
  containerlabVersion,
} from './version.ts';

const progressMs = 15_000;
const versionMs = 30_000;
/** It wants Go 1.26; an older one fetches that by itself, and checks it, when it is allowed to. */
const goEnvironment = {
  GOTOOLCHAIN: 'auto',
  GOFLAGS: '-mod=readonly',
  GOWORK: 'off',
  CGO_ENABLED: '0',
};

/** The path of containerlab, built when there is no other way to have it. */
export async function containerlabProgram(say: Say): Promise<string> {
  const found = await existing();
  if (found !== undefined) return found;
  mkdirSync(containerlabFolder(), { recursive: true });
  return withLock(join(containerlabFolder(), '.lock'), say, async () => {
    // Whoever held the lock before us may have built it.
    if (!isExecutable(cachedProgram())) await build(say);
    return cachedProgram();
  });
}

/** Where it is without building anything. */
async function existing(): Promise<string | undefined> {
  const { CONTAINERLAB: given = '', PATH: path = '' } = process.env;
  if (given !== '') {
    if (!isExecutable(given))
      throw new Error(`CONTAINERLAB is set, but ${given} is no program; unset it or name one.`);
    return given;
  }
  if (!needsBuiltInModules()) {
    for (const folder of path.split(':')) {
      const candidate = join(folder, 'containerlab');
      if (isExecutable(candidate) && (await versionOf(candidate)) === containerlabVersion)
        return candidate;
    }
  }
  return isExecutable(cachedProgram()) ? cachedProgram() : undefined;
}

const needsBuiltInModules = () => !existsSync('/proc/modules');

/** A home that two machines share may hold both. */
const cachedProgram = () =>
  join(
    containerlabFolder(),
    needsBuiltInModules() ? 'containerlab-built-in-modules' : 'containerlab',
  );

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function versionOf(path: string): Promise<string | undefined> {
  try {
    return /version: (\d+\.\d+\.\d+)/.exec(
      await run(path, ['version'], { timeoutMs: versionMs }),
    )?.[1];
  } catch {
    return undefined;
  }
}

async function build(say: Say): Promise<void> {
  const started = performance.now();
  const seconds = () => Math.round((performance.now() - started) / 1000);
  const folder = mkdtempSync(join(containerlabFolder(), '.build-'));
  let compiled = 0;
  let packages = 0;
  const timer = setInterval(() => {
    const done = packages === 0 ? 'fetching' : `${compiled} of at most ${packages} packages`;
    say(`${containerlabVersion}: ${done}, ${seconds()} s`);
  }, progressMs);
  try {
    const go = await findGo(join(cacheFolder(), '..'), say);
    say(`${containerlabVersion}: fetching what it is made of`);
    const source = await fetchSource(go, folder);
    const options = { cwd: source, env: goEnvironment };
    packages = (await run(go, ['list', '-deps', '.'], options)).split('\n').length - 1;
    say(`building ${packages} packages, some minutes the first time`);
    const onLine = (line: string) => {
      if (!line.startsWith('go: ')) compiled += 1;
    };
    const program = join(folder, 'program');
    await run('nice', ['-n', '10', go, ...buildArguments(folder, source, program)], {
      ...options,
      onLine,
    });
    renameSync(program, cachedProgram());
  } finally {
    clearInterval(timer);
    rmSync(folder, { recursive: true, force: true });
  }
  say(`${containerlabVersion} built in ${seconds()} s`);
}

/** A copy of the module that the proxy serves, when it has the hash that it must have. */
async function fetchSource(go: string, folder: string): Promise<string> {
  const module = `${containerlabModule}@v${containerlabVersion}`;
  const options = { cwd: folder, env: { ...goEnvironment, GOFLAGS: '-mod=mod' } };
  const answer: unknown = JSON.parse(await run(go, ['mod', 'download', '-json', module], options));
  const { Dir: origin, Sum: hash } = Object(answer);
  if (hash !== containerlabHash)
    throw new Error(
      `${module} came with the hash ${hash} and must have ${containerlabHash}; the module proxy serves something else.`,
    );
  const source = join(folder, 'source');
  // The module cache is read-only; a copy with its modes could be removed by root only.
  await run('cp', ['-r', '--no-preserve=mode', String(origin), source]);
  return source;
}

function buildArguments(folder: string, source: string, program: string): string[] {
  const version = `-X ${containerlabModule}/cmd.Version=${containerlabVersion}`;
  return [
    'build',
    '-v',
    '-trimpath',
    '-buildvcs=false',
    ...(needsBuiltInModules() ? ['-overlay', writeOverlay(folder, source)] : []),
    '-ldflags',
    `-s -w ${version}`,
    '-o',
    program,
    '.',
  ];
}

function writeOverlay(folder: string, source: string): string {
  const replaced = join(source, moduleFile);
  const replacement = join(folder, 'kernel_module.go');
  writeFileSync(replacement, withBuiltInModules(readFileSync(replaced, 'utf8')));
  const overlay = join(folder, 'overlay.json');
  writeFileSync(overlay, JSON.stringify({ Replace: { [replaced]: replacement } }));
  return overlay;
}
