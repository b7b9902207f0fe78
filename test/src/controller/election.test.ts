import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { Election } from '../../../src/controller/election.ts';
import { ELECTION_TIMES } from '../../../src/controller/election-rules.ts';
import { SILENT_LOG } from '../../../src/log/log.ts';
import { CONTROLLER_LEASE, LEAVING_ANNOTATION } from '../../../src/model/names.ts';
import { ApiUnreachable } from '../../../src/sources/kube/api.ts';
import { LEASES } from '../../../src/sources/kube/resources.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { MemoryKubeApi } from '../../support/memory-kube-api.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

const KEY = `herald-system/${CONTROLLER_LEASE}`;

/** contenders on one API and one clock; each may be frozen, which is not to be called back */
function underTest() {
  const api = new MemoryKubeApi();
  const clock = new ManualClock();
  const told: string[] = [];
  const contender = (identity: string, of = clock) =>
    new Election({
      api,
      clock: of,
      random: new SeededRandom(3),
      log: SILENT_LOG,
      identity,
      times: ELECTION_TIMES,
      onLead: () => told.push(`${identity} leads`),
      onLost: () => told.push(`${identity} lost`),
    });
  const settle = async () => {
    for (let turns = 0; turns < 10; turns += 1) await turn();
  };
  const advance = async (ms: number, stepMs = 100) => {
    for (let left = ms; left > 0; left -= stepMs) {
      clock.advance(Math.min(stepMs, left));
      await settle();
    }
  };
  const spec = () => Object(api.object(LEASES, KEY)?.['spec']);
  const writes = () => api.calls.splice(0).flatMap(({ verb }) => (verb === 'get' ? [] : [verb]));
  return { api, clock, told, contender, settle, advance, spec, writes };
}

/** of a process that was stopped: when it goes on, all its timers find themselves late */
class SleepyClock extends ManualClock {
  sleptMs = 0;

  override now(): number {
    return super.now() + this.sleptMs;
  }
}

