/**
 * The folder that deploy/Dockerfile is built from. The Dockerfile only copies; what it copies is put together here, from dist/ (make build), from npm's Node
 * and from the C libraries of this machine, or of Debian's packages for another processor.
 *
 *   system/   Node, the libraries that it names, their licences. It changes when these do: an upgrade of Herald moves only the other layer
 *   herald/   the bundle, koffi, the entry
 */

import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type Architecture, architectures } from './architecture.ts';
import { type FindLibrary, type Library, librariesOf } from './libraries.ts';

const root = join(import.meta.dirname, '../..');

/** Where the parts of one processor are. */
export interface Parts {
  readonly architecture: Architecture;
  /** npm's package node-linux-<arch>, unpacked */
  readonly nodePackage: string;
  /** npm's package @koromix/koffi-linux-<arch>, unpacked */
  readonly koffiPackage: string;
  /** `/`, or the folder that packages of Debian were unpacked into */
  readonly libraryRoot: string;
}

export function nativeParts(architecture: Architecture): Parts {
  return {
    architecture,
    nodePackage: join(root, `node_modules/node-linux-${architecture}`),
    koffiPackage: join(root, `node_modules/@koromix/koffi-linux-${architecture}`),
    libraryRoot: '/',
  };
}

/** Fills `context`, an empty folder; the bytes that the image will have. */
export function stage(context: string, parts: Parts): number {
  const { architecture, nodePackage, koffiPackage, libraryRoot } = parts;
  const dist = join(root, 'dist');
  const node = join(nodePackage, 'bin/node');
  if (!existsSync(join(dist, 'herald.mjs')) || !existsSync(node))
    throw new Error('dist/herald.mjs or Node is missing: run `make build` first.');
  copyFileSync(join(root, 'deploy/Dockerfile'), join(context, 'Dockerfile'));

  const system = join(context, 'system');
  const herald = join(context, 'herald');
  const native = `linux_${architecture}/koffi.node`;
  const koffi = join(herald, `node_modules/@koromix/koffi-linux-${architecture}`);

  for (const name of [
    'herald.mjs',
    'piece-worker.mjs',
    'folder-worker.mjs',
    'chunks',
    'node_modules/koffi',
  ])
    cpSync(join(dist, name), join(herald, name), { recursive: true });
  // the one for musl stays behind: the libc here is glibc
  for (const name of ['package.json', 'index.js', native])
    copy(join(koffiPackage, name), join(koffi, name));
  copy(join(root, 'src/cli/image-entry.mjs'), join(herald, 'image-entry.mjs'));
  copy(join(root, 'LICENSE'), join(herald, 'LICENSE'));
  mkdirSync(join(herald, 'bin'));
  symlinkSync('../image-entry.mjs', join(herald, 'bin/herald'));

  copy(node, join(system, 'opt/herald/bin/node'));
  copy(join(nodePackage, 'LICENSE'), join(system, 'usr/share/doc/node/LICENSE'));
  const programs = [node, join(koffiPackage, native)].map((from) => libraryAt(from, from));
  const find = finder(libraryRoot, architecture);
  for (const { path, from } of librariesOf(programs, architecture, find))
    copy(from, join(system, path));
  copyCopyrights(libraryRoot, system);
  // whatever the umask is here: user 65532 must be able to read it all
  makeReadable(system);
  makeReadable(herald);
  chmodSync(join(herald, 'image-entry.mjs'), 0o755);
  return bytesIn(system) + bytesIn(herald);
}

function bytesIn(folder: string): number {
  const files = globSync('**', { cwd: folder, withFileTypes: true }).filter((each) =>
    each.isFile(),
  );
  return files.reduce(
    (sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size,
    0,
  );
}

/** As the loader itself looks, in the folders of Debian first, then in those of others. */
function finder(libraryRoot: string, architecture: Architecture): FindLibrary {
  const { triplet } = architectures[architecture];
  const folders = [`/lib/${triplet}`, `/usr/lib/${triplet}`, '/lib64', '/usr/lib64', '/lib'];
  return (name) => {
    const paths = name.startsWith('/')
      ? [name, `/usr${name}`]
      : folders.map((each) => join(each, name));
    const path = paths.find((each) => existsSync(join(libraryRoot, each)));
    if (path === undefined) return undefined;
    return libraryAt(placeOf(path, architecture), join(libraryRoot, path));
  };
}

/** The loader is where programs ask for it, under whatever name it was found; Debian's two folders of libraries are one. */
function placeOf(path: string, architecture: Architecture): string {
  const { loader, triplet } = architectures[architecture];
  if (basename(path) === basename(loader)) return loader;
  return path.replace(`/usr/lib/${triplet}/`, `/lib/${triplet}/`);
}

function libraryAt(path: string, from: string): Library {
  const file = realpathSync(from);
  return { path, from: file, bytes: readFileSync(file) };
}

/** Debian's words on the libraries' licences; another system keeps them elsewhere. */
function copyCopyrights(libraryRoot: string, system: string): void {
  // the last one speaks for all libraries of GCC
  for (const name of ['libc6', 'libgcc-s1']) {
    const path = join('usr/share/doc', name, 'copyright');
    if (existsSync(join(libraryRoot, path))) copy(join(libraryRoot, path), join(system, path));
  }
}

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
}

function makeReadable(folder: string): void {
  chmodSync(folder, 0o755);
  for (const entry of globSync('**', { cwd: folder, withFileTypes: true })) {
    if (entry.isSymbolicLink()) continue;
    const isProgram = entry.isDirectory() || entry.name === 'node' || entry.name.startsWith('ld-');
    chmodSync(join(entry.parentPath, entry.name), isProgram ? 0o755 : 0o644);
  }
}
