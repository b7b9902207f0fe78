import { expect } from 'chai';
import { ALWAYS, WriteGuard } from '../../../src/controller/write-guard.ts';
import { ApiUnreachable } from '../../../src/sources/kube/api.ts';
import { IP_POOLS } from '../../../src/sources/kube/resources.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { MemoryKubeApi } from '../../support/memory-kube-api.ts';

const pool = (name: string) => ({ metadata: { name }, spec: {} });

async function failure(work: Promise<unknown>): Promise<unknown> {
  return await work.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('the write guard', () => {
  it('refuses every kind of write past the deadline, and lets through every read', async () => {
    const clock = new ManualClock();
    const api = new MemoryKubeApi();
    api.put(IP_POOLS, pool('a'));
    const guard = new WriteGuard(api, { mayWriteUntilMs: 1000, fencedUntilMs: 2000 }, clock);
    await guard.create(IP_POOLS, pool('b'));
    clock.advance(1000);
    api.calls.length = 0;
    const refused = [
      guard.create(IP_POOLS, pool('c')),
      guard.update(IP_POOLS, 'a', pool('a')),
      guard.patch(IP_POOLS, 'a', { kind: 'merge', body: {} }),
      guard.delete(IP_POOLS, 'a'),
    ];
    for (const each of refused) expect(await failure(each)).to.be.instanceOf(ApiUnreachable);
    expect(api.calls).to.deep.equal([]);
    await guard.get(IP_POOLS, 'a');
    await guard.list(IP_POOLS);
    expect(api.calls.map(({ verb }) => verb)).to.deep.equal(['get', 'list']);
  });

  it('waits for no write longer than until another may lead', async () => {
    const clock = new ManualClock();
    const api = new MemoryKubeApi();
    const guard = new WriteGuard(api, { mayWriteUntilMs: 10_000, fencedUntilMs: 15_000 }, clock);
    clock.advance(9000);
    await guard.create(IP_POOLS, pool('a'));
    await guard.create(IP_POOLS, pool('b'), { timeoutMs: 500 });
    expect(api.calls.map(({ options }) => Reflect.get(options, 'timeoutMs'))).to.deep.equal([
      6000, 500,
    ]);
  });

  it('closes: nothing new, and what is under way is waited for within a bound', async () => {
    const clock = new ManualClock();
    const api = new MemoryKubeApi();
    const guard = new WriteGuard(api, ALWAYS, clock);
    let release: () => void = () => undefined;
    const until = new Promise<void>((resolve) => {
      release = resolve;
    });
    api.fault = () => ({ kind: 'hold', until });
    const write = guard.create(IP_POOLS, pool('a'));
    let isClosed = false;
    const closing = guard.close(3000).then(() => {
      isClosed = true;
    });
    expect(await failure(guard.create(IP_POOLS, pool('b')))).to.be.instanceOf(ApiUnreachable);
    clock.advance(2999);
    await Promise.resolve();
    expect(isClosed).to.equal(false);
    release();
    await write;
    await closing;
    expect(clock.pendingTimers).to.equal(0);

    const never = new WriteGuard(api, ALWAYS, clock);
    api.fault = () => ({ kind: 'hold', until: new Promise(() => undefined) });
    void never.create(IP_POOLS, pool('c'));
    const bounded = never.close(3000);
    clock.advance(3000);
    await bounded;
  });
});
