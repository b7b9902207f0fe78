/** The agent's loop on one node of the simulation's world, step by step: real sessions, virtual time, judged at the router. */

import { expect } from 'chai';
import { type ClaimPage, claimPage } from '../../simulation/book.ts';
import type { Form } from '../../simulation/far-router.ts';
import { Simulation } from '../../simulation/simulation.ts';
import { address } from './scenery.ts';

/** connectRetrySeconds of the simulation's peers */
const RETRY_MS = 1000;
const PLAIN = { mode: 'anycast', hasCheck: false } as const;

class Bench {
  readonly run = new Simulation({ seed: 7 });
  readonly machine = required(this.run.machines[0]);
  readonly router = required(this.run.routers[0]);

  /** up and joined, with these claims and no second router */
  static async with(...claims: readonly ClaimPage[]): Promise<Bench> {
    const bench = new Bench();
    bench.run.book = {
      ...bench.run.book,
      peers: new Map([...bench.run.book.peers].filter(([name]) => name === 'r1')),
      claims: new Map(claims.map((page) => [page.name, page])),
    };
    bench.machine.api = { isUp: true, failNext: 0 };
    bench.router.start();
    bench.run.rewire();
    bench.run.boot(bench.machine);
    await bench.run.pass(8000);
    return bench;
  }

  get process() {
    return required(this.machine.process);
  }

  form(page: ClaimPage): Form {
    return this.router.path(this.machine.options.address, page.name)?.form ?? 'none';
  }

  async write(...claims: readonly ClaimPage[]): Promise<void> {
    this.run.publish({ claims: new Map(claims.map((page) => [page.name, page])) });
    await this.run.pass(310);
  }

  /** the forms that the router has had, a sample every 50 ms */
  async watch(page: ClaimPage, ms: number): Promise<readonly Form[]> {
    const seen: Form[] = [this.form(page)];
    for (let passed = 0; passed < ms; passed += 50) {
      await this.run.pass(50);
      if (seen.at(-1) !== this.form(page)) seen.push(this.form(page));
    }
    return seen;
  }

  ours(): readonly string[] {
    return this.machine.kernel.addresses
      .filter((known) => known.ours)
      .map(({ interface: name }) => name);
  }

  established(): number {
    return required(this.process.speaker.status()[0]).counters.establishedCount;
  }
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('not there');
  return value;
}

