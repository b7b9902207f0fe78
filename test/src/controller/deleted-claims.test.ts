/** A claim that a person deletes while a node that may announce it is cut off: who gets it, when. */

import { expect } from 'chai';
import { ANYCAST_LABEL } from '../../../src/model/names.ts';
import { ApiUnreachable } from '../../../src/sources/kube/api.ts';
import {
  IP_CLAIMS,
  IP_NODES,
  NAMESPACES,
  NODES,
  SERVICES,
} from '../../../src/sources/kube/resources.ts';
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

describe('the address of a claim of a Service that somebody deleted', () => {
  let bed: Bed;
  beforeEach(async () => {
    bed = new Bed();
    bed.pool('p', [`${VIP}/32`]);
    bed.node('connected', '999999');
    bed.node('cut-off', '1');
    bed.run(MAX_STALE_MS);
    await bed.settle();
    bed.service('old');
    await bed.settle();
    label();
    await bed.settle();
  });
  afterEach(() => {
    bed.stop();
  });

  function label(): void {
    const claim = bed.claim(VIP);
    if (claim === undefined) throw new Error('no claim');
    const labels = { ...claim.metadata.labels, [ANYCAST_LABEL]: '' };
    bed.api.put(IP_CLAIMS, { ...claim, metadata: { ...claim.metadata, labels } });
  }

  async function released(): Promise<void> {
    bed.api.remove(SERVICES, 'a/old');
    await bed.settle();
    bed.service('web');
    await bed.settle();
    expect(bed.address('web')).to.equal(undefined);
  }

  it('is waited for as before where the claim was released', async () => {
    await released();
    bed.api.remove(IP_CLAIMS, VIP);
    await bed.settle();
    expect(bed.address('web')).to.equal(undefined);
    bed.node('cut-off', String(bed.api.version));
    await bed.settle();
    expect(bed.address('web')).to.equal(VIP);
    bed.exact();
  });

  it('is free after maxStale when we deleted it, though the answer to that is lost', async () => {
    await released();
    const later = Promise.withResolvers<void>();
    bed.api.fault = ({ verb, resource }) => {
      if (resource.plural !== IP_CLAIMS.plural) return undefined;
      if (verb === 'delete') return { kind: 'after', error: new ApiUnreachable('lost', undefined) };
      return verb === 'get' ? { kind: 'hold', until: later.promise } : undefined;
    };
    bed.clock.advance(MAX_STALE_MS);
    await bed.settle();
    bed.api.fault = undefined;
    later.resolve();
    await bed.settle();
    expect(bed.writes('delete', IP_CLAIMS.plural)).to.equal(1);
    expect(bed.address('web')).to.equal(VIP);
    bed.exact();
  });

  it('is not ours to free where a person deletes it between two attempts, taken back meanwhile', async () => {
    await released();
    bed.api.fault = ({ verb, resource }) =>
      verb === 'delete' && resource.plural === IP_CLAIMS.plural
        ? { kind: 'before', error: new ApiUnreachable('cut', undefined) }
        : undefined;
    bed.api.remove(SERVICES, 'a/web');
    bed.clock.advance(MAX_STALE_MS);
    await bed.settle(1);
    expect(bed.writes('delete', IP_CLAIMS.plural)).to.be.at.least(1);
    bed.service('old', { annotations: { 'herald.dev/addresses': VIP } });
    await bed.settle();
    expect(bed.address('old')).to.equal(VIP);
    bed.api.fault = undefined;
    bed.pool('p', [`${VIP}/32`], { serviceSelector: { matchLabels: { tier: 'none' } } });
    await bed.settle();
    bed.api.remove(IP_CLAIMS, VIP);
    bed.pool('p', [`${VIP}/32`]);
    bed.api.remove(SERVICES, 'a/old');
    bed.service('web');
    await bed.settle();
    expect(bed.address('web')).to.equal(undefined);
  });

  it('is kept as well where an answer to a write of ours says first that it is gone', async () => {
    const thaw = bed.freeze(IP_CLAIMS);
    await bed.settle(2);
    bed.api.remove(IP_CLAIMS, VIP);
    bed.api.remove(SERVICES, 'a/old');
    await bed.settle(2);
    expect(bed.writes('get', IP_CLAIMS.plural), 'it was looked up').to.be.at.least(1);
    thaw();
    await bed.settle();
    bed.service('web');
    await bed.settle();
    expect(bed.address('web')).to.equal(undefined);
    bed.node('cut-off', String(bed.api.version));
    await bed.settle();
    expect(bed.address('web')).to.equal(VIP);
  });

  it('is taken back by its Service at once', async () => {
    const uid = bed.claim(VIP)?.metadata.uid;
    bed.api.remove(IP_CLAIMS, VIP);
    await bed.settle();
    expect(bed.address('old')).to.equal(VIP);
    expect(bed.claim(VIP)?.metadata.uid).to.not.equal(uid);
    bed.exact();
  });

  it('is nobody else’s where its Service cannot have it any more', async () => {
    bed.api.put(NAMESPACES, { metadata: { name: 'a', labels: { tier: 'x' } } });
    bed.pool('p', [`${VIP}/32`], { serviceSelector: { matchLabels: { tier: 'x' } } });
    await bed.settle();
    expect(bed.address('old'), 'it keeps what it has').to.equal(VIP);
    const old = bed.api.object(SERVICES, 'a/old');
    const metadata = { namespace: 'a', name: 'web', labels: { tier: 'x' } };
    bed.api.put(SERVICES, { metadata, spec: old?.['spec'] });
    bed.api.remove(IP_CLAIMS, VIP);
    await bed.settle();
    expect(bed.address('old')).to.equal(undefined);
    expect(bed.address('web')).to.equal(undefined);
    bed.node('cut-off', String(bed.api.version));
    await bed.settle();
    expect(bed.address('web')).to.equal(VIP);
    bed.exact();
  });
});

