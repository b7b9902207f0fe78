import { expect } from 'chai';
import { orBrokenOff } from '../../lab/scenarios/broken-off.ts';
import { complaints } from '../../lab/scenarios/lab.ts';
import { misfits } from '../../lab/scenarios/partial.ts';
import { tableOf } from '../../lab/scenarios/report.ts';
import { gracefulRestartOf } from '../../lab/scenarios/router-sessions.ts';
import { fromBird, fromFrr } from '../../lab/scenarios/router-tables.ts';
import { expectWays } from '../../lab/scenarios/table-watch.ts';
import {
  ClientWasBlind,
  expectBrief,
  expectNone,
  expectNoneLost,
  expectWithin,
} from '../../lab/scenarios/verdicts.ts';
import type { Outage } from '../../tools/probe/probe-log.ts';

const QUIET: Outage = {
  sent: 1000,
  lost: 0,
  resets: 0,
  outageMs: 0,
  longestGapMs: 20,
  longestPauseMs: 20,
  answeredBy: { m1: 1000 },
  reasons: {},
};

describe('what a scenario expects', () => {
  const found = {
    prefix: '198.51.100.1/32',
    paths: [
      { nextHop: 'a', asPath: [1] },
      { nextHop: 'b', asPath: [2] },
    ],
  };

  it('names what it cares about, and nothing else', () => {
    expect(misfits({ paths: [{ nextHop: 'b' }, { nextHop: 'a' }] }, found)).to.deep.equal([]);
    expect(misfits({}, found)).to.deep.equal([]);
  });

  it('says what is missing, what is too much, and where', () => {
    expect(misfits({ paths: [{ nextHop: 'a' }, { nextHop: 'c' }] }, found)).to.deep.equal([
      'paths has no {"nextHop":"c"}',
      'paths has {"nextHop":"b","asPath":[2]} too',
    ]);
    expect(misfits({ prefix: 'x' }, found)).to.deep.equal(['prefix is "198.51.100.1/32", not "x"']);
    expect(misfits({ paths: [] }, {})).to.deep.equal(['paths is undefined, not a list']);
    expect(misfits({ a: { b: 1 } }, { a: 3 })).to.deep.equal(['a is 3, not an object']);
  });
});

describe('the tables of routers', () => {
  it('are read from FRR: those paths that it uses', () => {
    const path = (ip: string, more: object) => ({
      aspath: { string: '65001' },
      nexthops: [{ ip, used: true }],
      ...more,
    });
    const text = JSON.stringify({
      prefix: '198.51.100.1/32',
      paths: [
        path('10.0.0.2', { multipath: true, bestpath: { overall: true } }),
        path('10.0.0.1', { multipath: true }),
        path('10.0.0.3', {}),
      ],
    });
    expect(fromFrr('198.51.100.1/32', text).paths).to.deep.equal([
      { nextHop: '10.0.0.1', asPath: [65_001] },
      { nextHop: '10.0.0.2', asPath: [65_001] },
    ]);
    expect(fromFrr('198.51.100.1/32', '{}\n').paths).to.deep.equal([]);
  });

  it('are read from BIRD: one route with several ways', () => {
    const text = `Table master4:
198.51.100.1/32      unicast [tor1 18:00:00.000] * (100) [AS65001i]
\tvia 10.0.1.1 on eth1
\tvia 10.0.2.1 on eth2
\tType: BGP univ
\tBGP.origin: IGP
\tBGP.as_path: 65001 65101
`;
    expect(fromBird('198.51.100.1/32', text).paths).to.deep.equal([
      { nextHop: '10.0.1.1', asPath: [65_001, 65_101] },
      { nextHop: '10.0.2.1', asPath: [65_001, 65_101] },
    ]);
    expect(fromBird('198.51.100.1/32', 'Network not found\n').paths).to.deep.equal([]);
  });
});

