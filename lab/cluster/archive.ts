/**
 * An image as `docker save` writes it, one layer, made without Docker: a tar archive of the layer, its config and a manifest. Pure: files come in
 * as bytes. Times and owners are always the same, so the same files give the same image.
 */

import { createHash } from 'node:crypto';

export interface ArchiveFile {
  readonly content: Uint8Array;
  /** default 0644 */
  readonly mode?: number;
}

export interface ImageOptions {
  /** like `herald-lab/pod:local` */
  readonly tag: string;
  /** path without the first slash → file; folders make themselves */
  readonly files: ReadonlyMap<string, ArchiveFile>;
  readonly entrypoint: readonly string[];
  readonly architecture: string;
  readonly user?: string;
}

const BLOCK = 512;
const FOLDER_MODE = 0o755;
const FILE_MODE = 0o644;
const LONGEST_NAME = 100;

export function imageArchive(options: ImageOptions): Uint8Array {
  const layer = tar(options.files);
  const config = bytes(
    JSON.stringify({
      architecture: options.architecture,
      os: 'linux',
      config: {
        Entrypoint: options.entrypoint,
        ...(options.user === undefined ? {} : { User: options.user }),
      },
      rootfs: { type: 'layers', diff_ids: [`sha256:${sha256(layer)}`] },
    }),
  );
  const configName = `${sha256(config)}.json`;
  const manifest = [{ Config: configName, RepoTags: [options.tag], Layers: ['layer.tar'] }];
  return tar(
    new Map([
      ['layer.tar', { content: layer }],
      [configName, { content: config }],
      ['manifest.json', { content: bytes(JSON.stringify(manifest)) }],
    ]),
  );
}

/** A tar archive of these files and of the folders that they are in. */
export function tar(files: ReadonlyMap<string, ArchiveFile>): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const folder of foldersOf([...files.keys()])) {
    parts.push(header({ name: `${folder}/`, mode: FOLDER_MODE, size: 0, type: '5' }));
  }
  for (const [name, { content, mode = FILE_MODE }] of files) {
    parts.push(header({ name, mode, size: content.length, type: '0' }), content);
    parts.push(new Uint8Array((BLOCK - (content.length % BLOCK)) % BLOCK));
  }
  parts.push(new Uint8Array(2 * BLOCK));
  return Buffer.concat(parts);
}

/** All folders above these files, each after the one that it is in. */
function foldersOf(names: readonly string[]): readonly string[] {
  const folders = new Set<string>();
  for (const name of names) {
    const words = name.split('/').slice(0, -1);
    for (let count = 1; count <= words.length; count += 1)
      folders.add(words.slice(0, count).join('/'));
  }
  return [...folders].sort();
}

interface Entry {
  readonly name: string;
  readonly mode: number;
  readonly size: number;
  readonly type: '0' | '5';
}

/** POSIX ustar, without what we have no use for. */
function header({ name, mode, size, type }: Entry): Uint8Array {
  if (Buffer.byteLength(name) > LONGEST_NAME || name.startsWith('/'))
    throw new Error(`${name} cannot be put into an archive: no / in front, 100 bytes at most.`);
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`;
  block.write(name, 0);
  block.write(octal(mode, 7), 100);
  block.write(octal(0, 7), 108);
  block.write(octal(0, 7), 116);
  block.write(octal(size, 11), 124);
  block.write(octal(0, 11), 136);
  block.write(' '.repeat(8), 148);
  block.write(type, 156);
  block.write('ustar\x0000', 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

const bytes = (text: string): Uint8Array => Buffer.from(text, 'utf8');
const sha256 = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex');