describe('the agent', () => {
  it('does not take a route back for a check that is new, until it has failed as often as it may', async () => {
    const page = claimPage(1, PLAIN);
    const bench = await Bench.with(page);
    expect(bench.form(page)).to.equal('plain');
    bench.machine.failing.add(page.name);
    await bench.write({ ...page, hasCheck: true });
    // asked at 0 s, 1 s and 2 s
    await bench.run.pass(1500);
    expect(bench.form(page)).to.equal('plain');
    await bench.run.pass(3000);
    expect(bench.form(page)).to.equal('none');
    bench.machine.failing.delete(page.name);
    await bench.run.pass(4000);
    expect(bench.form(page)).to.equal('plain');
  });

  it('decides nothing anew for a check that fails in other words each time, and tells the last of them (B5)', async () => {
    const page = claimPage(1, { ...PLAIN, hasCheck: true });
    const bench = await Bench.with(page);
    bench.machine.failing.add(page.name);
    let answers = 0;
    bench.machine.failure = () => {
      answers += 1;
      return `answered 503, request ${answers}`;
    };
    await bench.run.pass(5000);
    expect(bench.form(page)).to.equal('none');
    const decisions = new Set();
    const before = answers;
    for (let passed = 0; passed < 60_000; passed += 50) {
      await bench.run.pass(50);
      decisions.add(bench.process.agent.decided);
    }
    expect(answers - before).to.be.above(50);
    // one now and then, so that what others read of it does not grow old
    expect(decisions.size, 'decisions').to.be.at.most(4);
    const [told] = bench.process.agent.status().claims;
    const healthy = told?.gates.find(({ name }) => name === 'healthy');
    expect(healthy?.sentence).to.match(new RegExp(`request ${answers}$`));
    bench.machine.failing.delete(page.name);
    await bench.run.pass(4000);
    expect(bench.form(page)).to.equal('plain');
  });

  it('keeps a route for a check that is new and passes', async () => {
    const page = claimPage(1, PLAIN);
    const bench = await Bench.with(page);
    await bench.write({ ...page, hasCheck: true });
    expect(await bench.watch(page, 5000)).to.deep.equal(['plain']);
  });

  it('asks again before it announces a claim that was elsewhere', async () => {
    const here = claimPage(0, { mode: 'exclusive', node: 'n1', hasCheck: true });
    const bench = await Bench.with(here);
    expect(bench.form(here)).to.equal('plain');
    await bench.write({ ...here, node: 'n2' });
    await bench.run.pass(5000);
    expect(bench.form(here)).to.equal('none');
    bench.machine.failing.add(here.name);
    await bench.write(here);
    expect(await bench.watch(here, 6000)).to.deep.equal(['none']);
  });

  it('does not announce again what a person drained when it is stopped', async () => {
    const page = claimPage(1, PLAIN);
    const bench = await Bench.with(page);
    bench.process.agent.drain(undefined, 'maintenance');
    expect(await bench.watch(page, 5000)).to.deep.equal(['plain', 'draining', 'none']);
    bench.machine.terminate(() => undefined);
    expect(await bench.watch(page, 5000)).to.deep.equal(['none']);
    expect(bench.machine.process).to.equal(undefined);
  });

  it('stops in order: draining, withdrawn, address off, session closed', async () => {
    const page = claimPage(1, { ...PLAIN, bind: 'lo' });
    const bench = await Bench.with(page);
    expect(bench.ours()).to.deep.equal(['lo']);
    const told: string[] = [];
    bench.process.speaker.subscribe((event) => {
      if (event.kind === 'notification-sent') told.push(`cease ${event.text}`);
    });
    bench.machine.kernel.listen(() => told.push(`addresses ${bench.form(page)}`));
    bench.machine.terminate(() => told.push('over'));
    await bench.run.pass(2900);
    expect(bench.form(page)).to.equal('draining');
    expect(bench.process.agent.status().draining?.reason).to.equal('the agent stops (SIGTERM)');
    expect(bench.ours()).to.deep.equal(['lo']);
    await bench.run.pass(2000);
    expect(bench.ours()).to.deep.equal([]);
    expect(told.map((line) => line.split(' ')[0])).to.deep.equal(['addresses', 'cease', 'over']);
    expect(told[1]).to.equal('cease herald on n1 stops: SIGTERM');
  });

  it('does not take its own stop for the drain of a person: what is saved while it stops starts plain again', async () => {
    const page = claimPage(1, PLAIN);
    const bench = await Bench.with(page);
    // an edit, and the stop before it has been saved
    await bench.write({ ...page });
    bench.machine.terminate(() => undefined);
    await bench.run.pass(10_000);
    expect(bench.form(page)).to.equal('none');
    bench.machine.start();
    await bench.run.pass(5000);
    expect(bench.form(page)).to.equal('plain');
  });

  it('does not wait at the end when no neighbour is there to hear it', async () => {
    const bench = await Bench.with(claimPage(1, PLAIN));
    bench.router.crash();
    await bench.run.pass(100);
    let isOver = false;
    bench.machine.terminate(() => {
      isOver = true;
    });
    await bench.run.pass(100);
    expect(isOver).to.equal(true);
  });

  it('starts after a crash from what was saved: cleans up, joins, announces, with no word of its source', async () => {
    const page = claimPage(1, { ...PLAIN, bind: 'lo' });
    const bench = await Bench.with(page);
    bench.machine.kill();
    const stray = address('198.51.100.99');
    bench.machine.kernel.addAddress(stray, 'eth1', { ours: true });
    bench.machine.api = { isUp: false, failNext: 0 };
    bench.run.network.resetConnections(
      address(bench.machine.options.address),
      bench.router.options.address,
    );
    bench.machine.start();
    await bench.run.pass(3000);
    expect(bench.process.agent.status().stale?.sentence).to.include('could not be read since');
    expect(bench.ours()).to.deep.equal([]);
    expect(bench.form(page)).to.equal('none');
    bench.machine.api = { isUp: true, failNext: 0 };
    await bench.run.pass(4000);
    expect(bench.ours()).to.deep.equal(['lo']);
    expect(bench.form(page)).to.equal('plain');
    // 20 s after it was saved it is too old
    await bench.run.pass(20_000);
    expect(bench.form(page)).to.equal('none');
    expect(bench.ours()).to.deep.equal([]);
  });

  it('keeps a drain over a restart, without announcing what had left', async () => {
    const page = claimPage(1, PLAIN);
    const bench = await Bench.with(page);
    bench.process.agent.drain(address(page.address), 'maintenance');
    await bench.run.pass(4000);
    bench.machine.kill();
    bench.run.boot(bench.machine);
    expect(await bench.watch(page, 8000)).to.deep.equal(['none']);
    bench.process.agent.undrain(address(page.address));
    await bench.run.pass(100);
    expect(bench.form(page)).to.equal('plain');
  });

  it('keeps a drain that was asked for while its source is silent, and grows no younger by it', async () => {
    const page = claimPage(1, PLAIN);
    const bench = await Bench.with(page);
    const savedMs = bench.machine.stateFile?.wallMs;
    const restart = async () => {
      bench.machine.kill();
      bench.machine.start();
      bench.run.rewire();
      await bench.run.pass(4000);
    };
    await restart();
    expect(bench.process.agent.status().stale).to.not.equal(undefined);
    bench.process.agent.drain(undefined, 'maintenance');
    await bench.run.pass(1000);
    await restart();
    expect(bench.process.agent.status().draining).to.not.equal(undefined);
    expect(bench.form(page)).to.equal('none');
    expect(bench.machine.stateFile?.wallMs).to.equal(savedMs);
  });

  it('changes claims, pools and other peers without a new session', async () => {
    const page = claimPage(1, PLAIN);
    const bench = await Bench.with(page);
    await bench.write(page, claimPage(2, PLAIN));
    bench.run.publish({ poolEnd: 1 });
    await bench.run.pass(400);
    const peers = new Map([
      ...bench.run.book.peers,
      ['r2', { name: 'r2', maxRoutes: 5, holdSeconds: 3 }] as const,
    ]);
    bench.run.publish({ peers });
    await bench.run.pass(5000);
    expect(bench.established()).to.equal(1);
    expect(bench.form(page)).to.equal('plain');
    expect(bench.form(claimPage(2))).to.equal('none');
  });

  it('puts an address back that was taken off by hand, and the route never goes', async () => {
    const page = claimPage(1, { ...PLAIN, bind: 'lo' });
    const bench = await Bench.with(page);
    bench.machine.kernel.removeAddress(address(page.address), 'lo');
    expect(await bench.watch(page, 1000)).to.deep.equal(['plain']);
    expect(bench.ours()).to.deep.equal(['lo']);
  });

  for (const [words, waitMs] of [
    ['30 s', 30_000],
    ['10 minutes', 600_000],
  ] as const) {
    it(`waits ${words} for an interface, announces when it comes, and withdraws when it goes`, async () => {
      const page = claimPage(1, { ...PLAIN, bind: 'eth1' });
      const bench = await Bench.with(page, claimPage(2, PLAIN));
      expect(bench.form(page)).to.equal('plain');
      bench.machine.kernel.removeLink('eth1');
      await bench.run.pass(100);
      expect(bench.form(page)).to.equal('none');
      expect(await bench.watch(page, waitMs)).to.deep.equal(['none']);
      expect(bench.form(claimPage(2))).to.equal('plain');
      bench.machine.kernel.addLink('eth1');
      await bench.run.pass(100);
      expect(bench.form(page)).to.equal('plain');
      expect(bench.established()).to.equal(1);
    });
  }

  it('a router that comes 5 minutes after the agent has the routes within the connect-retry time', async () => {
    const page = claimPage(1, PLAIN);
    const bench = await Bench.with(page);
    bench.machine.kill();
    bench.router.crash();
    bench.run.boot(bench.machine);
    await bench.run.pass(300_000);
    expect(bench.established()).to.equal(0);
    bench.router.start();
    bench.run.rewire();
    const startedMs = bench.run.clock.now();
    while (bench.form(page) === 'none' && bench.run.clock.now() - startedMs < RETRY_MS + 1000) {
      await bench.run.pass(50);
    }
    expect(bench.form(page)).to.equal('plain');
    // jitter takes from the time and never adds to it; the rest is the handshake
    expect(bench.run.clock.now() - startedMs).to.be.at.most(RETRY_MS + 200);
  });
});
