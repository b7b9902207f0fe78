/**
 * A seeded table of routes with mixed attributes, as UPDATE messages: the input that FRR receives and dumps for the decoder
 * bench. The same seed gives the same bytes everywhere.
 *
 * The mix follows what public route collectors show, in round numbers: seven of eight prefixes IPv4, most of them /24; paths
 * of two to eight hops, some prepended, few with a set at the end; a seventh of the AS numbers need four octets; most
 * attribute sets shared by one to three prefixes, a few by dozens; none to eight communities, sometimes large or
 * extended ones; MED, AGGREGATOR and ATOMIC_AGGREGATE now and then.
 */

import { attribute, Bytes, endOfRib, message, messageType, nlri, updates } from './wire.ts';

export type TableOptions = {
  readonly seed: number;
  readonly routes: number;
  /** first AS of every path, and the next hops */
  readonly asn: number;
  readonly nextHop: Uint8Array;
  readonly nextHop6: Uint8Array;
};

export type Table = { readonly messages: readonly Buffer[]; readonly routes: number };

type Weighted = readonly (readonly [value: number, weight: number])[];

const lengths4: Weighted = [
  [24, 600],
  [22, 110],
  [23, 95],
  [21, 50],
  [20, 45],
  [16, 14],
  [19, 26],
  [18, 15],
  [17, 9],
  [15, 2],
  [14, 2],
  [13, 1],
];
const lengths6: Weighted = [
  [48, 470],
  [44, 120],
  [32, 120],
  [40, 90],
  [46, 60],
  [36, 50],
  [29, 40],
  [47, 30],
  [33, 20],
];
const groupSizes: Weighted = [
  [1, 450],
  [2, 150],
  [3, 100],
  [5, 120],
  [9, 80],
  [20, 60],
  [45, 40],
];
const hops: Weighted = [
  [2, 8],
  [3, 24],
  [4, 30],
  [5, 20],
  [6, 10],
  [7, 5],
  [8, 3],
];
const communityCounts: Weighted = [
  [0, 30],
  [1, 12],
  [2, 14],
  [3, 14],
  [4, 12],
  [5, 8],
  [6, 5],
  [8, 5],
];
const origins: Weighted = [
  [0, 85],
  [1, 2],
  [2, 13],
];

/** Mulberry32: small, fast, and good enough to shuffle attributes. */
class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** from 0 up to but without `bound` */
  below(bound: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick(from: Weighted): number {
    let left = this.below(from.reduce((sum, [, weight]) => sum + weight, 0));
    for (const [value, weight] of from) {
      if (left < weight) return value;
      left -= weight;
    }
    throw new Error('no weights');
  }
}

const asNumber = (dice: Dice): number =>
  dice.chance(15) ? 196_608 + dice.below(200_000) : 1_000 + dice.below(60_000);

/** AS_PATH (RFC 4271 §5.1.2) with four-octet numbers. */
function asPath(dice: Dice, first: number): Buffer {
  const path = [first];
  for (let count = dice.pick(hops); path.length < count; ) path.push(asNumber(dice));
  const origin = path.at(-1) ?? first;
  if (dice.chance(10)) for (let more = 1 + dice.below(3); more > 0; more -= 1) path.push(origin);
  const out = new Bytes().u8(2, path.length).u32(...path);
  if (dice.below(200) === 0) out.u8(1, 2).u32(asNumber(dice), asNumber(dice));
  return out.done();
}

function communities(dice: Dice): Buffer {
  const out = new Bytes();
  for (let left = dice.pick(communityCounts); left > 0; left -= 1) {
    out.u16(1 + dice.below(64_000)).u16(dice.below(65_536));
  }
  return out.done();
}

function aggregation(dice: Dice): Buffer[] {
  const out: Buffer[] = [];
  if (dice.chance(5)) out.push(attribute(0x40, 6, new Uint8Array()));
  if (dice.chance(8)) {
    out.push(attribute(0xc0, 7, new Bytes().u32(asNumber(dice), dice.below(2 ** 32)).done()));
  }
  return out;
}

