import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import fc from 'fast-check';
import type { LogEvent } from '../../../../src/log/log.ts';
import {
  ApiError,
  ApiUnreachable,
  type KubeObject,
  type Selection,
} from '../../../../src/sources/kube/api.ts';
import { Informer, type InformerOptions } from '../../../../src/sources/kube/informer.ts';
import { IP_CLAIMS, SERVICES } from '../../../../src/sources/kube/resources.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { MemoryKubeApi } from '../../../support/memory-kube-api.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

const pool = (object: KubeObject): string => String(Object(object['spec']).pool);

const claim = (name: string, value: string, labels: Readonly<Record<string, string>> = {}) => ({
  apiVersion: 'herald.dev/v1alpha1',
  kind: 'IPClaim',
  metadata: { name, labels },
  spec: { pool: value },
});

interface Setup {
  readonly api?: MemoryKubeApi;
  readonly selection?: Selection;
  readonly options?: Partial<InformerOptions<string>>;
}

function underTest({ api = new MemoryKubeApi(), selection = {}, options = {} }: Setup = {}) {
  const clock = new ManualClock();
  const changes: string[] = [];
  const logged: LogEvent[] = [];
  const log = {
    info: (event: LogEvent) => logged.push(event),
    warn: (event: LogEvent) => logged.push(event),
    error: (event: LogEvent) => logged.push(event),
    debug: () => undefined,
  };
  const informer = new Informer<string>({
    api,
    resource: IP_CLAIMS,
    selection,
    clock,
    random: new SeededRandom(7),
    log,
    convert: pool,
    onChange: (key, now, before) => changes.push(`${key} ${before ?? '-'}>${now ?? '-'}`),
    onSynced: () => changes.push('synced'),
    ...options,
  });
  const take = () => changes.splice(0);
  const verbs = () => api.calls.splice(0).map(({ verb }) => verb);
  /** lets time pass until a list or watch has been begun by whoever waits */
  const advance = async (ms: number) => {
    clock.advance(ms);
    await turn();
  };
  return { api, clock, informer, changes, take, verbs, logged, advance };
}

/** an informer that has listed `a` and watches */
async function following(setup: Setup = {}) {
  const all = underTest(setup);
  all.api.put(IP_CLAIMS, claim('a', 'one'));
  all.informer.start();
  await turn();
  all.take();
  all.verbs();
  return all;
}

const cutOff = { kind: 'failed', error: new ApiUnreachable('cut', undefined) } as const;

