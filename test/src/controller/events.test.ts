import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import fc from 'fast-check';
import { EVENT_LIMITS, EventBudget, type EventText } from '../../../src/controller/event-budget.ts';
import { documentRef, EventRecorder, serviceRef } from '../../../src/controller/events.ts';
import { SILENT_LOG } from '../../../src/log/log.ts';
import { ApiError, ApiUnreachable } from '../../../src/sources/kube/api.ts';
import { EVENTS } from '../../../src/sources/kube/resources.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { MemoryKubeApi } from '../../support/memory-kube-api.ts';

const text = (message: string, object = 'uid'): EventText => ({
  object,
  type: 'Warning',
  reason: 'PoolExhausted',
  message,
});

describe('the budget of events', () => {
  it('makes a series of the same words, written once a minute with its count', () => {
    const budget = new EventBudget();
    expect(budget.ask(text('full'), 0)).to.deep.equal({ kind: 'tell' });
    for (let second = 1; second < 60; second += 1) {
      expect(budget.ask(text('full'), second * 1000)).to.deep.equal({ kind: 'counted' });
    }
    expect(budget.ask(text('full'), 60_000)).to.deep.equal({ kind: 'repeat', count: 61 });
    expect(budget.ask(text('full'), 61_000)).to.deep.equal({ kind: 'counted' });
    expect(budget.ask(text('full'), 700_000), 'a series ends').to.deep.equal({ kind: 'tell' });
  });

  it('gives one object ten, then one a minute, and leaves others alone', () => {
    const budget = new EventBudget();
    const verdicts = Array.from({ length: 12 }, (_, at) => budget.ask(text(`${at}`), 0).kind);
    expect(verdicts).to.deep.equal([...Array(10).fill('tell'), 'drop', 'drop']);
    expect(budget.ask(text('x', 'other'), 0).kind).to.equal('tell');
    expect(budget.ask(text('later'), 60_000).kind).to.equal('tell');
  });

  it('tells of one namespace while another one has events without a pause', () => {
    const budget = new EventBudget();
    const lost: number[] = [];
    for (let second = 0; second < 60; second += 1) {
      for (let each = 0; each < 40; each += 1) {
        const flood = { ...text('full', `mallory ${second} ${each}`), namespace: 'mallory' };
        budget.ask(flood, second * 1000 + each * 25);
      }
      const event = { ...text('full', `victim ${second}`), namespace: 'victim' };
      if (budget.ask(event, second * 1000 + 975).kind !== 'tell') lost.push(second);
    }
    expect(lost).to.deep.equal([]);
  });

  it('never lets through more than its rates, whatever comes', () => {
    const asks = fc.array(
      fc.record({
        object: fc.nat(30).map(String),
        message: fc.nat(50).map(String),
        waitMs: fc.nat(500),
      }),
      { maxLength: 400 },
    );
    fc.assert(
      fc.property(asks, (list) => {
        const budget = new EventBudget();
        let nowMs = 0;
        let told = 0;
        for (const { object, message, waitMs } of list) {
          nowMs += waitMs;
          const { kind } = budget.ask(text(message, object), nowMs);
          if (kind === 'tell' || kind === 'repeat') told += 1;
        }
        const { burst, perSecond } = EVENT_LIMITS.overall;
        expect(told).to.be.at.most(burst + (nowMs / 1000) * perSecond);
      }),
    );
  });
});

function underTest() {
  const api = new MemoryKubeApi();
  const clock = new ManualClock();
  const dropped: string[] = [];
  const recorder = new EventRecorder({
    api,
    clock,
    log: SILENT_LOG,
    instance: 'here',
    onDropped: (why) => dropped.push(why),
  });
  const settle = async () => {
    for (let turns = 0; turns < 20; turns += 1) await turn();
  };
  const object = serviceRef({ namespace: 'shop', name: 'web', uid: 'u1' });
  const record = (message: string) =>
    recorder.record({ object, type: 'Warning', reason: 'PoolExhausted', message });
  return { api, clock, dropped, recorder, record, settle };
}

