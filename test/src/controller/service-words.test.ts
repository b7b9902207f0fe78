/** Warnings that one tenant causes at the Services of others: no address stands behind them. */

import { expect } from 'chai';
import { NAMESPACES, SERVICES } from '../../../src/sources/kube/resources.ts';
import { Bed } from '../../support/service-bed.ts';

const SERVED = 320;

describe('warnings at Services whose addresses somebody else lists', () => {
  let bed: Bed;
  /** ends one write of a status */
  const held: (() => void)[] = [];
  afterEach(() => bed.stop());

  beforeEach(async () => {
    bed = new Bed();
    bed.api.put(NAMESPACES, { metadata: { name: 'mallory' } });
    bed.pool('lab', ['10.0.0.0/20']);
    for (let index = 0; index < SERVED; index += 1) bed.service(`s${index}`);
    bed.run();
    await bed.settle(80);
    const addresses = Array.from({ length: SERVED }, (_, index) => bed.address(`s${index}`) ?? '');
    held.length = 0;
    bed.api.fault = ({ verb, resource }) =>
      verb === 'patch' && resource.plural === SERVICES.plural
        ? { kind: 'hold', until: new Promise((resolve) => held.push(resolve)) }
        : undefined;
    for (let index = 0; index < SERVED / 64; index += 1) {
      const externalIPs = addresses.slice(index * 64, index * 64 + 64);
      bed.api.put(SERVICES, {
        metadata: { namespace: 'mallory', name: `m${index}` },
        spec: { type: 'ClusterIP', ipFamilies: ['IPv4'], ports: [{ port: 80 }], externalIPs },
      });
    }
    await turns();
  });

  async function turns(): Promise<void> {
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
  }

  async function write(ms: number): Promise<void> {
    held.shift()?.();
    await turns();
    bed.clock.advance(ms);
  }

  const warned = () =>
    Array.from({ length: SERVED }, (_, index) =>
      JSON.stringify(bed.api.object(SERVICES, `a/s${index}`)),
    ).filter((text) => text.includes('ListedByOther')).length;

  it('are written, all of them, a few each second', async () => {
    for (let second = 0; second < 2; second += 1) {
      for (let part = 0; part < 100; part += 1) await write(10);
    }
    // 50 a second in a small cluster
    expect(warned()).to.be.within(50, 2 * 50 + 1);
    for (let part = 0; part < 400; part += 1) await write(100);
    expect(warned()).to.equal(SERVED);
  });

  it('come after the address of a new Service', async () => {
    bed.service('new');
    await turns();
    let writes = 0;
    while (bed.address('new') === undefined && writes < SERVED + 10) {
      await write(1);
      writes += 1;
    }
    expect(writes).to.be.at.most(4);
  });
});