function extended(dice: Dice): Buffer[] {
  if (!dice.chance(6)) return [];
  const out = new Bytes();
  // Route targets of two-octet AS numbers (RFC 4360 §4).
  for (let left = 1 + dice.below(3); left > 0; left -= 1) {
    out
      .u8(0, 2)
      .u16(1 + dice.below(64_000))
      .u32(dice.below(100_000));
  }
  return [attribute(0xc0, 16, out.done())];
}

function large(dice: Dice): Buffer[] {
  if (!dice.chance(15)) return [];
  const out = new Bytes();
  const global = asNumber(dice);
  for (let left = 1 + dice.below(4); left > 0; left -= 1) {
    out.u32(global, dice.below(1_000), dice.below(1_000_000));
  }
  return [attribute(0xc0, 32, out.done())];
}

/** Attributes before and after the place of NEXT_HOP and MP_REACH_NLRI, so that codes stay in ascending order. */
function mixedAttributes(
  dice: Dice,
  options: TableOptions,
): { head: Buffer; middle: Buffer; tail: Buffer } {
  const head = Buffer.concat([
    attribute(0x40, 1, Uint8Array.of(dice.pick(origins))),
    attribute(0x40, 2, asPath(dice, options.asn)),
  ]);
  const middle: Buffer[] = [];
  if (dice.chance(25)) middle.push(attribute(0x80, 4, new Bytes().u32(dice.below(1_000)).done()));
  middle.push(...aggregation(dice));
  const tagged = communities(dice);
  if (tagged.length > 0) middle.push(attribute(0xc0, 8, tagged));
  return {
    head,
    middle: Buffer.concat(middle),
    tail: Buffer.concat([...extended(dice), ...large(dice)]),
  };
}

/** Draws prefixes that were not drawn before. */
class Prefixes {
  readonly #seen = new Set<string>();

  draw(dice: Dice, isIpv6: boolean): Buffer {
    for (;;) {
      const one = isIpv6 ? prefix6(dice) : prefix4(dice);
      const key = one.toString('latin1');
      if (this.#seen.has(key)) continue;
      this.#seen.add(key);
      return one;
    }
  }
}

function masked(bytes: Uint8Array, length: number): Buffer {
  const out = nlri(bytes, length);
  const spare = (8 - (length % 8)) % 8;
  const last = out.length - 1;
  out.writeUInt8((out.readUInt8(last) >> spare) << spare, last);
  return out;
}

function prefix4(dice: Dice): Buffer {
  // Unicast outside 0/8, 10/8 and 127/8: a router drops those as martians.
  let first = 11 + dice.below(212);
  if (first === 127) first = 126;
  return masked(Uint8Array.of(first, dice.below(256), dice.below(256), 0), dice.pick(lengths4));
}

function prefix6(dice: Dice): Buffer {
  const bytes = Uint8Array.from({ length: 16 }, () => dice.below(256));
  bytes[0] = 0x24 + 2 * dice.below(5);
  return masked(bytes, dice.pick(lengths6));
}

function update6(parts: ReturnType<typeof mixedAttributes>, reach: Bytes): Buffer {
  const attributes = Buffer.concat([
    parts.head,
    parts.middle,
    attribute(0x80, 14, reach.done()),
    parts.tail,
  ]);
  const body = new Bytes().u16(0).u16(attributes.length).bytes(attributes);
  return message(messageType.update, body.done());
}

export function makeTable(options: TableOptions): Table {
  const dice = new Dice(options.seed);
  const drawn = new Prefixes();
  const messages: Buffer[] = [];
  let routes = 0;
  while (routes < options.routes) {
    const isIpv6 = dice.below(8) === 0;
    const count = Math.min(dice.pick(groupSizes), options.routes - routes);
    const parts = mixedAttributes(dice, options);
    const prefixes = Array.from({ length: count }, () => drawn.draw(dice, isIpv6));
    routes += count;
    if (isIpv6) {
      const reach = new Bytes().u16(2).u8(1, options.nextHop6.length).bytes(options.nextHop6).u8(0);
      for (const prefix of prefixes) reach.bytes(prefix);
      messages.push(update6(parts, reach));
    } else {
      const nextHop = attribute(0x40, 3, options.nextHop);
      const attributes = Buffer.concat([parts.head, nextHop, parts.middle, parts.tail]);
      messages.push(...updates(attributes, prefixes));
    }
  }
  messages.push(endOfRib());
  return { messages, routes };
}
