import { expect } from 'chai';
import fc from 'fast-check';
import type { BgpFault } from '../../../protocol/bgp/error.ts';
import type { Capability, OpenMessage } from '../../../protocol/bgp/message.ts';
import { buildOpen, type Negotiated, negotiate } from '../../../protocol/bgp/negotiate.ts';
import type { SessionConfig } from '../../../protocol/bgp/session.ts';
import { formatHex } from '../../../protocol/bytes/hex.ts';
import { capability, openMessage } from '../../support/arbitraries.ts';

const CONFIG: SessionConfig = {
  localAsn: 65000,
  routerId: 0x0a000001,
  peerAsn: 65001,
  holdTimeSeconds: 90,
  connectRetrySeconds: 120,
  delayOpenSeconds: 0,
  passive: false,
  acceptIncoming: true,
  capabilities: [
    { kind: 'multiprotocol', afi: 1, safi: 1 },
    { kind: 'multiprotocol', afi: 2, safi: 1 },
    { kind: 'route-refresh' },
  ],
  idleHold: { initialSeconds: 1, maximumSeconds: 60 },
  sendHoldSeconds: 0,
  closeSeconds: 10,
};

const THEIRS: OpenMessage = {
  kind: 'open',
  version: 4,
  asn: 65001,
  holdTimeSeconds: 90,
  routerId: 0x0a000002,
  capabilities: [
    { kind: 'multiprotocol', afi: 1, safi: 1 },
    { kind: 'four-octet-asn', asn: 65001 },
  ],
};

interface Case {
  readonly config?: Partial<SessionConfig>;
  readonly theirs?: Partial<OpenMessage>;
}

function run({ config, theirs }: Case): ReturnType<typeof negotiate> {
  const merged = { ...CONFIG, ...config };
  return negotiate(merged, buildOpen(merged), { ...THEIRS, ...theirs });
}

function agreed(test: Case): Negotiated {
  const result = run(test);
  if (!result.ok) throw result.fault;
  return result.negotiated;
}

function refused(test: Case): BgpFault {
  const result = run(test);
  if (result.ok) throw new Error('was accepted');
  return result.fault;
}

/** both sides say these and their AS numbers, nothing else */
function withCapabilities(ours: readonly Capability[], theirs: readonly Capability[]): Negotiated {
  return agreed({ config: { capabilities: ours }, theirs: { capabilities: theirs } });
}

function mp(afi: number, safi = 1): Capability {
  return { kind: 'multiprotocol', afi, safi };
}

describe('buildOpen', () => {
  it('writes our AS in both places where it fits', () => {
    const open = buildOpen(CONFIG);
    expect(open).to.deep.equal({
      kind: 'open',
      version: 4,
      asn: 65000,
      holdTimeSeconds: 90,
      routerId: 0x0a000001,
      capabilities: [...CONFIG.capabilities, { kind: 'four-octet-asn', asn: 65000 }],
    });
  });

  for (const [asn, field] of [
    [65535, 65535],
    [65536, 23456],
    [4294967295, 23456],
  ] as const) {
    it(`writes AS ${asn} as ${field}`, () => {
      const open = buildOpen({ ...CONFIG, localAsn: asn });
      expect(open.asn).to.equal(field);
      expect(open.capabilities).to.deep.include({ kind: 'four-octet-asn', asn });
    });
  }

  it('keeps the place of a listed AS capability and puts our number in', () => {
    const capabilities: Capability[] = [{ kind: 'four-octet-asn', asn: 0 }, mp(1)];
    expect(buildOpen({ ...CONFIG, capabilities }).capabilities).to.deep.equal([
      { kind: 'four-octet-asn', asn: 65000 },
      mp(1),
    ]);
  });
});