describe('an informer', () => {
  it('lists at once, tells everything, then says that it has', async () => {
    const { api, informer, changes, verbs, clock } = underTest();
    api.put(IP_CLAIMS, claim('a', 'one'));
    api.put(IP_CLAIMS, claim('b', 'two'));
    expect(informer.hasSynced).to.equal(false);
    expect(informer.lastHeardMs).to.equal(Number.NEGATIVE_INFINITY);
    informer.start();
    await turn();
    expect(changes).to.deep.equal(['a ->one', 'b ->two', 'synced']);
    expect(informer.hasSynced).to.equal(true);
    expect([...informer.items]).to.deep.equal([
      ['a', 'one'],
      ['b', 'two'],
    ]);
    expect(informer.resourceVersion).to.equal(BigInt(api.version));
    expect(informer.lastHeardMs).to.equal(0);
    expect(verbs()).to.deep.equal(['list', 'watch']);
    expect(clock.pendingTimers).to.equal(0);
  });

  it('asks the cache of the server, and for a watch of four to five minutes', async () => {
    const { api, informer } = underTest({ selection: { labelSelector: 'x' } });
    informer.start();
    await turn();
    const [list, watch] = api.calls;
    expect(list?.options).to.include({ resourceVersion: '0', labelSelector: 'x' });
    expect(watch?.options).to.include({ labelSelector: 'x' });
    expect(watch?.options).to.have.property('timeoutSeconds').within(240, 300);
  });

  it('lists in pages of one moment, and tells when all of them are there (C16)', async () => {
    const { api, informer, changes, take, verbs } = underTest({ options: { pageSize: 2 } });
    for (const name of ['a', 'b', 'c', 'd', 'e']) api.put(IP_CLAIMS, claim(name, 'one'));
    const first = api.version;
    let release = () => {};
    const until = new Promise<void>((resolve) => {
      release = resolve;
    });
    api.fault = ({ options }) => ('continueToken' in options ? { kind: 'hold', until } : undefined);
    informer.start();
    await turn();
    expect(informer.hasSynced, 'after one page').to.equal(false);
    api.remove(IP_CLAIMS, 'a');
    api.put(IP_CLAIMS, claim('d', 'two'));
    api.put(IP_CLAIMS, claim('f', 'one'));
    api.fault = undefined;
    release();
    for (let each = 0; each < 5; each += 1) await turn();
    const lists = api.calls.filter(({ verb }) => verb === 'list');
    expect(lists.map(({ options }) => 'continueToken' in options)).to.deep.equal([
      false,
      true,
      true,
    ]);
    for (const { options } of lists) {
      expect(options).to.include({ limit: 2 }).and.not.have.property('resourceVersion');
    }
    expect(verbs().at(-1)).to.equal('watch');
    // the pages are what was there when the first was asked for; the rest comes by the watch
    const synced = changes.indexOf('synced');
    expect(changes.slice(0, synced)).to.deep.equal(
      ['a', 'b', 'c', 'd', 'e'].map((name) => `${name} ->one`),
    );
    expect(take().slice(synced + 1)).to.deep.equal(['a one>-', 'd one>two', 'f ->one']);
    expect(informer.resourceVersion > BigInt(first)).to.equal(true);
  });

  it('begins again where the server has forgotten the moment of a list in pages, and tells nothing twice', async () => {
    const { api, informer, changes, advance } = underTest({ options: { pageSize: 2 } });
    for (const name of ['a', 'b', 'c']) api.put(IP_CLAIMS, claim(name, 'one'));
    api.fault = ({ options }) => {
      if (!('continueToken' in options)) return undefined;
      api.fault = undefined;
      api.remove(IP_CLAIMS, 'a');
      api.compact();
      return undefined;
    };
    informer.start();
    await turn();
    expect(changes).to.deep.equal([]);
    for (let each = 0; each < 5; each += 1) await advance(3000);
    expect(changes).to.deep.equal(['b ->one', 'c ->one', 'synced']);
  });

  it('follows what is created, changed and deleted', async () => {
    const { api, informer, take } = await following();
    api.put(IP_CLAIMS, claim('b', 'two'));
    api.put(IP_CLAIMS, claim('b', 'three'));
    api.remove(IP_CLAIMS, 'a');
    await turn();
    expect(take()).to.deep.equal(['b ->two', 'b two>three', 'a one>-']);
    expect(informer.resourceVersion).to.equal(BigInt(api.version));
    expect([...informer.items.keys()]).to.deep.equal(['b']);
  });

  it('has the version of a change, and the whole cache, when it tells of it', async () => {
    const seen: string[] = [];
    const api = new MemoryKubeApi();
    const all = underTest({
      api,
      options: {
        onChange: (key) =>
          seen.push(`${key} at ${all.informer.resourceVersion} of ${all.informer.items.size}`),
      },
    });
    api.put(IP_CLAIMS, claim('a', 'one'));
    api.put(IP_CLAIMS, claim('b', 'two'));
    all.informer.start();
    await turn();
    api.remove(IP_CLAIMS, 'a');
    await turn();
    expect(seen).to.deep.equal(['a at 1002 of 2', 'b at 1002 of 2', 'a at 1003 of 1']);
  });

  it('moves its version by bookmarks', async () => {
    const { api, informer, take } = await following();
    api.put(SERVICES, { metadata: { name: 'other', namespace: 'x' } });
    expect(informer.resourceVersion).to.equal(BigInt(api.version - 1));
    const reached = informer.waitFor(BigInt(api.version));
    api.bookmark();
    expect(await reached).to.equal(true);
    expect(take()).to.deep.equal([]);
  });

  it('opens an ended watch from where it was, at once, and lists nothing', async () => {
    const { api, informer, take, verbs, advance } = await following();
    api.put(IP_CLAIMS, claim('b', 'two'));
    await turn();
    await advance(5000);
    api.endWatches({ kind: 'closed' });
    api.put(IP_CLAIMS, claim('c', 'three'));
    await turn();
    expect(take()).to.deep.equal(['b ->two', 'c ->three']);
    expect(verbs()).to.deep.equal(['watch']);
    expect(informer.items.size).to.equal(3);
  });

  it('opens a silent watch again at once', async () => {
    const { api, verbs } = await following();
    api.endWatches({ kind: 'silent' });
    await turn();
    expect(verbs()).to.deep.equal(['watch']);
  });

  it('does not hurry after a server that ends every watch as soon as it has begun', async () => {
    const { api, verbs, advance, clock } = await following();
    for (const atLeastMs of [100, 200, 400, 800]) {
      api.endWatches({ kind: 'closed' });
      await turn();
      expect(verbs()).to.deep.equal([]);
      expect(clock.nextTimerMs).to.be.within(atLeastMs, atLeastMs * 2);
      await advance(atLeastMs * 2);
      expect(verbs()).to.deep.equal(['watch']);
    }
  });

  it('waits longer and longer when the API is away, and keeps what it knows', async () => {
    const { api, informer, take, clock, advance, verbs, logged } = await following();
    api.fault = () => ({ kind: 'before', error: new ApiUnreachable('away', undefined) });
    api.endWatches(cutOff);
    await turn();
    let waitedMs = 0;
    for (let count = 0; count < 12; count += 1) {
      waitedMs = clock.nextTimerMs ?? Number.NaN;
      await advance(waitedMs);
    }
    expect(waitedMs).to.be.within(5000, 10_000);
    expect(verbs().every((verb) => verb === 'watch')).to.equal(true);
    expect(informer.get('a')).to.equal('one');
    api.fault = undefined;
    api.put(IP_CLAIMS, claim('b', 'two'));
    await advance(31_000);
    expect(take()).to.deep.equal(['b ->two']);
    expect(
      logged.filter((event) => event === 'kube.retry'),
      'once that it fails, once that it works',
    ).to.have.length(2);
  });

  it('waits as long as a busy server asks for', async () => {
    const { api, clock } = await following();
    const error = new ApiError(429, 'TooManyRequests', 'later', 7000);
    api.fault = () => ({ kind: 'before', error });
    api.endWatches({ kind: 'closed' });
    await turn();
    clock.advance(200);
    await turn();
    expect(clock.nextTimerMs).to.be.within(6800, 7000);
  });

  it('lists again when its version is gone, and tells the differences, also what was deleted while nobody looked (SEEDS H16)', async () => {
    const { api, informer, take, verbs, advance } = await following();
    api.put(IP_CLAIMS, claim('b', 'two'));
    api.put(IP_CLAIMS, claim('same', 'same'));
    await turn();
    take();
    await advance(5000);
    api.hold();
    api.remove(IP_CLAIMS, 'a');
    api.put(IP_CLAIMS, claim('b', 'three'));
    api.put(IP_CLAIMS, claim('c', 'four'));
    api.compact();
    api.endWatches({ kind: 'closed' });
    api.release();
    await turn();
    expect(take()).to.deep.equal(['b two>three', 'c ->four', 'a one>-']);
    expect(verbs()).to.deep.equal(['watch', 'list', 'watch']);
    expect([...informer.items.keys()].sort()).to.deep.equal(['b', 'c', 'same']);
  });

  it('spreads the lists of many who come back from an outage together', async () => {
    const waits: number[] = [];
    for (let seed = 0; seed < 40; seed += 1) {
      const random = new SeededRandom(seed);
      const { api, clock, advance, verbs } = await following({ options: { random } });
      api.fault = () => ({ kind: 'before', error: new ApiUnreachable('away', undefined) });
      api.endWatches(cutOff);
      await turn();
      await advance(clock.nextTimerMs ?? Number.NaN);
      api.fault = undefined;
      api.put(IP_CLAIMS, claim('b', 'two'));
      api.compact();
      verbs();
      await advance(clock.nextTimerMs ?? Number.NaN);
      expect(verbs(), 'the watch finds its version gone, and no list yet').to.deep.equal(['watch']);
      waits.push(clock.nextTimerMs ?? Number.NaN);
    }
    expect(Math.min(...waits)).to.be.within(100, 400);
    expect(Math.max(...waits)).to.be.within(900, 1200);
  });

  it('never goes back in time: a list of a server that lags is taken again from the store', async () => {
    const { api, informer, take, advance } = underTest();
    api.put(IP_CLAIMS, claim('a', 'two'));
    informer.start();
    await turn();
    take();
    const known = informer.resourceVersion;
    api.lag();
    api.put(IP_CLAIMS, claim('a', 'three'));
    await turn();
    expect(take()).to.deep.equal(['a two>three']);
    await advance(5000);
    api.compact();
    api.endWatches({ kind: 'gone' });
    await turn();
    const lists = api.calls.filter(({ verb }) => verb === 'list').map(({ options }) => options);
    expect(lists.at(-2)).to.include({ resourceVersion: '0' });
    expect(lists.at(-1)).not.to.have.property('resourceVersion');
    expect(take(), 'nothing has changed').to.deep.equal([]);
    expect(informer.get('a')).to.equal('three');
    expect(informer.resourceVersion > known).to.equal(true);
  });

  it('takes the store as it is after it was put back from a copy', async () => {
    const { api, informer, take } = await following();
    api.inject(IP_CLAIMS, { kind: 'bookmark', resourceVersion: '5000' });
    await turn();
    expect(informer.resourceVersion).to.equal(5000n);
    api.put(IP_CLAIMS, claim('b', 'two'));
    await turn();
    expect(take(), 'an event of another history means a list of the store').to.deep.equal([
      'a one>one',
      'b ->two',
    ]);
    expect(informer.resourceVersion).to.equal(BigInt(api.version));
    api.put(IP_CLAIMS, claim('c', 'three'));
    await turn();
    expect(take()).to.deep.equal(['c ->three']);
  });

  it('tells an event once that came twice', async () => {
    const { api, take } = await following();
    const object = api.put(IP_CLAIMS, claim('b', 'two'));
    api.inject(IP_CLAIMS, { kind: 'added', object });
    await turn();
    expect(take()).to.deep.equal(['b ->two']);
  });

  it('waits for a resource that is not installed yet, and says so once (SEEDS C3)', async () => {
    const { api, informer, take, logged, advance } = underTest();
    api.uninstall(IP_CLAIMS);
    informer.start();
    await turn();
    for (let count = 0; count < 20; count += 1) await advance(30_000);
    expect(logged).to.deep.equal(['kube.missing']);
    expect(informer.hasSynced).to.equal(false);
    api.install(IP_CLAIMS);
    api.put(IP_CLAIMS, claim('a', 'one'));
    await advance(30_000);
    expect(take()).to.deep.equal(['a ->one', 'synced']);
  });

  it('forgets nothing when the resource goes, and lists when it comes back', async () => {
    const { api, informer, take, advance } = await following();
    api.uninstall(IP_CLAIMS);
    api.endWatches({ kind: 'closed' });
    await turn();
    await advance(60_000);
    expect(informer.get('a')).to.equal('one');
    api.remove(IP_CLAIMS, 'a');
    api.compact();
    api.install(IP_CLAIMS);
    await advance(60_000);
    expect(take()).to.deep.equal(['a one>-']);
  });

  it('tells of what leaves a filtered watch, with the version at which it left', async () => {
    const { api, informer, take } = underTest({
      selection: { labelSelector: 'herald.dev/anycast' },
    });
    const anycast = { 'herald.dev/anycast': '' };
    api.put(IP_CLAIMS, claim('a', 'one', anycast));
    api.put(IP_CLAIMS, claim('b', 'two'));
    informer.start();
    await turn();
    expect(take()).to.deep.equal(['a ->one', 'synced']);
    api.put(IP_CLAIMS, claim('b', 'two', anycast));
    api.put(IP_CLAIMS, claim('a', 'one'));
    await turn();
    expect(take()).to.deep.equal(['b ->two', 'a one>-']);
    expect(informer.resourceVersion).to.equal(BigInt(api.version));
  });

  it('leaves out what is converted to nothing, also when it was something before', async () => {
    const options = {
      convert: (object: KubeObject) => (pool(object) === 'not-ours' ? undefined : pool(object)),
    };
    const { api, informer, take } = await following({ options });
    api.put(IP_CLAIMS, claim('b', 'not-ours'));
    api.put(IP_CLAIMS, claim('a', 'not-ours'));
    await turn();
    expect(take()).to.deep.equal(['a one>-']);
    expect(informer.items.size).to.equal(0);
  });

  it('freezes what it hands out where it is told to (SEEDS H17)', async () => {
    const api = new MemoryKubeApi();
    const informer = new Informer<{ readonly spec: { pool: string } }>({
      api,
      resource: IP_CLAIMS,
      clock: new ManualClock(),
      random: new SeededRandom(1),
      log: { info: () => {}, warn: () => {}, error: () => {}, debug: () => {} },
      convert: (object) => ({ spec: { pool: pool(object) } }),
      onChange: () => {},
      freeze: true,
    });
    api.put(IP_CLAIMS, claim('a', 'one'));
    informer.start();
    await turn();
    const found = informer.get('a');
    expect(() => {
      if (found !== undefined) found.spec.pool = 'changed';
    }).to.throw(TypeError);
  });

  it('ends a wait for a version that never comes', async () => {
    const { informer } = await following();
    const giveUp = new AbortController();
    const waiting = informer.waitFor(1n << 60n, giveUp.signal);
    giveUp.abort();
    expect(await waiting).to.equal(false);
    const other = informer.waitFor(1n << 60n);
    informer.stop();
    expect(await other).to.equal(false);
  });

  it('stops for good: no call, no timer, no word', async () => {
    const { api, informer, clock, take, verbs } = await following();
    informer.stop();
    await turn();
    expect(api.openWatches).to.equal(0);
    api.put(IP_CLAIMS, claim('b', 'two'));
    clock.advance(600_000);
    await turn();
    expect(take()).to.deep.equal([]);
    expect(verbs()).to.deep.equal([]);
    expect(clock.pendingTimers).to.equal(0);
    expect(informer.get('a')).to.equal('one');
  });

  it('ends up as the server is, whatever happens, and its changes add up to that', async () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd');
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          kind: fc.constant('put' as const),
          name,
          value: fc.constantFrom('x', 'y', 'z'),
        }),
      },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('remove' as const), name }) },
      fc.constant({ kind: 'compact' as const }),
      fc.constant({ kind: 'cut' as const }),
      fc.constant({ kind: 'close' as const }),
      fc.constant({ kind: 'away' as const }),
      fc.constant({ kind: 'back' as const }),
      fc.constant({ kind: 'lag' as const }),
      fc.constant({ kind: 'catch-up' as const }),
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(5000) }) },
    );
    type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;
    const apply = async (api: MemoryKubeApi, clock: ManualClock, each: Step) => {
      switch (each.kind) {
        case 'put':
          return void api.put(IP_CLAIMS, claim(each.name, each.value));
        case 'remove':
          return api.object(IP_CLAIMS, each.name) && api.remove(IP_CLAIMS, each.name);
        case 'compact':
          return api.compact();
        case 'cut':
          return api.endWatches(cutOff);
        case 'close':
          return api.endWatches({ kind: 'closed' });
        case 'away':
          api.fault = () => ({ kind: 'before', error: new ApiUnreachable('away', undefined) });
          return api.endWatches(cutOff);
        case 'back':
          api.fault = undefined;
          return;
        case 'lag':
          return api.lag();
        case 'catch-up':
          return api.catchUp();
        case 'wait':
          return clock.advance(each.ms);
      }
    };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const told = new Map<string, string>();
        let version = 0n;
        const all = underTest({
          options: {
            onChange: (key, now, before) => {
              expect(told.get(key), 'before').to.equal(before);
              if (now === undefined) told.delete(key);
              else told.set(key, now);
            },
            onProgress: () => {
              expect(all.informer.resourceVersion >= version, 'forward only').to.equal(true);
              version = all.informer.resourceVersion;
            },
          },
        });
        all.informer.start();
        for (const each of steps) {
          await apply(all.api, all.clock, each);
          await turn();
        }
        all.api.fault = undefined;
        all.api.catchUp();
        for (let count = 0; count < 3; count += 1) await all.advance(40_000);
        const truth = new Map(
          all.api.all(IP_CLAIMS).map((object) => [object.metadata.name, pool(object)]),
        );
        expect(new Map(all.informer.items)).to.deep.equal(truth);
        expect(told).to.deep.equal(truth);
        all.informer.stop();
      }),
      { numRuns: 150 },
    );
  });
});
