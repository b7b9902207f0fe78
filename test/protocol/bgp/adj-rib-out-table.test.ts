import { expect } from 'chai';
import fc from 'fast-check';
import {
  Bucket,
  BucketQueue,
  EntryTable,
  entryHash,
} from '../../../protocol/bgp/adj-rib-out-table.ts';
import { routeKey } from '../../../protocol/bgp/route.ts';
import type { Prefix } from '../../../protocol/net/address.ts';
import { ipv4Address, ipv6Address, maskPrefix } from '../../../protocol/net/address.ts';

const arbitraryPrefix: fc.Arbitrary<Prefix> = fc.oneof(
  fc
    .tuple(fc.nat(300), fc.integer({ min: 20, max: 32 }))
    .map(([bits, length]) => maskPrefix(ipv4Address(0x0a000000 + bits * 7), length)),
  fc
    .tuple(fc.nat(40), fc.nat(40), fc.constantFrom(64, 128))
    .map(([middle, low, length]) => maskPrefix(ipv6Address(0x20010db8, middle, 0, low), length)),
);

describe('EntryTable', () => {
  it('does what a Map does, collisions and growth included', () => {
    const arbitraryChange = fc.record({
      prefix: arbitraryPrefix,
      pathId: fc.nat(1),
      isRemoval: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(arbitraryChange, { minLength: 200, maxLength: 400 }), (changes) => {
        const table = new EntryTable();
        const model = new Map<string, unknown>();
        for (const { prefix, pathId, isRemoval } of changes) {
          const key = routeKey({ prefix, pathId }, true);
          const known = model.get(key);
          const entry = table.findOrAdd(prefix, pathId);
          if (known !== undefined) expect(entry === known).to.equal(true);
          if (isRemoval) {
            table.remove(entry);
            model.delete(key);
          } else model.set(key, entry);
          expect(table.size).to.equal(model.size);
        }
        const visited = new Set<unknown>();
        table.forEach((entry) => {
          visited.add(entry);
        });
        expect(visited.size).to.equal(model.size);
        for (const entry of model.values()) expect(visited.has(entry)).to.equal(true);
      }),
      { numRuns: 60 },
    );
  });

  it('spreads host routes, aggregates and IPv6 networks alike', () => {
    const families: Record<string, (i: number) => Prefix> = {
      'host routes': (i) => maskPrefix(ipv4Address(0x0a000000 + i), 32),
      '/24': (i) => maskPrefix(ipv4Address(0x0a000000 + (i << 8)), 24),
      '/64': (i) => maskPrefix(ipv6Address(0x20010db8, i, 0, 0), 64),
      '/48': (i) => maskPrefix(ipv6Address(0x20010000 + (i >> 16), i << 16, 0, 0), 48),
      '/128': (i) => maskPrefix(ipv6Address(0x20010db8, 0, 0, i), 128),
    };
    for (const [name, prefixOf] of Object.entries(families)) {
      const slots = new Uint8Array(16384);
      for (let i = 0; i < slots.length; i++) {
        const slot = entryHash(prefixOf(i), 0) & (slots.length - 1);
        slots[slot] = (slots[slot] ?? 0) + 1;
      }
      expect(Math.max(...slots), name).to.be.at.most(12);
    }
  });
});

describe('Bucket and BucketQueue', () => {
  it('keep their order whatever is taken out', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(9), { maxLength: 40 }), (choices) => {
        const table = new EntryTable();
        const entries = Array.from({ length: 10 }, (_, i) =>
          table.findOrAdd(maskPrefix(ipv4Address(i << 8), 24), 0),
        );
        const bucket = new Bucket({});
        let model: unknown[] = [];
        for (const choice of choices) {
          const entry = entries[choice];
          if (entry === undefined) continue;
          if (entry.bucket === undefined) {
            bucket.append(entry);
            model.push(entry);
          } else {
            bucket.remove(entry);
            model = model.filter((each) => each !== entry);
          }
          expect(bucket.size).to.equal(model.length);
        }
        const order = [];
        for (let entry = bucket.head; entry !== undefined; entry = entry.next) order.push(entry);
        expect(order.every((entry, i) => entry === model[i])).to.equal(true);
        expect(order.length).to.equal(model.length);
      }),
    );
  });

  it('take a bucket once and let it go wherever it stands', () => {
    const queue = new BucketQueue();
    const [a, b, c] = [new Bucket({}), new Bucket({}), new Bucket({})];
    for (const each of [a, b, a, c, b]) queue.add(each);
    queue.remove(b);
    queue.remove(b);
    expect(queue.head === a && a.next === c && c.next === undefined).to.equal(true);
    queue.remove(a);
    queue.remove(c);
    queue.add(b);
    expect(queue.head === b && b.next === undefined).to.equal(true);
  });
});