describe('the event recorder', () => {
  it('writes those of one namespace while another one has more than can be written', async () => {
    const api = new MemoryKubeApi();
    const clock = new ManualClock();
    const dropped: string[] = [];
    const onDropped = (why: string) => dropped.push(why);
    const busy = { isBusy: () => true, onDropped };
    const recorder = new EventRecorder({ api, clock, log: SILENT_LOG, instance: 'here', ...busy });
    const record = (namespace: string, name: string) => {
      const object = serviceRef({ namespace, name, uid: `${namespace} ${name}` });
      recorder.record({ object, type: 'Warning', reason: 'PoolExhausted', message: name });
    };
    const passes = async (ms: number) => {
      for (let at = 0; at < ms; at += 100) {
        for (let turns = 0; turns < 4; turns += 1) await turn();
        clock.advance(100);
      }
    };
    const written = (namespace: string) =>
      api.all(EVENTS).filter(({ metadata }) => metadata.namespace === namespace).length;
    // three each second, and while addresses are given out one in two seconds is written, for half a minute
    for (let round = 0; round < 60; round += 1) {
      for (let each = 0; each < 30; each += 1) record('mallory', `${round}-${each}`);
      await passes(10_000);
    }
    expect(written('mallory')).to.be.greaterThan(100);
    const before = dropped.length;
    for (let each = 0; each < 3; each += 1) record('victim', `victim${each}`);
    expect(dropped.length, 'none of its own is dropped').to.equal(before);
    await passes(15_000);
    expect(written('victim')).to.equal(3);
    recorder.stop();
  });

  it('gives way while addresses are given out, and not for ever where one namespace makes Services without a pause', async () => {
    const api = new MemoryKubeApi();
    const clock = new ManualClock();
    let isBusy = true;
    const more = { log: SILENT_LOG, instance: 'here', isBusy: () => isBusy };
    const recorder = new EventRecorder({ api, clock, ...more });
    const record = (namespace: string, name: string) => {
      const object = serviceRef({ namespace, name, uid: `${namespace} ${name}` });
      recorder.record({ object, type: 'Warning', reason: 'PoolExhausted', message: name });
    };
    const down = (name: string) => {
      const object = documentRef('IPNode', { name, uid: name });
      recorder.record({ object, type: 'Warning', reason: 'SessionDown', message: 'it is down' });
    };
    const passes = async (seconds: number, each: () => void = () => undefined) => {
      for (let second = 0; second < seconds; second += 1) {
        each();
        for (let at = 0; at < 1000; at += 100) {
          for (let turns = 0; turns < 4; turns += 1) await turn();
          clock.advance(100);
        }
      }
    };
    const written = (start: string) =>
      api.all(EVENTS).filter(({ metadata }) => metadata.name.startsWith(start)).length;
    let made = 0;
    const flood = () => {
      for (let each = 0; each < 3; each += 1) record('mallory', `mallory-${made + each}`);
      made += 3;
    };
    for (let each = 0; each < 20; each += 1) {
      record('victim', `victim-${each}`);
      down(`node-${each}`);
    }
    await passes(25, flood);
    expect(written(''), 'addresses go first').to.be.below(20);
    await passes(35, flood);
    expect([written('victim'), written('node')]).to.deep.equal([20, 20]);
    // what was given out is out; later there are others
    isBusy = false;
    await passes(60);
    isBusy = true;
    const before = written('');
    for (let each = 0; each < 20; each += 1) record('victim', `later-${each}`);
    await passes(20);
    expect(written('') - before, 'these go first as well').to.be.below(20);
    recorder.stop();
  });

  it('tells of others while claims of one namespace go to and fro without a pause', async () => {
    const { api, clock, recorder, settle } = underTest();
    const pass = async (seconds: number) => {
      for (let step = 0; step < seconds * 10; step += 1) {
        await settle();
        clock.advance(100);
      }
    };
    const ofClaim = (budgetOf: string, name: string, message: string) => {
      const object = documentRef('IPClaim', { name, uid: name });
      recorder.record({ object, budgetOf, type: 'Warning', reason: 'NodeRefuses', message });
    };
    const written = (start: string) =>
      api.all(EVENTS).filter(({ metadata }) => metadata.name.startsWith(start)).length;
    // 300 claims, each refused and moved every 20 seconds
    for (let second = 0; second < 120; second += 1) {
      for (let each = 0; each < 30; each += 1) {
        const claim = (second * 15 + each) % 300;
        ofClaim('mallory', `mallory-${claim}`, `${second}: refused or moved`);
      }
      if (second % 10 === 9) {
        ofClaim('victim', `victim-${second}`, 'refused');
        const object = documentRef('IPNode', { name: `node-${second}`, uid: `node-${second}` });
        recorder.record({ object, type: 'Warning', reason: 'SessionDown', message: 'it is down' });
      }
      await pass(1);
    }
    await pass(20);
    expect([written('victim'), written('node')]).to.deep.equal([12, 12]);
    expect(written('mallory'), 'and of those').to.be.within(100, 500);
    const [event] = api.all(EVENTS);
    expect(event?.metadata.namespace, 'where events of claims are').to.equal('default');
    expect(event?.['regarding']).to.not.have.property('namespace');
    recorder.stop();
  });

  it('writes an Event that the API server takes, beside the object that it is about', async () => {
    const { api, recorder, record, settle } = underTest();
    record('pool a is full');
    const pool = documentRef('IPPool', { name: 'a', uid: 'u2' });
    recorder.record({ object: pool, type: 'Normal', reason: 'Freed', message: 'one is free' });
    await settle();
    const [service, ofPool] = api.all(EVENTS);
    expect(service?.metadata.namespace).to.equal('shop');
    expect(service).to.deep.include({
      reason: 'PoolExhausted',
      action: 'PoolExhausted',
      type: 'Warning',
      note: 'pool a is full',
      reportingController: 'herald.dev/controller',
      reportingInstance: 'here',
      eventTime: '2026-01-01T00:00:00.000000Z',
      regarding: { apiVersion: 'v1', kind: 'Service', namespace: 'shop', name: 'web', uid: 'u1' },
    });
    expect(ofPool?.metadata.namespace, 'of what has no namespace').to.equal('default');
  });

  it('counts the same words in the Event that is there', async () => {
    const { api, clock, record, settle } = underTest();
    record('full');
    await settle();
    clock.advance(30_000);
    record('full');
    clock.advance(40_000);
    record('full');
    await settle();
    expect(api.all(EVENTS)).to.have.length(1);
    expect(api.all(EVENTS)[0]?.['series']).to.deep.equal({
      count: 3,
      lastObservedTime: '2026-01-01T00:01:10.000000Z',
    });
  });

  it('starts a series anew when its Event has expired', async () => {
    const { api, clock, dropped, record, settle } = underTest();
    record('full');
    await settle();
    const [event] = api.all(EVENTS);
    api.remove(EVENTS, `shop/${event?.metadata.name}`);
    clock.advance(61_000);
    record('full');
    await settle();
    expect(dropped).to.deep.equal(['api']);
    record('full');
    await settle();
    expect(api.all(EVENTS)).to.have.length(1);
  });

  it('never waits: what is too much is dropped and counted', async () => {
    const { api, dropped, record, settle } = underTest();
    api.fault = () => ({ kind: 'hold', until: new Promise(() => undefined) });
    for (let at = 0; at < 30; at += 1) record(`text ${at}`);
    await settle();
    expect(dropped).to.deep.equal(Array(20).fill('rate'));
  });

  it('tries again when the API is away, three times, and not when it says no', async () => {
    const { api, clock, dropped, record, settle } = underTest();
    api.fault = () => ({ kind: 'before', error: new ApiUnreachable('down', undefined) });
    record('one');
    for (let tries = 0; tries < 5; tries += 1) {
      await settle();
      clock.advance(2000);
    }
    expect(api.calls).to.have.length(3);
    expect(dropped).to.deep.equal(['api']);
    api.fault = () => ({ kind: 'before', error: new ApiError(403, 'Forbidden', 'no') });
    record('two');
    await settle();
    expect(api.calls).to.have.length(4);
    expect(dropped).to.deep.equal(['api', 'api']);
  });
});
