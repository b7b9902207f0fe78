/**
 * Mutations of a BGP message. Half of them know the grammar (length fields, attributes), half do not (bits, octets, cuts); after
 * most of them the header's length is put right again, since a message that dies in the framer teaches nothing about the rest.
 */

import type { FuzzRandom } from './fuzz-random.ts';

const HEADER = 19;
const UPDATE = 2;
const INTERESTING = [0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 127, 128, 129, 254, 255];
const MAX_LENGTH = 65535;

type Mutation = (bytes: Uint8Array, random: FuzzRandom, other: Uint8Array) => Uint8Array;

/** each as often as it stands here: what keeps the lengths right gets further, so there is more of it */
const MUTATIONS: readonly Mutation[] = [
  flipBits,
  flipBits,
  setOctet,
  setOctet,
  cut,
  remove,
  insertOctets,
  duplicate,
  editLength,
  editLength,
  spliceAttribute,
  spliceAttribute,
  spliceAttribute,
  duplicateAttribute,
  shuffleAttributes,
  shuffleAttributes,
  dropAttribute,
  resizeAttribute,
  resizeAttribute,
  resizeAttribute,
];

/** Mostly one or two mutations, at times five; `other` lends attributes. */
export function mutate(bytes: Uint8Array, random: FuzzRandom, other: Uint8Array): Uint8Array {
  let mutated = Uint8Array.from(bytes);
  const count = random.chance(60) ? 1 : 2 + random.below(4);
  for (let left = count; left > 0; left -= 1) {
    mutated = Uint8Array.from(random.pick(MUTATIONS)(mutated, random, other));
    if (mutated.length > MAX_LENGTH) mutated = mutated.slice(0, MAX_LENGTH);
  }
  if (random.chance(90)) repairHeader(mutated);
  return mutated;
}

function repairHeader(bytes: Uint8Array): void {
  if (bytes.length < HEADER) return;
  bytes.fill(0xff, 0, 16);
  write16(bytes, 16, bytes.length);
}

function read16(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
}

function write16(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 8;
  bytes[at + 1] = value;
}

