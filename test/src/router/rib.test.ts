/** The table of all neighbours: what it takes, what it tells, and that a long way to a state gives the same as a short one. */

import {
  type Address,
  address,
  addressEquals,
  formatAddress,
  formatPrefix,
  type PathAttributes,
  parseCommunity,
  prefix,
  type UpdateMessage,
} from 'bgp-ts';
import { expect } from 'chai';
import fc from 'fast-check';
import type { PathPeer } from '../../../src/router/best-path.ts';
import { Rib, type RibRoute } from '../../../src/router/rib.ts';

const OWN = [address('192.0.2.1'), address('2001:db8::1')];
const ORIGINATOR = { family: 'ipv4', bits: 99 } as const;
const SETTINGS = {
  localAsn: 64500,
  isOwnAddress: (one: Address) => OWN.some((own) => addressEquals(own, one)),
};

function peer(number: number, over: Partial<PathPeer> = {}): PathPeer {
  return {
    name: `p${number}`,
    address: address(`192.0.2.${10 + number}`),
    asn: 64512,
    routerId: number,
    isInternal: false,
    ...over,
  };
}

const ATTRIBUTES: PathAttributes = { origin: 'igp', asPath: [{ type: 'sequence', asns: [64512] }] };

function announce(nextHop: string, texts: string[], over: PathAttributes = {}): UpdateMessage {
  const hop = address(nextHop);
  const nlri = texts.map((text) => prefix(text));
  const [v4, v6] = (['ipv4', 'ipv6'] as const).map((family) =>
    nlri.filter((each) => each.family === family),
  );
  const mpReach = {
    kind: 'prefixes',
    afi: 2,
    safi: 1,
    nextHops: [hop],
    nlri: v6 ?? [],
  } as const;
  return {
    kind: 'update',
    withdrawn: [],
    nlri: v4 ?? [],
    attributes: {
      ...ATTRIBUTES,
      ...(hop.family === 'ipv4' ? { nextHop: hop } : {}),
      ...((v6?.length ?? 0) === 0 ? {} : { mpReach }),
      ...over,
    },
  };
}

function withdraw(...texts: string[]): UpdateMessage {
  const all = texts.map((text) => prefix(text));
  const withdrawn = all.filter(({ family }) => family === 'ipv4');
  const v6 = all.filter(({ family }) => family === 'ipv6');
  const mpUnreach = { kind: 'prefixes', afi: 2, safi: 1, withdrawn: v6 } as const;
  return { kind: 'update', withdrawn, nlri: [], attributes: v6.length === 0 ? {} : { mpUnreach } };
}

/** `192.0.2.7/32: 192.0.2.11* 192.0.2.12`, a star for those in use */
function text({ prefix: of, nextHops }: RibRoute): string {
  const hops = nextHops.map((hop) => `${formatAddress(hop.address)}${hop.best ? '*' : ''}`);
  return `${formatPrefix(of)}: ${hops.join(' ') || 'gone'}`;
}

const VIP = '198.51.100.7/32';

