/** A sharing key under which a claim is being written: which other Services with that key wait for it. */

import { expect } from 'chai';
import { ANNOTATION } from '../../../src/model/names.ts';
import { IP_CLAIMS, NAMESPACES, SERVICES } from '../../../src/sources/kube/resources.ts';
import type { MemoryCall } from '../../support/memory-kube-api.ts';
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

  function ofOther(name: string, named: object = {}): void {
    bed.api.put(SERVICES, {
      metadata: { namespace: 'b', name, annotations: { ...annotations, ...named } },
      spec: {
        type: 'LoadBalancer',
        loadBalancerClass: 'herald.dev/herald',
        ipFamilies: ['IPv4'],
        ports: [{ port: 443, protocol: 'TCP' }],
      },
    });
  }

  async function writes(pool: object, spec: object = {}): Promise<void> {
    bed.pool('lab', ['192.0.2.0/28'], pool);
    ofOther('first');
    bed.run();
    await bed.settle(2);
    expect(bed.writes('create', 'ipclaims')).to.equal(1);
    bed.service('second', { annotations, spec });
    await bed.settle(2);
  }

  it('keeps no Service of another namespace waiting where no pool lets the two share', async () => {
    await writes({ shareAcross: ['a', 'c'] });
    expect(bed.address('second')).to.equal('192.0.2.1');
  });

  it('keeps no Service waiting for others of another namespace that begin after it', async () => {
    const { promise: never } = Promise.withResolvers<void>();
    const isWrite = (call: MemoryCall) =>
      call.verb === 'create' && call.resource.plural === IP_CLAIMS.plural;
    // the port of the first one: it cannot share with that
    await writes({ shareAcross: ['a', 'b'] }, { ports: [{ port: 443, protocol: 'TCP' }] });
    expect(bed.address('second')).to.equal(undefined);
    // of b from now on, and by name, so that it waits for nobody
    bed.api.fault = (call) =>
      isWrite(call) && JSON.stringify(call.body).includes('192.0.2.9')
        ? { kind: 'hold', until: never }
        : undefined;
    ofOther('next', { [ANNOTATION.addresses]: '192.0.2.9' });
    await bed.settle(2);
    expect(bed.writes('create', 'ipclaims')).to.equal(2);
    endOfWrite();
    await bed.settle(4);
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
