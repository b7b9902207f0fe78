import { type Address, formatAddress } from 'bgp-ts';
import { expect } from 'chai';
import fc from 'fast-check';
import { AddressBook, type Holder } from '../../../src/allocator/address-book.ts';
import { addressNumber, numberedAddress } from '../../../src/allocator/address-number.ts';
import { poolHolds } from '../../../src/model/pool-addresses.ts';
import { poolSize } from '../../../src/model/pool-size.ts';
import { address, pool } from '../../support/allocator-world.ts';

const CLAIM: Holder = { kind: 'claim', by: 'x' };
const KINDS: readonly Holder['kind'][] = ['claim', 'writing', 'node', 'ingress', 'external-ip'];

function takeAll(
  book: AddressBook,
  name: string,
  family: Address['family'],
  most = 1000,
): string[] {
  const given: string[] = [];
  while (given.length < most) {
    const next = book.lowestFree(name, family);
    if (next === undefined) break;
    book.take(next, CLAIM);
    given.push(formatAddress(next));
  }
  return given;
}

describe('AddressBook', () => {
  it('numbers addresses of both families there and back', () => {
    for (const text of [
      '0.0.0.0',
      '192.0.2.7',
      '255.255.255.255',
      '::',
      '2001:db8::7',
      'ffff::1',
    ]) {
      const value = address(text);
      expect(formatAddress(numberedAddress(value.family, addressNumber(value)))).to.equal(text);
    }
  });

  it('gives the lowest free address of ranges in whatever order they are written', () => {
    const book = new AddressBook();
    book.setPools([pool('a', ['192.0.2.252-192.0.2.253', '192.0.2.249-192.0.2.250'])]);
    expect(takeAll(book, 'a', 'ipv4')).to.deep.equal([
      '192.0.2.249',
      '192.0.2.250',
      '192.0.2.252',
      '192.0.2.253',
    ]);
    expect(book.lowestFree('a', 'ipv6')).to.equal(undefined);
  });

  // SEEDS.md G3, G4 with rulings J3: a CIDR is masked; first and last are usable unless avoidFirstLast
  const tables: readonly (readonly [string, boolean, readonly string[]])[] = [
    ['192.168.0.248/29', true, ['249', '250', '251', '252', '253', '254']],
    ['192.168.0.250/29', true, ['249', '250', '251', '252', '253', '254']],
    ['192.168.0.248/29', false, ['248', '249', '250', '251', '252', '253', '254', '255']],
    ['192.168.0.8/31', true, ['8', '9']],
    ['192.168.0.8/32', true, ['8']],
    ['192.168.0.250-192.168.0.255', true, ['250', '251', '252', '253', '254', '255']],
    ['192.168.0.248-192.168.0.249', true, ['248', '249']],
    ['192.168.0.251', true, ['251']],
  ];
  for (const [text, avoidFirstLast, last] of tables) {
    it(`gives ${last.length} addresses of ${text}${avoidFirstLast ? ' without first and last' : ''}`, () => {
      const book = new AddressBook();
      book.setPools([pool('a', [text], { avoidFirstLast })]);
      expect(takeAll(book, 'a', 'ipv4')).to.deep.equal(last.map((octet) => `192.168.0.${octet}`));
    });
  }

  it('crosses an octet (10.0.0.250-10.0.1.5) and ends', () => {
    const book = new AddressBook();
    book.setPools([pool('a', ['10.0.0.250-10.0.1.5'])]);
    expect(takeAll(book, 'a', 'ipv4'))
      .to.have.length(12)
      .and.to.include('10.0.1.0');
  });

  it('gives an address again only when the last of its holders has let go', () => {
    const book = new AddressBook();
    book.setPools([pool('a', ['192.0.2.0/31'])]);
    const first = address('192.0.2.0');
    book.take(first, CLAIM);
    book.take(first, { kind: 'external-ip', by: 'a/b' });
    expect(book.release(first, CLAIM)).to.equal(false);
    expect(book.lowestFree('a', 'ipv4')).to.deep.equal(address('192.0.2.1'));
    expect(book.release(first, { kind: 'external-ip', by: 'a/b' })).to.equal(true);
    expect(book.lowestFree('a', 'ipv4')).to.deep.equal(first);
    expect(book.release(first, CLAIM)).to.equal(false);
    expect(book.freeIn('a', 'ipv4')).to.equal(2n);
  });

  it('gives what came back the lowest first, whatever the order it came in', () => {
    const book = new AddressBook();
    book.setPools([pool('a', ['192.0.2.0/28'])]);
    for (let last = 0; last < 16; last += 1) book.take(address(`192.0.2.${last}`), CLAIM);
    expect(book.lowestFree('a', 'ipv4')).to.equal(undefined);
    for (const last of [9, 4, 12, 1, 7]) book.release(address(`192.0.2.${last}`), CLAIM);
    for (const last of [1, 4, 7, 9, 12]) {
      expect(book.lowestFree('a', 'ipv4')).to.deep.equal(address(`192.0.2.${last}`));
      book.take(address(`192.0.2.${last}`), CLAIM);
    }
    expect(book.lowestFree('a', 'ipv4')).to.equal(undefined);
  });

  it('gives others first for a while after an address has become free, and it where there is no other', () => {
    let nowMs = 0;
    const book = new AddressBook({ coolDownMs: 60_000, now: () => nowMs });
    book.setPools([pool('a', ['192.0.2.0/30'])]);
    const next = () => book.lowestFree('a', 'ipv4');
    for (const last of [0, 1, 2]) book.take(address(`192.0.2.${last}`), CLAIM);
    book.release(address('192.0.2.1'), CLAIM);
    nowMs = 10_000;
    book.release(address('192.0.2.0'), CLAIM);
    expect(book.freeIn('a', 'ipv4'), 'they are free').to.equal(3n);
    expect(next(), 'one that nobody had').to.deep.equal(address('192.0.2.3'));
    book.take(address('192.0.2.3'), CLAIM);
    expect(next(), 'the one that came back first').to.deep.equal(address('192.0.2.1'));
    book.take(address('192.0.2.1'), CLAIM);
    expect(next()).to.deep.equal(address('192.0.2.0'));
    book.release(address('192.0.2.3'), CLAIM);
    book.setPools([pool('a', ['192.0.2.0/30', '192.0.2.8'])]);
    expect(next(), 'a larger pool forgets nothing').to.deep.equal(address('192.0.2.8'));
    nowMs = 70_000;
    expect(next(), 'its time is over').to.deep.equal(address('192.0.2.0'));
    book.take(address('192.0.2.0'), CLAIM);
    book.release(address('192.0.2.0'), CLAIM);
    book.setPools([pool('a', ['192.0.2.2/31'])]);
    expect(next(), 'a smaller one does not give out what it lost').to.deep.equal(
      address('192.0.2.3'),
    );
  });

  it('has no cool-down for an address that nobody got after all', () => {
    const book = new AddressBook({ coolDownMs: 60_000, now: () => 0 });
    book.setPools([pool('a', ['192.0.2.0/30'])]);
    const writing = { kind: 'writing', by: 'a/b' } as const;
    book.take(address('192.0.2.0'), writing);
    book.release(address('192.0.2.0'), writing);
    expect(book.lowestFree('a', 'ipv4')).to.deep.equal(address('192.0.2.0'));
  });

  it('counts what is taken before a pool comes, and keeps count when pools change', () => {
    const book = new AddressBook();
    book.take(address('192.0.2.1'), CLAIM);
    book.take(address('198.51.100.1'), CLAIM);
    book.setPools([pool('a', ['192.0.2.0/30'])]);
    expect(book.takenIn('a')).to.equal(1);
    book.setPools([pool('a', ['192.0.2.0/30']), pool('b', ['198.51.100.0/30', '2001:db8::/64'])]);
    expect(book.takenIn('a')).to.equal(1);
    expect(book.takenIn('b')).to.equal(1);
    expect(book.freeIn('b', 'ipv6')).to.equal(2n ** 64n);
    expect(book.poolOf(address('198.51.100.3'))?.name).to.equal('b');
    expect(book.poolOf(address('198.51.100.4'))).to.equal(undefined);
    book.setPools([]);
    expect(book.lowestFree('a', 'ipv4')).to.equal(undefined);
  });

  const ranges = fc.uniqueArray(fc.nat({ max: 15 }), { minLength: 1, maxLength: 4 });
  const steps = fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant('next' as const), pick: fc.nat(1) }),
      fc.record({ kind: fc.constant('take' as const), pick: fc.nat(160) }),
      fc.record({ kind: fc.constant('release' as const), pick: fc.nat(160) }),
      fc.record({ kind: fc.constant('flip' as const), pick: fc.nat(3) }),
    ),
    { maxLength: 80 },
  );

  it('never gives what is taken or outside, always the lowest, and counts right', () => {
    fc.assert(
      fc.property(ranges, fc.boolean(), steps, (blocks, avoidFirstLast, script) => {
        const book = new AddressBook();
        const texts = blocks.map((block) => `10.0.0.${block * 8}/${block % 2 === 0 ? 29 : 30}`);
        let current = pool('a', texts, { avoidFirstLast });
        book.setPools([current]);
        const taken = new Set<number>();
        const usable = () =>
          Array.from({ length: 160 }, (_, index) => index).filter((index) =>
            poolHolds(current, numberedAddress('ipv4', 0x0a000000n + BigInt(index))),
          );
        const act: Record<(typeof script)[number]['kind'], (pick: number) => void> = {
          take: (pick) => {
            taken.add(pick);
            book.take(numberedAddress('ipv4', 0x0a000000n + BigInt(pick)), CLAIM);
          },
          release: (pick) => {
            taken.delete(pick);
            book.release(numberedAddress('ipv4', 0x0a000000n + BigInt(pick)), CLAIM);
          },
          flip: (pick) => {
            current = pool('a', texts.slice(0, 1 + (pick % texts.length)), { avoidFirstLast });
            book.setPools([current]);
          },
          next: (pick) => {
            const lowest = usable().find((index) => !taken.has(index));
            const given = book.lowestFree('a', 'ipv4');
            expect(given && Number(addressNumber(given) & 0xffn)).to.equal(lowest);
            if (lowest !== undefined && pick === 1) act.take(lowest);
          },
        };
        for (const step of script) {
          act[step.kind](step.pick);
          const used = usable().filter((index) => taken.has(index)).length;
          expect(book.takenIn('a')).to.equal(used);
          expect(book.freeIn('a', 'ipv4')).to.equal(poolSize(current) - BigInt(used));
        }
      }),
      { numRuns: 300 },
    );
  });

  class Pair {
    nowMs = 0;
    readonly plain = new AddressBook();
    readonly cooling = new AddressBook({ coolDownMs: 5, now: () => this.nowMs });
    readonly both = [this.plain, this.cooling];

    act(what: 'take' | 'release', pick: number): void {
      const which = numberedAddress('ipv4', 0x0a000000n + BigInt(pick % 16));
      for (const book of this.both) book[what](which, CLAIM);
    }

    expectAlike(): void {
      const given = this.cooling.lowestFree('a', 'ipv4');
      expect(given === undefined).to.equal(this.plain.lowestFree('a', 'ipv4') === undefined);
      expect(given && this.cooling.otherThan('', given, KINDS)).to.equal(undefined);
    }
  }

  it('gives something with a cool-down exactly where it does without', () => {
    fc.assert(
      fc.property(steps, (script) => {
        const pair = new Pair();
        for (const book of pair.both) book.setPools([pool('a', ['10.0.0.0/28'])]);
        for (const { kind, pick } of script) {
          pair.nowMs += 1;
          pair.act(kind === 'release' ? 'release' : 'take', pick);
          pair.expectAlike();
        }
        pair.nowMs += 5;
        const lowest = pair.plain.lowestFree('a', 'ipv4');
        expect(pair.cooling.lowestFree('a', 'ipv4')).to.deep.equal(lowest);
      }),
      { numRuns: 300 },
    );
  });

  for (const [text, family] of [
    ['10.0.0.0/16', 'ipv4'],
    ['2001:db8::/64', 'ipv6'],
  ] as const) {
    it(`gives 10,000 addresses of ${text}, and again after every second came back, in well under a second`, () => {
      const book = new AddressBook();
      book.setPools([pool('a', [text])]);
      const started = process.cpuUsage().user;
      const given = takeAll(book, 'a', family, 10_000);
      expect(given).to.have.length(10_000);
      const back = given.filter((_, index) => index % 2 === 0);
      for (const text of back) book.release(address(text), CLAIM);
      expect(takeAll(book, 'a', family, 5000)).to.deep.equal(back);
      const usedMs = (process.cpuUsage().user - started) / 1000;
      expect(usedMs).to.be.lessThan(700);
    });
  }
});