describe('the table of routes', () => {
  it('uses every equal path, tells each change once, and nothing that is as before', () => {
    const rib = new Rib(SETTINGS);
    for (const each of [1, 2, 3]) rib.up(peer(each));
    rib.update('p1', announce('192.0.2.11', [VIP]));
    rib.update('p2', announce('192.0.2.12', [VIP]));
    expect(rib.changes().map(text)).to.deep.equal([`${VIP}: 192.0.2.11* 192.0.2.12*`]);
    expect(rib.changes()).to.deep.equal([]);
    rib.update('p2', announce('192.0.2.12', [VIP]));
    expect(rib.changes(), 'the same again').to.deep.equal([]);
    rib.update(
      'p3',
      announce('192.0.2.13', [VIP], { asPath: [{ type: 'sequence', asns: [1, 2] }] }),
    );
    expect(rib.changes().map(text)).to.deep.equal([`${VIP}: 192.0.2.11* 192.0.2.12* 192.0.2.13`]);
    rib.update('p1', withdraw(VIP));
    rib.down('p2');
    expect(rib.changes().map(text)).to.deep.equal([`${VIP}: 192.0.2.13*`]);
    rib.down('p3');
    expect(rib.changes().map(text)).to.deep.equal([`${VIP}: gone`]);
    expect(rib.routes()).to.deep.equal([]);
  });

  it('tells nothing of what came and went between two looks', () => {
    const rib = new Rib(SETTINGS);
    rib.up(peer(1));
    rib.update('p1', announce('192.0.2.11', [VIP]));
    rib.down('p1');
    expect(rib.changes()).to.deep.equal([]);
  });

  it('looks at so many paths and no more where that is asked, first where a path has gone or become another', () => {
    const rib = new Rib(SETTINGS);
    for (const each of [1, 2, 3]) rib.up(peer(each));
    const [first, second, third] = ['198.51.100.1/32', '198.51.100.2/32', '198.51.100.3/32'];
    rib.update('p1', announce('192.0.2.11', [second, third]));
    rib.update('p3', announce('192.0.2.13', [third]));
    rib.changes();
    rib.update('p2', announce('192.0.2.12', [first, second]));
    rib.update('p1', announce('192.0.2.77', [second]));
    rib.down('p3');
    expect(rib.changes(2).map(text)).to.deep.equal([`${second}: 192.0.2.77* 192.0.2.12*`]);
    expect(rib.isSettled).to.equal(false);
    expect(rib.changes(1).map(text)).to.deep.equal([`${third}: 192.0.2.11*`]);
    expect(rib.changes(1).map(text)).to.deep.equal([`${first}: 192.0.2.12*`]);
    expect(rib.isSettled).to.equal(true);
  });

  it('has nothing to look at where a path is as it was', () => {
    const rib = new Rib(SETTINGS);
    rib.up(peer(1, { isInternal: true }));
    const pathOf = (...asns: number[]) => ({ asPath: [{ type: 'sequence', asns }] }) as const;
    const steps: readonly (readonly [string, PathAttributes])[] = [
      ['another MED', { med: 1 }],
      ['another origin', { origin: 'egp' }],
      ['another length', pathOf(64512, 64512)],
      ['of another AS', pathOf(64513, 64512)],
      ['preferred less', { localPref: 50 }],
      ['by another speaker', { originatorId: ORIGINATOR }],
      ['drained', { communities: [parseCommunity('graceful-shutdown') ?? 0] }],
    ];
    let now: PathAttributes = {};
    let hop = '192.0.2.11';
    const say = () => void rib.update('p1', announce(hop, [VIP], now));
    const expectNews = (what: string) => {
      say();
      expect(rib.isSettled, what).to.equal(false);
      rib.changes();
      say();
      expect(rib.isSettled, `${what}, again`).to.equal(true);
    };
    expectNews('the first time');
    for (const [what, over] of steps) {
      now = { ...now, ...over };
      expectNews(what);
    }
    hop = '192.0.2.77';
    expectNews('another next hop');
  });

  /** turns until one new prefix is told, while p1 says all its routes anew in each with another MED */
  function turnsUntilNew(rib: Rib, shared: string[], mostPaths: number): number {
    rib.update('p2', announce('192.0.2.12', [VIP]));
    for (let turn = 1; turn <= 100; turn += 1) {
      rib.update('p1', announce('192.0.2.11', shared, { med: turn }));
      if (rib.changes(mostPaths).some((each) => formatPrefix(each.prefix) === VIP)) return turn;
    }
    return Infinity;
  }

  function manyNeighbours(count: number, shared: string[]): Rib {
    const rib = new Rib(SETTINGS);
    for (let number = 1; number <= count; number += 1) {
      rib.up(peer(number));
      rib.update(`p${number}`, announce(`192.0.2.${10 + number}`, shared));
    }
    rib.changes();
    return rib;
  }

  it('looks at what is new although a neighbour changes all that it has in each turn', () => {
    const shared = Array.from({ length: 100 }, (_, at) => `203.0.113.${at}/32`);
    expect(turnsUntilNew(manyNeighbours(12, shared), shared, 200)).to.be.below(3);
  });

  it('looks at what is new although a prefix that changes in each turn has more paths than that', () => {
    const shared = ['203.0.113.1/32'];
    expect(turnsUntilNew(manyNeighbours(80, shared), shared, 10)).to.be.below(3);
  });

  it('gives what is lost its turn too, and all of it where nothing else waits', () => {
    const shared = Array.from({ length: 100 }, (_, at) => `203.0.113.${at}/32`);
    const rib = manyNeighbours(2, shared);
    const more = Array.from({ length: 100 }, (_, at) => `198.51.100.${at}/32`);
    rib.update('p1', announce('192.0.2.11', more));
    rib.update('p2', withdraw(...shared));
    const first = rib.changes(40).map(text);
    expect(first.filter((each) => each.startsWith('203')).length).to.be.within(30, 31);
    expect(first.length).to.be.within(40, 41);
    rib.changes(200);
    rib.update('p1', withdraw(...shared));
    expect(rib.changes(100)).to.have.length(100);
  });

  it('knows when it has looked at all that was lost by a moment, whatever is lost after it', () => {
    const shared = Array.from({ length: 20 }, (_, at) => `203.0.113.${at}/32`);
    const rib = manyNeighbours(3, shared);
    rib.down('p3');
    const { losses } = rib;
    let turns = 0;
    for (; !rib.hasLookedAt(losses) && turns < 50; turns += 1) {
      const hasAll = rib.routes().every(({ nextHops }) => nextHops.length === 2);
      expect(hasAll, 'told too early').to.equal(false);
      rib.changes(10);
      rib.update('p1', announce('192.0.2.11', shared, { med: turns }));
      expect(rib.hasLookedAt(rib.losses), 'of now').to.equal(false);
    }
    expect(rib.routes().every(({ nextHops }) => nextHops.length === 2)).to.equal(true);
    expect(turns).to.be.within(2, 6);
  });

  it('looks at the paths of a prefix once each when a neighbour goes, however many there are', () => {
    /** of the best of some, with as many paths in all */
    const costMs = (neighbours: number, prefixes: number) => {
      const rib = new Rib(SETTINGS);
      const all = Array.from({ length: prefixes }, (_, n) => `198.51.${n >> 8}.${n & 255}/32`);
      const hostOf = (n: number) => `10.0.${n >> 8}.${n & 255}`;
      for (let n = 1; n <= neighbours; n += 1) {
        rib.up(peer(0, { name: `p${n}`, address: address(hostOf(n)), routerId: n }));
        rib.update(`p${n}`, announce(hostOf(n), all));
      }
      rib.changes();
      const times = [1, 2, 3, 4, 5].map((n) => {
        rib.down(`p${n}`);
        const { user, system } = process.cpuUsage();
        expect(rib.changes()).to.have.length(prefixes);
        const after = process.cpuUsage({ user, system });
        return (after.user + after.system) / 1000;
      });
      return Math.min(...times);
    };
    expect(costMs(40_000, 1)).to.be.below(5 * costMs(400, 100) + 20);
  });

  it('moves away from a drained path, and stays on it where it is alone', () => {
    const rib = new Rib(SETTINGS);
    rib.up(peer(1));
    rib.up(peer(2));
    rib.update('p1', announce('192.0.2.11', [VIP]));
    rib.update('p2', announce('192.0.2.12', [VIP]));
    rib.changes();
    const communities = [parseCommunity('graceful-shutdown') ?? 0];
    rib.update('p1', announce('192.0.2.11', [VIP], { communities }));
    expect(rib.changes().map(text)).to.deep.equal([`${VIP}: 192.0.2.12* 192.0.2.11`]);
    rib.update('p2', withdraw(VIP));
    expect(rib.changes().map(text)).to.deep.equal([`${VIP}: 192.0.2.11*`]);
  });

  it('keeps both families, ordered, with the next hop of each', () => {
    const rib = new Rib(SETTINGS);
    rib.up(peer(1));
    rib.update('p1', announce('2001:db8::11', ['2001:db8:7::/64']));
    rib.update('p1', announce('192.0.2.11', ['198.51.100.9/32', VIP]));
    rib.changes();
    expect(rib.routes().map(text)).to.deep.equal([
      `${VIP}: 192.0.2.11*`,
      '198.51.100.9/32: 192.0.2.11*',
      '2001:db8:7::/64: 2001:db8::11*',
    ]);
    expect(rib.count('p1')).to.equal(3);
    rib.update('p1', withdraw('2001:db8:7::/64', VIP));
    expect(rib.changes().map(text).toSorted()).to.deep.equal([
      `${VIP}: gone`,
      '2001:db8:7::/64: gone',
    ]);
  });

  const useless: readonly (readonly [string, UpdateMessage, RegExp])[] = [
    [
      'our AS in its path',
      announce('192.0.2.11', [VIP], { asPath: [{ type: 'sequence', asns: [64512, 64500] }] }),
      /our AS 64500/,
    ],
    ['our own address as next hop', announce('192.0.2.1', [VIP]), /192\.0\.2\.1 is our own/],
    ['no next hop', announce('0.0.0.0', [VIP]), /no next hop/],
    ['a next hop of the other family', announce('192.0.2.11', ['2001:db8:7::/64']), /other family/],
    ['a link-local next hop from nowhere', announce('fe80::1', ['2001:db8:7::/64']), /link-local/],
  ];
  for (const [what, update, reason] of useless) {
    it(`turns away ${what}, and with it what was announced before`, () => {
      const rib = new Rib(SETTINGS);
      rib.up(peer(1));
      rib.update('p1', announce('192.0.2.11', [VIP]));
      rib.update('p1', announce('2001:db8::11', ['2001:db8:7::/64']));
      rib.changes();
      rib.update('p1', update);
      expect(rib.changes().map((route) => route.nextHops)).to.deep.equal([[]]);
      expect(rib.rejected('p1').count).to.equal(1);
      expect(rib.rejected('p1').last).to.match(reason);
    });
  }

  it('takes a link-local next hop where the session names the interface', () => {
    const rib = new Rib(SETTINGS);
    rib.up(peer(1, { address: address('fe80::2'), zone: 'eth0' }));
    rib.update('p1', announce('fe80::2', ['2001:db8:7::/64']));
    expect(rib.changes()[0]?.nextHops[0]).to.deep.include({ zone: 'eth0', best: true });
  });

  it('hears nothing of neighbours that are not up, and starts a new session empty', () => {
    const rib = new Rib(SETTINGS);
    rib.update('p1', announce('192.0.2.11', [VIP]));
    rib.up(peer(1));
    rib.update('p1', announce('192.0.2.11', [VIP]));
    rib.up(peer(1));
    expect(rib.changes()).to.deep.equal([]);
    rib.withdraw('p1', [prefix(VIP)]);
    expect(rib.count('p1')).to.equal(0);
  });

  it('is the same by any way: incremental is from scratch', () => {
    let choices = 0;
    fc.assert(
      fc.property(fc.array(STEP, { minLength: 5, maxLength: 60, size: 'max' }), (steps) => {
        const run = new Run();
        for (const step of steps) run.take(step);
        run.look(Infinity);
        const now = run.rib.routes().map(text);
        expect(now).to.deep.equal(run.fromScratch().routes().map(text));
        const standing = [...run.told.values()].filter((each) => !each.endsWith('gone'));
        expect(standing.toSorted(), 'what was told').to.deep.equal(now.toSorted());
        choices += now.filter((each) => each.split('*').length > 2).length;
      }),
      { numRuns: 500 },
    );
    expect(choices, 'routes with several next hops in use').to.be.above(50);
  });
});

