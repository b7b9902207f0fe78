/**
 * A run of the fuzzer: mutated messages through framer and decoder, what decoded through encoder and decoder again.
 *
 * What must hold: nothing is thrown but what decode() returns as a fault; a decoded message encodes, and decodes to the same
 * message again; `herald decode` can print all of it; no message takes long; memory does not grow. What does not hold is a
 * `Crash`, with the octets that show it.
 */

import { isDeepStrictEqual } from 'node:util';
import {
  type CodecContext,
  decode,
  describeFault,
  describeMessage,
  encode,
  Framer,
  formatHex,
  type Message,
} from 'bgp-ts';
import { mutate } from './fuzz-mutate.ts';
import { FuzzRandom } from './fuzz-random.ts';
import { CONTEXTS, generatedSeeds, type Seed, vectorSeeds } from './fuzz-seeds.ts';

export interface CampaignOptions {
  readonly seed: number;
  /** called before each message: a watchdog sees from it that we are alive, and what was read when we were not */
  readonly onMessage?: (index: number, bytes: Uint8Array, context: CodecContext) => void;
  readonly onProgress?: (done: number, counts: Counts) => void;
}

export type Counts = Readonly<Record<string, number>>;

export interface Crash {
  readonly index: number;
  readonly hex: string;
  readonly context: CodecContext;
  readonly what: string;
}

export interface CampaignResult {
  readonly counts: Counts;
  readonly crashes: readonly Crash[];
  readonly slowestMs: number;
}

const GENERATED_SEEDS = 600;
/** messages that decoded become seeds themselves, in a pool that does not grow */
const GROWN_SEEDS = 400;
const PROGRESS_EVERY = 10_000;
const MAX_CRASHES = 20;
const MAX_MESSAGE_LENGTH = 4096;
/** what the machine may take away from us (another process, a collection) is allowed for by asking again */
const SLOW_MS = 20;

export class Campaign {
  readonly #options: CampaignOptions;
  readonly #random: FuzzRandom;
  readonly #seeds: Seed[];
  readonly #fixedSeeds: number;
  readonly #counts: Record<string, number> = {};
  readonly #crashes: Crash[] = [];
  #slowestMs = 0;
  #done = 0;

  constructor(options: CampaignOptions) {
    this.#options = options;
    this.#random = new FuzzRandom(options.seed);
    this.#seeds = [...vectorSeeds(), ...generatedSeeds(this.#random, GENERATED_SEEDS)];
    this.#fixedSeeds = this.#seeds.length;
  }