describe('an election', () => {
  it('creates the Lease, leads, and renews it every two seconds with one call each', async () => {
    const { api, told, contender, advance, settle, spec, writes } = underTest();
    const a = contender('a');
    a.start();
    await settle();
    expect(told).to.deep.equal(['a leads']);
    expect(a.isLeading).to.equal(true);
    expect(spec()).to.include({
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      leaseTransitions: 0,
    });
    api.calls.length = 0;
    await advance(20_000);
    expect(api.calls.map(({ verb }) => verb)).to.satisfy((verbs: string[]) =>
      verbs.every((verb) => verb === 'update'),
    );
    expect(writes().length).to.be.within(8, 10);
  });

  it('leaves one leader while it renews, however many stand by', async () => {
    const { told, contender, advance, settle } = underTest();
    const [a, b, c] = [contender('a'), contender('b'), contender('c')];
    a.start();
    await settle();
    b.start();
    c.start();
    await advance(60_000);
    expect(told).to.deep.equal(['a leads']);
    expect(b.isLeading || c.isLeading).to.equal(false);
  });

  it('follows a silent leader after the length of the lease, not before', async () => {
    const { told, contender, advance, settle, spec } = underTest();
    const dead = new ManualClock();
    contender('a', dead).start();
    await settle();
    contender('b').start();
    await advance(14_900);
    expect(told).to.deep.equal(['a leads']);
    await advance(300);
    expect(told).to.deep.equal(['a leads', 'b leads']);
    expect(spec()).to.include({ holderIdentity: 'b', leaseTransitions: 1 });
  });

  it('gives the Lease back when it stops, and who is told of that leads at once', async () => {
    const { clock, told, contender, advance, settle } = underTest();
    const [a, b] = [contender('a'), contender('b')];
    a.start();
    await settle();
    b.start();
    await advance(3000);
    const beforeMs = clock.now();
    await a.stop();
    b.kick();
    await settle();
    expect(clock.now()).to.equal(beforeMs);
    expect(told).to.deep.equal(['a leads', 'a lost', 'b leads']);
  });

  it('says that it is leaving while it still holds the Lease, and its successor does not say so', async () => {
    const { api, told, contender, advance, settle } = underTest();
    const isLeaving = () =>
      LEAVING_ANNOTATION in (api.object(LEASES, KEY)?.metadata.annotations ?? {});
    const [a, b] = [contender('a'), contender('b')];
    a.start();
    await settle();
    b.start();
    await a.leave();
    expect(isLeaving()).to.equal(true);
    expect(a.isLeading).to.equal(true);
    await advance(20_000);
    expect(told).to.deep.equal(['a leads']);
    await a.stop();
    b.kick();
    await settle();
    expect(told).to.deep.equal(['a leads', 'a lost', 'b leads']);
    expect(isLeaving()).to.equal(false);
  });

  it('keeps the Lease over a planned restart: the same identity has it again at once, another only after that time', async () => {
    const { told, contender, advance, settle, spec } = underTest();
    const [a, b] = [contender('a'), contender('b')];
    a.start();
    await settle();
    b.start();
    await a.stop({ kind: 'keep', keepMs: 33_000 });
    expect(spec()).to.include({ holderIdentity: 'a', leaseDurationSeconds: 33 });
    await advance(32_000);
    expect(told).to.deep.equal(['a leads', 'a lost']);
    const again = contender('a');
    again.start();
    await settle();
    expect(told).to.deep.equal(['a leads', 'a lost', 'a leads']);
    await again.stop({ kind: 'keep', keepMs: 33_000 });
    await advance(36_000);
    expect(told).to.deep.equal(['a leads', 'a lost', 'a leads', 'a lost', 'b leads']);
    expect(spec()).to.include({ holderIdentity: 'b', leaseDurationSeconds: 15 });
  });

  it('leads no more once it could not renew for the deadline, and again when the API is back', async () => {
    const { api, told, contender, advance, settle } = underTest();
    const a = contender('a');
    a.start();
    await settle();
    await advance(1000);
    api.fault = () => ({ kind: 'before', error: new ApiUnreachable('down', undefined) });
    await advance(8900);
    expect(a.isLeading).to.equal(true);
    await advance(300);
    expect(told).to.deep.equal(['a leads', 'a lost']);
    expect(a.mayWriteUntilMs).to.equal(Number.NEGATIVE_INFINITY);
    await advance(20_000);
    api.fault = undefined;
    await advance(3000);
    expect(told).to.deep.equal(['a leads', 'a lost', 'a leads']);
  });

  it('is past its deadline the moment it wakes up from being frozen, and writes nothing then', async () => {
    const { api, told, contender, advance, settle, clock } = underTest();
    const slow = new SleepyClock();
    const a = contender('a', slow);
    a.start();
    await settle();
    contender('b').start();
    await advance(16_000);
    expect(told).to.deep.equal(['a leads', 'b leads']);
    api.calls.length = 0;
    slow.sleptMs = clock.now();
    expect(a.isLeading, 'before any of its timers').to.equal(false);
    slow.advance(ELECTION_TIMES.retryMs * 1.2);
    await settle();
    expect(told).to.deep.equal(['a leads', 'b leads', 'a lost']);
    expect(api.calls.map(({ verb }) => verb)).to.satisfy((verbs: string[]) =>
      verbs.every((verb) => verb === 'get'),
    );
  });

  it('holds nothing by an answer that came after the deadline', async () => {
    const { api, told, contender, advance, settle } = underTest();
    let release: () => void = () => undefined;
    const until = new Promise<void>((resolve) => {
      release = resolve;
    });
    api.fault = ({ verb }) => (verb === 'create' ? { kind: 'hold', until } : undefined);
    const a = contender('a');
    a.start();
    await advance(11_000);
    release();
    await settle();
    expect(told).to.deep.equal([]);
    expect(a.isLeading).to.equal(false);
    await advance(3000);
    expect(told, 'the next renewal counts').to.deep.equal(['a leads']);
  });

  it('leaves what others have put on the Lease', async () => {
    const { api, contender, settle, advance } = underTest();
    api.put(LEASES, {
      metadata: { name: CONTROLLER_LEASE, namespace: 'herald-system', labels: { team: 'x' } },
      spec: { holderIdentity: '' },
    });
    contender('a').start();
    await settle();
    await advance(5000);
    expect(api.object(LEASES, KEY)?.metadata.labels).to.deep.equal({ team: 'x' });
  });

  it('counts on where somebody deletes the Lease: no later holder has the number of an earlier one', async () => {
    const { api, contender, settle, advance, spec } = underTest();
    const [a, b] = [contender('a'), contender('b')];
    a.start();
    await settle();
    b.start();
    await advance(3000);
    await a.stop();
    await advance(3000);
    expect(spec()).to.include({ holderIdentity: 'b', leaseTransitions: 1 });
    await api.delete(LEASES, CONTROLLER_LEASE);
    await advance(5000);
    expect(spec()).to.include({ holderIdentity: 'b', leaseTransitions: 2 });
  });

  it('leaves no timer behind', async () => {
    const { clock, contender, settle, advance } = underTest();
    const a = contender('a');
    a.start();
    await settle();
    await advance(5000);
    await a.stop();
    expect(clock.pendingTimers).to.equal(0);
  });
});