const PREFIXES = ['198.51.100.1/32', '198.51.100.2/32', '2001:db8:1::/64'] as const;

/** mostly the first: choices need neighbours that stay and announce */
function mostly<T>(usual: T, ...rare: readonly T[]): fc.Arbitrary<T> {
  return fc.oneof(
    { weight: 8 * rare.length, arbitrary: fc.constant(usual) },
    { weight: rare.length, arbitrary: fc.constantFrom(...rare) },
  );
}

type What = 'announce' | 'withdraw' | 'down' | 'up' | 'look';

const STEP = fc.record({
  number: fc.integer({ min: 1, max: 4 }),
  target: fc.constantFrom(...PREFIXES),
  what: mostly<What>('announce', 'withdraw', 'down', 'up', 'look'),
  med: mostly(0, 1),
  length: mostly(1, 2),
  asn: mostly(64512, 64513, 64500),
  drained: mostly(false, true),
  isOwnHop: mostly(false, true),
});
type Step = typeof STEP extends fc.Arbitrary<infer T> ? T : never;

/** a table that is fed step by step, and beside it only the last word of each neighbour on each prefix */
class Run {
  readonly rib = new Rib(SETTINGS);
  readonly told = new Map<string, string>();
  readonly #last = new Map<number, Map<string, UpdateMessage>>();

