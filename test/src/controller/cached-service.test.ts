import { expect } from 'chai';
import { convertCachedService } from '../../../src/controller/cached-service.ts';
import { convertService } from '../../../src/sources/kube/convert-service.ts';

const service = (
  spec: object,
  more: object = {},
  annotations: Readonly<Record<string, string>> = {},
) => ({
  metadata: {
    ...{ namespace: 'shop', name: 'web', uid: 'u', resourceVersion: '7' },
    ...{ labels: { app: 'web' }, annotations },
  },
  spec: { selector: { app: 'web' }, ports: [{ port: 80 }], ipFamilies: ['IPv6'], ...spec },
  ...more,
});
const ingress = [{ ip: '198.51.100.1' }];
const condition = { type: 'herald.dev/Allocated', status: 'False', reason: 'x', message: '' };

describe('a Service in the cache of the controller', () => {
  it('is no more than its name where it has nothing to do with Herald (C16)', () => {
    const object = service({ type: 'ClusterIP' }, {}, { 'example.com/long': 'x'.repeat(10_000) });
    const kept = convertCachedService(object);
    expect(kept).to.include({ namespace: 'shop', name: 'web', uid: 'u', resourceVersion: '7' });
    expect(JSON.stringify(kept)).to.have.length.below(400);
    expect(kept).to.have.property('isLoadBalancer', false);
    const other = convertCachedService(object);
    expect(kept?.ports, 'and shares what is empty').to.equal(other?.ports);
  });

  const whole = {
    'a LoadBalancer': service({ type: 'LoadBalancer' }),
    'one with external IPs': service({ type: 'ClusterIP', externalIPs: ['198.51.100.7'] }),
    'one with an annotation of ours': service({}, {}, { 'herald.dev/external-ip': 'auto' }),
    'one with a misspelt annotation of ours': service({}, {}, { 'herald.dev/adresses': 'x' }),
    'one that has a status': service(
      { type: 'ClusterIP' },
      { status: { loadBalancer: { ingress } } },
    ),
    'one with a condition': service({ type: 'ClusterIP' }, { status: { conditions: [condition] } }),
    'one of policy Local': service({ type: 'NodePort', externalTrafficPolicy: 'Local' }),
  };
  for (const [name, object] of Object.entries(whole)) {
    it(`is whole: ${name}`, () => {
      expect(convertCachedService(object)).to.deep.equal(convertService(object));
    });
  }
});
