import { expect } from 'chai';
import { IpNodeObject } from '../../../../src/agent/kube-report/ip-node-object.ts';
import type { ReportFacts } from '../../../../src/agent/kube-report/ip-node-status.ts';
import { IpNodeWriter } from '../../../../src/agent/kube-report/ip-node-writer.ts';
import { SILENT_LOG } from '../../../../src/log/log.ts';
import { ApiError, ApiUnreachable } from '../../../../src/sources/kube/api.ts';
import { convertIpNode } from '../../../../src/sources/kube/convert-ip-node.ts';
import { IP_NODES } from '../../../../src/sources/kube/resources.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { MemoryKubeApi } from '../../../support/memory-kube-api.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { pass } from './passing.ts';

const FACTS: ReportFacts = {
  joined: { isOpen: true, sentence: 'Ready', since: '2026-01-01T00:00:00.000Z' },
  sessions: [],
  announced: 0,
  refused: [],
  refusedCount: 0,
  levels: [],
  awaited: [],
  released: new Map(),
  moves: 0,
  isCurrent: true,
};

class Scene {
  readonly clock: ManualClock;
  readonly api: MemoryKubeApi;
  readonly object: IpNodeObject;
  readonly writer: IpNodeWriter;
  facts = FACTS;
  uid: string | undefined = 'uid-n1';

  constructor(instance = 'i1', clock = new ManualClock(), api = new MemoryKubeApi(), seed = 3) {
    this.clock = clock;
    this.api = api;
    const nodeUid = () => this.uid;
    this.object = new IpNodeObject({ api, clock, node: 'n1', instance, nodeUid });
    this.writer = new IpNodeWriter({
      object: this.object,
      clock,
      random: new SeededRandom(seed),
      log: SILENT_LOG,
      facts: () => this.facts,
    });
    this.writer.start();
  }

  set(over: Partial<ReportFacts>): void {
    this.facts = { ...this.facts, ...over };
    this.writer.poke();
  }

  get found() {
    const found = this.api.object(IP_NODES, 'n1');
    return found === undefined ? undefined : convertIpNode(found);
  }

  get writes(): number {
    return this.api.calls.filter(({ subresource }) => subresource === 'status').length;
  }
}

/** Claims that are given back, and stay until they are answered. */
class Tenants {
  readonly #scene: Scene;
  #released: readonly (readonly [string, { readonly namespace: string }])[] = [];
  #version = 0;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  get last(): string {
    return String(this.#version);
  }

  release(namespace: string): void {
    this.#version += 1;
    const release = [`192.0.2.7#${this.#version}`, { namespace }] as const;
    this.#released = [...this.#released.slice(-5), release];
    this.#scene.set({ released: new Map(this.#released), observedClaims: this.last });
  }
}

