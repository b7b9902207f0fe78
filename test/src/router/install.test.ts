/** What is in the kernel follows what is wanted, through refusals and losses. */

import { address, formatPrefix, prefix } from 'bgp-ts';
import { expect } from 'chai';
import { RouteSync } from '../../../src/router/install.ts';
import type { RibRoute } from '../../../src/router/rib.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { MemoryRouteTable } from '../../support/memory-route-table.ts';

const VIP = '198.51.100.7/32';

/** `+` in front: in use */
function route(to: string, ...hops: string[]): RibRoute {
  const nextHops = hops.map((text) => ({
    address: address(text.replace('+', '')),
    peer: text,
    best: text.startsWith('+'),
  }));
  return { prefix: prefix(to), nextHops };
}

class World {
  readonly clock = new ManualClock();
  readonly table = new MemoryRouteTable();
  readonly problems: (string | undefined)[] = [];
  changeLinks: () => void = () => undefined;
  isWatched = false;
  readonly sync = new RouteSync({
    table: this.table,
    clock: this.clock,
    watch: (onChange) => {
      this.changeLinks = onChange;
      this.isWatched = true;
      return () => {
        this.isWatched = false;
      };
    },
    onOutcome: (_prefix, _hops, problem) => this.problems.push(problem),
  });
  /** what the kernel was asked for at most in one turn, each timer being one */
  readonly most = { calls: 0, hops: 0 };
  /** how long a turn takes at least; 0 = all of them are in one moment */
  turnMs = 0;

  constructor() {
    const startTimer = this.clock.startTimer.bind(this.clock);
    this.clock.startTimer = (delayMs, callback) =>
      startTimer(Math.max(delayMs, this.turnMs), () => this.inTurn(callback));
  }

  inTurn(work: () => void): void {
    const { attempts, attemptedHops } = this.table;
    work();
    this.most.calls = Math.max(this.most.calls, this.table.attempts - attempts);
    this.most.hops = Math.max(this.most.hops, this.table.attemptedHops - attemptedHops);
  }
}

function hostRoutes(count: number, hops: readonly string[]): RibRoute[] {
  return Array.from({ length: count }, (_, at) =>
    route(`203.0.${at >> 8}.${at & 255}/32`, ...hops),
  );
}

/**
 * One neighbour withdraws one half of its routes every second turn and announces the other, and of a third part it changes the next
 * hop in each: more than the kernel is asked for in that time. In how many turns something is done all the same.
 */
function turnsBesideFlaps(world: World, isDone: () => boolean): number {
  const halves = [10, 11].map((first) => manyFrom(first, 500));
  const moved = manyFrom(12, 500);
  for (let turn = 0; turn < 3000; turn += 1) {
    if (isDone()) return turn;
    if (turn % 2 === 0) {
      const [gone = [], here = []] = turn % 4 === 0 ? halves : halves.toReversed();
      world.sync.set(gone.map((to) => route(to)));
      world.sync.set(here.map((to) => route(to, '+192.0.2.9')));
    }
    world.sync.set(moved.map((to) => route(to, `+192.0.2.${8 + (turn % 2)}`)));
    world.clock.advance(1);
  }
  return Infinity;
}

const manyFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, at) => `${first}.0.${at >> 8}.${at & 255}/32`);

const gateways = (count: number) => Array.from({ length: count }, (_, at) => `192.0.2.${at + 1}`);
const used = (hops: readonly string[]) => hops.map((each) => `+${each}`);

