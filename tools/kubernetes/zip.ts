/**
 * Reads a zip archive from memory: names and contents, stored or deflated. Enough for a Go module archive (no encryption, no
 * zip64, no spanning), and no more; anything else is refused with a sentence.
 */

import { inflateRawSync } from 'node:zlib';

const endRecord = 0x06054b50;
const entryRecord = 0x02014b50;
const endSize = 22;

export function readZip(bytes: Uint8Array): Map<string, Uint8Array> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let end = bytes.byteLength - endSize;
  while (end >= 0 && view.getUint32(end, true) !== endRecord) end -= 1;
  if (end < 0) throw new Error('not a zip archive: it has no end record.');
  const count = view.getUint16(end + 10, true);
  let at = view.getUint32(end + 16, true);
  const files = new Map<string, Uint8Array>();
  while (at < end) {
    if (view.getUint32(at, true) !== entryRecord) break;
    const nameLength = view.getUint16(at + 28, true);
    const name = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameLength));
    if (!name.endsWith('/')) files.set(name, contentOf(bytes, view, at));
    at += 46 + nameLength + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  }
  // The count has 16 bits: an archive with more entries says so modulo 65,536.
  if (files.size % 0x10000 !== count) {
    throw new Error(`a damaged zip archive: ${files.size} files, ${count} announced.`);
  }
  return files;
}

function contentOf(bytes: Uint8Array, view: DataView, entry: number): Uint8Array {
  const method = view.getUint16(entry + 10, true);
  const packed = view.getUint32(entry + 20, true);
  const local = view.getUint32(entry + 42, true);
  const start = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
  const content = bytes.subarray(start, start + packed);
  if (method === 0) return content;
  if (method === 8) return inflateRawSync(content);
  throw new Error(`a zip entry with the unknown compression method ${method}.`);
}
