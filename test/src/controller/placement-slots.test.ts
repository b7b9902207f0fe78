/** Moves of one node are limited, and stand in line: what does not move keeps nobody waiting. */

import { expect } from 'chai';
import { MovesUnderWay } from '../../../src/controller/placement-leaving.ts';
import {
  ANYCAST_LABEL,
  isNodeLabel,
  nodeLabel,
  RELEASED_BY_ANNOTATION,
} from '../../../src/model/names.ts';
import {
  ENDPOINT_SLICES,
  IP_CLAIMS,
  IP_POOLS,
  inNamespace,
  NODES,
} from '../../../src/sources/kube/resources.ts';
import { claimName, exclusivePool } from '../../support/fake-agents.ts';
import { Bed } from './placement-bed.ts';

/** as many as leave one node at once */
const MOST = 300;
const ANYCAST = { mode: 'anycast', nodeFilter: 'fair', prependStep: 3 };
const FIRST = { mode: 'exclusive', nodeFilter: 'first-alive', prependStep: 3 };
const P = ['10.0.0.0/22'];
const Q = ['10.0.4.0/22'];
const FIRST_OF_Q = 1024;

interface PoolText {
  readonly placement?: object;
  readonly addresses?: readonly string[];
  readonly generation?: number;
}

function pool(name: string, { placement, addresses = P, generation = 1 }: PoolText = {}): object {
  const spec = { addresses, ...(placement !== undefined && { placement }) };
  return { ...exclusivePool(name, spec), metadata: { name, generation } };
}

const range = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i);

