/**
 * What the fuzzer starts from: the vectors of test/vectors/bgp, and good messages of every kind made at random, so that
 * mutations begin inside the grammar and not in front of its first check.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Capability,
  type CodecContext,
  encode,
  type Message,
  type Nlri,
  type PathAttributes,
  PLAIN_CONTEXT,
  parseHex,
} from 'bgp-ts';
import type { FuzzRandom } from './fuzz-random.ts';

export const VECTOR_FOLDER = join(import.meta.dirname, '../test/vectors/bgp');

const FAMILIES = [
  { afi: 1, safi: 1 },
  { afi: 2, safi: 1 },
] as const;

/** Sessions of every sort: what one context reads as a path identifier another reads as a prefix. */
export const CONTEXTS: readonly CodecContext[] = [true, false].flatMap((as4) =>
  [true, false, undefined].flatMap((internal) =>
    [[], FAMILIES].flatMap((addPath) =>
      [true, false].map((extendedMessage) => ({
        as4,
        internal,
        extendedMessage,
        addPathReceive: addPath,
        addPathSend: addPath,
        extendedNextHop: extendedMessage ? [FAMILIES[0]] : [],
      })),
    ),
  ),
);

/** A message and the session in which it means what was meant. */
export interface Seed {
  readonly bytes: Uint8Array;
  readonly context: CodecContext;
}

export function vectorSeeds(): readonly Seed[] {
  const files = readdirSync(VECTOR_FOLDER).filter((name) => name.endsWith('.json'));
  const seeds = files.flatMap((name) => readVectors(join(VECTOR_FOLDER, name)));
  if (seeds.length === 0) throw new Error(`no vectors in ${VECTOR_FOLDER}`);
  return seeds;
}

function readVectors(path: string): readonly Seed[] {
  const list: unknown = JSON.parse(readFileSync(path, 'utf8'));
  if (!Array.isArray(list)) return [];
  return list.flatMap((vector: unknown) => {
    const text: unknown =
      typeof vector === 'object' && vector !== null ? Reflect.get(vector, 'hex') : undefined;
    const bytes = typeof text === 'string' ? parseHex(text) : undefined;
    return bytes === undefined ? [] : [{ bytes, context: PLAIN_CONTEXT }];
  });
}

export function generatedSeeds(random: FuzzRandom, count: number): readonly Seed[] {
  return Array.from({ length: count }, () => {
    const context = random.pick(CONTEXTS);
    return { bytes: encode(generateMessage(random), context), context };
  });
}

function generateMessage(random: FuzzRandom): Message {
  switch (random.below(8)) {
    case 0:
      return {
        kind: 'open',
        version: 4,
        asn: 1 + random.below(65535),
        holdTimeSeconds: random.pick([0, 3, 9, 180, 65535]),
        routerId: random.u32() || 1,
        capabilities: list(random, 8, () => generateCapability(random)),
      };
    case 1:
      return {
        kind: 'notification',
        code: random.below(9),
        subcode: random.below(12),
        data: random.bytes(random.below(40)),
      };
    case 2:
      return { kind: 'route-refresh', ...random.pick(FAMILIES), subtype: random.below(4) };
    default:
      return generateUpdate(random);
  }
}

function generateCapability(random: FuzzRandom): Capability {
  const family = random.pick(FAMILIES);
  const kinds: readonly Capability[] = [
    { kind: 'multiprotocol', ...family },
    { kind: 'route-refresh' },
    { kind: 'enhanced-route-refresh' },
    { kind: 'extended-message' },
    { kind: 'extended-next-hop', entries: [{ ...FAMILIES[0], nextHopAfi: 2 }] },
    { kind: 'role', role: random.below(5) },
    { kind: 'four-octet-asn', asn: random.u32() || 1 },
    { kind: 'add-path', entries: [{ ...family, mode: 1 + random.below(3) }] },
    { kind: 'fqdn', host: 'router', domain: 'example' },
    { kind: 'unknown', code: 200, value: random.bytes(random.below(20)) },
    {
      kind: 'graceful-restart',
      restarting: random.chance(50),
      notification: random.chance(50),
      restartTimeSeconds: random.below(4096),
      families: [{ ...family, forwarding: random.chance(50) }],
    },
  ];
  return random.pick(kinds);
}

