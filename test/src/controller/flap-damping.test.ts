import { expect } from 'chai';
import type { KubeObject } from '../../../src/sources/kube/api.ts';
import { IP_CLAIMS, SERVICES } from '../../../src/sources/kube/resources.ts';
import { Bed } from '../../support/service-bed.ts';

const VIP = '192.0.2.0';

/** what every node hears: the claim as it is written, announced or not */
class Writes {
  readonly seen: { readonly atMs: number; readonly isOut: boolean }[] = [];
  readonly #bed: Bed;
  #version = '';

  constructor(bed: Bed) {
    this.#bed = bed;
  }

  look(atMs: number): void {
    const claim: KubeObject | undefined = this.#bed.claim(VIP);
    const { resourceVersion = '' } = claim?.metadata ?? {};
    if (resourceVersion === this.#version) return;
    this.#version = resourceVersion;
    this.seen.push({ atMs, isOut: 'withdrawn' in this.#bed.spec(VIP) });
  }
}

describe('endpoints that come and go (C17)', () => {
  let bed: Bed;
  let writes: Writes;
  let nowMs: number;
  beforeEach(async () => {
    bed = new Bed();
    bed.pool('lab', ['192.0.2.0/29']);
    bed.service('web');
    bed.endpoints('web', 1);
    bed.run();
    await bed.settle();
    writes = new Writes(bed);
    writes.look(0);
    nowMs = 0;
  });
  afterEach(() => bed.stop());

  /** time passes in small steps, and each write of the claim is noted */
  async function pass(ms: number): Promise<void> {
    for (const endMs = nowMs + ms; nowMs < endMs; nowMs += 50) {
      bed.clock.advance(50);
      for (let turn = 0; turn < 12; turn += 1) await new Promise(setImmediate);
      writes.look(nowMs + 50);
    }
  }
  const set = async (count: number, ms: number) => {
    bed.endpoints('web', count);
    await pass(ms);
  };
  const isOut = () => 'withdrawn' in bed.spec(VIP);
  const reason = (): string =>
    JSON.parse(JSON.stringify(bed.spec(VIP)['withdrawn'] ?? {})).reason ?? '';

  it('withdraws and announces at once the first time', async () => {
    await set(0, 100);
    expect(isOut()).to.equal(true);
    expect(reason()).to.equal('NoEndpoints: no Service of this claim has an endpoint');
    await set(1, 100);
    expect(isOut()).to.equal(false);
  });

  it('writes the claim a few times where a pod flaps 129 times in 20 s', async () => {
    const before = bed.writes('patch', IP_CLAIMS.plural);
    for (let flap = 0; flap < 129; flap += 1) {
      await set(0, 50);
      await set(1, 100);
    }
    // undamped: 258
    expect(bed.writes('patch', IP_CLAIMS.plural) - before).to.be.below(9);
  });

  it('holds back what comes after the second withdrawal within a minute, longer each time, and never a withdrawal', async () => {
    const holds: number[] = [];
    for (let flap = 0; flap < 7; flap += 1) {
      const outMs = nowMs;
      await set(0, 50);
      expect(isOut(), `withdrawal ${flap + 1} is at once`).to.equal(true);
      bed.endpoints('web', 1);
      while (isOut()) await pass(50);
      holds.push(Math.round((nowMs - outMs) / 1000));
      await pass(500);
    }
    expect(holds).to.deep.equal([0, 10, 20, 40, 60, 60, 60]);
  });

  it('counts anew after a minute of being announced', async () => {
    await set(0, 100);
    await set(1, 100);
    await pass(60_000);
    await set(0, 100);
    await set(1, 100);
    expect(isOut()).to.equal(false);
  });

  it('says how often and until when, in the claim, with the write that withdraws it and no other', async () => {
    await set(0, 100);
    await set(1, 100);
    const before = writes.seen.length;
    await set(0, 100);
    expect(reason()).to.match(
      /^NoEndpoints: its Services had no endpoint 2 times, .* at \d{4}-\d\d-\d\dT[\d:]+Z at the earliest$/,
    );
    await set(1, 5000);
    await set(0, 1000);
    await set(1, 3000);
    expect(writes.seen.length - before, 'one write').to.equal(1);
    await pass(2000);
    expect(isOut()).to.equal(false);
  });

  it('does not hold back a Service whose endpoints are away for longer', async () => {
    await set(0, 100);
    await set(1, 100);
    await set(0, 15_000);
    await set(1, 100);
    expect(isOut()).to.equal(false);
  });

  it('goes by the claim: another Service that takes the address later has its own count', async () => {
    await set(0, 100);
    await set(1, 100);
    bed.api.remove(SERVICES, 'a/web');
    await bed.settle();
    expect(bed.claim(VIP)).to.equal(undefined);
    bed.service('next');
    bed.endpoints('next', 1);
    await bed.settle();
    bed.endpoints('next', 0);
    await pass(100);
    expect(reason()).to.equal('NoEndpoints: no Service of this claim has an endpoint');
    bed.endpoints('next', 1);
    await pass(100);
    expect(isOut()).to.equal(false);
  });

  describe('of one of two Services that share the address', () => {
    beforeEach(async () => {
      const annotations = { 'herald.dev/share': 'word' };
      bed.service('web', { annotations });
      await bed.settle();
      bed.service('other', { annotations, spec: { ports: [{ port: 81, protocol: 'TCP' }] } });
      await bed.settle();
      expect(bed.spec(VIP)['services']).to.have.length(2);
    });
    const setOther = async (count: number, ms: number) => {
      bed.endpoints('other', count);
      await pass(ms);
    };

    it('do not hold back the other one', async () => {
      await set(0, 100);
      for (let flap = 0; flap < 10; flap += 1) {
        await setOther(1, 100);
        await setOther(0, 100);
      }
      await setOther(1, 100);
      expect(isOut(), 'the one that flaps is held back').to.equal(true);
      await set(1, 100);
      expect(isOut(), 'the other one is not').to.equal(false);
      await setOther(0, 100);
      await setOther(1, 60_000);
      await set(0, 100);
      expect(isOut(), 'it is announced by the one that is there').to.equal(false);
    });

    it('are held back longer each time all the same', async () => {
      await set(0, 100);
      const writesBefore = bed.writes('patch', IP_CLAIMS.plural);
      for (let flap = 0; flap < 100; flap += 1) {
        await setOther(1, 100);
        await setOther(0, 50);
      }
      // undamped: 200
      expect(bed.writes('patch', IP_CLAIMS.plural) - writesBefore).to.be.below(9);
    });
  });
});
