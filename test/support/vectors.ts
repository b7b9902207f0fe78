/**
 * Wire vectors: what real octets mean, one JSON array per file in test/vectors/bgp. A vector is
 *
 * ```
 * { name, source, negotiated?, hex, message, issues?, written? }     octets that decode
 * { name, source, negotiated?, hex, fault }                          octets that do not
 * ```
 *
 * - `source` names where the octets come from: the RFC section they are written from, or the router that sent them.
 * - `negotiated` holds what differs from a plain session (`CodecContext`); path identifiers are assumed both ways.
 * - `hex` may contain blanks, so that fields can be told apart.
 * - `message`, `issues` and `fault` are in the form of `herald decode`. Of a fault and an issue only the members that the
 *   vector has are compared: `detail` is for people and free to change.
 * - `written` is what our encoder makes of the message where that is other octets of the same meaning.
 *
 * `describeVectors` makes tests of each: decode, encode, round trip, every split point, every truncation. A folder with no
 * vectors fails.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { decode, PLAIN_CONTEXT } from '../../protocol/bgp/decode.ts';
import { describeFault, describeMessage } from '../../protocol/bgp/describe.ts';
import { encode } from '../../protocol/bgp/encode.ts';
import { Framer, type FramerResult } from '../../protocol/bgp/framer.ts';
import type { CodecContext } from '../../protocol/bgp/negotiate.ts';
import { formatHex, parseHex } from '../../protocol/bytes/hex.ts';

type Json = Readonly<Record<string, unknown>>;

export interface Vector {
  readonly name: string;
  readonly source: string;
  readonly negotiated?: Partial<CodecContext>;
  readonly hex: string;
  readonly message?: Json;
  readonly issues?: readonly Json[];
  readonly fault?: Json;
  readonly written?: string;
}

export function loadVectors(folder: URL): ReadonlyMap<string, readonly Vector[]> {
  const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
  if (files.length === 0) throw new Error(`no vectors in ${folder.pathname}`);
  return new Map(files.sort().map((name) => [name, loadFile(join(folder.pathname, name))]));
}

function loadFile(path: string): readonly Vector[] {
  const vectors: unknown = JSON.parse(readFileSync(path, 'utf8'));
  if (!Array.isArray(vectors) || vectors.length === 0) throw new Error(`${path} has no vectors`);
  return vectors.map((vector: unknown, index) => checkVector(vector, `${path}[${index}]`));
}

const MEMBERS = ['name', 'source', 'negotiated', 'hex', 'message', 'issues', 'fault', 'written'];

/** A misspelt member would silently weaken a vector, so its shape is checked. */
function checkVector(value: unknown, where: string): Vector {
  if (!isVector(value)) throw new Error(`${where}: name, source, hex and message or fault needed`);
  const strange = Object.keys(value).filter((key) => !MEMBERS.includes(key));
  if (strange.length > 0) throw new Error(`${where}: unknown members ${strange.join(', ')}`);
  for (const key of Object.keys(value.negotiated ?? {})) {
    if (!(key in PLAIN_CONTEXT)) throw new Error(`${where}: negotiated.${key} is nothing we know`);
  }
  return value;
}

function isVector(value: unknown): value is Vector {
  if (typeof value !== 'object' || value === null) return false;
  const has = (key: string) => typeof Reflect.get(value, key) === 'string';
  return has('name') && has('source') && has('hex') && 'message' in value !== 'fault' in value;
}

/** Declares the tests of all vectors in a folder. */
export function describeVectors(folder: URL): void {
  for (const [file, vectors] of loadVectors(folder)) {
    describe(file, () => {
      for (const vector of vectors) describe(vector.name, () => describeVector(vector));
    });
  }
}

function describeVector(vector: Vector): void {
  const context = contextOf(vector);
  const raw = bytesOf(vector.hex);
  if (vector.message === undefined) {
    it(`is refused (${vector.source})`, () => expectFault(vector, raw, context));
  } else {
    it(`decodes (${vector.source})`, () => expectMessage(vector, raw, context));
    it('encodes', () => expectEncoding(vector, raw, context));
    it('is the same after encoding and decoding again', () => expectRoundTrip(raw, context));
  }
  it('frames alike at every split point', () => expectSplits(raw, context));
  it('gives a typed answer at every truncation', () => expectTruncations(raw, context));
}

