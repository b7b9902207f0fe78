/** The libraries that some programs need, and that these need in turn. */

import { type Architecture, architectures } from './architecture.ts';
import { type Elf, parseElf } from './elf.ts';

export interface FoundFile {
  /** where it must be in the image */
  readonly path: string;
  readonly from: string;
}

/** A library by its name, or the loader by its path. */
export interface Library extends FoundFile {
  readonly bytes: Uint8Array;
}

export type FindLibrary = (name: string) => Library | undefined;

/** Everything that `programs` load when they start; one that cannot be found, or that is for another processor, is an error. */
export function librariesOf(
  programs: readonly Library[],
  architecture: Architecture,
  find: FindLibrary,
): readonly FoundFile[] {
  const found = new Map<string, Library>();
  const waiting = [...programs];
  for (let each = waiting.shift(); each !== undefined; each = waiting.shift()) {
    const { needed, interpreter } = elfFor(each, architecture);
    for (const name of interpreter === undefined ? needed : [...needed, interpreter]) {
      if (found.has(name)) continue;
      const library = find(name);
      if (library === undefined)
        throw new Error(`${each.from} needs ${name}, which is not to be found.`);
      found.set(name, library);
      waiting.push(library);
    }
  }
  // the loader is found by its name too: libc names it
  const byPath = new Map([...found.values()].map(({ path, from }) => [path, { path, from }]));
  return [...byPath.values()].toSorted((a, b) => a.path.localeCompare(b.path));
}

function elfFor({ bytes, from }: Library, architecture: Architecture): Elf {
  const elf = parseElf(bytes);
  if (elf === undefined) throw new Error(`${from} is neither a program nor a library.`);
  if (elf.machine !== architectures[architecture].machine)
    throw new Error(`${from} is for another processor than ${architecture}.`);
  return elf;
}
