import { expect } from 'chai';
import fc from 'fast-check';
import { TokenBucket, urgencyOf } from '../../../../src/agent/kube-report/write-pace.ts';
import type { IpNodeStatus } from '../../../../src/model/ip-node.ts';

const STATUS: IpNodeStatus = {
  routes: 1,
  observedClaims: '7',
  sessions: [{ peer: 'tor', address: '192.0.2.1', state: 'Established', routesReceived: 1 }],
};
const released = (...names: readonly string[]) =>
  new Map(names.map((name) => [name, { namespace: 'a' }]));
const written = { status: STATUS, released: released('192.0.2.7'), moves: 1, awaited: [] };
const urgency = (
  over: Partial<IpNodeStatus>,
  answered = written.released,
  awaited: readonly string[] = [],
) => urgencyOf(written, { status: { ...STATUS, ...over }, released: answered, moves: 1, awaited });

describe('how urgent a write of the IPNode is', () => {
  it('the first, and an answer to a move, are the most urgent', () => {
    expect(urgencyOf(undefined, written)).to.equal('move');
    const levels = [{ address: '192.0.2.7', level: 1 }] as const;
    expect(urgency({ levels }, written.released, ['192.0.2.7'])).to.equal('move');
    expect(urgency({ draining: { reason: 'SIGTERM', since: '' } })).to.equal('move');
    expect(urgencyOf(written, { ...written, moves: 2 })).to.equal('move');
  });

  it('a level that nobody waits for is a fact, and no more than a number when it has settled (F13)', () => {
    const levels = [{ address: '192.0.2.7', level: 0 }] as const;
    expect(urgency({ levels })).to.equal('fact');
    const told = { ...written, status: { ...STATUS, levels } };
    expect(urgencyOf(told, written)).to.equal('count');
    const leaving = { ...told, awaited: ['192.0.2.7'] };
    expect(urgencyOf(leaving, { ...written, awaited: ['192.0.2.7'] })).to.equal('move');
  });

  it('the answer to a release is awaited; one that was given is not given again', () => {
    expect(urgency({ observedClaims: '8' }, released('192.0.2.7', '192.0.2.8'))).to.equal(
      'release',
    );
    expect(urgency({ observedClaims: '8' }, released())).to.equal('count');
  });

  it('a state is a fact, a number is not', () => {
    const [tor] = STATUS.sessions ?? [];
    expect(urgency({ sessions: tor === undefined ? [] : [{ ...tor, state: 'Idle' }] })).to.equal(
      'fact',
    );
    const counted = tor === undefined ? [] : [{ ...tor, routesReceived: 2, routesSent: 9 }];
    expect(urgency({ sessions: counted, routes: 9 })).to.equal('count');
    expect(urgency({ refusedMore: 1 })).to.equal('fact');
  });

  it('a node that begins to answer is a fact, whatever the number, and so is one that cannot any more', () => {
    const { observedClaims: _, ...silent } = STATUS;
    const before = { ...written, status: silent };
    expect(urgencyOf(before, written)).to.equal('fact');
    expect(urgencyOf(written, before)).to.equal('fact');
    expect(urgencyOf(before, { ...before, status: { ...silent, routes: 9 } })).to.equal('count');
  });

  it('nothing new is nothing', () => {
    expect(urgency({})).to.equal('none');
  });
});

describe('a bucket of tokens', () => {
  it('gives no more than its burst and what came back with time', () => {
    const steps = fc.array(fc.integer({ min: 0, max: 3000 }), { maxLength: 200 });
    fc.assert(
      fc.property(steps, (pauses) => {
        const bucket = new TokenBucket(10, 5000, 0);
        let nowMs = 0;
        let taken = 0;
        for (const pauseMs of pauses) {
          nowMs += pauseMs;
          if (bucket.waitMs(nowMs) > 0) continue;
          bucket.take(nowMs);
          taken += 1;
        }
        expect(taken).to.be.at.most(10 + Math.ceil(nowMs / 5000));
      }),
    );
  });

  it('says when there will be one', () => {
    const bucket = new TokenBucket(1, 5000, 0);
    bucket.take(0);
    expect(bucket.waitMs(1000)).to.equal(4000);
    expect(bucket.waitMs(5000)).to.equal(0);
  });
});
