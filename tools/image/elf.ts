/**
 * What the image must know of a program or library: for which processor it is, who loads it, and which libraries it names. Read from the file itself, so
 * that it works for processors that this machine does not have. 64 bit, little endian: all that Herald runs on. Pure.
 */

export interface Elf {
  /** e_machine, such as 62 for x86-64 and 183 for AArch64 */
  readonly machine: number;
  /** the dynamic loader that the program asks for; a library has none */
  readonly interpreter: string | undefined;
  readonly needed: readonly string[];
}

const magic = 0x464c457f;
const class64 = 2;
const littleEndian = 1;
const headerLength = 64;
const segmentKind = { load: 1, dynamic: 2, interpreter: 3 } as const;
const tag = { end: 0, needed: 1, strings: 5 } as const;

interface Segment {
  readonly kind: number;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
}

/** undefined: no ELF file at all */
export function parseElf(bytes: Uint8Array): Elf | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < headerLength || view.getUint32(0, true) !== magic) return undefined;
  if (bytes[4] !== class64 || bytes[5] !== littleEndian)
    throw new Error('only ELF files of 64 bit and little endian are understood.');
  const segments = readSegments(view);
  const interpreter = segments.find(({ kind }) => kind === segmentKind.interpreter);
  return {
    machine: view.getUint16(18, true),
    interpreter: interpreter && textAt(bytes, interpreter.offset),
    needed: readNeeded(bytes, view, segments),
  };
}

function readSegments(view: DataView): readonly Segment[] {
  const start = word(view, 32);
  const length = view.getUint16(54, true);
  return Array.from({ length: view.getUint16(56, true) }, (_, index) => {
    const at = start + index * length;
    return {
      kind: view.getUint32(at, true),
      offset: word(view, at + 8),
      address: word(view, at + 16),
      size: word(view, at + 32),
    };
  });
}

function readNeeded(
  bytes: Uint8Array,
  view: DataView,
  segments: readonly Segment[],
): readonly string[] {
  const dynamic = segments.find(({ kind }) => kind === segmentKind.dynamic);
  if (dynamic === undefined) return [];
  const names: number[] = [];
  let strings = 0;
  for (let at = dynamic.offset; at < dynamic.offset + dynamic.size; at += 16) {
    const kind = word(view, at);
    if (kind === tag.end) break;
    if (kind === tag.needed) names.push(word(view, at + 8));
    if (kind === tag.strings) strings = offsetOf(word(view, at + 8), segments);
  }
  return names.map((name) => textAt(bytes, strings + name));
}

/** where an address of the running program is in the file */
function offsetOf(address: number, segments: readonly Segment[]): number {
  const home = segments.find(
    (each) =>
      each.kind === segmentKind.load &&
      address >= each.address &&
      address < each.address + each.size,
  );
  if (home === undefined) throw new Error('an ELF file whose strings are in none of its segments.');
  return home.offset + (address - home.address);
}

function word(view: DataView, at: number): number {
  return Number(view.getBigUint64(at, true));
}

function textAt(bytes: Uint8Array, at: number): string {
  return new TextDecoder().decode(bytes.subarray(at, bytes.indexOf(0, at)));
}