function flipBits(bytes: Uint8Array, random: FuzzRandom): Uint8Array {
  for (let left = 1 + random.below(6); left > 0 && bytes.length > 0; left -= 1) {
    const at = random.below(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
  }
  return bytes;
}

function setOctet(bytes: Uint8Array, random: FuzzRandom): Uint8Array {
  if (bytes.length > HEADER) {
    bytes[HEADER + random.below(bytes.length - HEADER)] = random.pick(INTERESTING);
  }
  return bytes;
}

function cut(bytes: Uint8Array, random: FuzzRandom): Uint8Array {
  return bytes.slice(0, random.below(bytes.length + 1));
}

function remove(bytes: Uint8Array, random: FuzzRandom): Uint8Array {
  const at = random.below(bytes.length + 1);
  return splice(bytes, at, random.below(8), new Uint8Array(0));
}

function insertOctets(bytes: Uint8Array, random: FuzzRandom): Uint8Array {
  const at = Math.min(bytes.length, HEADER + random.below(bytes.length + 1));
  return splice(bytes, at, 0, random.bytes(1 + random.below(12)));
}

function duplicate(bytes: Uint8Array, random: FuzzRandom): Uint8Array {
  const at = random.below(bytes.length + 1);
  return splice(bytes, at, 0, bytes.slice(at, at + 1 + random.below(64)));
}

function splice(bytes: Uint8Array, at: number, removed: number, inserted: Uint8Array): Uint8Array {
  const rest = bytes.subarray(Math.min(bytes.length, at + removed));
  const result = new Uint8Array(at + inserted.length + rest.length);
  result.set(bytes.subarray(0, at));
  result.set(inserted, at);
  result.set(rest, at + inserted.length);
  return result;
}

/** where an UPDATE keeps what; undefined where these octets are none or its lengths lie already */
interface Layout {
  readonly lengthAt: number;
  readonly end: number;
  /** start, start of the value, end */
  readonly attributes: readonly (readonly [number, number, number])[];
}

function layoutOf(bytes: Uint8Array): Layout | undefined {
  if (bytes.length < HEADER + 4 || bytes[18] !== UPDATE) return undefined;
  const lengthAt = HEADER + 2 + read16(bytes, HEADER);
  const end = lengthAt + 2 + read16(bytes, lengthAt);
  if (end > bytes.length) return undefined;
  const attributes: (readonly [number, number, number])[] = [];
  for (let at = lengthAt + 2; at + 3 <= end; ) {
    const isLong = ((bytes[at] ?? 0) & 0x10) !== 0;
    const value = at + (isLong ? 4 : 3);
    const next = value + (isLong ? read16(bytes, at + 2) : (bytes[at + 2] ?? 0));
    if (next > end) break;
    attributes.push([at, value, next]);
    at = next;
  }
  return { lengthAt, end, attributes };
}

/** any of the length fields, a little or wildly wrong */
function editLength(bytes: Uint8Array, random: FuzzRandom): Uint8Array {
  const layout = layoutOf(bytes);
  const change = random.chance(60) ? random.below(9) - 4 : random.below(600);
  if (layout === undefined || random.chance(10)) {
    if (bytes.length >= HEADER) write16(bytes, 16, read16(bytes, 16) + change);
  } else if (layout.attributes.length === 0 || random.chance(20)) {
    const at = random.chance(50) ? HEADER : layout.lengthAt;
    write16(bytes, at, read16(bytes, at) + change);
  } else {
    const [start, value] = random.pick(layout.attributes);
    if (value - start === 4) write16(bytes, start + 2, read16(bytes, start + 2) + change);
    else bytes[start + 2] = (bytes[start + 2] ?? 0) + change;
  }
  return bytes;
}

/** puts octets into the attribute list and puts its length right */
function insertAttribute(
  bytes: Uint8Array,
  layout: Layout,
  at: number,
  attribute: Uint8Array,
): Uint8Array {
  const result = splice(bytes, at, 0, attribute);
  write16(result, layout.lengthAt, read16(bytes, layout.lengthAt) + attribute.length);
  return result;
}

function border(layout: Layout, random: FuzzRandom): number {
  return random.pick([...layout.attributes.map(([start]) => start), layout.end]);
}

function spliceAttribute(bytes: Uint8Array, random: FuzzRandom, other: Uint8Array): Uint8Array {
  const layout = layoutOf(bytes);
  const lender = layoutOf(other);
  if (layout === undefined || lender === undefined || lender.attributes.length === 0) {
    return flipBits(bytes, random);
  }
  const [start, , end] = random.pick(lender.attributes);
  return insertAttribute(bytes, layout, border(layout, random), other.slice(start, end));
}

function duplicateAttribute(bytes: Uint8Array, random: FuzzRandom): Uint8Array {
  return spliceAttribute(bytes, random, bytes);
}

/** takes the octets of an attribute out and puts the length of the list right */
function withoutAttribute(
  bytes: Uint8Array,
  layout: Layout,
  start: number,
  end: number,
): Uint8Array {
  const without = splice(bytes, start, end - start, new Uint8Array(0));
  write16(without, layout.lengthAt, read16(bytes, layout.lengthAt) - (end - start));
  return without;
}

function dropAttribute(bytes: Uint8Array, random: FuzzRandom): Uint8Array {
  const layout = layoutOf(bytes);
  if (layout === undefined || layout.attributes.length === 0) return setOctet(bytes, random);
  const [start, , end] = random.pick(layout.attributes);
  return withoutAttribute(bytes, layout, start, end);
}

/** another value, longer or shorter, with all lengths right: only its own row can find it wrong */
function resizeAttribute(bytes: Uint8Array, random: FuzzRandom): Uint8Array {
  const layout = layoutOf(bytes);
  if (layout === undefined || layout.attributes.length === 0) return flipBits(bytes, random);
  const [start, value, end] = random.pick(layout.attributes);
  const kept = bytes.slice(value, value + random.below(end - value + 1));
  const added = random.chance(50) ? random.bytes(random.below(24)) : kept;
  const length = Math.min(255, kept.length + added.length);
  const attribute = new Uint8Array(3 + length);
  attribute[0] = (bytes[start] ?? 0) & ~0x10;
  attribute[1] = bytes[start + 1] ?? 0;
  attribute[2] = length;
  attribute.set(kept.subarray(0, length), 3);
  attribute.set(
    added.subarray(0, Math.max(0, length - kept.length)),
    3 + Math.min(length, kept.length),
  );
  const without = withoutAttribute(bytes, layout, start, end);
  const remaining = layoutOf(without);
  return remaining === undefined ? bytes : insertAttribute(without, remaining, start, attribute);
}

function shuffleAttributes(bytes: Uint8Array, random: FuzzRandom): Uint8Array {
  const layout = layoutOf(bytes);
  if (layout === undefined || layout.attributes.length < 2) return setOctet(bytes, random);
  const [start, , end] = random.pick(layout.attributes);
  const without = withoutAttribute(bytes, layout, start, end);
  const remaining = layoutOf(without);
  if (remaining === undefined) return bytes;
  return insertAttribute(without, remaining, border(remaining, random), bytes.slice(start, end));
}
