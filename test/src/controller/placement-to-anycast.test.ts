/** An exclusive claim becomes anycast: who announced it leaves when the others have had their time. */

import { expect } from 'chai';
import { ANYCAST_LABEL, nodeLabel } from '../../../src/model/names.ts';
import { IP_POOLS } from '../../../src/sources/kube/resources.ts';
import { exclusivePool } from '../../support/fake-agents.ts';
import { Bed } from './placement-bed.ts';

describe('PlacementLoop: the holder of a claim that became anycast', () => {
  const placement = { mode: 'anycast', nodeFilter: 'fair', prependStep: 3 };
  const labels = (holder: string) => ({ [ANYCAST_LABEL]: '', [nodeLabel(holder)]: '0' });
  let bed: Bed;
  let generation = 1;
  const edit = (more: Readonly<Record<string, unknown>>) => {
    generation += 1;
    bed.api.put(IP_POOLS, { ...exclusivePool('p', more), metadata: { name: 'p', generation } });
  };

  afterEach(() => bed.stop());

  async function becomeAnycast(spec: object = {}): Promise<string> {
    bed = new Bed();
    await bed.join('a', 'b', 'c');
    bed.control();
    await bed.run(12);
    bed.claim(0, spec);
    await bed.run(3);
    const holder = String(bed.node(0));
    bed.isAnswering = false;
    edit({ placement });
    return holder;
  }

  it('announces it beside the others until those have had their time', async () => {
    const holder = await becomeAnycast();
    await bed.run(5);
    expect(bed.labels(0)).to.deep.equal(labels(holder));
    expect(bed.node(0)).to.equal(holder);
    await bed.run(6);
    expect(bed.labels(0)).to.deep.equal({ [ANYCAST_LABEL]: '' });
    expect(bed.node(0)).to.equal(undefined);
  });

  it('gives the others the time that its checks take, too', async () => {
    const tcp = { host: '192.0.2.1', port: 80 };
    const opens = { intervalSeconds: 2, timeoutSeconds: 1, successes: 5, settleSeconds: 0 };
    const check = { tcp, ...opens, failures: 3 };
    const holder = await becomeAnycast({ checks: [check] });
    await bed.run(24);
    expect(bed.labels(0)).to.deep.equal(labels(holder));
    await bed.run(6);
    expect(bed.labels(0)).to.deep.equal({ [ANYCAST_LABEL]: '' });
  });

  it('gives them their time anew after a change of leader', async () => {
    const holder = await becomeAnycast();
    await bed.run(8);
    for (const controller of bed.controllers) controller.stop();
    bed.control();
    await bed.run(8);
    expect(bed.labels(0)).to.deep.equal(labels(holder));
    await bed.run(4);
    expect(bed.labels(0)).to.deep.equal({ [ANYCAST_LABEL]: '' });
  });

  it('gives them their time anew where it was exclusive again in between', async () => {
    const holder = await becomeAnycast();
    await bed.run(8);
    bed.isAnswering = true;
    edit({});
    await bed.run(3);
    expect(bed.labels(0)).to.deep.equal({ [nodeLabel(holder)]: '0' });
    edit({ placement });
    await bed.run(8);
    expect(bed.labels(0)).to.deep.equal(labels(holder));
    await bed.run(4);
    expect(bed.labels(0)).to.deep.equal({ [ANYCAST_LABEL]: '' });
  });
});
