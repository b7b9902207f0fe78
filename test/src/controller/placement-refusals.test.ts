/** Holders of exclusive claims that say that they do not announce them. */

import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { ControllerCaches } from '../../../src/controller/caches.ts';
import type { RecordedEvent } from '../../../src/controller/events.ts';
import type { LivenessView } from '../../../src/controller/liveness-watch.ts';
import { PlacementLoop } from '../../../src/controller/placement-loop.ts';
import {
  MOST_PATIENCE_MS,
  PlacementRefusals,
  patienceMs,
} from '../../../src/controller/placement-refusals.ts';
import { SILENT_LOG } from '../../../src/log/log.ts';
import { CHECK_DEFAULTS } from '../../../src/model/check-spec.ts';
import { ANYCAST_LABEL, nodeLabel } from '../../../src/model/names.ts';
import type { Life } from '../../../src/scheduler/liveness.ts';
import {
  ENDPOINT_SLICES,
  IP_CLAIMS,
  IP_POOLS,
  inNamespace,
  NODES,
} from '../../../src/sources/kube/resources.ts';
import { claimBody, claimName, exclusivePool, FakeAgent } from '../../support/fake-agents.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { MemoryKubeApi } from '../../support/memory-kube-api.ts';

/** everybody lives, but for those of whom we say otherwise */
class Liveness implements LivenessView {
  isBlind = false;
  readonly isLearning = false;
  look: () => void = () => undefined;

  /** those that do not */
  readonly others = new Map<string, Life>();

  lifeOf(node: string): Life {
    return this.others.get(node) ?? 'alive';
  }

  hasRenewedTwice(node: string): boolean {
    return this.lifeOf(node) === 'alive';
  }

  isRestarting(): boolean {
    return false;
  }

  onLook(listener: () => void): () => void {
    this.look = listener;
    return () => undefined;
  }
}

class World {
  readonly api = new MemoryKubeApi();
  readonly clock = new ManualClock();
  readonly liveness = new Liveness();
  readonly agents: FakeAgent[] = [];
  readonly events: RecordedEvent[] = [];
  /** writes of places: what they did to the labels */
  readonly moves: string[] = [];
  /** nodes whose agents report nothing */
  readonly mute = new Set<string>();
  readonly #caches: ControllerCaches;
  readonly #loop: PlacementLoop;

  constructor(more: { readonly rebalanceEveryMs?: number } = {}) {
    const { api, clock, liveness } = this;
    const base = { api, clock, random: { next: () => 0.5 }, log: SILENT_LOG };
    this.#caches = new ControllerCaches(base);
    const events = { record: (event: RecordedEvent) => void this.events.push(event) };
    this.#loop = new PlacementLoop({ ...base, ...more, caches: this.#caches, events, liveness });
    api.put(IP_POOLS, exclusivePool('p'));
    api.fault = ({ verb, resource, body, subresource }) => {
      const isMove = verb === 'patch' && resource === IP_CLAIMS && subresource === undefined;
      const labels = Object(Object(body)['metadata'])['labels'];
      if (isMove && labels !== undefined) this.moves.push(JSON.stringify(labels));
      return undefined;
    };
  }

  async join(...names: readonly string[]): Promise<void> {
    for (const name of names) {
      const agent = new FakeAgent(this.api, name);
      this.agents.push(agent);
      await agent.join();
    }
  }

  async start(): Promise<void> {
    this.#caches.start();
    this.#caches.whenSynced(() => this.#loop.start());
    await this.run(2);
  }

  stop(): void {
    this.#loop.stop();
    this.#caches.stop();
  }

  agent(name: string): FakeAgent {
    const agent = this.agents.find((each) => each.name === name);
    if (agent === undefined) throw new Error(`no agent ${name}`);
    return agent;
  }