describe('an address that 40 nodes may announce', () => {
  let bed: Bed;
  beforeEach(() => {
    bed = new Bed();
    bed.pool('p', [`${VIP}/32`]);
    for (let index = 0; index < 40; index += 1) bed.node(`n${index}`, '1');
  });
  afterEach(() => bed.stop());

  /** in an order that begins with none of the first ones, and jumps */
  async function allButOneAnswer(): Promise<void> {
    for (let index = 0; index < 39; index += 1) {
      bed.node(`n${(20 + index * 3) % 40}`, String(bed.api.version));
      await bed.settle(1);
    }
  }

  it('is free when all of them have let go of the claim that a person deleted, and no sooner', async () => {
    const metadata = { name: VIP, labels: { [ANYCAST_LABEL]: '' } };
    bed.api.put(IP_CLAIMS, { metadata, spec: { pool: 'p' } });
    bed.run(MAX_STALE_MS);
    await bed.settle();
    bed.api.remove(IP_CLAIMS, VIP);
    await bed.settle();
    bed.service('web');
    await allButOneAnswer();
    expect(bed.address('web')).to.equal(undefined);
    bed.node(`n${(20 + 39 * 3) % 40}`, String(bed.api.version));
    await bed.settle();
    expect(bed.address('web')).to.equal(VIP);
  });

  it('is free when all of them have let go of the claim that its Service gave back, and no sooner', async () => {
    bed.service('old');
    bed.run(MAX_STALE_MS);
    await bed.settle();
    bed.api.remove(SERVICES, 'a/old');
    bed.service('web');
    await bed.settle();
    await allButOneAnswer();
    expect(bed.address('web')).to.equal(undefined);
    bed.node(`n${(20 + 39 * 3) % 40}`, String(bed.api.version));
    await bed.settle();
    expect(bed.address('web')).to.equal(VIP);
  });
});