describe('the writer of an IPNode', () => {
  it('makes it, owned by its Node, and tells what is so within half a second', async () => {
    const scene = new Scene();
    await pass(scene.clock, 500);
    expect(scene.found?.status.joined?.open).to.equal(true);
    expect(scene.api.object(IP_NODES, 'n1')?.metadata['ownerReferences']).to.deep.equal([
      { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'uid-n1' },
    ]);
  });

  it('waits for its Node: what nothing owns would never go', async () => {
    const scene = new Scene();
    scene.uid = undefined;
    await pass(scene.clock, 20_000);
    expect(scene.found).to.equal(undefined);
    scene.uid = 'uid-2';
    scene.writer.nodeChanged();
    await pass(scene.clock, 500);
    expect(scene.found).to.not.equal(undefined);
  });

  it('writes nothing while nothing changes, however often it is asked', async () => {
    const scene = new Scene();
    for (let turn = 0; turn < 200; turn += 1) {
      scene.writer.poke();
      await pass(scene.clock, 500);
    }
    expect(scene.writes).to.equal(1);
  });

  it('a fact waits for others for two seconds, an answer to a move 200 ms, one to a release about 1.5 s', async () => {
    const scene = new Scene();
    await pass(scene.clock, 10_000);
    scene.set({ joined: { ...FACTS.joined, sentence: 'Ready again' } });
    await pass(scene.clock, 1400);
    expect(scene.writes).to.equal(1);
    await pass(scene.clock, 1300);
    expect(scene.writes).to.equal(2);
    scene.set({ awaited: ['192.0.2.7'], levels: [{ address: '192.0.2.7', level: 1 }] });
    await pass(scene.clock, 300);
    expect(scene.writes).to.equal(3);
    scene.set({ released: new Map([['192.0.2.7', { namespace: 'a' }]]), observedClaims: '99' });
    await pass(scene.clock, 480);
    expect(scene.writes).to.equal(3);
    await pass(scene.clock, 2100);
    expect(scene.writes).to.equal(4);
    expect(scene.found?.status.observedClaims).to.equal('99');
  });

  it('a release that all nodes hear of in one moment is not answered by all in one', async () => {
    const seeds = Array.from({ length: 60 }, (_, index) => index + 1);
    const scenes = seeds.map((seed) => new Scene('i1', undefined, undefined, seed));
    await Promise.all(scenes.map(({ clock }) => pass(clock, 10_000)));
    // numbers that wait already, as they do on every node of a busy cluster
    for (const scene of scenes) scene.set({ announced: 1 });
    await Promise.all(scenes.map(({ clock }) => pass(clock, 5000)));
    for (const scene of scenes)
      scene.set({ released: new Map([['192.0.2.7', { namespace: 'a' }]]), observedClaims: '99' });
    const answered: number[] = [];
    for (let step = 0; step < 6; step += 1) {
      await Promise.all(scenes.map(({ clock }) => pass(clock, 500)));
      answered.push(scenes.filter(({ found }) => found?.status.observedClaims === '99').length);
    }
    expect(answered[0], 'within half a second').to.be.below(5);
    expect(answered[1]).to.be.within(5, 25);
    expect(answered[3]).to.be.within(30, 57);
    expect(answered.at(-1)).to.equal(60);
  });

  it('answers releases together where Services are made and deleted in a loop, and a lone one as soon as ever (B4)', async () => {
    const scene = new Scene();
    await pass(scene.clock, 10_000);
    const release = (version: number) =>
      scene.set({
        released: new Map([[`192.0.2.7#${version}`, { namespace: 'b' }]]),
        observedClaims: String(version),
      });
    const before = scene.writes;
    // one a second for two minutes
    for (let version = 1; version <= 120; version += 1) {
      release(version);
      await pass(scene.clock, 1000);
    }
    // it was one every two seconds
    expect(scene.writes - before).to.be.within(6, 10);
    // what else happens does not wait for it
    const { writes } = scene;
    scene.set({ joined: { ...FACTS.joined, sentence: 'Ready again' } });
    await pass(scene.clock, 2700);
    expect(scene.writes, 'a fact').to.equal(writes + 1);
    expect(scene.found?.status.observedClaims, 'goes with it').to.equal('120');
    release(121);
    scene.set({ awaited: ['192.0.2.9'], levels: [{ address: '192.0.2.9', level: 1 }] });
    await pass(scene.clock, 500);
    expect(scene.writes, 'a move').to.equal(writes + 2);
    release(122);
    await pass(scene.clock, 21_000);
    expect(scene.found?.status.observedClaims, 'at the latest').to.equal('122');
    // a while later
    await pass(scene.clock, 60_000);
    for (const version of [123, 124, 125]) {
      release(version);
      await pass(scene.clock, 2700);
      expect(scene.found?.status.observedClaims).to.equal(String(version));
    }
  });

  it('lets no namespace wait for another one that releases in a loop', async () => {
    const late: string[] = [];
    // at any moment of the turns of b
    for (let afterS = 61; afterS <= 80; afterS += 1) {
      const scene = new Scene('i1', undefined, undefined, afterS);
      const tenants = new Tenants(scene);
      for (let second = 0; second < afterS; second += 1) {
        if (second % 5 === 0) tenants.release('b');
        await pass(scene.clock, 1000);
      }
      tenants.release('a');
      await pass(scene.clock, 2700);
      const { observedClaims } = scene.found?.status ?? {};
      if (observedClaims !== tenants.last) late.push(`after ${afterS} s`);
    }
    expect(late).to.deep.equal([]);
  });

  it('spreads its answers over the nodes beside such a loop, too', async () => {
    const scenes = Array.from(
      { length: 40 },
      (_, index) => new Scene('i1', undefined, undefined, index + 1),
    );
    const all = scenes.map((scene) => ({ scene, tenants: new Tenants(scene) }));
    for (let second = 0; second < 62; second += 1) {
      if (second % 5 === 0) for (const { tenants } of all) tenants.release('b');
      await Promise.all(scenes.map(({ clock }) => pass(clock, 1000)));
    }
    for (const { tenants } of all) tenants.release('a');
    await Promise.all(scenes.map(({ clock }) => pass(clock, 500)));
    const early = all.filter(
      ({ scene, tenants }) => scene.found?.status.observedClaims === tenants.last,
    );
    expect(early.length, 'within half a second').to.be.below(10);
  });

  it('writes once in 10 s for releases at the most, however many namespaces take turns', async () => {
    const scene = new Scene();
    const tenants = new Tenants(scene);
    await pass(scene.clock, 10_000);
    const before = scene.writes;
    // each of 60 once in 30 s, which is less than it may
    for (let turn = 0; turn < 600; turn += 1) {
      tenants.release(`b-${turn % 60}`);
      await pass(scene.clock, 500);
    }
    expect(scene.writes - before).to.be.within(30, 6 + 30 + 1);
    tenants.release('a');
    await pass(scene.clock, 10_500);
    expect(scene.found?.status.observedClaims, 'at the latest').to.equal(tenants.last);
  });

  it('does not write before the time that a busy server has asked for', async () => {
    const scene = new Scene();
    await pass(scene.clock, 10_000);
    scene.set({ awaited: ['192.0.2.7'], levels: [{ address: '192.0.2.7', level: 1 }] });
    const error = new ApiError(429, 'TooManyRequests', 'busy', 20_000);
    scene.api.fault = () => ({ kind: 'before', error });
    await pass(scene.clock, 1000);
    scene.api.fault = undefined;
    const { length } = scene.api.calls;
    await pass(scene.clock, 19_000);
    expect(scene.api.calls.length).to.equal(length);
    await pass(scene.clock, 12_000);
    expect(scene.found?.status.levels).to.have.length(1);
  });

  it('an answer waits until what was decided is out', async () => {
    const scene = new Scene();
    scene.set({ observedClaims: '98' });
    await pass(scene.clock, 10_000);
    scene.set({
      released: new Map([['192.0.2.7', { namespace: 'a', version: 99n }]]),
      moves: 1,
      isCurrent: false,
    });
    await pass(scene.clock, 10_000);
    expect(scene.writes).to.equal(1);
    scene.set({ observedClaims: '99', isCurrent: true });
    await pass(scene.clock, 300);
    expect(scene.writes).to.equal(2);
    expect(scene.found?.status.observedClaims).to.equal('99');
  });

  it('answers a release that its number has passed, whatever later changes have not', async () => {
    const scene = new Scene();
    scene.set({ observedClaims: '98' });
    await pass(scene.clock, 10_000);
    scene.set({
      released: new Map([['192.0.2.7', { namespace: 'a', version: 99n }]]),
      observedClaims: '99',
      moves: 1,
      isCurrent: false,
    });
    for (let poked = 0; poked < 10; poked += 1) {
      scene.writer.poke();
      await pass(scene.clock, 270);
    }
    expect(scene.found?.status.observedClaims).to.equal('99');
    expect(scene.writes).to.equal(2);
    await pass(scene.clock, 20_000);
    expect(scene.writes, 'once').to.equal(2);
    scene.set({ isCurrent: true });
    await pass(scene.clock, 300);
    expect(scene.writes, 'the move has waited').to.equal(3);
  });

  it('numbers alone wait for a minute', async () => {
    const scene = new Scene();
    scene.set({ observedClaims: '0' });
    await pass(scene.clock, 1000);
    for (let routes = 1; routes <= 40; routes += 1) {
      scene.set({ announced: routes, observedClaims: String(routes) });
      await pass(scene.clock, 1000);
    }
    expect(scene.writes).to.equal(1);
    await pass(scene.clock, 40_000);
    expect(scene.writes).to.equal(2);
    expect(scene.found?.status.routes).to.equal(40);
  });

  it('a session that flaps costs a burst and then one write in five seconds', async () => {
    const scene = new Scene();
    for (let turn = 0; turn < 600; turn += 1) {
      scene.set({ joined: { ...FACTS.joined, isOpen: turn % 2 === 0, sentence: `${turn}` } });
      await pass(scene.clock, 100);
    }
    expect(scene.writes).to.be.within(10, 10 + 60 / 5 + 2);
    await pass(scene.clock, 6000);
    expect(scene.found?.status.joined?.message, 'the last word counts').to.equal('599');
  });

  it('is made anew when it is deleted under it (SEEDS H5)', async () => {
    const scene = new Scene();
    await pass(scene.clock, 1000);
    scene.api.remove(IP_NODES, 'n1');
    await pass(scene.clock, 35_000);
    expect(scene.found?.status.joined?.open).to.equal(true);
    scene.api.remove(IP_NODES, 'n1');
    scene.set({ draining: { reason: 'by hand', since: '2026-01-01T00:01:00.000Z' } });
    await pass(scene.clock, 3000);
    expect(scene.found?.status.draining?.reason).to.equal('by hand');
  });

  it('follows its Node when that was made anew', async () => {
    const scene = new Scene();
    await pass(scene.clock, 1000);
    scene.uid = 'uid-2';
    scene.writer.nodeChanged();
    await pass(scene.clock, 1000);
    const owners = scene.api.object(IP_NODES, 'n1')?.metadata['ownerReferences'];
    expect(owners).to.have.nested.property('[0].uid', 'uid-2');
  });

  for (const [what, error] of [
    ['conflicts', new ApiError(409, 'Conflict', 'changed')],
    ['errors of the server', new ApiError(500, 'InternalError', 'broken')],
    ['refusals', new ApiError(422, 'Invalid', 'not like that')],
    ['nobody there', new ApiUnreachable('refused', undefined)],
  ] as const) {
    it(`tries again with back-off after ${what}, and gets there`, async () => {
      const scene = new Scene();
      await pass(scene.clock, 1000);
      scene.api.fault = () => ({ kind: 'before', error });
      scene.set({ draining: { reason: 'by hand', since: '2026-01-01T00:00:05.000Z' } });
      const before = scene.api.calls.length;
      await pass(scene.clock, 60_000);
      expect(scene.api.calls.length - before).to.be.within(4, 20);
      scene.api.fault = undefined;
      await pass(scene.clock, 60_000);
      expect(scene.found?.status.draining?.reason).to.equal('by hand');
    });
  }

  it('that may read and not write does not ask without end', async () => {
    const scene = new Scene();
    await pass(scene.clock, 1000);
    const error = new ApiError(403, 'Forbidden', 'no');
    scene.api.fault = ({ verb }) => (verb === 'patch' ? { kind: 'before', error } : undefined);
    scene.set({ draining: { reason: 'by hand', since: '2026-01-01T00:00:05.000Z' } });
    const before = scene.api.calls.length;
    // however much the agent has to say meanwhile
    for (let turn = 0; turn < 240; turn += 1) {
      scene.writer.poke();
      await pass(scene.clock, 500);
    }
    expect(scene.api.calls.length - before).to.be.below(40);
  });

  it('a stuck request holds nothing up for longer than its deadline', async () => {
    const scene = new Scene();
    await pass(scene.clock, 1000);
    let isStuck = true;
    scene.api.fault = () => {
      if (!isStuck) return undefined;
      isStuck = false;
      return { kind: 'hold', until: new Promise(() => undefined) };
    };
    scene.set({ draining: { reason: 'by hand', since: '2026-01-01T00:00:05.000Z' } });
    await pass(scene.clock, 10_000);
    expect(scene.found?.status.draining?.reason).to.equal('by hand');
  });

  it('of a second machine with the same name writes nothing and says why', async () => {
    const first = new Scene('i1');
    await pass(first.clock, 1000);
    const second = new Scene('i2', first.clock, first.api);
    second.facts = { ...FACTS, announced: 77 };
    await pass(first.clock, 60_000);
    expect(second.object.standing).to.include({ kind: 'refused', other: 'i1' });
    expect(first.object.standing?.kind).to.equal('ours');
    expect(first.found?.status.routes).to.equal(0);
  });

  it('takes over what a machine that is gone has left', async () => {
    const first = new Scene('i1');
    await pass(first.clock, 1000);
    await first.writer.stop('keep');
    const second = new Scene('i2', first.clock, first.api);
    second.facts = { ...FACTS, announced: 77 };
    await pass(first.clock, 55_000);
    expect(second.object.standing?.kind).to.equal('ours');
    expect(first.found?.status.routes).to.equal(77);
  });

  it('at its end writes what is true then, and leaves the name to the next', async () => {
    const scene = new Scene();
    await pass(scene.clock, 1000);
    scene.facts = { ...FACTS, draining: { reason: 'SIGTERM', since: '2026-01-01T00:00:01.000Z' } };
    await scene.writer.stop('leave');
    expect(scene.found?.status.draining?.reason).to.equal('SIGTERM');
    expect(scene.clock.pendingTimers).to.equal(0);
    const next = new Scene('i2', scene.clock, scene.api);
    await pass(scene.clock, 500);
    expect(next.object.standing?.kind).to.equal('ours');
  });

  it('ends within two seconds though nobody answers', async () => {
    const scene = new Scene();
    await pass(scene.clock, 1000);
    scene.api.fault = () => ({ kind: 'hold', until: new Promise(() => undefined) });
    scene.facts = { ...FACTS, announced: 5 };
    const stopped = scene.writer.stop('leave');
    await pass(scene.clock, 2000);
    await stopped;
  });
});