  /** runs up to this many messages in all; may be called again to go on */
  runTo(count: number): CampaignResult {
    for (; this.#done < count && this.#crashes.length < MAX_CRASHES; this.#done += 1) {
      const seed = this.#random.pick(this.#seeds);
      const lender = this.#random.pick(this.#seeds);
      const context = this.#random.chance(75) ? seed.context : this.#random.pick(CONTEXTS);
      const bytes = mutate(seed.bytes, this.#random, lender.bytes);
      this.#options.onMessage?.(this.#done, bytes, context);
      this.#runOne(bytes, context);
      if ((this.#done + 1) % PROGRESS_EVERY === 0) {
        this.#options.onProgress?.(this.#done + 1, this.#counts);
      }
    }
    return { counts: this.#counts, crashes: this.#crashes, slowestMs: this.#slowestMs };
  }

  #runOne(bytes: Uint8Array, context: CodecContext): void {
    try {
      const started = performance.now();
      const outcome = this.#examine(bytes, context);
      this.#watchTime(bytes, context, performance.now() - started);
      this.#counts[outcome] = (this.#counts[outcome] ?? 0) + 1;
      if (/^decoded (update|open)/.test(outcome)) this.#grow({ bytes, context });
    } catch (error) {
      const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.#crashes.push({ index: this.#done, hex: formatHex(bytes), context, what });
      this.#counts['CRASH'] = (this.#counts['CRASH'] ?? 0) + 1;
    }
  }

  /** in pieces drawn by the message's own number: how often a slow machine has to ask must not change what comes next */
  #examine(bytes: Uint8Array, context: CodecContext): string {
    return examine(bytes, context, new FuzzRandom(this.#done));
  }

  #watchTime(bytes: Uint8Array, context: CodecContext, firstMs: number): void {
    let bestMs = firstMs;
    for (let again = 0; again < 5 && bestMs > SLOW_MS; again += 1) {
      const started = performance.now();
      this.#examine(bytes, context);
      bestMs = Math.min(bestMs, performance.now() - started);
    }
    if (bestMs > SLOW_MS) throw new Error(`took ${bestMs.toFixed(1)} ms, six times`);
    this.#slowestMs = Math.max(this.#slowestMs, bestMs);
  }

  #grow(seed: Seed): void {
    if (!this.#random.chance(5) || seed.bytes.length > MAX_MESSAGE_LENGTH) return;
    if (this.#seeds.length < this.#fixedSeeds + GROWN_SEEDS) this.#seeds.push(seed);
    else this.#seeds[this.#fixedSeeds + this.#random.below(GROWN_SEEDS)] = seed;
  }
}

/** One message all the way; returns what became of it, throws for what must not happen. */
function examine(bytes: Uint8Array, context: CodecContext, random: FuzzRandom): string {
  frameInChunks(bytes, context, random);
  const result = decode(bytes, context);
  if (!result.ok) {
    const { code, subcode, outcome } = result.fault;
    JSON.stringify(describeFault(result.fault));
    if (code < 1 || code > 7) throw new Error(`a fault of code ${code}`);
    if (outcome === 'treat-as-withdraw' && result.fault.withdrawn.length === 0) {
      throw new Error(`${code}/${subcode} is treat-as-withdraw and withdraws nothing`);
    }
    return `${outcome} ${code}/${subcode}`;
  }
  const { message, issues } = result;
  JSON.stringify(describeMessage(message));
  const written = encode(message, context);
  const again = decode(written, context);
  if (!again.ok) throw new Error(`encodes to ${formatHex(written)}: ${again.fault.detail}`);
  if (again.issues.length > 0) throw new Error(`encodes to ${formatHex(written)} with issues`);
  if (!isDeepStrictEqual(again.message, inWrittenOrder(message))) {
    throw new Error(`encodes to ${formatHex(written)}, which is another message`);
  }
  return `decoded ${message.kind}${issues.length > 0 ? ' with issues' : ''}`;
}

/** The order of attributes means nothing; we write them in ascending order of their codes (RFC 4271 §5). */
function inWrittenOrder(message: Message): Message {
  if (message.kind !== 'update' || message.attributes.unknown === undefined) return message;
  const unknown = message.attributes.unknown.toSorted((a, b) => a.code - b.code);
  return { ...message, attributes: { ...message.attributes, unknown } };
}

/** The same octets in pieces: frames must come out whole and in order, or a fault that stays. */
function frameInChunks(bytes: Uint8Array, context: CodecContext, random: FuzzRandom): void {
  const framer = new Framer(context.extendedMessage);
  let framed = 0;
  for (let at = 0; at < bytes.length; ) {
    const end = Math.min(bytes.length, at + 1 + random.below(random.chance(50) ? 64 : 4096));
    framer.push(bytes.slice(at, end));
    at = end;
    const frames = takeFrames(framer, bytes.subarray(framed));
    if (frames === undefined) return;
    framed += frames;
  }
  if (framed + framer.buffered !== bytes.length) throw new Error('the framer lost octets');
}

/** The octets that became frames, which stand at the beginning of `expected`; undefined after a fault. */
function takeFrames(framer: Framer, expected: Uint8Array): number | undefined {
  let taken = 0;
  for (let left = expected.length + 1; left > 0; left -= 1) {
    const next = framer.next();
    if (next.kind === 'fault') return undefined;
    if (next.kind === 'incomplete') return taken;
    if (!startsWith(expected, taken, next.frame)) throw new Error('a frame is not what came');
    taken += next.frame.length;
  }
  throw new Error('the framer makes frames of nothing');
}

function startsWith(bytes: Uint8Array, at: number, part: Uint8Array): boolean {
  return part.every((octet, index) => bytes[at + index] === octet);
}