  async run(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      for (const agent of this.agents) if (!this.mute.has(agent.name)) await agent.answer();
      for (let step = 0; step < 2; step += 1) {
        for (let each = 0; each < 20; each += 1) await turn();
        this.clock.advance(500);
      }
      this.liveness.look();
    }
    for (let each = 0; each < 20; each += 1) await turn();
  }

  hold(index: number, node: string, spec: object = {}): void {
    const labels = { [nodeLabel(node)]: '0' };
    this.api.put(IP_CLAIMS, claimBody(claimName(index), { node, ...spec }, labels));
  }

  node(index: number): unknown {
    return Object(this.api.object(IP_CLAIMS, claimName(index))?.['spec'])['node'];
  }

  labels(index: number): unknown {
    return this.api.object(IP_CLAIMS, claimName(index))?.metadata.labels;
  }

  phase(index: number): unknown {
    return Object(this.api.object(IP_CLAIMS, claimName(index))?.['status'])['phase'];
  }

  told(reason: string): readonly string[] {
    return this.events.filter((each) => each.reason === reason).map(({ message }) => message);
  }
}

const X = claimName(0);
const [A, B] = [nodeLabel('a'), nodeLabel('b')];

describe('a holder that refuses its claim', () => {
  let world: World;

  beforeEach(async () => {
    world = new World();
    await world.join('a', 'b', 'c');
    world.hold(0, 'a');
    await world.start();
    await world.run(70);
    expect(world.moves).to.deep.equal([]);
  });
  afterEach(() => world.stop());

  it('is given ten seconds; then another one has it, in an orderly move', async () => {
    world.agent('a').refusing.add(X);
    await world.run(9);
    expect(world.moves).to.deep.equal([]);
    await world.run(6);
    expect(world.node(0)).to.equal('b');
    expect(world.moves).to.deep.equal([
      JSON.stringify({ [A]: '2' }),
      JSON.stringify({ [A]: null, [B]: '0' }),
    ]);
    expect(world.told('NodeRefuses')).to.deep.equal([`a does not announce ${X}: its check fails`]);
    expect(world.told('Moved')).to.deep.equal([`${X} moved from a to b: its check fails`]);
    expect(world.phase(0)).to.equal('Placed');
    world.agent('a').refusing.clear();
    await world.run(120);
    expect(world.moves, 'and it stays there').to.have.length(2);
  });

  it('is told in the name of the namespace that the claim is for, which has its share of events', async () => {
    const services = [
      { namespace: 'shop', name: 'web' },
      { namespace: 'other', name: 'api' },
    ];
    world.hold(1, 'a', { services });
    world.agent('a').refusing.add(X).add(claimName(1));
    await world.run(15);
    const shares = (reason: string) =>
      world.events
        .filter((event) => event.reason === reason)
        .map(({ object, budgetOf }) => [object.name, budgetOf]);
    const both = [
      [X, undefined],
      [claimName(1), 'shop'],
    ];
    expect(shares('NodeRefuses')).to.deep.equal(both);
    expect(shares('Moved')).to.deep.equal(both);
    world.api.put(IP_CLAIMS, claimBody(claimName(2), { services, pool: 'nowhere' }));
    await world.run(5);
    expect(shares('NoPool')).to.deep.equal([[claimName(2), 'shop']]);
  });

  it('keeps it where it takes it up again in time, however often', async () => {
    for (const seconds of [8, 8, 8, 4, 4, 4, 4, 4, 4]) {
      world.agent('a').refusing.add(X);
      await world.run(seconds);
      world.agent('a').refusing.clear();
      await world.run(2);
    }
    expect(world.moves).to.deep.equal([]);
  });

  it('is heard though others lie before it on the way: the search goes on to the one that can', async () => {
    await world.join('d', 'e', 'f');
    for (const { name, refusing } of world.agents) if (name !== 'f') refusing.add(X);
    await world.run(90);
    expect(world.labels(0)).to.deep.equal({ [nodeLabel('f')]: '0' });
    expect(world.moves).to.have.length(10);
  });

  it('is asked again and again ever more seldom where all refuse, and keeps it when it can', async () => {
    for (const { refusing } of world.agents) refusing.add(X);
    await world.run(60);
    const first = world.moves.length;
    expect(first, 'each once, and hardly more').to.be.within(4, 8);
    await world.run(1800);
    const later = world.moves.length;
    expect(later - first, 'in half an hour').to.be.below(30);
    await world.run(1200);
    expect(world.moves.length - later, 'in twenty minutes').to.be.within(2, 4);
    const holder = String(world.node(0));
    world.agent(holder).refusing.clear();
    const before = world.moves.length;
    await world.run(1200);
    expect(world.node(0)).to.equal(holder);
    // it may have been told to step down in that very moment
    expect(world.moves.length - before).to.be.at.most(1);
    expect(world.labels(0)).to.deep.equal({ [nodeLabel(holder)]: '0' });
  });

  it('loses it soon to a node that comes, where all others had refused it long ago', async () => {
    for (const { refusing } of world.agents) refusing.add(X);
    await world.run(600);
    // nothing new of those that have it: it is the new one that is heard
    for (const { name } of world.agents) world.mute.add(name);
    const before = world.moves.length;
    await world.join('d');
    await world.run(2);
    expect(world.moves).to.have.length(before + 1);
    world.mute.clear();
    await world.run(45);
    expect(world.node(0)).to.equal('d');
  });

  it('is asked anew, and soon, after the claim was withdrawn: those that serve it then are others', async () => {
    for (const { refusing } of world.agents) refusing.add(X);
    await world.run(600);
    const withdraw = (withdrawn: object | null) =>
      world.api.patch(IP_CLAIMS, X, { kind: 'merge', body: { spec: { withdrawn } } });
    await withdraw({ reason: 'NoEndpoints' });
    await world.run(5);
    const other = world.agents.find(({ name }) => name !== world.node(0));
    other?.refusing.clear();
    await withdraw(null);
    await world.run(45);
    expect(world.node(0)).to.equal(other?.name);
  });

  it('is not moved by what nobody has said: silence, an old word, a claim that is withdrawn', async () => {
    world.mute.add('a');
    await world.run(60);
    const list = await world.api.list(IP_CLAIMS, {});
    const refused = [{ address: X, gate: 'healthy', message: 'its check fails' }];
    const sessions = [{ peer: 'tor', address: '192.0.2.1', state: 'Established' }] as const;
    const joined = { open: true, reason: 'Joined', message: '', since: '' };
    const old = { joined, sessions, refused, observedClaims: '1' };
    expect(BigInt(list.resourceVersion ?? '0') > 1n).to.equal(true);
    await world.agent('a').report(old);
    await world.run(60);
    expect(world.moves).to.deep.equal([]);
    await world.agent('a').report({ joined, sessions, refusedMore: 3, observedClaims: '99999' });
    await world.run(60);
    expect(world.moves, 'it may be among those that are not listed').to.deep.equal([]);
    const withdrawn = { reason: 'NoEndpoints' };
    await world.api.patch(IP_CLAIMS, X, { kind: 'merge', body: { spec: { withdrawn } } });
    await world.agent('a').report({ ...old, observedClaims: '99999' });
    await world.run(60);
    expect(world.moves).to.deep.equal([]);
  });

  it('is believed as soon as its word is of the claim as it stands', async () => {
    world.mute.add('a');
    const refused = [{ address: X, gate: 'healthy', message: 'its check fails' }];
    const sessions = [{ peer: 'tor', address: '192.0.2.1', state: 'Established' }] as const;
    const joined = { open: true, reason: 'Joined', message: '', since: '' };
    await world.agent('a').report({ joined, sessions, refused, observedClaims: '1' });
    await world.run(3);
    world.mute.delete('a');
    world.agent('a').refusing.add(X);
    await world.run(16);
    expect(world.node(0)).to.equal('b');
  });

  it('keeps it where one router has it, and only another does not take it', async () => {
    world.mute.add('a');
    const refused = [{ address: X, gate: 'allowed', message: 'tor-b has no room' }];
    const sessions = [{ peer: 'tor', address: '192.0.2.1', state: 'Established' }] as const;
    const joined = { open: true, reason: 'Joined', message: '', since: '' };
    const told = { joined, sessions, refused, observedClaims: '99999' };
    const levels = [{ address: X, level: 0 as const }];
    await world.agent('a').report({ ...told, levels });
    await world.run(60);
    // agents tell levels for a minute; later something else of the claim changes
    await world.agent('a').report(told);
    const annotations = { 'example.com/note': 'mine' };
    await world.api.patch(IP_CLAIMS, X, { kind: 'merge', body: { metadata: { annotations } } });
    await world.run(120);
    expect(world.moves).to.deep.equal([]);
  });

  it('loses it in an orderly move where it may announce it to one router, and so many leave it that it lists no level of it', async () => {
    world.mute.add('a');
    const refused = [{ address: X, gate: 'allowed', message: 'tor-b has no room' }];
    const sessions = [{ peer: 'tor', address: '192.0.2.1', state: 'Established' }] as const;
    const joined = { open: true, reason: 'Joined', message: '', since: '' };
    const levels = Array.from({ length: 300 }, (_, index) => ({
      address: claimName(index + 1),
      level: 2 as const,
    }));
    const draining = { reason: 'by hand', since: '' };
    const told = { joined, sessions, refused, levels, draining, observedClaims: '99999' };
    await world.agent('a').report(told);
    await world.run(30);
    expect(world.moves).to.deep.equal([
      JSON.stringify({ [A]: '2' }),
      JSON.stringify({ [B]: '0' }),
      JSON.stringify({ [A]: null }),
    ]);
  });

  it('loses it also where two have stepped down before, and so many leave those that their refusals do not count', async () => {
    const sessions = [{ peer: 'tor', address: '192.0.2.1', state: 'Established' }] as const;
    const joined = { open: true, reason: 'Joined', message: '', since: '' };
    const refused = [{ address: X, gate: 'served', message: 'no endpoint' }];
    const levels = Array.from({ length: 300 }, (_, index) => ({
      address: claimName(index + 1),
      level: 2 as const,
    }));
    const draining = { reason: 'by hand', since: '' };
    const told = { joined, sessions, refused, levels, draining, observedClaims: '99999' };
    for (const name of ['a', 'b']) {
      world.mute.add(name);
      await world.agent(name).report(told);
    }
    world.agent('c').refusing.add(X);
    await world.join('d');
    const C = nodeLabel('c');
    const body = claimBody(X, { node: 'c' }, { [A]: '2', [B]: '1', [C]: '0' });
    world.api.put(IP_CLAIMS, body);
    await world.run(40);
    expect(world.node(0)).to.equal('d');
    expect(world.moves.slice(-3)).to.deep.equal([
      JSON.stringify({ [C]: null }),
      JSON.stringify({ [nodeLabel('d')]: '0' }),
      JSON.stringify({ [A]: null, [B]: null }),
    ]);
  });

  it('keeps it while the controller takes itself for blind', async () => {
    world.liveness.isBlind = true;
    world.agent('a').refusing.add(X);
    await world.run(60);
    expect(world.moves).to.deep.equal([]);
    world.liveness.isBlind = false;
    await world.run(5);
    expect(world.node(0)).to.equal('b');
  });

  it('keeps it while nobody knows whether it lives: its word may be old', async () => {
    world.liveness.others.set('a', 'unheard');
    world.agent('a').refusing.add(X);
    await world.run(60);
    expect(world.moves).to.deep.equal([]);
  });

  it('drains like any other: its own steps are no refusal', async () => {
    await world.agent('a').setDraining('by hand');
    await world.run(30);
    expect(world.moves).to.deep.equal([
      JSON.stringify({ [A]: '2' }),
      JSON.stringify({ [B]: '0' }),
      JSON.stringify({ [A]: null }),
    ]);
    expect(world.told('NodeRefuses')).to.deep.equal([]);
  });

  for (const count of [600, 1500]) {
    it(`is left in seconds by the claim of another namespace, where one namespace has ${count} in line there`, async () => {
      const of = (namespace: string) => ({ services: [{ namespace, name: 's' }] });
      for (let index = 1; index <= count; index += 1) {
        world.hold(index, 'a', of('mallory'));
        for (const { refusing } of world.agents) refusing.add(claimName(index));
      }
      await world.run(14);
      world.hold(2000, 'a', of('victim'));
      world.agent('a').refusing.add(claimName(2000));
      await world.run(17);
      const downs = world.moves.filter((labels) => labels.includes('"2"')).length;
      expect(downs, 'there is a line').to.be.below(400);
      expect(world.node(2000)).to.not.equal('a');
    });
  }

  it('is left at once by a claim that shall be elsewhere: those that wait for their turn hold no place in the line of moves', async () => {
    for (let index = 1; index <= 600; index += 1) {
      world.hold(index, 'a');
      for (const { refusing } of world.agents) refusing.add(claimName(index));
    }
    await world.run(14);
    const body = { metadata: { labels: { zone: 'b' } } };
    await world.api.patch(NODES, 'b', { kind: 'merge', body });
    const nodeSelector = { matchLabels: { zone: 'b' } };
    const placement = { mode: 'exclusive', nodeFilter: 'fair', prependStep: 3, nodeSelector };
    world.hold(2000, 'a', { placement });
    await world.run(4);
    expect(world.node(2000)).to.equal('b');
  });

  it('is left by few claims at a time, and those of others do not wait for them', async () => {
    for (let index = 1; index < 400; index += 1) {
      world.hold(index, index % 2 === 0 ? 'a' : 'b');
      for (const { refusing } of world.agents) refusing.add(claimName(index));
    }
    await world.run(13);
    const downs = () => world.moves.filter((labels) => labels.includes('"2"')).length;
    expect(downs()).to.be.within(50, 150);
    world.hold(500, 'c');
    await world.agent('c').setDraining('by hand');
    await world.run(6);
    expect(world.node(500)).to.be.oneOf(['a', 'b']);
    expect(downs()).to.be.below(250);
  });
});

