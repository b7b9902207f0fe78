/** What is kept of a Service whose owner has written as much into it as the API server takes. */

import { expect } from 'chai';
import { LONGEST_LABELS } from '../../../../src/model/service.ts';
import { convertEndpointSlice } from '../../../../src/sources/kube/convert-endpoint-slice.ts';
import { convertService } from '../../../../src/sources/kube/convert-service.ts';

const many = (count: number, value = 'v'): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`l${index}`, value]));

function read(spec: object, labels: object = {}) {
  const metadata = { name: 'web', namespace: 'ns', uid: 'u', resourceVersion: '1' };
  const service = convertService({ metadata: { ...metadata, labels: { ...labels } }, spec });
  if (service === undefined) throw new Error('it is a Service');
  return service;
}

/** counts how often a value is read */
function counted(labels: Record<string, string>) {
  const reads = { count: 0 };
  const get = (of: Record<string, string>, name: string) => {
    reads.count += 1;
    return of[name];
  };
  return { reads, labels: new Proxy(labels, { get }) };
}

describe('what is kept of a Service', () => {
  it('labels and selectors as they are, where they are as most are', () => {
    const { labels, selector } = read({ selector: { app: 'web' } }, { team: 'a' });
    expect({ labels, selector }).to.deep.equal({ labels: { team: 'a' }, selector: { app: 'web' } });
  });

  it('the first ones of thousands of labels', () => {
    const { labels } = read({}, { a: 'b', ...many(100_000) });
    expect(labels['a']).to.equal('b');
    expect(JSON.stringify(labels).length).to.be.below(3 * LONGEST_LABELS);
  });

  it('of labels no more than is kept is read, and of a slice the one that counts', () => {
    const service = 'kubernetes.io/service-name';
    const { reads, labels } = counted({ ...many(60_000), [service]: 'web' });
    const metadata = { name: 'web', namespace: 'ns', uid: 'u', resourceVersion: '1', labels };
    expect(convertService({ metadata, spec: {} })?.labels).to.have.property('l0', 'v');
    expect(reads.count, 'of the Service').to.be.within(1, LONGEST_LABELS / 2);
    reads.count = 0;
    expect(convertEndpointSlice({ metadata })?.service).to.equal('web');
    expect(reads.count, 'of the slice').to.equal(1);
  });

  it('a hash of a selector of thousands of labels: equal ones stay equal, and others do not', () => {
    const pods = many(10_000);
    const { selector } = read({ selector: pods });
    expect(JSON.stringify(selector).length).to.be.below(100);
    const turned = Object.fromEntries(Object.entries(pods).reverse());
    expect(read({ selector: turned }).selector).to.deep.equal(selector);
    expect(read({ selector: { ...pods, l7: 'w' } }).selector).not.to.deep.equal(selector);
  });

  it('an external IP without the million zeros before it', () => {
    const zeros = '0'.repeat(1_000_000);
    const externalIPs = [`${zeros}192.${zeros}.2.1`, '192.0.2.00'];
    expect(read({ externalIPs }).externalIps).to.deep.equal(['192.0.2.1', '192.0.2.00']);
  });

  it('a port once, however many Services have it', () => {
    const ports = [{ port: 80, protocol: 'TCP' }];
    const [one] = read({ ports }).ports;
    expect(read({ ports }).ports[0]).to.equal(one);
    expect(read({ ports: [{ port: 80, protocol: 'UDP' }] }).ports).to.deep.equal([
      { protocol: 'UDP', port: 80 },
    ]);
  });
});