describe('negotiate', () => {
  it('tells all that was agreed in a plain external session', () => {
    expect(agreed({})).to.deep.equal({
      as4: true,
      extendedMessage: false,
      internal: false,
      addPathReceive: [],
      addPathSend: [],
      extendedNextHop: [],
      peerAsn: 65001,
      peerRouterId: 0x0a000002,
      localAsn: 65000,
      localRouterId: 0x0a000001,
      holdTimeSeconds: 90,
      keepaliveSeconds: 30,
      families: [{ afi: 1, safi: 1 }],
      routeRefresh: false,
      enhancedRouteRefresh: false,
    });
  });

  describe('AS number (RFC 4271 §6.2, RFC 6793 §4.1, RFC 7607)', () => {
    const four = (asn: number): Capability[] => [{ kind: 'four-octet-asn', asn }];

    const GOOD: ReadonlyArray<[string, Case, number, boolean]> = [
      ['the number configured, in two octets', { theirs: { capabilities: [] } }, 65001, false],
      [
        'four octets behind AS_TRANS',
        { config: { peerAsn: 70000 }, theirs: { asn: 23456, capabilities: four(70000) } },
        70000,
        false,
      ],
      [
        'a small number behind AS_TRANS',
        { theirs: { asn: 23456, capabilities: four(65001) } },
        65001,
        false,
      ],
      ['any other with external', { config: { peerAsn: 'external' } }, 65001, false],
      [
        'ours with internal',
        { config: { peerAsn: 'internal' }, theirs: { asn: 65000, capabilities: [] } },
        65000,
        true,
      ],
      [
        'ours as a number',
        { config: { peerAsn: 65000 }, theirs: { asn: 65000, capabilities: four(65000) } },
        65000,
        true,
      ],
      [
        'AS_TRANS itself where somebody configured that',
        { config: { peerAsn: 23456 }, theirs: { asn: 23456, capabilities: [] } },
        23456,
        false,
      ],
    ];
    for (const [name, test, peerAsn, internal] of GOOD) {
      it(`accepts ${name}`, () => {
        expect(agreed(test)).to.include({ peerAsn, internal });
      });
    }

    const BAD: ReadonlyArray<[string, Case, string]> = [
      ['another number', { theirs: { asn: 65002, capabilities: [] } }, '0000fdea'],
      [
        'another number behind AS_TRANS',
        { theirs: { asn: 23456, capabilities: four(70001) } },
        '00011171',
      ],
      [
        'two numbers that contradict each other',
        { theirs: { asn: 65001, capabilities: four(65002) } },
        '0000fdea',
      ],
      [
        'ours with external',
        { config: { peerAsn: 'external' }, theirs: { asn: 65000, capabilities: [] } },
        '0000fde8',
      ],
      [
        'nobody in particular with external',
        { config: { peerAsn: 'external' }, theirs: { asn: 23456, capabilities: [] } },
        '00005ba0',
      ],
      ['another with internal', { config: { peerAsn: 'internal' } }, '0000fde9'],
      [
        '0 with external',
        { config: { peerAsn: 'external' }, theirs: { asn: 0, capabilities: [] } },
        '00000000',
      ],
      [
        '0 in the capability',
        { config: { peerAsn: 'external' }, theirs: { asn: 23456, capabilities: four(0) } },
        '00000000',
      ],
    ];
    for (const [name, test, data] of BAD) {
      it(`refuses ${name} with 2/2`, () => {
        const fault = refused(test);
        expect([fault.code, fault.subcode, formatHex(fault.data)]).to.deep.equal([2, 2, data]);
      });
    }

    it('speaks two octets with a neighbour that does not know four', () => {
      expect(agreed({}).as4).to.equal(true);
      expect(agreed({ theirs: { capabilities: [] } }).as4).to.equal(false);
    });
  });

  describe('identifier (RFC 6286 §2.2)', () => {
    const OURS = 0x0a000001;
    it('refuses 0 with 2/3', () => {
      expect(refused({ theirs: { routerId: 0 } })).to.include({ code: 2, subcode: 3 });
    });
    it('refuses our own inside one AS with 2/3', () => {
      const theirs = { asn: 65000, routerId: OURS, capabilities: [] };
      const fault = refused({ config: { peerAsn: 'internal' }, theirs });
      expect(fault).to.include({ code: 2, subcode: 3 });
      expect(formatHex(fault.data)).to.equal('0a000001');
    });
    it('accepts our own from another AS', () => {
      expect(agreed({ theirs: { routerId: OURS } }).peerRouterId).to.equal(OURS);
    });
  });

  describe('timers (RFC 4271 §4.2, §4.4)', () => {
    for (const [ours, theirs, keepalive, hold, expected] of [
      [90, 180, undefined, 90, 30],
      [180, 90, undefined, 90, 30],
      [90, 0, undefined, 0, 0],
      [0, 90, undefined, 0, 0],
      [90, 3, undefined, 3, 1],
      [90, 5, undefined, 5, 1],
      [90, 90, 10, 90, 10],
      [90, 90, 60, 90, 30],
      [90, 9, 10, 9, 3],
      [0, 0, 10, 0, 0],
      [65535, 65535, undefined, 65535, 21845],
    ] as const) {
      it(`hold ${ours} and ${theirs}, keepalive ${keepalive ?? 'by default'}`, () => {
        const config = {
          holdTimeSeconds: ours,
          ...(keepalive === undefined ? {} : { keepaliveSeconds: keepalive }),
        };
        const result = agreed({ config, theirs: { holdTimeSeconds: theirs } });
        expect([result.holdTimeSeconds, result.keepaliveSeconds]).to.deep.equal([hold, expected]);
      });
    }
  });

  it('refuse a neighbour that wants no hold time where one is required, unless we want none either', () => {
    const config = { holdTimeSeconds: 9, requiresHoldTime: true };
    const fault = refused({ config, theirs: { holdTimeSeconds: 0 } });
    expect(fault).to.include({ code: 2, subcode: 6 });
    expect(agreed({ config, theirs: { holdTimeSeconds: 3 } }).holdTimeSeconds).to.equal(3);
    const none = { ...config, holdTimeSeconds: 0 };
    expect(agreed({ config: none, theirs: { holdTimeSeconds: 0 } }).holdTimeSeconds).to.equal(0);
    expect(agreed({ config: none, theirs: { holdTimeSeconds: 90 } }).holdTimeSeconds).to.equal(0);
  });

  describe('families (RFC 4760 §8)', () => {
    const v4 = { afi: 1, safi: 1 };
    const v6 = { afi: 2, safi: 1 };
    it('are those that both list, in our order', () => {
      expect(withCapabilities([mp(2), mp(1), mp(1, 2)], [mp(1), mp(2)]).families).to.deep.equal([
        v6,
        v4,
      ]);
    });
    it('are IPv4 unicast for a side that lists none', () => {
      expect(withCapabilities([mp(1), mp(2)], []).families).to.deep.equal([v4]);
      expect(withCapabilities([], [mp(1), mp(2)]).families).to.deep.equal([v4]);
      expect(withCapabilities([], []).families).to.deep.equal([v4]);
    });
    it('count once, however often they are listed', () => {
      expect(withCapabilities([mp(1), mp(1)], [mp(1), mp(1)]).families).to.deep.equal([v4]);
    });
    it('refuses a neighbour with none of ours with 2/7 and what it lacks', () => {
      const fault = refused({
        config: { capabilities: [mp(2)] },
        theirs: { capabilities: [mp(1)] },
      });
      expect([fault.code, fault.subcode, formatHex(fault.data)]).to.deep.equal([
        2,
        7,
        '010400020001',
      ]);
    });
  });

  describe('add-path (RFC 7911 §4)', () => {
    const path = (mode: number, afi = 1): Capability => ({
      kind: 'add-path',
      entries: [{ afi, safi: 1, mode }],
    });
    for (const [ours, theirs, receive, send] of [
      [1, 2, true, false],
      [2, 1, false, true],
      [3, 3, true, true],
      [1, 1, false, false],
      [2, 2, false, false],
      [3, 1, false, true],
      [3, 2, true, false],
      [3, 7, false, false],
      [3, 0, false, false],
    ] as const) {
      it(`mode ${ours} against ${theirs}`, () => {
        const result = withCapabilities([mp(1), path(ours)], [mp(1), path(theirs)]);
        expect(result.addPathReceive).to.deep.equal(receive ? [{ afi: 1, safi: 1 }] : []);
        expect(result.addPathSend).to.deep.equal(send ? [{ afi: 1, safi: 1 }] : []);
      });
    }
    it('counts only in families that are spoken', () => {
      const result = withCapabilities([mp(1), path(3, 2)], [mp(1), path(3, 2)]);
      expect([result.addPathReceive, result.addPathSend]).to.deep.equal([[], []]);
    });
    it('the last word on a family counts', () => {
      const result = withCapabilities([mp(1), path(3)], [mp(1), path(3), path(1)]);
      expect(result.addPathReceive).to.deep.equal([]);
      expect(result.addPathSend).to.have.lengthOf(1);
    });
  });

  describe('what both have to say', () => {
    const nextHop = (afi: number, nextHopAfi: number): Capability => ({
      kind: 'extended-next-hop',
      entries: [{ afi, safi: 1, nextHopAfi }],
    });
    it('IPv6 next hops for IPv4 (RFC 8950 §4)', () => {
      const ours = [mp(1), mp(2), nextHop(1, 2)];
      const v4 = { afi: 1, safi: 1 };
      expect(withCapabilities(ours, [mp(1), nextHop(1, 2)]).extendedNextHop).to.deep.equal([v4]);
      expect(withCapabilities(ours, [mp(1)]).extendedNextHop).to.deep.equal([]);
      expect(withCapabilities(ours, [mp(1), nextHop(1, 1)]).extendedNextHop).to.deep.equal([]);
      expect(withCapabilities(ours, [mp(2), nextHop(1, 2)]).extendedNextHop).to.deep.equal([]);
      expect(withCapabilities([mp(1)], [mp(1), nextHop(1, 2)]).extendedNextHop).to.deep.equal([]);
    });
    for (const [kind, member] of [
      ['extended-message', 'extendedMessage'],
      ['route-refresh', 'routeRefresh'],
      ['enhanced-route-refresh', 'enhancedRouteRefresh'],
    ] as const) {
      it(kind, () => {
        expect(withCapabilities([{ kind }], [{ kind }])[member]).to.equal(true);
        expect(withCapabilities([{ kind }], [])[member]).to.equal(false);
        expect(withCapabilities([], [{ kind }])[member]).to.equal(false);
      });
    }
    it("route refresh by Cisco's old number", () => {
      const old: Capability = { kind: 'unknown', code: 128, value: new Uint8Array(0) };
      expect(withCapabilities([{ kind: 'route-refresh' }], [old]).routeRefresh).to.equal(true);
    });
    it('graceful restart of theirs is told as it came, the last one (RFC 4724 §3)', () => {
      const restart = (restartTimeSeconds: number): Capability => ({
        kind: 'graceful-restart',
        restarting: false,
        notification: true,
        restartTimeSeconds,
        families: [{ afi: 1, safi: 1, forwarding: true }],
      });
      const result = withCapabilities([], [restart(1), restart(2)]);
      expect(result.peerGracefulRestart).to.deep.equal(restart(2));
    });
  });

  describe('roles (RFC 9234 §4.2)', () => {
    const role = (value: number): Capability => ({ kind: 'role', role: value });
    const PAIRS = new Set(['0 3', '3 0', '1 2', '2 1', '4 4']);
    for (let ours = 0; ours <= 4; ours++) {
      for (let theirs = 0; theirs <= 5; theirs++) {
        const good = PAIRS.has(`${ours} ${theirs}`);
        it(`${ours} against ${theirs} is ${good ? 'agreed' : 'refused with 2/11'}`, () => {
          const test: Case = {
            config: { capabilities: [role(ours)] },
            theirs: { capabilities: [role(theirs)] },
          };
          if (good) expect(agreed(test).roles).to.deep.equal({ local: ours, peer: theirs });
          else expect(refused(test)).to.include({ code: 2, subcode: 11 });
        });
      }
    }
    it('a neighbour without one is accepted with our own in force, unless strict', () => {
      const test: Case = { config: { capabilities: [role(3)] } };
      expect(agreed(test).roles).to.deep.equal({ local: 3 });
      const strict: Case = { config: { capabilities: [role(3)], strictRole: true } };
      expect(refused(strict)).to.include({ code: 2, subcode: 11 });
    });
    it('a neighbour that has one is accepted where we have none', () => {
      expect(withCapabilities([], [role(3)])).to.not.have.property('roles');
    });
    it('several that agree are one, several that differ are refused', () => {
      expect(withCapabilities([role(3)], [role(0), role(0)]).roles).to.deep.equal({
        local: 3,
        peer: 0,
      });
      const differing = { theirs: { capabilities: [role(0), role(3)] } };
      expect(refused(differing)).to.include({ code: 2, subcode: 11 });
    });
    it('mean nothing inside one AS', () => {
      const theirs = { asn: 65000, capabilities: [role(3)] };
      const config = { peerAsn: 'internal' as const, capabilities: [role(3)], strictRole: true };
      expect(agreed({ config, theirs })).to.not.have.property('roles');
    });
  });

  it('never throws, and two speakers come to mirrored agreements', () => {
    let compared = 0;
    // an AS number in the capability that contradicts the header would end nearly every run before it begins
    const opens = openMessage().map((open) => ({
      ...open,
      capabilities: open.capabilities.map((one) =>
        one.kind === 'four-octet-asn' ? { ...one, asn: open.asn } : one,
      ),
    }));
    fc.assert(
      fc.property(opens, fc.array(capability(), { maxLength: 8 }), (theirs, ours) => {
        const config = { ...CONFIG, peerAsn: 'external' as const, capabilities: ours };
        const open = buildOpen(config);
        const result = negotiate(config, open, theirs);
        if (!result.ok) {
          expect(result.fault.code).to.equal(2);
          return;
        }
        const here = result.negotiated;
        const other = negotiate({ ...config, localAsn: here.peerAsn }, theirs, open);
        if (!other.ok) return;
        const there = other.negotiated;
        compared++;
        expect(there.as4).to.equal(here.as4);
        expect(there.extendedMessage).to.equal(here.extendedMessage);
        expect(there.holdTimeSeconds).to.equal(here.holdTimeSeconds);
        expect(there.families).to.have.deep.members([...here.families]);
        expect(there.addPathSend).to.have.deep.members([...here.addPathReceive]);
        expect(there.addPathReceive).to.have.deep.members([...here.addPathSend]);
        expect(there.extendedNextHop).to.have.deep.members([...here.extendedNextHop]);
      }),
      { numRuns: 500 },
    );
    expect(compared).to.be.above(50);
  });
});
