/**
 * The programs of Kubernetes, wherever they can be had: the folder that $KUBEBUILDER_ASSETS names, else PATH (of this very version
 * only), else a build of our own that is kept in the cache. kube-apiserver alone takes about six minutes on two cores the first
 * time and nothing afterwards.
 *
 * The build is a scratch module: Kubernetes' own go.mod points its libraries at folders of its own repository, by
 * versions of v0.0.0, and nobody outside can use that; here each of them is replaced by its published version.
 */

import {
  accessSync,
  constants,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { findGo, type Say } from './go.ts';
import { withLock } from './lock.ts';
import { run } from './run.ts';
import { cacheFolder, kubernetesVersion, type ProgramName, stagingVersion } from './version.ts';

const progressMs = 15_000;

/** The path of each program, built when there is no other way to have it. */
export async function kubernetesPrograms(
  names: readonly ProgramName[],
  say: Say,
): Promise<ReadonlyMap<ProgramName, string>> {
  const found = new Map<ProgramName, string>();
  for (const name of names) {
    const path = await existing(name, say);
    if (path !== undefined) found.set(name, path);
  }
  const missing = names.filter((name) => !found.has(name));
  if (missing.length > 0) {
    mkdirSync(cacheFolder(), { recursive: true });
    await withLock(join(cacheFolder(), '.lock'), say, async () => {
      for (const [name, path] of await build(missing, say)) found.set(name, path);
    });
  }
  return found;
}

/** Where it is without building anything. */
async function existing(name: ProgramName, say: Say): Promise<string | undefined> {
  const { KUBEBUILDER_ASSETS: assets = '', PATH: path = '' } = process.env;
  if (assets !== '') {
    const given = join(assets, name);
    if (!isExecutable(given))
      throw new Error(
        `KUBEBUILDER_ASSETS is set, but ${given} is no program; unset it or add the program.`,
      );
    const version = await versionOf(given, name);
    if (version !== kubernetesVersion)
      say(`${given} is ${version ?? 'of an unknown version'}, not ${kubernetesVersion}`);
    return given;
  }
  for (const folder of path.split(':')) {
    const candidate = join(folder, name);
    if (isExecutable(candidate) && (await versionOf(candidate, name)) === kubernetesVersion)
      return candidate;
  }
  const cached = join(cacheFolder(), name);
  return isExecutable(cached) ? cached : undefined;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function versionOf(path: string, name: ProgramName): Promise<string | undefined> {
  const args = name === 'kubectl' ? ['version', '--client'] : ['--version'];
  try {
    return /v(\d+\.\d+\.\d+)/.exec(await run(path, args))?.[1];
  } catch {
    return undefined;
  }
}

async function build(names: readonly ProgramName[], say: Say): Promise<Map<ProgramName, string>> {
  const built = new Map<ProgramName, string>();
  // we hold the lock: whoever began these was killed
  for (const left of globSync('.build-*', { cwd: cacheFolder() }))
    rmSync(join(cacheFolder(), left), { recursive: true, force: true });
  const folder = mkdtempSync(join(cacheFolder(), '.build-'));
  try {
    const go = await findGo(join(cacheFolder(), '..'), say);
    const env = { GOTOOLCHAIN: 'local', GOFLAGS: '-mod=mod', GOWORK: 'off', CGO_ENABLED: '0' };
    await writeModule(folder, (args) => run(go, args, { cwd: folder, env }));
    for (const name of names) {
      const path = join(cacheFolder(), name);
      // Whoever held the lock before us may have built it.
      if (!isExecutable(path)) {
        await buildOne({ go, folder, env, name }, say);
        renameSync(join(folder, name), path);
      }
      built.set(name, path);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return built;
}

async function writeModule(
  folder: string,
  go: (args: readonly string[]) => Promise<string>,
): Promise<void> {
  writeFileSync(join(folder, 'go.mod'), 'module herald.dev/kubernetes-build\n');
  const module = `k8s.io/kubernetes@v${kubernetesVersion}`;
  const { GoMod: file } = JSON.parse(await go(['mod', 'download', '-json', module]));
  writeFileSync(join(folder, 'go.mod'), goMod(readFileSync(String(file), 'utf8')));
}

/** A module that requires Kubernetes, with a published version for each library that its go.mod has at v0.0.0. */
export function goMod(kubernetesGoMod: string): string {
  const go = /^go (\S+)$/m.exec(kubernetesGoMod)?.[1] ?? '1.24.0';
  const staging = [...kubernetesGoMod.matchAll(/^\s*(k8s\.io\/\S+) v0\.0\.0(?:\s|$)/gm)].map(
    (match) => match[1],
  );
  if (staging.length === 0)
    throw new Error(
      `the go.mod of Kubernetes ${kubernetesVersion} has no libraries at v0.0.0; its layout has changed.`,
    );
  return [
    'module herald.dev/kubernetes-build',
    `go ${go}`,
    `require k8s.io/kubernetes v${kubernetesVersion}`,
    ...[...new Set(staging)].map((name) => `replace ${name} => ${name} ${stagingVersion}`),
    '',
  ].join('\n');
}

interface BuildStep {
  readonly go: string;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly name: ProgramName;
}

async function buildOne({ go, folder, env, name }: BuildStep, say: Say): Promise<void> {
  const source = `k8s.io/kubernetes/cmd/${name}`;
  const started = performance.now();
  const seconds = () => Math.round((performance.now() - started) / 1000);
  say(`${name} ${kubernetesVersion}: fetching what it is made of`);
  const packages =
    (await run(go, ['list', '-deps', source], { cwd: folder, env })).split('\n').length - 1;
  let compiled = 0;
  say(`${name}: building ${packages} packages, some minutes the first time`);
  const timer = setInterval(
    () => say(`${name}: ${compiled} of ${packages} packages, ${seconds()} s`),
    progressMs,
  );
  try {
    const args = [
      'build',
      '-v',
      '-trimpath',
      '-buildvcs=false',
      '-ldflags',
      linkerFlags(),
      '-o',
      join(folder, name),
      source,
    ];
    const onLine = (line: string) => {
      if (!line.startsWith('go: ')) compiled += 1;
    };
    await run('nice', ['-n', '10', go, ...args], { cwd: folder, env, onLine });
  } finally {
    clearInterval(timer);
  }
  say(`${name}: built in ${seconds()} s`);
}

/** Without them a program believes that it is v0.0.0 and its feature gates are those of no release. */
function linkerFlags(): string {
  const [major, minor] = kubernetesVersion.split('.');
  const set = (name: string, value: string) =>
    ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].map(
      (pkg) => `-X ${pkg}.${name}=${value}`,
    );
  return [
    '-s',
    '-w',
    ...set('gitVersion', `v${kubernetesVersion}`),
    ...set('gitMajor', major ?? ''),
    ...set('gitMinor', minor ?? ''),
    ...set('gitTreeState', 'clean'),
  ].join(' ');
}
