import { expect } from 'chai';
import fc from 'fast-check';
import {
  ipNodeStatus,
  type ReportFacts,
} from '../../../../src/agent/kube-report/ip-node-status.ts';
import { jsonSize } from '../../../../src/agent/kube-report/status-size.ts';
import type { SessionStatus } from '../../../../src/agent/status.ts';

const NOW = '2026-01-01T00:00:00Z';

function session(over: Partial<SessionStatus> = {}): SessionStatus {
  return {
    peer: 'tor',
    address: '192.0.2.1',
    asn: 64500,
    localAsn: 64512,
    state: 'established',
    since: '2026-01-01T00:00:00.000Z',
    routesSent: 3,
    routesReceived: 1,
    ...over,
  };
}

function facts(over: Partial<ReportFacts> = {}): ReportFacts {
  return {
    joined: { isOpen: true, sentence: 'Ready', since: '2026-01-01T00:00:00.000Z' },
    sessions: [session()],
    announced: 3,
    refused: [],
    refusedCount: 0,
    levels: [],
    awaited: [],
    released: new Map(),
    moves: 0,
    isCurrent: true,
    ...over,
  };
}

describe('the status of an IPNode', () => {
  it('tells what the node is, its sessions and what it counts', () => {
    const status = ipNodeStatus(facts({ observedClaims: '41' }), {}, NOW);
    expect(status).to.deep.equal({
      joined: {
        open: true,
        reason: 'Joined',
        message: 'Ready',
        since: '2026-01-01T00:00:00.000Z',
      },
      sessions: [
        {
          peer: 'tor',
          address: '192.0.2.1',
          state: 'Established',
          routesSent: 3,
          routesReceived: 1,
          since: '2026-01-01T00:00:00.000Z',
        },
      ],
      routes: 3,
      observedClaims: '41',
      conditions: [
        {
          type: 'SessionsUp',
          status: 'True',
          reason: 'AllUp',
          message: 'its session is up',
          lastTransitionTime: NOW,
        },
        {
          type: 'Stale',
          status: 'False',
          reason: 'UpToDate',
          message: 'what it announces is what the documents say',
          lastTransitionTime: NOW,
        },
      ],
    });
  });

  it('never touches the condition of the controller', () => {
    const alive = { type: 'AgentAlive', status: 'True', reason: 'Renews', message: '' } as const;
    const { conditions } = ipNodeStatus(facts(), { conditions: [alive] }, NOW);
    expect(conditions?.map(({ type }) => type)).to.deep.equal(['SessionsUp', 'Stale']);
  });

  it('has the words of the router, on one line and without what moves a cursor', () => {
    const lastError =
      'neighbour sent 6/2: Administrative Shutdown: "back\u001b[31m at\r\n noon\u202e"';
    const down = session({ state: 'active', lastError });
    const status = ipNodeStatus(facts({ sessions: [down] }), {}, NOW);
    const text = 'neighbour sent 6/2: Administrative Shutdown: "back [31m at  noon "';
    expect(status.sessions?.[0]?.lastError).to.equal(text);
    expect(status.sessions?.[0]?.state).to.equal('Active');
    expect(status.conditions?.[0]?.message).to.equal(`0 of 1 are up; tor: ${text}`);
  });

  it('says why a session cannot be', () => {
    const refused = session({ state: 'refused', refused: 'Secret tor has no key password' });
    const [told] = ipNodeStatus(facts({ sessions: [refused] }), {}, NOW).sessions ?? [];
    expect(told).to.include({ state: 'Idle', lastError: 'Secret tor has no key password' });
  });

  it('keeps the times of what has not moved, though clocks differ a little each time', () => {
    const first = ipNodeStatus(facts(), {}, NOW);
    const later = facts({
      joined: { isOpen: true, sentence: 'Ready', since: '2026-01-01T00:00:00.001Z' },
      sessions: [session({ since: '2025-12-31T23:59:59.999Z' })],
    });
    expect(ipNodeStatus(later, first, '2026-01-01T00:00:09Z')).to.deep.equal(first);
    const down = facts({ sessions: [session({ state: 'idle' })] });
    const moved = ipNodeStatus(down, first, '2026-01-01T00:00:09Z');
    expect(moved.conditions?.map((one) => one.lastTransitionTime)).to.deep.equal([
      '2026-01-01T00:00:09Z',
      NOW,
    ]);
  });

  it('lists a hundred exceptions at most and counts the others', () => {
    const refused = Array.from({ length: 150 }, (_, index) => ({
      address: `192.0.2.${index}`,
      gate: 'allowed',
      message: 'tor takes at most 500 routes',
    }));
    const status = ipNodeStatus(facts({ refused, refusedCount: 4000 }), {}, NOW);
    expect(status.refused).to.have.length(100);
    expect(status.refusedMore).to.equal(3900);
  });

  it('tells what was agreed with a router while the session is up', () => {
    const agreed = { holdSeconds: 9, restartSeconds: 30 };
    const [up] = ipNodeStatus(facts({ sessions: [session(agreed)] }), {}, NOW).sessions ?? [];
    expect(up).to.include(agreed);
    const idle = session({ state: 'idle', ...agreed });
    const [down] = ipNodeStatus(facts({ sessions: [idle] }), {}, NOW).sessions ?? [];
    expect(down).not.to.have.any.keys('holdSeconds', 'restartSeconds');
  });

  it('says where a short lease is of no use, and is silent about it elsewhere', () => {
    const told = (leaseSeconds: number | undefined, over: Partial<SessionStatus>) => {
      const lasts = leaseSeconds === undefined ? {} : { leaseSeconds };
      const { conditions } = ipNodeStatus(facts({ sessions: [session(over)], ...lasts }), {}, NOW);
      return conditions?.find(({ type }) => type === 'RoutersForgetInTime');
    };
    expect(told(undefined, { holdSeconds: 90 })).to.equal(undefined);
    expect(told(15, { holdSeconds: 9 })).to.equal(undefined);
    expect(told(2, { holdSeconds: 9 })?.message)
      .to.include('tor may keep the routes')
      .and.include('12 s');
    expect(told(15, { holdSeconds: 9, restartSeconds: 60 })).to.include({ reason: 'RestartTime' });
    expect(told(15, { holdSeconds: 0 })).to.include({ reason: 'NoHoldTime' });
  });

  it('shows the sessions that are up where not all have room', () => {
    const down = Array.from({ length: 300 }, (_, index) =>
      session({ peer: `p${index}`, state: 'active' }),
    );
    const status = ipNodeStatus(facts({ sessions: [...down, session({ peer: 'up' })] }), {}, NOW);
    expect(status.sessions?.[0]).to.include({ peer: 'up', state: 'Established' });
    expect(status.conditions?.[0]?.message).to.match(/^1 of 301 are up/);
  });

  it('stays below 64 kB and within the schema, whatever is said and however much of it', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 2000 }),
      fc.string({
        unit: fc.constantFrom('"', '\\', '\u0007', '\ud800', '€', '𝒳'),
        maxLength: 2000,
      }),
    );
    const sessions = fc.array(
      fc.record({ peer: text, address: text, lastError: text, state: fc.constantFrom('active') }),
      { maxLength: 20 },
    );
    const refused = fc.array(fc.record({ address: text, gate: text, message: text }), {
      maxLength: 20,
    });
    const times = fc.integer({ min: 1, max: 200 });
    const told = fc.record({ text, sessions, refused, times, levels: fc.nat(5000) });
    fc.assert(
      fc.property(told, (one) => {
        const status = ipNodeStatus(
          facts({
            joined: { isOpen: false, sentence: one.text, since: NOW },
            draining: { reason: one.text, since: NOW },
            stale: { sentence: one.text, since: NOW },
            sessions: repeat(one.sessions, one.times).map((each) => session(each)),
            refused: repeat(one.refused, one.times),
            levels: Array.from({ length: one.levels }, () => ({
              address: '2001:db8:1111:2222:3333:4444:5555:6666',
              level: 1,
            })),
          }),
          {},
          NOW,
        );
        expect(jsonSize(status)).to.be.below(64_000);
        expect(status.sessions?.length ?? 0).to.be.at.most(256);
        expect(status.levels?.length ?? 0).to.be.at.most(1000);
        for (const { lastError = '' } of status.sessions ?? []) {
          expect(lastError).to.not.match(/[\p{Cc}\p{Cs}]/u);
          expect([...lastError].length).to.be.at.most(1024);
        }
        expect([...(status.draining?.reason ?? '')].length).to.be.within(1, 256);
      }),
      { numRuns: 60 },
    );
  });
});

function repeat<T>(list: readonly T[], times: number): readonly T[] {
  return Array.from({ length: times }, () => list).flat();
}