describe('routes in the kernel', () => {
  it('are those in use, each gateway once; unchanged ones are not written again', () => {
    const { sync, table } = new World();
    sync.start();
    sync.set([route(VIP, '+192.0.2.11', '+192.0.2.11', '+192.0.2.12', '192.0.2.13')]);
    expect(table.table).to.deep.equal({ [VIP]: ['192.0.2.11', '192.0.2.12'] });
    sync.set([route(VIP, '+192.0.2.12', '+192.0.2.11')]);
    expect(table.changes).to.have.length(1);
    sync.set([route(VIP, '+192.0.2.12')]);
    expect(table.table).to.deep.equal({ [VIP]: ['192.0.2.12'] });
    sync.set([route(VIP)]);
    expect(table.table).to.deep.equal({});
  });

  it('of a crash are removed at the start, all at the stop, and no timer is left', () => {
    const world = new World();
    const { sync, table, clock } = world;
    table.replace({ prefix: prefix('203.0.113.0/24'), nextHops: [] });
    expect(sync.start()).to.equal(undefined);
    expect(table.table).to.deep.equal({});
    sync.set([route(VIP, '+192.0.2.11')]);
    expect(sync.stop()).to.equal(undefined);
    expect(table.table).to.deep.equal({});
    expect([table.isClosed, world.isWatched, clock.pendingTimers]).to.deep.equal([true, false, 0]);
  });

  it('of another router are not touched by one that never started', () => {
    const { sync, table } = new World();
    table.replace({ prefix: prefix(VIP), nextHops: [] });
    sync.stop();
    expect(table.table).to.have.keys(VIP);
  });

  it('that cannot be removed at the start are a sentence', () => {
    const { sync, table } = new World();
    table.replace({ prefix: prefix(VIP), nextHops: [] });
    table.refusesRemoval = true;
    expect(sync.start()).to.match(/cannot remove 198\.51\.100\.7\/32: busy/);
  });

  it('have the next hops that the kernel takes, say what is wrong, and get the rest later', () => {
    const { sync, table, clock } = new World();
    sync.start();
    table.reachable = new Set(['192.0.2.12', '192.0.2.13']);
    sync.set([route(VIP, '+192.0.2.11', '+192.0.2.12', '+192.0.2.13')]);
    expect(table.table).to.deep.equal({ [VIP]: ['192.0.2.12', '192.0.2.13'] });
    expect(sync.problem(prefix(VIP))).to.match(/no way \(next hop 192\.0\.2\.11\)/);
    const before = table.changes.length;
    clock.advance(3000);
    expect(table.changes.length, 'what works is not touched').to.equal(before);
    table.reachable.add('192.0.2.11');
    clock.advance(1000);
    expect(table.table[VIP]).to.have.members(['192.0.2.11', '192.0.2.12', '192.0.2.13']);
    expect(sync.problem(prefix(VIP))).to.equal(undefined);
  });

  it('are tried again at once when a link comes up, and told once', () => {
    const world = new World();
    const { sync, table, clock, problems } = world;
    sync.start();
    table.reachable = new Set();
    sync.set([route(VIP, '+192.0.2.11')]);
    clock.advance(5000);
    expect(problems, 'one sentence, not one per try').to.have.length(1);
    table.reachable.add('192.0.2.11');
    world.changeLinks();
    expect(table.table).to.deep.equal({ [VIP]: ['192.0.2.11'] });
    expect(problems).to.have.length(2);
    expect(problems[1]).to.equal(undefined);
  });

  it('lose next hops that nobody announces, also while the new one is refused', () => {
    const { sync, table } = new World();
    sync.start();
    table.reachable = new Set(['192.0.2.11', '192.0.2.12']);
    sync.set([route(VIP, '+192.0.2.11', '+192.0.2.12')]);
    sync.set([route(VIP, '+192.0.2.12', '+192.0.2.99')]);
    expect(table.table).to.deep.equal({ [VIP]: ['192.0.2.12'] });
    sync.set([route(VIP, '+192.0.2.99')]);
    expect(table.table).to.deep.equal({});
  });

  it('come back when the kernel or a person took them away', () => {
    const world = new World();
    const { sync, table, clock } = world;
    sync.start();
    sync.set([route(VIP, '+192.0.2.11')]);
    table.lose(VIP);
    world.changeLinks();
    expect(table.table).to.have.keys(VIP);
    table.lose(VIP);
    clock.advance(10_000);
    expect(table.table).to.have.keys(VIP);
  });

  it('that the kernel does not let go of are tried again', () => {
    const { sync, table, clock } = new World();
    sync.start();
    sync.set([route(VIP, '+192.0.2.11')]);
    table.refusesRemoval = true;
    sync.set([route(VIP)]);
    expect(table.table).to.have.keys(VIP);
    table.refusesRemoval = false;
    clock.advance(1000);
    expect(table.table).to.deep.equal({});
  });

  it('that the kernel refuses for long are tried each ten seconds, and at once when a link comes up', () => {
    const world = new World();
    const { sync, table, clock } = world;
    sync.start();
    table.reachable = new Set();
    sync.set([route(VIP, '+192.0.2.11')]);
    clock.advance(300_000);
    const before = table.attempts;
    clock.advance(300_000);
    expect(table.attempts - before).to.be.within(29, 31);
    table.reachable.add('192.0.2.11');
    world.changeLinks();
    expect(table.table).to.have.keys(VIP);
  });

  it('are written, tried again and removed some hundred at a time, however many they are', () => {
    const world = new World();
    const { sync, table, clock } = world;
    sync.start();
    const routes = (hops: readonly string[]) => hostRoutes(1000, hops);
    const inTurn = (work: () => void) => world.inTurn(work);
    table.reachable = new Set();
    inTurn(() => sync.set(routes(['+192.0.2.11'])));
    clock.advance(0);
    const problems = routes([]).map((each) => sync.problem(each.prefix));
    expect(problems.every((each) => each !== undefined)).to.equal(true);
    clock.advance(5000);
    table.reachable = new Set(['192.0.2.11']);
    inTurn(() => world.changeLinks());
    clock.advance(0);
    expect(Object.keys(table.table)).to.have.length(1000);
    inTurn(() => sync.set(routes([])));
    clock.advance(0);
    expect(table.table).to.deep.equal({});
    expect(world.most.calls).to.be.below(300);
    expect(clock.pendingTimers).to.equal(1);
  });

  it('are written a piece a turn, by next hops, also where they are set a hundred times in it', () => {
    const world = new World();
    const { sync, table, clock } = world;
    sync.start();
    const hops = used(gateways(100));
    world.inTurn(() => sync.set(hostRoutes(200, hops)));
    clock.advance(0);
    world.inTurn(() => {
      for (let left = 99; left >= 1; left -= 1) sync.set(hostRoutes(200, hops.slice(0, left)));
    });
    clock.advance(0);
    const wanted = hostRoutes(200, []).map(({ prefix: to }) => [formatPrefix(to), ['192.0.2.1']]);
    expect(table.table).to.deep.equal(Object.fromEntries(wanted));
    expect(world.most.hops, 'next hops in one turn').to.be.within(1, 3000);
    expect(world.most.calls, 'calls in one turn').to.be.within(1, 300);
    expect(clock.pendingTimers).to.equal(1);
  });

  it('cost so many calls a turn, however many next hops the kernel refuses', () => {
    const world = new World();
    const { sync, table, clock, problems } = world;
    sync.start();
    const hops = gateways(100);
    table.reachable = new Set([...hops.slice(0, 50), ...hops.slice(60)]);
    world.inTurn(() => sync.set(hostRoutes(200, used(hops))));
    clock.advance(0);
    expect(table.table['203.0.0.199/32']).to.have.length(90);
    for (const { prefix: to } of hostRoutes(200, [])) table.lose(formatPrefix(to));
    table.reachable = new Set();
    problems.length = 0;
    world.inTurn(() => world.changeLinks());
    clock.advance(0);
    expect(problems.filter((each) => each !== undefined)).to.have.length(200);
    clock.advance(5000);
    expect(world.most.calls, 'calls in one turn').to.be.within(1, 300);
    expect(world.most.hops, 'next hops in one turn').to.be.within(1, 3000);
  });

  for (const [name, refused, most] of [
    ['', 0, 1],
    [', also behind next hops that the kernel refuses', 2, 4],
  ] as const) {
    it(`where somebody else's stands are not tried hop by hop${name}`, () => {
      const { sync, table, clock } = new World();
      sync.start();
      const hops = gateways(100);
      table.reachable = new Set(hops.slice(refused));
      table.foreign.add(VIP);
      sync.set([route(VIP, ...used(hops))]);
      clock.advance(0);
      expect(table.attempts, 'calls').to.equal(most);
      expect(sync.problem(prefix(VIP))).to.match(/not ours$/);
      clock.advance(1000);
      expect(table.attempts, 'calls, the retry among them').to.equal(most * 2);
      table.foreign.clear();
      clock.advance(1000);
      expect(table.table[VIP]).to.have.length(100 - refused);
    });
  }

  it('wait for the next turn where the kernel takes its time, however few they are', () => {
    const world = new World();
    const { sync, table, clock } = world;
    let lateMs = 0;
    const [now, replace] = [clock.now.bind(clock), table.replace.bind(table)];
    clock.now = () => now() + lateMs;
    table.replace = (one) => {
      lateMs += 10;
      return replace(one);
    };
    sync.start();
    world.inTurn(() => sync.set(hostRoutes(50, ['+192.0.2.1'])));
    clock.advance(0);
    expect(Object.keys(table.table)).to.have.length(50);
    expect(world.most.calls, 'calls in one turn').to.be.within(1, 2);
  });

  it('that nobody announces any more go before those that are new or refused', () => {
    const world = new World();
    const { sync, table } = world;
    sync.start();
    const other = '203.0.113.1/32';
    sync.set([route(VIP, '+192.0.2.1', '+192.0.2.2'), route(other, '+192.0.2.2')]);
    world.clock.turn();
    table.reachable = new Set(['192.0.2.1', '192.0.2.2']);
    sync.set(hostRoutes(1000, used(gateways(100))));
    sync.set([route(VIP, '+192.0.2.1'), route(other)]);
    world.clock.turn();
    expect(table.table[VIP]).to.deep.equal(['192.0.2.1']);
    expect(table.table).to.not.have.keys(other);
  });

  it('lose next hops that nobody announces, also where others come before that is done, and are refused', () => {
    const { sync, table, clock } = new World();
    sync.start();
    sync.set([route(VIP, '+192.0.2.1')]);
    table.refusesRemoval = true;
    sync.set([route(VIP)]);
    table.refusesRemoval = false;
    table.reachable = new Set();
    sync.set([route(VIP, '+192.0.2.2')]);
    clock.advance(0);
    expect(table.table).to.deep.equal({});
  });

  it('lose next hops that nobody announces, also while the kernel refuses one of those that stay', () => {
    const { sync, table } = new World();
    sync.start();
    sync.set([route(VIP, '+192.0.2.1', '+192.0.2.2', '+192.0.2.3')]);
    table.reachable = new Set(['192.0.2.2', '192.0.2.3']);
    sync.set([route(VIP, '+192.0.2.1', '+192.0.2.2')]);
    expect(table.table).to.deep.equal({ [VIP]: ['192.0.2.2'] });
  });

  it('change hands without a gap while the kernel refuses one of the new next hops', () => {
    const { sync, table } = new World();
    sync.start();
    sync.set([route(VIP, '+192.0.2.1')]);
    table.reachable = new Set(['192.0.2.3']);
    sync.set([route(VIP, '+192.0.2.2', '+192.0.2.3')]);
    expect(table.table).to.deep.equal({ [VIP]: ['192.0.2.3'] });
    expect(table.changes.filter((each) => each.endsWith('removed'))).to.deep.equal([]);
  });

  it('that change while they are tried one by one keep nothing of what was tried', () => {
    const world = new World();
    const { sync, table, clock } = world;
    sync.start();
    const hops = gateways(100);
    table.reachable = new Set(hops.slice(0, 99));
    sync.set([route(VIP, ...used(hops))]);
    world.clock.turn();
    expect(table.table[VIP]?.length, 'on the way').to.be.within(1, 98);
    table.reachable = new Set();
    sync.set([route(VIP, '+198.51.100.1')]);
    clock.advance(0);
    expect(table.table).to.deep.equal({});
    expect(sync.problem(prefix(VIP))).to.match(/no way/);
  });

  it('that are new are written although one neighbour withdraws and announces without a pause', () => {
    const world = new World();
    world.turnMs = 1;
    world.sync.start();
    turnsBesideFlaps(world, () => world.clock.now() >= 20);
    world.sync.set([route(VIP, '+192.0.2.1')]);
    expect(turnsBesideFlaps(world, () => VIP in world.table.table)).to.be.below(20);
    world.sync.set([route(VIP)]);
    expect(turnsBesideFlaps(world, () => !(VIP in world.table.table))).to.be.below(10);
  });

  it('that are new are written beside these also where the kernel takes longer than a turn for a call', () => {
    const world = new World();
    world.turnMs = 1;
    const { sync, table, clock } = world;
    sync.start();
    sync.set(hostRoutes(100, ['+192.0.2.1']));
    clock.advance(10);
    let lateMs = 0;
    const now = clock.now.bind(clock);
    clock.now = () => now() + lateMs;
    const [remove, replace] = [table.remove.bind(table), table.replace.bind(table)];
    const slowly =
      <A, B>(call: (one: A) => B) =>
      (one: A) => {
        lateMs += 25;
        return call(one);
      };
    table.remove = slowly(remove);
    table.replace = slowly(replace);
    sync.set(hostRoutes(100, []));
    sync.set([route(VIP, '+192.0.2.1')]);
    for (let turn = 0; turn < 20; turn += 1) clock.advance(1);
    expect(table.table).to.have.any.keys(VIP);
    expect(Object.keys(table.table).length, 'withdrawn ones go first').to.be.below(92);
  });

  it('that the kernel was never asked for are removed without a call', () => {
    const { sync, table, clock } = new World();
    sync.start();
    sync.set(hostRoutes(1000, ['+192.0.2.1']));
    const { attempts } = table;
    expect(attempts, 'as many as fit into a turn').to.be.within(1, 300);
    sync.set(hostRoutes(1000, []));
    clock.advance(0);
    expect(table.table).to.deep.equal({});
    expect(table.attempts - attempts).to.equal(attempts);
  });

  it('that the kernel refused are removed with a call: it may have taken a part', () => {
    const { sync, table, clock } = new World();
    sync.start();
    table.reachable = new Set();
    sync.set([route(VIP, '+192.0.2.1')]);
    sync.set([route(VIP, '+192.0.2.2')]);
    clock.advance(0);
    const { attempts } = table;
    sync.set([route(VIP)]);
    clock.advance(0);
    expect(table.attempts - attempts).to.equal(1);
  });

  it('that the kernel refused, or did not let go of, are tried again although others come and go without a pause', () => {
    const world = new World();
    world.turnMs = 1;
    const { sync, table } = world;
    sync.start();
    const other = '203.0.113.1/32';
    sync.set([route(other, '+192.0.2.1')]);
    world.clock.advance(5);
    table.refusesRemoval = true;
    sync.set([route(other)]);
    table.refusesRemoval = false;
    table.reachable = new Set(['192.0.2.8', '192.0.2.9', '192.0.2.2']);
    sync.set([route(VIP, '+192.0.2.1', '+192.0.2.2')]);
    turnsBesideFlaps(world, () => world.clock.now() >= 100);
    expect(sync.problem(prefix(VIP))).to.match(/no way/);
    table.reachable = undefined;
    const isDone = () => table.table[VIP]?.length === 2 && !(other in table.table);
    expect(turnsBesideFlaps(world, isDone)).to.be.below(1500);
    expect(sync.problem(prefix(VIP))).to.equal(undefined);
  });

  it('are found out hop by hop although others come and go without a pause', () => {
    const world = new World();
    world.turnMs = 1;
    const { sync, table } = world;
    sync.start();
    const hops = gateways(11);
    table.reachable = new Set(hops.slice(0, 9));
    sync.set(hostRoutes(1000, ['+192.0.2.1']));
    sync.set([route(VIP, ...used(hops))]);
    expect(turnsBesideFlaps(world, () => table.table[VIP]?.length === 9)).to.be.below(200);
  });
});