describe('moves that stand in line', () => {
  let bed: Bed;
  afterEach(() => bed.stop());

  const nodesOf = (indexes: readonly number[]) => [...new Set(indexes.map((i) => bed.node(i)))];
  const isAt = (index: number, node: string, level: string) =>
    bed.labels(index)[nodeLabel(node)] === level;
  const reasons = () => bed.controllers.flatMap(({ events }) => events.map(({ reason }) => reason));

  /** `count` claims of pool p on this node */
  function on(node: string, count: number): readonly number[] {
    for (const index of range(0, count)) {
      bed.claim(index, { pool: 'p', node }, { [nodeLabel(node)]: '0' });
    }
    return range(0, count);
  }

  describe('behind claims that became exclusive while a node is off', () => {
    beforeEach(async () => {
      bed = new Bed(pool('p', { placement: ANYCAST }));
      bed.api.put(IP_POOLS, pool('q', { placement: FIRST, addresses: Q }));
      await bed.join('a', 'b', 'c');
    });

    async function becomesExclusive(): Promise<void> {
      await bed.run(12);
      bed.agent('c').isSilent = true;
      await bed.run(25);
      bed.api.put(IP_POOLS, pool('p', { placement: FIRST, generation: 2 }));
      await bed.run(30);
    }

    it('have their turn, though those have moved and still wait for that node', async () => {
      const ps = range(0, MOST);
      const qs = range(FIRST_OF_Q, 4);
      for (const index of ps) bed.claim(index, { pool: 'p' });
      bed.control({ maxStaleMs: 86_400_000 });
      await becomesExclusive();
      await bed.agent('a').setDraining('cordon');
      await bed.run(25);
      expect(nodesOf(ps)).to.deep.equal(['b']);
      await bed.agent('a').setDraining(undefined);
      for (const index of qs) bed.claim(index, { pool: 'q' });
      await bed.run(15);
      expect(nodesOf(qs)).to.deep.equal(['a']);
      await bed.agent('a').setDraining('cordon');
      await bed.run(15);
      expect(nodesOf(qs)).to.deep.equal(['b']);
      expect(ps.every((index) => ANYCAST_LABEL in bed.labels(index))).to.equal(true);
    });

    it('are evened out', async () => {
      bed.claim(0, { pool: 'p' });
      bed.control({ maxStaleMs: 86_400_000, rebalanceEveryMs: 1000 });
      await becomesExclusive();
      bed.api.put(IP_POOLS, pool('q', { addresses: Q, generation: 2 }));
      const qs = range(FIRST_OF_Q, 6);
      for (const index of qs) bed.claim(index, { pool: 'q', node: 'b' }, { [nodeLabel('b')]: '0' });
      await bed.run(60);
      expect(nodesOf(qs)).to.have.members(['a', 'b']);
      expect(ANYCAST_LABEL in bed.labels(0)).to.equal(true);
    });
  });

  describe('behind moves that stop half-way', () => {
    let standing: readonly number[];
    let begun: readonly number[];

    beforeEach(async () => {
      bed = new Bed(pool('p'));
      await bed.join('a', 'b');
      const all = on('a', MOST + 5);
      bed.control();
      await bed.run(12);
      bed.isAnswering = false;
      await bed.agent('a').setDraining('cordon');
      await bed.run(3);
      standing = all.filter((index) => isAt(index, 'a', '0'));
      begun = all.filter((index) => !isAt(index, 'a', '0'));
      expect(begun).to.have.length(MOST);
    });

    it('have their turn when those are released', async () => {
      const annotations = { [RELEASED_BY_ANNOTATION]: 'a/web' };
      for (const index of begun) {
        const body = { metadata: { annotations } };
        await bed.api.patch(IP_CLAIMS, claimName(index), { kind: 'merge', body });
      }
      bed.isAnswering = true;
      await bed.run(20);
      expect(nodesOf(standing)).to.deep.equal(['b']);
    });

    it('have their turn when nobody can hold those any more', async () => {
      const placement = { nodeSelector: { matchLabels: { zone: 'none' } } };
      for (const index of begun) {
        const body = { spec: { placement: { ...FIRST, ...placement } } };
        await bed.api.patch(IP_CLAIMS, claimName(index), { kind: 'merge', body });
      }
      bed.isAnswering = true;
      await bed.run(20);
      expect(nodesOf(standing)).to.deep.equal(['b']);
    });

    it('say so when it takes minutes', async () => {
      await bed.run(60);
      expect(reasons()).not.to.include('WaitsInLine');
      await bed.run(90);
      const said =
        bed.controllers[0]?.events.filter(({ reason }) => reason === 'WaitsInLine') ?? [];
      expect(said.map(({ object }) => object.name)).to.include.members(standing.map(claimName));
      expect(said[0]?.message).to.match(/waits: 300 claims are leaving a/);
    });
  });

  describe('behind claims of another namespace that the next holder refuses', () => {
    const [moved, cluster] = [2000, 2001];
    let seen: (readonly [unknown, unknown])[];

    const slice = (namespace: string, name: string, nodeName: string) => {
      const metadata = { name, namespace, labels: { 'kubernetes.io/service-name': name } };
      const endpoints = [{ nodeName, conditions: { ready: true }, addresses: ['10.9.9.9'] }];
      bed.api.put(inNamespace(ENDPOINT_SLICES, namespace), { metadata, endpoints });
    };
    const local = (namespace: string, name: string) => ({
      services: [{ namespace, name, healthCheckNodePort: 32_000 }],
    });

    /** pods of `mallory` on a alone, which drains; the pod of one claim of `good` goes to b then, and for another one any node will do */
    async function drained(count: number): Promise<void> {
      bed = new Bed(pool('p'));
      await bed.join('a', 'b');
      const onA = (index: number, spec: object) =>
        bed.claim(index, { pool: 'p', node: 'a', ...spec }, { [nodeLabel('a')]: '0' });
      for (const index of range(0, count)) {
        slice('mallory', `s${index >> 4}`, 'a');
        onA(index, local('mallory', `s${index >> 4}`));
        bed.agent('b').refusing.add(claimName(index));
      }
      bed.control();
      await bed.run(12);
      await bed.agent('a').setDraining('exclude-label');
      await bed.run(1);
      // after those have begun: together with them they would have their turn before most of them
      onA(moved, local('good', 'web'));
      onA(cluster, { services: [{ namespace: 'good', name: 'other' }] });
      slice('good', 'web', 'b');
      bed.agent('a').refusing.add(claimName(moved));
    }

    /** as bed.run, and where those two are, second by second */
    async function watch(seconds: number): Promise<void> {
      seen = [];
      for (let second = 0; second < seconds; second += 1) {
        await bed.run(1);
        seen.push([bed.node(moved), bed.node(cluster)]);
      }
    }

    for (const count of [MOST + 6, 700]) {
      // or others fill that list: then it has merely not announced them
      for (const mostRefused of [Number.POSITIVE_INFINITY, 0]) {
        it(`have their turn within seconds (${count} of them, ${mostRefused} listed as refused)`, async () => {
          await drained(count);
          bed.agent('b').mostRefused = mostRefused;
          await watch(40);
          const end = seen.findIndex((nodes) => nodes.every((node) => node === 'b'));
          expect(end, JSON.stringify(seen.at(-1))).to.be.within(0, 15);
          expect(isAt(0, 'a', '2'), 'a is not left before another has it').to.equal(true);
        });
      }
    }

    it('wait where that node does not answer: it may announce them all any moment', async () => {
      await drained(MOST + 6);
      bed.agent('b').answer = () => Promise.resolve(new Map());
      await watch(60);
      const begun = range(0, MOST + 6).filter((index) => isAt(index, 'b', '0'));
      expect(begun).to.have.length(MOST);
      expect(seen.at(-1)).to.deep.equal(['a', 'a']);
    });
  });

  it('go back where two pools change places and are told to stay half-way', async () => {
    const onZone = (name: string, zone: string, generation: number) => {
      const placement = {
        ...FIRST,
        nodeFilter: 'fair',
        nodeSelector: { matchLabels: { zone } },
      };
      return pool(name, { placement, addresses: name === 'p' ? P : Q, generation });
    };
    bed = new Bed(onZone('p', 'a', 1));
    bed.api.put(IP_POOLS, onZone('q', 'b', 1));
    await bed.join('a', 'b');
    for (const zone of ['a', 'b']) {
      const body = { metadata: { labels: { zone } } };
      await bed.api.patch(NODES, zone, { kind: 'merge', body });
    }
    const [ps, qs] = [range(0, MOST), range(FIRST_OF_Q, MOST)];
    for (const index of ps) bed.claim(index, { pool: 'p' });
    for (const index of qs) bed.claim(index, { pool: 'q' });
    bed.control();
    await bed.run(15);
    bed.isAnswering = false;
    bed.api.put(IP_POOLS, onZone('p', 'b', 2));
    bed.api.put(IP_POOLS, onZone('q', 'a', 2));
    await bed.run(2);
    await Promise.all(bed.agents.map((agent) => agent.answer()));
    for (let turn = 0; turn < 20; turn += 1) await bed.rest();
    expect(ps.every((index) => isAt(index, 'a', '2') && isAt(index, 'b', '0'))).to.equal(true);
    expect(qs.every((index) => isAt(index, 'b', '2') && isAt(index, 'a', '0'))).to.equal(true);
    bed.api.put(IP_POOLS, onZone('p', 'a', 3));
    bed.api.put(IP_POOLS, onZone('q', 'b', 3));
    await bed.rest();
    bed.isAnswering = true;
    await bed.run(30);
    const labels = (indexes: readonly number[]) => {
      const own = indexes.flatMap((index) => Object.keys(bed.labels(index)).filter(isNodeLabel));
      return [...new Set(own)];
    };
    expect(labels(ps)).to.deep.equal([nodeLabel('a')]);
    expect(labels(qs)).to.deep.equal([nodeLabel('b')]);
  });
});

