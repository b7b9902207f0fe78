/** What is in the kernel follows what is wanted, through refusals and losses. */

import { address, prefix } from 'bgp-ts';
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
}

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
    const prefixes = Array.from({ length: 1000 }, (_, at) => `203.0.${at >> 8}.${at & 255}/32`);
    let mostInTurn = 0;
    const inTurn = (work: () => void) => {
      const before = table.attempts;
      work();
      mostInTurn = Math.max(mostInTurn, table.attempts - before);
    };
    const startTimer = clock.startTimer.bind(clock);
    clock.startTimer = (delayMs, callback) => startTimer(delayMs, () => inTurn(callback));
    table.reachable = new Set();
    inTurn(() => sync.set(prefixes.map((each) => route(each, '+192.0.2.11'))));
    clock.advance(0);
    expect(prefixes.every((each) => sync.problem(prefix(each)) !== undefined)).to.equal(true);
    clock.advance(5000);
    table.reachable = new Set(['192.0.2.11']);
    inTurn(() => world.changeLinks());
    clock.advance(0);
    expect(Object.keys(table.table)).to.have.length(1000);
    inTurn(() => sync.set(prefixes.map((each) => route(each))));
    clock.advance(0);
    expect(table.table).to.deep.equal({});
    expect(mostInTurn).to.be.below(300);
    expect(clock.pendingTimers).to.equal(1);
  });
});
