/**
 * The parts of an image for another processor than this machine's. None of them has to run here: Node and koffi are npm's packages, checked against the
 * lockfile; the C libraries are Debian's packages, fetched by an apt of our own (its folders, this machine's mirror and keys) and unpacked. All is kept
 * in the cache.
 */

import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type DebianMirror, debianSources } from '../../lab/images/debian-mirror.ts';
import { withLock } from '../kubernetes/lock.ts';
import { run } from '../kubernetes/run.ts';
import { type Architecture, architectures } from './architecture.ts';
import { imageCache } from './names.ts';
import type { Parts } from './stage.ts';
import { withFolder } from './temporary.ts';

type Say = (sentence: string) => void;

const lockfile = join(import.meta.dirname, '../../package-lock.json');
/** what these depend on comes with them */
const libraries = ['libstdc++6', 'libatomic1'];
const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';

export interface LockedPackage {
  readonly name: string;
  readonly version: string;
  readonly integrity: string;
}

/** Fetched the first time, from the cache afterwards. */
export async function foreignParts(architecture: Architecture, say: Say): Promise<Parts> {
  const packages = ['node-linux', '@koromix/koffi-linux'].map((name) =>
    lockedPackage(readFileSync(lockfile, 'utf8'), `${name}-${architecture}`),
  );
  const sources = await debianSources();
  const key = createHash('sha256').update(JSON.stringify([packages, sources, libraries]));
  const folder = join(imageCache(), `${architecture}-${key.digest('hex').slice(0, 12)}`);
  mkdirSync(imageCache(), { recursive: true });
  await withLock(join(imageCache(), `.lock-${architecture}`), say, async () => {
    if (existsSync(folder)) return;
    await withFolder(join(imageCache(), `.${architecture}-`), async (work) => {
      for (const each of packages) await fetchPackage(each, work, say);
      await fetchLibraries(architecture, sources, { work, say });
      renameSync(work, folder);
    });
  });
  return {
    architecture,
    nodePackage: join(folder, `node-linux-${architecture}`),
    koffiPackage: join(folder, `@koromix/koffi-linux-${architecture}`),
    libraryRoot: join(folder, 'root'),
  };
}

/** Version and hash of one package, as package-lock.json has them. */
export function lockedPackage(text: string, name: string): LockedPackage {
  const { packages }: { packages: Readonly<Record<string, Partial<LockedPackage>>> } =
    JSON.parse(text);
  const { version, integrity } = packages[`node_modules/${name}`] ?? {};
  if (version === undefined || integrity === undefined)
    throw new Error(`package-lock.json has no ${name}.`);
  return { name, version, integrity };
}

/** Whether these bytes are those that the lockfile means. */
export function isIntact(bytes: Uint8Array, integrity: string): boolean {
  const [algorithm = ''] = integrity.split('-');
  const digest = createHash(algorithm).update(bytes).digest('base64');
  return integrity === `${algorithm}-${digest}`;
}

async function fetchPackage(
  { name, version, integrity }: LockedPackage,
  work: string,
  say: Say,
): Promise<void> {
  say(`fetching ${name} ${version}`);
  const folder = join(work, name);
  mkdirSync(folder, { recursive: true });
  await run('npm', ['pack', '--silent', `${name}@${version}`, '--pack-destination', folder]);
  const [archive = ''] = globSync('*.tgz', { cwd: folder });
  const file = join(folder, archive);
  if (archive === '' || !isIntact(readFileSync(file), integrity))
    throw new Error(`${name} ${version} is not what package-lock.json says; nothing was kept.`);
  await run('tar', ['-xzf', file, '--strip-components=1', '--no-same-owner', '-C', folder]);
  rmSync(file);
}

interface Place {
  readonly work: string;
  readonly say: Say;
}

/** apt with folders of its own: this machine's packages, lists and settings of architectures are not touched. */
async function fetchLibraries(
  architecture: Architecture,
  sources: readonly DebianMirror[],
  { work, say }: Place,
): Promise<void> {
  const { debian } = architectures[architecture];
  const apt = join(work, 'apt');
  for (const each of ['state/lists/partial', 'cache/archives/partial'])
    mkdirSync(join(apt, each), { recursive: true });
  writeFileSync(join(apt, 'status'), '');
  writeFileSync(join(apt, 'sources.list'), aptSources(sources, existsSync(keyring)));
  const settings = [
    `APT::Architecture=${debian}`,
    `APT::Architectures::=${debian}`,
    `Dir::State=${apt}/state`,
    `Dir::State::status=${apt}/status`,
    `Dir::Cache=${apt}/cache`,
    `Dir::Etc::SourceList=${apt}/sources.list`,
    'Dir::Etc::SourceParts=/dev/null',
    'Acquire::Languages=none',
    // the folders are ours alone
    'APT::Sandbox::User=root',
  ].flatMap((each) => ['-o', each]);
  say(`fetching Debian's lists for ${debian}`);
  await run('apt-get', [...settings, '--quiet=2', 'update']);
  say(`fetching ${libraries.join(', ')} and what they need, for ${debian}`);
  const install = ['install', '--download-only', '--yes', '--no-install-recommends'];
  await run('apt-get', [...settings, '--quiet=2', ...install, ...libraries]);
  for (const name of globSync('*.deb', { cwd: join(apt, 'cache/archives') }))
    await run('dpkg-deb', ['--extract', join(apt, 'cache/archives', name), join(work, 'root')]);
  rmSync(apt, { recursive: true, force: true });
}

export function aptSources(sources: readonly DebianMirror[], hasKeyring: boolean): string {
  const options = hasKeyring ? `[signed-by=${keyring}] ` : '';
  return sources.map(({ uri, suite }) => `deb ${options}${uri} ${suite} main\n`).join('');
}