  constructor() {
    for (const number of [1, 2, 3, 4]) this.#up(number);
  }

  take(step: Step): void {
    const { number, target, what } = step;
    switch (what) {
      case 'up':
        this.#up(number);
        break;
      case 'down':
        this.rib.down(`p${number}`);
        this.#last.delete(number);
        break;
      case 'withdraw':
        this.rib.update(`p${number}`, withdraw(target));
        this.#last.get(number)?.delete(target);
        break;
      case 'announce': {
        const update = announcementOf(step);
        this.rib.update(`p${number}`, update);
        this.#last.get(number)?.set(target, update);
        break;
      }
      case 'look':
        // a part of what has been touched, mostly
        this.look(step.number);
        break;
    }
  }

  look(mostPaths: number): void {
    for (const route of this.rib.changes(mostPaths)) {
      const key = formatPrefix(route.prefix);
      expect(this.told.get(key) ?? `${key}: gone`, 'told twice').to.not.equal(text(route));
      this.told.set(key, text(route));
    }
  }

  fromScratch(): Rib {
    const rib = new Rib(SETTINGS);
    for (const [number, words] of [...this.#last].toReversed()) {
      rib.up(member(number));
      for (const update of words.values()) rib.update(`p${number}`, update);
    }
    rib.changes();
    return rib;
  }

  #up(number: number): void {
    this.rib.up(member(number));
    this.#last.set(number, new Map());
  }
}

function member(number: number): PathPeer {
  return peer(number, { isInternal: number === 4 });
}

function announcementOf({ number, target, med, length, asn, drained, isOwnHop }: Step) {
  const host = isOwnHop ? 1 : 10 + number;
  const hop = target.includes(':') ? `2001:db8::${host}` : `192.0.2.${host}`;
  return announce(hop, [target], {
    med,
    asPath: [{ type: 'sequence', asns: Array(length).fill(asn) }],
    communities: drained ? [parseCommunity('graceful-shutdown') ?? 0] : [],
  });
}
