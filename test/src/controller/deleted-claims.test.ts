/** A claim that a person deletes while a node that may announce it is cut off: who gets it, when. */

import { expect } from 'chai';
import { ANYCAST_LABEL } from '../../../src/model/names.ts';
import { IP_CLAIMS, IP_NODES, NODES, SERVICES } from '../../../src/sources/kube/resources.ts';
import { Bed } from '../../support/service-bed.ts';

const VIP = '192.0.2.0';
const MAX_STALE_MS = 3_600_000;

describe('the address of a claim that a person deleted', () => {
  let bed: Bed;
  beforeEach(async () => {
    bed = new Bed();
    bed.pool('p', [`${VIP}/32`]);
    claimByHand();
    bed.node('connected', '999999');
    bed.node('cut-off', '1');
    bed.run(MAX_STALE_MS);
    await bed.settle();
    bed.api.remove(IP_CLAIMS, VIP);
    await bed.settle();
    bed.service('web');
    await bed.settle();
  });
  afterEach(() => {
    bed.stop();
  });

  function claimByHand(): void {
    const metadata = { name: VIP, labels: { [ANYCAST_LABEL]: '' } };
    bed.api.put(IP_CLAIMS, { metadata, spec: { pool: 'p' } });
  }

  const said = (name: string) => JSON.stringify(bed.api.object(SERVICES, `a/${name}`));

  it('is nobody’s while a node may announce it, and goes to who waits when that has let go', async () => {
    expect(bed.address('web')).to.equal(undefined);
    bed.node('cut-off', String(bed.api.version));
    await bed.settle();
    expect(bed.address('web')).to.equal(VIP);
    bed.exact();
  });

  it('is free when the Node is deleted', async () => {
    bed.api.remove(NODES, 'cut-off');
    await bed.settle();
    expect(bed.address('web')).to.equal(VIP);
  });

  it('is free when the IPNode is', async () => {
    bed.api.remove(IP_NODES, 'cut-off');
    await bed.settle();
    expect(bed.address('web')).to.equal(VIP);
  });

  it('is free after maxStale', async () => {
    bed.clock.advance(MAX_STALE_MS);
    await bed.settle();
    expect(bed.address('web')).to.equal(VIP);
  });

  it('may be claimed by hand again at once', async () => {
    claimByHand();
    await bed.settle();
    expect(said('web')).to.include('PoolExhausted');
    bed.node('cut-off', String(bed.api.version));
    await bed.settle();
    expect(bed.address('web'), 'it has a claim').to.equal(undefined);
  });

  it('is waited for by name, too', async () => {
    bed.service('wants', { annotations: { 'herald.dev/addresses': VIP } });
    await bed.settle();
    expect(said('wants')).to.include('AddressQuarantined');
  });
});