describe('MovesUnderWay', () => {
  it('keeps nothing of claims that do not move any more, and gives their place in line to the next', () => {
    const woken: string[] = [];
    const moves = new MovesUnderWay((name) => woken.push(name));
    const down = { down: 'a', up: undefined };
    const reserve = (name: string) => moves.reserve({ name, services: [] }, down, 0) === undefined;
    expect(range(0, MOST).every((index) => reserve(`${index}`))).to.equal(true);
    expect(reserve('1'), 'it has its slot').to.equal(true);
    expect([reserve('deleted'), reserve('next')]).to.deep.equal([false, false]);
    moves.end('deleted');
    moves.end('0');
    expect(woken).to.deep.equal(['next']);
    expect(reserve('next')).to.equal(true);
    for (const name of ['next', ...range(1, MOST - 1).map(String)]) moves.end(name);
    expect(moves.labels).to.deep.equal([]);
  });

  it('gives what is free to those in line, namespaces in turn, and not to who comes later', () => {
    const woken: string[] = [];
    const moves = new MovesUnderWay((name) => woken.push(name));
    const down = { down: 'a', up: undefined };
    const reserve = (namespace: string, name: string) =>
      moves.reserve({ name, services: [{ namespace, name: 's' }] }, down, 0) === undefined;
    for (const index of range(0, MOST)) reserve('many', `${index}`);
    for (const name of ['m1', 'm2', 'm3']) expect(reserve('many', name)).to.equal(false);
    expect(reserve('few', 'f1')).to.equal(false);
    for (const index of [0, 1, 2]) moves.end(`${index}`);
    expect(woken).to.deep.equal(['m1', 'f1', 'm2']);
    expect(reserve('many', 'later'), 'they are those of others').to.equal(false);
    expect(moves.isLeaving('f1'), 'nothing of it is written').to.equal(false);
    expect(reserve('few', 'f1')).to.equal(true);
    expect(moves.isLeaving('f1')).to.equal(true);
    moves.end('m1');
    expect(woken.at(-1), 'one that needs it no more gives it on').to.equal('m3');
  });

  it('puts none in line that turns round, whatever it has done so far', () => {
    const moves = new MovesUnderWay(() => undefined);
    const may = (name: string, way: { down?: string; up?: string }) =>
      moves.reserve({ name, services: [] }, { down: way.down, up: way.up }, 0) === undefined;
    expect(may('left', { down: 'a' })).to.equal(true);
    expect(may('came', { up: 'b' })).to.equal(true);
    for (const index of range(0, MOST)) may(`${index}`, { down: 'b' });
    expect(may('other', { down: 'b' })).to.equal(false);
    for (const name of ['left', 'came']) expect(may(name, { down: 'b' }), name).to.equal(true);
    moves.end('0');
    expect(may('other', { down: 'b' }), 'more than have room').to.equal(false);
  });
});