function list<T>(random: FuzzRandom, maximum: number, make: () => T): T[] {
  return Array.from({ length: random.below(maximum + 1) }, make);
}

function ipv4Nlri(random: FuzzRandom): Nlri {
  const length = random.below(33);
  const bits = length === 0 ? 0 : (random.u32() >> (32 - length)) << (32 - length);
  return { family: 'ipv4', bits, length };
}

function ipv6Nlri(random: FuzzRandom): Nlri {
  const length = random.pick([0, 32, 48, 64]);
  const word = (at: number) => (length > at ? random.u32() | 0 : 0);
  const half = length === 48 ? random.u32() & ~0xffff : word(32);
  return { family: 'ipv6', w0: word(0), w1: half, w2: 0, w3: 0, length };
}

function generateUpdate(random: FuzzRandom): Message {
  const nlri = list(random, 12, () => ipv4Nlri(random));
  return {
    kind: 'update',
    withdrawn: random.chance(30) ? list(random, 6, () => ipv4Nlri(random)) : [],
    attributes: generateAttributes(random),
    nlri,
  };
}

function generateAttributes(random: FuzzRandom): PathAttributes {
  const maybe = <T extends PathAttributes>(part: () => T): PathAttributes =>
    random.chance(40) ? part() : {};
  const asns = () => list(random, 4, () => random.u32() || 1).concat(65001);
  return {
    origin: random.pick(['igp', 'egp', 'incomplete']),
    asPath: [{ type: random.pick(['sequence', 'set']), asns: asns() }],
    nextHop: { family: 'ipv4', bits: 0xc0000201 | 0 },
    ...maybe(() => ({ med: random.u32() })),
    ...maybe(() => ({ localPref: random.u32() })),
    ...maybe(() => ({ atomicAggregate: true })),
    ...maybe(() => ({
      aggregator: { asn: random.u32() || 1, address: { family: 'ipv4', bits: 7 } },
    })),
    ...maybe(() => ({ communities: list(random, 5, () => random.u32()).concat(1) })),
    ...maybe(() => ({ extendedCommunities: [{ high: random.u32(), low: random.u32() }] })),
    ...maybe(() => ({ ipv6ExtendedCommunities: [random.bytes(20)] })),
    ...maybe(() => ({
      largeCommunities: [{ global: random.u32(), local1: 1, local2: random.u32() }],
    })),
    ...maybe(() => ({ originatorId: { family: 'ipv4', bits: random.u32() | 0 } })),
    ...maybe(() => ({ clusterList: [{ family: 'ipv4', bits: random.u32() | 0 }] })),
    ...maybe(() => ({ otc: random.u32() })),
    ...maybe(() => ({ unknown: [{ code: 201, flags: 0xc0, value: random.bytes(9) }] })),
    ...maybe(() => generateReach(random)),
    ...maybe(() => generateUnreach(random)),
  };
}

function generateReach(random: FuzzRandom): PathAttributes {
  const hop = { family: 'ipv6', w0: 0x20010db8, w1: 0, w2: 0, w3: 1 } as const;
  if (random.chance(20)) {
    const opaque = { kind: 'opaque', afi: 25, safi: 70 } as const;
    return { mpReach: { ...opaque, nextHop: random.bytes(4), nlri: random.bytes(20) } };
  }
  const nlri = list(random, 6, () => ipv6Nlri(random));
  const nextHops = random.chance(30) ? [hop, { ...hop, w0: 0xfe800000 | 0 }] : [hop];
  return { mpReach: { kind: 'prefixes', afi: 2, safi: 1, nextHops, nlri } };
}

function generateUnreach(random: FuzzRandom): PathAttributes {
  const withdrawn = list(random, 6, () => ipv6Nlri(random));
  return { mpUnreach: { kind: 'prefixes', afi: 2, safi: 1, withdrawn } };
}
