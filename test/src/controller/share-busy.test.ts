/** A sharing key under which a claim is being written: which other Services with that key wait for it. */

import { expect } from 'chai';
import { ANNOTATION } from '../../../src/model/names.ts';
import { IP_CLAIMS, NAMESPACES, SERVICES } from '../../../src/sources/kube/resources.ts';
import { Bed } from '../../support/service-bed.ts';

describe('a sharing key under which a claim is being written', () => {
  let bed: Bed;
  let endOfWrite: () => void;
  beforeEach(() => {
    bed = new Bed();
    bed.api.put(NAMESPACES, { metadata: { name: 'b' } });
    const { promise, resolve } = Promise.withResolvers<void>();
    endOfWrite = resolve;
    bed.api.fault = ({ verb, resource }) =>
      verb === 'create' &&
      resource.plural === IP_CLAIMS.plural &&
      bed.writes('create', 'ipclaims') === 1
        ? { kind: 'hold', until: promise }
        : undefined;
  });
  afterEach(() => bed.stop());

  const annotations = { [ANNOTATION.share]: 'web' };

  async function writes(pool: object, named: object = {}): Promise<void> {
    bed.pool('lab', ['192.0.2.0/28'], pool);
    bed.api.put(SERVICES, {
      metadata: { namespace: 'b', name: 'first', annotations: { ...annotations, ...named } },
      spec: {
        type: 'LoadBalancer',
        loadBalancerClass: 'herald.dev/herald',
        ipFamilies: ['IPv4'],
        ports: [{ port: 443, protocol: 'TCP' }],
      },
    });
    bed.run();
    await bed.settle(2);
    expect(bed.writes('create', 'ipclaims')).to.equal(1);
    bed.service('second', { annotations });
    await bed.settle(2);
  }

  it('keeps no Service of another namespace waiting where no pool lets the two share', async () => {
    await writes({ shareAcross: ['a', 'c'] });
    expect(bed.address('second')).to.equal('192.0.2.1');
  });

  it('keeps no Service of another namespace waiting where the one that writes names its address', async () => {
    await writes({ shareAcross: ['a', 'b'] }, { [ANNOTATION.addresses]: '192.0.2.0' });
    expect(bed.address('second')).to.equal('192.0.2.1');
  });

  it('keeps those waiting that may share with it, and they get the same address', async () => {
    await writes({ shareAcross: ['a', 'b'] });
    expect(bed.address('second')).to.equal(undefined);
    endOfWrite();
    await bed.settle();
    expect(bed.address('second')).to.equal('192.0.2.0');
  });
});