function contextOf(vector: Vector): CodecContext {
  const context = { ...PLAIN_CONTEXT, ...vector.negotiated };
  return { ...context, addPathSend: context.addPathReceive };
}

function bytesOf(hex: string): Uint8Array {
  const bytes = parseHex(hex);
  if (bytes === undefined) throw new Error(`not hex: ${hex}`);
  return bytes;
}

/** through JSON, because that is how a vector came and how `herald decode` prints */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

/** Of `actual` only the members that `expected` has. */
function pick(actual: Json, expected: Json): Json {
  return Object.fromEntries(Object.keys(expected).map((key) => [key, actual[key]]));
}

function expectMessage(vector: Vector, raw: Uint8Array, context: CodecContext): void {
  const result = decode(raw, context);
  if (!result.ok) throw result.fault;
  expect(plain(describeMessage(result.message))).to.deep.equal(vector.message);
  const issues = vector.issues ?? [];
  expect(result.issues).to.have.lengthOf(issues.length);
  for (const [index, issue] of result.issues.entries()) {
    const expected = issues[index] ?? {};
    expect(plain(pick({ ...issue }, expected))).to.deep.equal(expected);
  }
}

function expectFault(vector: Vector, raw: Uint8Array, context: CodecContext): void {
  const result = decode(raw, context);
  if (result.ok) throw new Error(`decoded to ${JSON.stringify(describeMessage(result.message))}`);
  const fault = describeFault(result.fault);
  const expected = vector.fault ?? {};
  expect(plain(pick({ ...fault }, expected))).to.deep.equal(expected);
  expect(Object.keys(expected)).to.include.members(['code', 'subcode']);
  expect(fault['detail']).to.be.a('string').and.not.equal('');
}

function expectEncoding(vector: Vector, raw: Uint8Array, context: CodecContext): void {
  const result = decode(raw, context);
  if (!result.ok) throw result.fault;
  const expected = vector.written === undefined ? raw : bytesOf(vector.written);
  expect(formatHex(encode(result.message, context))).to.equal(formatHex(expected));
}

function expectRoundTrip(raw: Uint8Array, context: CodecContext): void {
  const first = decode(raw, context);
  if (!first.ok) throw first.fault;
  const second = decode(encode(first.message, context), context);
  if (!second.ok) throw second.fault;
  expect(second.message).to.deep.equal(first.message);
}

function expectSplits(raw: Uint8Array, context: CodecContext): void {
  const whole = frameChunks([raw], context);
  for (let at = 1; at < raw.length; at++) {
    const split = frameChunks([raw.slice(0, at), raw.slice(at)], context);
    expect(split, `split at ${at}`).to.deep.equal(whole);
  }
  expect(
    frameChunks(
      Array.from(raw, (octet) => Uint8Array.of(octet)),
      context,
    ),
  ).to.deep.equal(whole);
}

function frameChunks(chunks: readonly Uint8Array[], context: CodecContext): readonly string[] {
  const framer = new Framer(context.extendedMessage);
  const seen: string[] = [];
  for (const chunk of chunks) {
    framer.push(chunk);
    let result = framer.next();
    for (; result.kind === 'frame'; result = framer.next()) seen.push(resultText(result));
    // what comes behind is not looked at: whether a bad header is known now or with the next octet depends on the split
    if (result.kind === 'fault') return [...seen, resultText(result)];
  }
  return seen;
}

function resultText(result: FramerResult): string {
  if (result.kind === 'frame') return formatHex(result.frame);
  if (result.kind === 'incomplete') return 'incomplete';
  const { code, subcode, data } = result.fault;
  return `${code}/${subcode} ${formatHex(data)}`;
}

function expectTruncations(raw: Uint8Array, context: CodecContext): void {
  for (let length = 0; length < raw.length; length++) {
    const cut = raw.slice(0, length);
    expect(decode(cut, context).ok, `${length} octets of ${raw.length}`).to.equal(false);
    if (length < 19) continue;
    // the same with a header that does not give the cut away, so that the body is read
    cut[16] = length >>> 8;
    cut[17] = length;
    const result = decode(cut, context);
    if (result.ok) encode(result.message, context);
    else expect(result.fault.code).to.be.within(1, 7);
  }
}