describe('a claim that became exclusive', () => {
  let world: World;

  beforeEach(async () => {
    world = new World();
    await world.join('a', 'b', 'c');
    world.api.put(IP_CLAIMS, claimBody(X, {}, { [ANYCAST_LABEL]: '' }));
  });
  afterEach(() => world.stop());

  /** the labels that it has, whenever they change */
  const watch = async (seconds: number): Promise<readonly string[]> => {
    const seen: string[] = [];
    for (let second = 0; second < seconds; second += 1) {
      await world.run(1);
      const now = JSON.stringify(world.labels(0));
      if (seen.at(-1) !== now) seen.push(now);
    }
    return seen;
  };

  it('is announced by all until one says that it holds it, where the first one refuses it', async () => {
    world.agent('a').refusing.add(X);
    await world.start();
    const seen = await watch(60);
    expect(seen.at(-1)).to.equal(JSON.stringify({ [B]: '0' }));
    const isHeld = seen.slice(0, -1).every((labels) => labels.includes(ANYCAST_LABEL));
    expect(isHeld, `anycast until b holds it: ${seen.join(' ')}`).to.equal(true);
  });

  it('is announced by all for as long as all refuse to hold it, or do not answer', async () => {
    for (const { name } of world.agents.slice(0, 2)) world.agent(name).refusing.add(X);
    world.mute.add('c');
    await world.start();
    const seen = await watch(300);
    const isHeld = seen.every((labels) => labels.includes(ANYCAST_LABEL));
    expect(isHeld, seen.join(' ')).to.equal(true);
    expect(world.moves.length, 'writes in five minutes').to.be.below(60);
    world.agent('a').refusing.clear();
    world.agent('b').refusing.clear();
    world.mute.clear();
    const [last = ''] = (await watch(120)).slice(-1);
    expect(last, 'one holds it').to.match(/^\{"[^"]+\/[abc]":"0"\}$/);
  });
});

describe('the exclusive claim of a Local Service', () => {
  const spec = { services: [{ namespace: 'n', name: 's', healthCheckNodePort: 30_000 }] };
  let world: World;

  /** the pods of the Service run there; kube-proxy on each node knows */
  function run(...nodes: readonly string[]): void {
    for (const { name, refusing } of world.agents) {
      if (nodes.includes(name)) refusing.delete(X);
      else refusing.add(X);
    }
    const labels = { 'kubernetes.io/service-name': 's' };
    const endpoints = nodes.map((nodeName) => ({ nodeName }));
    const metadata = { namespace: 'n', name: 's-1', labels };
    world.api.put(inNamespace(ENDPOINT_SLICES, 'n'), { metadata, endpoints });
  }

  beforeEach(async () => {
    world = new World();
    await world.join('a', 'b', 'c', 'd', 'e', 'f');
  });
  afterEach(() => world.stop());

  it('goes to the node of its pod at once, and after it without asking others', async () => {
    run('e');
    await world.start();
    world.api.put(IP_CLAIMS, claimBody(X, spec));
    await world.run(2);
    expect(world.labels(0)).to.deep.equal({ [nodeLabel('e')]: '0' });
    run('c', 'e');
    await world.run(20);
    expect(world.node(0), 'nothing moves without need').to.equal('e');
    run('c');
    await world.run(15);
    expect(world.labels(0)).to.deep.equal({ [nodeLabel('c')]: '0' });
    expect(world.moves).to.have.length(3);
  });

  it('rests where no pod is left, however long, and finds the next one as soon as the first', async () => {
    run();
    world.hold(0, 'a', spec);
    await world.start();
    await world.run(1200);
    expect(world.moves).to.deep.equal([]);
    run('f');
    await world.run(15);
    expect(world.labels(0)).to.deep.equal({ [nodeLabel('f')]: '0' });
  });

  it('follows its pod also while other pods come and go all the time', async () => {
    run('a');
    world.hold(0, 'a', spec);
    await world.start();
    await world.run(70);
    for (let round = 0; round < 6; round += 1) {
      run(...(round % 2 === 0 ? ['c', 'd'] : ['c', 'e']));
      await world.run(5);
    }
    expect(world.labels(0)).to.have.all.keys(nodeLabel(String(world.node(0))));
    expect(world.node(0)).to.be.oneOf(['c', 'd', 'e']);
  });

  it('is not evened out: where its pod is is not for numbers to say', async () => {
    world.stop();
    world = new World({ rebalanceEveryMs: 30_000 });
    await world.join('a', 'b');
    run('a');
    world.hold(0, 'a', spec);
    world.hold(1, 'a', spec);
    await world.start();
    await world.run(200);
    expect(world.moves).to.deep.equal([]);
  });

  it('follows its pod soon, also where all had refused it for long', async () => {
    run('b');
    for (const { refusing } of world.agents) refusing.add(X);
    await world.start();
    world.api.put(IP_CLAIMS, claimBody(X, spec));
    await world.run(900);
    run('f');
    await world.run(15);
    expect(world.node(0)).to.equal('f');
  });

  it('is asked of the others, too, where the node of its pod refuses it for another reason', async () => {
    run('b');
    for (const { name, refusing } of world.agents) if (name !== 'd') refusing.add(X);
    world.agent('d').refusing.delete(X);
    await world.start();
    world.api.put(IP_CLAIMS, claimBody(X, spec));
    await world.run(2);
    expect(world.node(0)).to.equal('b');
    await world.run(75);
    expect(world.node(0)).to.equal('d');
  });
});

describe('patience with a holder that refuses', () => {
  it('is as long as its checks take to pass', () => {
    const check = {
      ...CHECK_DEFAULTS,
      target: { kind: 'tcp', host: '127.0.0.1', port: 1 },
    } as const;
    expect(patienceMs({ checks: [] })).to.equal(10_000);
    const slow = { ...check, intervalMs: 5000, successes: 3, settleMs: 30_000 };
    expect(patienceMs({ checks: [check, slow] })).to.equal(58_000);
  });

  it('doubles when all have been asked, up to ten minutes, and is forgotten after as long', () => {
    const refusals = new PlacementRefusals(0);
    const nodes = ['a', 'b', 'c'];
    let nowMs = 0;
    const waits = Array.from({ length: 12 }, (_, index) => {
      refusals.note('x', nodes[index % 3] ?? '', 'no', nowMs);
      const dueMs = refusals.dueMs('x', 10_000, nodes) ?? 0;
      const waitMs = dueMs - nowMs;
      nowMs = dueMs;
      refusals.note('x', nodes[index % 3] ?? '', 'no', nowMs);
      refusals.giveUp('x', nodes, nowMs);
      return waitMs / 1000;
    });
    expect(waits).to.deep.equal([10, 10, 10, 20, 40, 80, 160, 320, 600, 600, 600, 600]);
    refusals.note('x', 'c', undefined, nowMs);
    refusals.note('x', 'c', 'no', nowMs + MOST_PATIENCE_MS - 1);
    expect(refusals.dueMs('x', 10_000, nodes), 'too soon').to.be.above(
      nowMs + 2 * MOST_PATIENCE_MS - 2,
    );
    refusals.note('x', 'c', undefined, nowMs + MOST_PATIENCE_MS);
    const laterMs = nowMs + 3 * MOST_PATIENCE_MS;
    refusals.note('x', 'c', 'no', laterMs);
    expect(refusals.dueMs('x', 10_000, nodes)).to.equal(laterMs + 10_000);
  });
});