describe('what a story may cost its client', () => {
  const every5 = { everyMs: 5 };

  it('is nothing: no probe lost, none cut, and a client that was there all the time', () => {
    expectNone(QUIET);
    expect(() => expectNone({ ...QUIET, lost: 1, reasons: { timeout: 1 } })).to.throw(
      'of 1000 probes 1 were lost and 0 cut, 0 ms from the first lost to the last: {"timeout":1}',
    );
    expect(() => expectNone({ ...QUIET, resets: 1 })).to.throw('1 cut');
    expect(() => expectNone({ ...QUIET, sent: 0 })).to.throw('no probe was sent');
    expect(() => expectNone({ ...QUIET, longestGapMs: 2500 })).to.throw(
      Error,
      'nobody answered for 2500 ms; of 1000 probes 0 were lost',
    );
  });

  it('is not known where the client itself has sent nothing', () => {
    const still = { ...QUIET, longestGapMs: 2500, longestPauseMs: 2500 };
    expect(() => expectNone(still)).to.throw(ClientWasBlind, 'sent nothing for 2500 ms');
    expect(() => expectNone({ ...QUIET, longestGapMs: 2500 })).not.to.throw(ClientWasBlind);
  });

  it('is those that were open when their way changed, and no more than can have been', () => {
    expectNoneLost({ ...QUIET, resets: 20 }, every5);
    expectNoneLost({ ...QUIET, resets: 40 }, { ...every5, changes: 2 });
    expect(() => expectNoneLost({ ...QUIET, resets: 21 }, every5)).to.throw('at most 20');
    expect(() => expectNoneLost({ ...QUIET, lost: 1 }, every5)).to.throw('1 were lost');
  });

  it('is the moment in which routers change over, or a time that the story names', () => {
    const lost = { ...QUIET, lost: 3, outageMs: 90 };
    expectBrief(lost, every5);
    expect(() => expectBrief({ ...lost, resets: 21 }, every5)).to.throw('at most 20');
    expect(() => expectBrief({ ...lost, outageMs: 101 }, every5)).to.throw('101 ms');
    expectWithin({ ...lost, outageMs: 500 }, 500, every5);
    expect(() => expectWithin({ ...lost, outageMs: 501 }, 500, every5)).to.throw('within 500 ms');
  });
});

describe('looks into a router while an address moves', () => {
  const sample = (...hops: readonly string[]) => ({
    router: 'tor1',
    table: { prefix: 'p', paths: hops.map((nextHop) => ({ nextHop, asPath: [] })) },
  });

  it('never find none, or two', () => {
    expectWays([sample('a'), sample('b')], 'tor1', { atMost: 1 });
    expect(() => expectWays([sample('a'), sample()], 'tor1', { atMost: 1 })).to.throw(
      'look 2 of 2 into tor1: the ways were: none',
    );
    expect(() => expectWays([sample('a', 'b'), sample('b')], 'tor1', { atMost: 1 })).to.throw(
      'look 1 of 2 into tor1: the ways were: a, b',
    );
    expect(() => expectWays([], 'tor1', { atMost: 1 })).to.throw('not looked into');
  });
});

describe('an FRR', () => {
  const session = (capabilities: object) =>
    JSON.stringify({
      '10.1.0.11': {
        bgpState: 'Established',
        neighborCapabilities: capabilities,
        gracefulRestartInfo: { localGrMode: 'Helper*', remoteGrMode: 'Restart' },
      },
    });

  it('tells whether graceful restart was agreed on, for routes too', () => {
    const both = 'advertisedAndReceived';
    const agreed = { gracefulRestart: both, addressFamiliesByPeer: { ipv4Unicast: {} } };
    expect(gracefulRestartOf(session(agreed), '10.1.0.11')).to.deep.equal({
      localMode: 'Helper*',
      isEstablished: true,
      isAgreed: true,
    });
    const helper = { gracefulRestart: both, addressFamiliesByPeer: 'none' };
    expect(gracefulRestartOf(session(helper), '10.1.0.11')?.isAgreed).to.equal(false);
    expect(gracefulRestartOf(session({}), '10.1.0.11')?.isAgreed).to.equal(false);
    expect(gracefulRestartOf(session(agreed), '10.1.0.12')).to.equal(undefined);
  });

  it('may remark on a line that it takes; everything else is a complaint', () => {
    const remark = 'Graceful restart configuration changed, reset this peer to take effect\n';
    expect(complaints({ stdout: remark, stderr: '' })).to.deep.equal([]);
    expect(complaints({ stdout: '', stderr: remark })).to.deep.equal([]);
    expect(complaints({ stdout: '% Unknown command: x\n', stderr: '' })).to.have.length(1);
    expect(complaints({ stdout: '', stderr: 'vtysh: no daemons\n' })).to.deep.equal([
      'vtysh: no daemons',
    ]);
  });
});

describe('the table of a run', () => {
  it('shows what became of connections that were held, and what was not played', () => {
    const result = { title: '', seconds: 3, measured: [] };
    const held = { open: 100, cut: 3, reasons: { reset: 2, closed: 1 } };
    const table = tableOf([
      { ...result, name: 'drained', measured: [{ what: 'all', outage: QUIET, held }] },
      { ...result, name: 'away', refusal: 'no' },
    ]).split('\n');
    expect(table.slice(2)).to.deep.equal([
      '| drained | all | 1000 | 0 | – | 0; 3 of 100 held (1 closed, 2 reset) | as it should, 3 s |',
      '| away | | | | | | not played |',
    ]);
  });
});

describe('a story that is broken off', () => {
  it('comes to its own end first, and is what it was where nobody broke it off', async () => {
    const broken = new AbortController();
    expect(await orBrokenOff(Promise.resolve(7), broken.signal)).to.equal(7);
    const step = Promise.withResolvers<number>();
    const story = orBrokenOff(step.promise, broken.signal);
    broken.abort(new Error('by a signal'));
    step.reject(broken.signal.reason);
    const error = await story.catch((reason: unknown) => reason);
    expect(error).to.equal(broken.signal.reason);
  });
});
