import { expect } from 'chai';
import fc from 'fast-check';
import { ROUTER_LATE_SECONDS } from '../../../src/model/router-memory.ts';
import { Liveness } from '../../../src/scheduler/liveness.ts';

/** nodes that renew every 5 s on a clock of the test's, and a controller's Lease that changes every 2 s */
class Cluster {
  nowMs = 0;
  readonly liveness: Liveness;
  readonly #silent = new Set<string>();
  readonly #nodes: readonly string[];
  /** kubelets renew, too */
  hasKubelets = false;
  /** what Leases say of their length */
  durationSeconds: number | undefined;
  #isDeaf = false;
  #count = 0;

  constructor(nodes: readonly string[]) {
    this.#nodes = nodes;
    this.liveness = new Liveness(0);
    for (const node of nodes) this.liveness.see(node, this.lease(node), 0, true);
  }

  lease(node: string, more: { uid?: string; isReleased?: boolean } = {}) {
    this.#count += 1;
    const { durationSeconds } = this;
    const length = durationSeconds === undefined ? {} : { durationSeconds };
    return { uid: `${node}-uid`, mark: String(this.#count), isReleased: false, ...length, ...more };
  }

  silence(...nodes: readonly string[]): void {
    for (const node of nodes) this.#silent.add(node);
  }

  wake(...nodes: readonly string[]): void {
    for (const node of nodes) this.#silent.delete(node);
  }

  /** nothing at all is heard */
  set isDeaf(isDeaf: boolean) {
    this.#isDeaf = isDeaf;
  }

  run(seconds: number): void {
    for (let second = 0; second < seconds; second += 1) {
      this.nowMs += 1000;
      const at = this.nowMs / 1000;
      if (!this.#isDeaf) this.#speak(at);
      this.liveness.look(this.nowMs);
    }
  }

  #speak(at: number): void {
    if (at % 2 === 0) this.liveness.hear(this.nowMs);
    if (at % 10 === 3 && this.hasKubelets) this.liveness.hearOther(this.nowMs);
    this.#nodes.forEach((node, index) => {
      if (at % 5 !== index % 5 || this.#silent.has(node)) return;
      this.liveness.see(node, this.lease(node), this.nowMs);
    });
  }

  life(node: string): string {
    return this.liveness.lifeOf(node, this.nowMs);
  }
}

const THREE = ['a', 'b', 'c'] as const;

function running(nodes: readonly string[] = THREE): Cluster {
  const cluster = new Cluster(nodes);
  cluster.run(11);
  return cluster;
}

describe('liveness', () => {
  it('believes in a node after two renewals that it has seen itself', () => {
    const cluster = new Cluster(THREE);
    cluster.run(4);
    expect(cluster.life('b')).to.equal('unproven');
    cluster.run(7);
    expect(THREE.map((node) => cluster.life(node))).to.deep.equal(['alive', 'alive', 'alive']);
  });

  it('knows a renewal as one of after a moment by the second that it sees', () => {
    const liveness = new Liveness(0);
    const see = (mark: string, ms: number, isFirstLook = false) =>
      liveness.see('a', { uid: 'a', mark, isReleased: false }, ms, isFirstLook);
    const seen = (ms: number) => liveness.hasRenewedTwice('a', ms);
    expect(seen(0), 'nobody knows it').to.equal(false);
    see('1', 0, true);
    see('1', 1000);
    see('2', 5000);
    expect(seen(0), 'it may have been renewed long ago').to.equal(false);
    see('3', 10_000);
    expect(seen(0)).to.equal(true);
    expect(seen(5000), 'that one may be of before').to.equal(false);
    liveness.hear(200_000);
    expect(seen(5000), 'time alone proves nothing').to.equal(false);
  });

  it('never believes in a node that was dead when it began to look, and says so after 15 s', () => {
    const cluster = new Cluster(THREE);
    cluster.silence('b');
    cluster.run(14);
    expect(cluster.life('b')).to.equal('unproven');
    cluster.run(2);
    expect(cluster.life('b')).to.equal('dead');
    expect(cluster.life('a')).to.equal('alive');
  });

  it('knows that it has not heard all that may live, in the beginning and not for long', () => {
    const cluster = new Cluster(THREE);
    cluster.silence('c');
    const seconds: number[] = [];
    for (let second = 1; second <= 20; second += 1) {
      cluster.run(1);
      if (cluster.liveness.isLearning(cluster.nowMs)) seconds.push(second);
    }
    // b renews at 1 s and 6 s, a at 5 s and 10 s; c is not waited for
    expect(seconds).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(new Liveness(0).isLearning(1)).to.equal(false);
  });

  it('calls a silent node dead after 15 s, and trusts it again after two renewals', () => {
    const cluster = running();
    cluster.silence('b');
    cluster.run(14);
    expect(cluster.life('b')).to.equal('alive');
    cluster.run(6);
    expect(cluster.life('b')).to.equal('dead');
    cluster.wake('b');
    cluster.run(5);
    expect(cluster.life('b')).to.equal('unproven');
    cluster.run(5);
    expect(cluster.life('b')).to.equal('alive');
  });

  for (const nodes of [['a'], ['a', 'b'], THREE]) {
    it(`holds a stall in which nobody is heard against nobody (${nodes.length} nodes)`, () => {
      const cluster = running(nodes);
      cluster.isDeaf = true;
      cluster.run(60);
      expect(nodes.map((node) => cluster.life(node))).to.deep.equal(nodes.map(() => 'alive'));
      cluster.isDeaf = false;
      cluster.run(20);
      expect(nodes.map((node) => cluster.life(node))).to.deep.equal(nodes.map(() => 'alive'));
    });
  }

  it('counts a Lease that was made anew as a sign of life, whatever it says', () => {
    const cluster = running();
    cluster.liveness.lose('b');
    cluster.silence('b');
    for (let count = 0; count < 5; count += 1) {
      cluster.run(10);
      // the same words each time, as of an agent that counts from the beginning
      const lease = { uid: `another-${count}`, mark: '0', isReleased: false };
      cluster.liveness.see('b', lease, cluster.nowMs);
      expect(cluster.life('b')).to.equal('alive');
    }
  });

  it('calls a node dead whose Lease is gone and stays away', () => {
    const cluster = running();
    cluster.silence('b');
    cluster.liveness.lose('b');
    cluster.run(20);
    expect(cluster.life('b')).to.equal('dead');
  });

  it('calls a node dead that never had a Lease, once it has looked for 15 s', () => {
    const cluster = new Cluster(THREE);
    expect(cluster.life('x')).to.equal('unproven');
    cluster.run(16);
    expect(cluster.life('x')).to.equal('dead');
  });

  it('calls a node gone the moment its agent empties the Lease', () => {
    const cluster = running();
    cluster.liveness.see('b', cluster.lease('b', { isReleased: true }), cluster.nowMs);
    expect(cluster.life('b')).to.equal('released');
    cluster.run(5);
    expect(cluster.life('b')).to.equal('unproven');
  });

  it('is blind when two of three fall silent together, for one further duration and no longer', () => {
    const cluster = running();
    cluster.silence('a', 'b');
    // b was heard last at 11 s, a at 10 s
    cluster.run(28);
    expect(cluster.liveness.look(cluster.nowMs)).to.deep.equal({ isBlind: true, late: 2, of: 3 });
    expect([cluster.life('a'), cluster.life('b')]).to.deep.equal(['unheard', 'unheard']);
    cluster.run(1);
    expect([cluster.life('a'), cluster.life('b')]).to.deep.equal(['dead', 'dead']);
    expect(cluster.life('c')).to.equal('alive');
    expect(cluster.liveness.look(cluster.nowMs).isBlind).to.equal(false);
  });

  it('finds out that one of two was only cut off, within that time', () => {
    const cluster = running();
    cluster.silence('a', 'b');
    cluster.run(20);
    expect(cluster.life('a')).to.equal('unheard');
    cluster.wake('a');
    cluster.run(10);
    expect([cluster.life('a'), cluster.life('b')]).to.deep.equal(['alive', 'dead']);
  });

  it('finds 60 of 100 dead that fell silent together', () => {
    const nodes = Array.from({ length: 100 }, (_, index) => `n${index}`);
    const cluster = running(nodes);
    const rack = nodes.slice(0, 60);
    cluster.silence(...rack);
    cluster.run(25);
    expect(new Set(rack.map((node) => cluster.life(node)))).to.deep.equal(new Set(['unheard']));
    cluster.run(8);
    expect(new Set(rack.map((node) => cluster.life(node)))).to.deep.equal(new Set(['dead']));
    expect(cluster.liveness.look(cluster.nowMs).isBlind).to.equal(false);
    expect(cluster.life('n60')).to.equal('alive');
  });

  for (const nodes of [['a'], ['a', 'b'], THREE]) {
    it(`calls nobody dead while it sees only its own writes taken (${nodes.length} nodes), and all while kubelets renew`, () => {
      const cluster = running(nodes);
      cluster.silence(...nodes);
      cluster.run(300);
      expect(nodes.map((node) => cluster.life(node))).to.deep.equal(nodes.map(() => 'unheard'));
      cluster.hasKubelets = true;
      cluster.run(12);
      expect(nodes.map((node) => cluster.life(node))).to.deep.equal(nodes.map(() => 'dead'));
    });
  }

  describe('by the duration that each Lease says', () => {
    /** one whose Lease says so many seconds, one of 15 s, and a controller that renews every 2 s, in steps of 100 ms */
    class Pair {
      readonly liveness = new Liveness(0);
      readonly #seconds: number;
      #nowMs = 0;
      #count = 0;

      constructor(seconds: number) {
        this.#seconds = seconds;
        this.advance(20_000, ['short', 'long']);
      }

      advance(ms: number, speakers: readonly string[]): void {
        const endMs = this.#nowMs + ms;
        while (this.#nowMs < endMs) {
          this.#nowMs += 100;
          if (this.#nowMs % 2000 === 0) this.liveness.hear(this.#nowMs);
          for (const name of speakers) this.#speak(name);
          this.liveness.look(this.#nowMs);
        }
      }

      #speak(name: string): void {
        const isShort = name === 'short';
        if (this.#nowMs % (isShort ? 600 : 5000) !== 0) return;
        this.#count += 1;
        const durationSeconds = isShort ? this.#seconds : 15;
        const lease = { uid: 'uid', mark: String(this.#count), isReleased: false, durationSeconds };
        this.liveness.see(name, lease, this.#nowMs);
      }

      stall(ms: number): void {
        this.#nowMs += ms;
      }

      life(name: string): string {
        return this.liveness.lifeOf(name, this.#nowMs);
      }
    }

    it('gives a node up after 2 s that promised 2 s, beside one that promised 15 s', () => {
      const pair = new Pair(2);
      expect([pair.life('short'), pair.life('long')]).to.deep.equal(['alive', 'alive']);
      pair.advance(1500, ['long']);
      expect(pair.life('short')).to.equal('alive');
      // 2 s of silence need somebody who is heard: the one that renews every 5 s, and the controller
      pair.advance(8000, ['long']);
      expect([pair.life('short'), pair.life('long')]).to.deep.equal(['dead', 'alive']);
    });

    it('waits for the routers of one that promised 2 s hardly longer than for those of another', () => {
      const pair = new Pair(2);
      pair.liveness.setRouters('short', 93_000);
      pair.advance(93_000, ['long']);
      expect(pair.life('short')).to.equal('silent');
      // it may have died at the end of a stall of 6 s, and of a renewal interval
      pair.advance(8000, ['long']);
      expect(pair.life('short')).to.equal('dead');
    });

    it('gives no stall away to the routers: who died at its end is remembered for as long', () => {
      const pair = new Pair(2);
      pair.liveness.setRouters('short', 12_000);
      pair.stall(5900);
      pair.advance(12_000, ['long']);
      expect(pair.life('short')).to.equal('silent');
    });

    it('takes nothing shorter than 2 s and nothing longer than 15 s', () => {
      const hasty = new Pair(1);
      hasty.advance(1500, ['long']);
      expect(hasty.life('short')).to.equal('alive');
      const slow = new Pair(3600);
      slow.advance(25_000, ['long']);
      expect(slow.life('short')).to.equal('dead');
    });

    it('calls a Lease that was given back gone, though it says one second', () => {
      const pair = new Pair(15);
      const released = { uid: 'uid', mark: 'last', isReleased: true, durationSeconds: 1 };
      pair.liveness.see('short', released, 20_000);
      expect(pair.life('short')).to.equal('released');
    });

    it('holds a stall of 5 s against nobody whose Lease lasts 2 s', () => {
      const pair = new Pair(2);
      pair.stall(5000);
      expect([pair.life('short'), pair.life('long')]).to.deep.equal(['alive', 'alive']);
      // the first that is heard again is no proof against the other
      pair.liveness.hearOther(25_000);
      pair.liveness.look(25_000);
      expect(pair.life('short')).to.equal('alive');
    });
  });

  it('gives a silent node away only when its routers have forgotten it', () => {
    const cluster = running();
    cluster.liveness.setRouters('b', 33_000);
    cluster.silence('b');
    cluster.run(30);
    expect(cluster.life('b')).to.equal('silent');
    // 33 s after a death that may have come 5.5 s after the last renewal
    cluster.run(8);
    expect(cluster.life('b')).to.equal('silent');
    cluster.run(1);
    expect(cluster.life('b')).to.equal('dead');
  });

  for (const { holdSeconds, dueMs } of [
    { holdSeconds: 6, dueMs: 15_000 },
    { holdSeconds: 9, dueMs: 17_500 },
    { holdSeconds: 90, dueMs: 98_500 },
  ]) {
    it(`gives a node away ${dueMs} ms after its last renewal with a hold time of ${holdSeconds} s`, () => {
      const liveness = new Liveness(0);
      const lease = { isReleased: false, durationSeconds: 15 };
      for (const atMs of [0, 5000, 10_000]) {
        for (const name of ['a', 'b']) {
          liveness.see(name, { ...lease, uid: name, mark: String(atMs) }, atMs);
        }
      }
      liveness.setRouters('b', (holdSeconds + ROUTER_LATE_SECONDS) * 1000);
      const lifeAfter = (ms: number) => {
        liveness.look(10_000 + ms);
        return liveness.lifeOf('b', 10_000 + ms);
      };
      for (let ms = 5000; ms < dueMs; ms += 5000) {
        liveness.see('a', { ...lease, uid: 'a', mark: String(10_000 + ms) }, 10_000 + ms);
      }
      expect(lifeAfter(dueMs - 1)).not.to.equal('dead');
      expect(lifeAfter(dueMs)).to.equal('dead');
    });
  }

  it('never gives one away whose routers never forget, until somebody deletes its Node', () => {
    const cluster = running();
    cluster.liveness.setRouters('b', Number.POSITIVE_INFINITY);
    cluster.silence('b');
    cluster.run(3600);
    expect(cluster.life('b')).to.equal('silent');
    cluster.liveness.setDeparted('b', true);
    expect(cluster.life('b')).to.equal('dead');
  });

  it('is not blind when they die one after the other', () => {
    const cluster = running();
    cluster.silence('a');
    cluster.run(25);
    cluster.silence('b');
    cluster.run(25);
    expect([cluster.life('a'), cluster.life('b')]).to.deep.equal(['dead', 'dead']);
    expect(cluster.life('c')).to.equal('alive');
  });

  it('knows from an earlier controller that one was dead before', () => {
    const cluster = new Cluster(THREE);
    cluster.silence('a', 'b');
    cluster.liveness.knowDead('a', cluster.nowMs);
    cluster.run(20);
    expect([cluster.life('a'), cluster.life('b')]).to.deep.equal(['dead', 'dead']);
  });

  it('takes the word of the controller that leads, which may be a moment ahead', () => {
    const cluster = running();
    cluster.silence('a');
    cluster.run(6);
    cluster.silence('b');
    cluster.run(8);
    expect(cluster.liveness.look(cluster.nowMs).isBlind).to.equal(true);
    // the leader has found it dead by now, and dies with the second machine
    cluster.liveness.knowDead('a', cluster.nowMs);
    cluster.run(20);
    expect([cluster.life('a'), cluster.life('b')]).to.deep.equal(['dead', 'dead']);
  });

  it('does not take an old word about one that it has just heard', () => {
    const cluster = running();
    cluster.liveness.knowDead('a', cluster.nowMs);
    cluster.silence('a', 'b');
    cluster.run(20);
    expect([cluster.life('a'), cluster.life('b')]).to.deep.equal(['unheard', 'unheard']);
  });

  it('believes a person who deletes the Nodes of those that are silent', () => {
    const cluster = running();
    cluster.silence('a', 'b');
    cluster.run(20);
    cluster.liveness.setDeparted('a', true);
    cluster.run(1);
    expect([cluster.life('a'), cluster.life('b')]).to.deep.equal(['dead', 'dead']);
  });

  it('does not go blind over Leases of nodes that went before it began', () => {
    const stale = Array.from({ length: 10 }, (_, index) => `old${index}`);
    const cluster = new Cluster([...THREE, 'd', 'e', ...stale]);
    cluster.silence(...stale);
    for (const node of stale) cluster.liveness.setDeparted(node, true);
    for (let second = 0; second < 40; second += 1) {
      cluster.run(1);
      expect(cluster.liveness.look(cluster.nowMs).isBlind, `after ${second} s`).to.equal(false);
    }
    expect(cluster.life('e')).to.equal('alive');
    expect(cluster.life('old0')).to.equal('dead');
  });

  it('learns nothing from a node that is gone', () => {
    const cluster = new Cluster(['old']);
    expect(cluster.liveness.isLearning(0)).to.equal(true);
    cluster.liveness.setDeparted('old', true);
    expect(cluster.liveness.isLearning(0)).to.equal(false);
  });

  it('forgets one that is gone when it has been silent for long enough to be dead', () => {
    const cluster = running();
    cluster.silence('a');
    expect(cluster.liveness.forget('a', cluster.nowMs)).to.equal(false);
    expect(cluster.life('a')).to.equal('alive');
    cluster.run(20);
    expect(cluster.liveness.forget('a', cluster.nowMs)).to.equal(true);
    expect(cluster.life('a')).to.equal('dead');
    expect([...cluster.liveness.names]).to.have.members(['b', 'c']);
  });

  it('loses a rack of 40 out of 1,000 without going blind', () => {
    const nodes = Array.from({ length: 1000 }, (_, index) => `n${index}`);
    const cluster = running(nodes);
    const rack = nodes.slice(0, 40);
    cluster.silence(...rack);
    cluster.run(20);
    expect(new Set(rack.map((node) => cluster.life(node)))).to.deep.equal(new Set(['dead']));
    expect(cluster.life('n40')).to.equal('alive');
  });

  it('never calls a node dead that renews in time, whatever the others do', () => {
    const acts = fc.array(fc.tuple(fc.constantFrom('b', 'c', 'd'), fc.boolean(), fc.nat(30)), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(acts, (script) => {
        const cluster = running(['a', 'b', 'c', 'd']);
        for (const [node, isSilent, seconds] of script) {
          if (isSilent) cluster.silence(node);
          else cluster.wake(node);
          cluster.run(seconds);
          expect(cluster.life('a')).to.equal('alive');
        }
      }),
    );
  });
});
