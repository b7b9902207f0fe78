import { expect } from 'chai';
import { SILENT_LOG } from '../../../src/log/log.ts';
import { ApiError } from '../../../src/sources/kube/api.ts';
import { convertService } from '../../../src/sources/kube/convert-service.ts';
import { IP_CLAIMS, IP_POOLS, NAMESPACES, SERVICES } from '../../../src/sources/kube/resources.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { type MemoryCall, MemoryKubeApi } from '../../support/memory-kube-api.ts';
import { ingressNames, ServiceLoopsRun } from '../../support/service-loops-run.ts';

const POOL = {
  addresses: ['192.0.2.0/29'],
  autoAssign: true,
  priority: 0,
  allowExternalIPs: true,
  placement: { mode: 'anycast', nodeFilter: 'fair', prependStep: 3 },
  drain: { on: [], waitSeconds: 10 },
  notReady: 'keep',
};
const DENIED = 'Use of external IPs is denied by admission control';

describe('writes that the API server refuses for good', () => {
  let api: MemoryKubeApi;
  let clock: ManualClock;
  let run: ServiceLoopsRun;
  let warned: string[];

  beforeEach(() => {
    api = new MemoryKubeApi();
    clock = new ManualClock();
    warned = [];
    const warn = (_event: string, _fields: object, message: string) => void warned.push(message);
    api.put(NAMESPACES, { metadata: { name: 'a' } });
    api.put(IP_POOLS, { metadata: { name: 'lab' }, spec: POOL });
    run = new ServiceLoopsRun({ api, clock, log: { ...SILENT_LOG, warn } });
  });
  afterEach(() => run.stop());

  async function pass(seconds: number): Promise<void> {
    for (let passed = 0; passed < seconds; passed += 0.5) {
      for (let turn = 0; turn < 12; turn += 1) await new Promise(setImmediate);
      clock.advance(500);
    }
  }

  function service(annotations: object, spec: object): void {
    const whole = { ipFamilies: ['IPv4'], ports: [{ port: 80, protocol: 'TCP' }], ...spec };
    api.put(SERVICES, { metadata: { namespace: 'a', name: 'web', annotations }, spec: whole });
  }

  /** by a policy, which says no to every call that is like this */
  function deny(status: 403 | 422, isLike: (call: MemoryCall) => boolean): void {
    const error = new ApiError(status, status === 403 ? 'Forbidden' : 'Invalid', DENIED);
    api.fault = (call) => (isLike(call) ? { kind: 'before', error } : undefined);
  }

  const isSpecPatch = ({ verb, resource, subresource }: MemoryCall) =>
    verb === 'patch' && resource.plural === 'services' && subresource === undefined;
  const isClaim = ({ verb, resource }: MemoryCall) =>
    verb === 'create' && resource.plural === 'ipclaims';
  const isStatus = ({ subresource }: MemoryCall) => subresource === 'status';
  const allocated = () => {
    const object = api.object(SERVICES, 'a/web');
    const found = object && convertService(object)?.conditions;
    return found?.find(({ type }) => type === 'herald.dev/Allocated');
  };
  const events = () => run.events.filter(({ reason }) => reason === 'WriteRefused');
  const statusWrites = () =>
    api.calls.filter((call) => call.resource.plural === 'services' && isStatus(call)).length;

  it('are told by condition and event, once, and end when the cause has gone', async () => {
    deny(403, isSpecPatch);
    service({ 'herald.dev/external-ip': 'auto' }, { type: 'ClusterIP' });
    run.start();
    await pass(60);
    expect(allocated()).to.deep.include({ status: 'False', reason: 'WriteRefused' });
    expect(allocated()?.message).to.include(DENIED);
    expect(events().map(({ type }) => type)).to.deep.equal(['Warning']);
    expect(events()[0]?.message).to.include(DENIED);
    expect(statusWrites()).to.equal(1);
    api.fault = undefined;
    await pass(60);
    expect(allocated()).to.deep.include({ status: 'True', reason: 'Allocated' });
    expect(api.object(SERVICES, 'a/web')?.['spec']).to.deep.include({ externalIPs: ['192.0.2.0'] });
  });

  it('are told of claims too, and the status that stands is left', async () => {
    deny(422, isClaim);
    service({}, { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/herald' });
    const ingress = [{ ip: '192.0.2.5' }];
    const body = { status: { loadBalancer: { ingress } } };
    const options = { subresource: 'status' } as const;
    const services = { ...SERVICES, namespace: 'a' };
    await api.patch(services, 'web', { kind: 'merge', body }, options);
    run.start();
    await pass(60);
    expect(allocated()).to.deep.include({ status: 'False', reason: 'WriteRefused' });
    expect(events()).to.have.length(1);
    expect(api.object(SERVICES, 'a/web')?.['status']).to.deep.include({
      loadBalancer: { ingress },
    });
    api.fault = undefined;
    await pass(60);
    expect(allocated()?.reason).to.equal('Allocated');
    expect(api.object(IP_CLAIMS, '192.0.2.5')).to.not.equal(undefined);
  });

  it('are told by an event alone where no condition can be written', async () => {
    deny(403, (call) => isSpecPatch(call) || isStatus(call));
    service({ 'herald.dev/external-ip': 'auto' }, { type: 'ClusterIP' });
    run.start();
    await pass(60);
    expect(allocated()).to.equal(undefined);
    expect(events()).to.have.length(1);
  });

  it('are told by an event alone to a Service that has all it shall have', async () => {
    service({}, { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/herald' });
    run.start();
    await pass(10);
    deny(403, ({ verb, resource }) => verb === 'patch' && resource.plural === 'ipclaims');
    service(
      { 'herald.dev/share': 'word' },
      { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/herald' },
    );
    await pass(60);
    expect(events()).to.have.length(1);
    expect(allocated()?.status).to.not.equal('False');
  });

  it('are not told each time that a policy finds other words', async () => {
    let denied = 0;
    api.fault = (call) => {
      if (!isClaim(call)) return undefined;
      denied += 1;
      const error = new ApiError(403, 'Forbidden', `${DENIED}, request ${denied}`);
      return { kind: 'before', error };
    };
    service({}, { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/herald' });
    run.start();
    await pass(240);
    expect(denied).to.be.within(4, 30);
    expect(statusWrites()).to.equal(1);
    expect(events()).to.have.length(1);
    await pass(120);
    expect(statusWrites(), 'but now and then').to.equal(2);
  });

  it('are told where the address was the last of its pool', async () => {
    api.put(IP_POOLS, {
      metadata: { name: 'lab' },
      spec: { ...POOL, addresses: ['192.0.2.1/32'] },
    });
    deny(403, isClaim);
    service({}, { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/herald' });
    run.start();
    await pass(60);
    expect(allocated()).to.deep.include({ status: 'False', reason: 'WriteRefused' });
  });

  describe('of one of two families', () => {
    const LB = { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/herald' };
    const BOTH = { ...LB, ipFamilies: ['IPv4', 'IPv6'] };
    const nameOf = ({ body }: MemoryCall): string => JSON.parse(JSON.stringify(body)).metadata.name;
    const isIpv6 = (call: MemoryCall) => isClaim(call) && !/^[0-9.]+$/.test(nameOf(call));
    const ingress = () => ingressNames(api.object(SERVICES, 'a/web') ?? { metadata: Object({}) });
    const creates = () => api.calls.filter(isClaim).map(nameOf);

    beforeEach(() => {
      const addresses = ['192.0.2.0/29', '2001:db8::/125'];
      api.put(IP_POOLS, { metadata: { name: 'lab' }, spec: { ...POOL, addresses } });
      deny(403, isIpv6);
    });

    it('leave no claim of the other one where both are required (D-B9)', async () => {
      service({}, { ...BOTH, ipFamilyPolicy: 'RequireDualStack' });
      run.start();
      await pass(60);
      expect(allocated()).to.deep.include({ status: 'False', reason: 'WriteRefused' });
      expect(api.object(IP_CLAIMS, '192.0.2.0')).to.equal(undefined);
      expect(ingress()).to.deep.equal([]);
      // announced once, for a moment, and not with every try
      expect(creates().filter((name) => name === '192.0.2.0')).to.have.length(1);
      expect(creates().length).to.be.above(4);
      api.fault = undefined;
      await pass(60);
      expect(ingress()).to.have.length(2);
      expect(allocated()?.status).to.equal('True');
    });

    it('are told beside the other one, which is announced, where both are only preferred', async () => {
      service({}, { ...BOTH, ipFamilyPolicy: 'PreferDualStack' });
      run.start();
      await pass(60);
      expect(allocated()).to.deep.include({ status: 'False', reason: 'WriteRefused' });
      expect(ingress()).to.deep.equal(['192.0.2.0']);
    });
  });

  it('are logged as a warning from the third time on', async () => {
    let denied = 0;
    deny(403, (call) => isSpecPatch(call) && ++denied > 0);
    service({ 'herald.dev/external-ip': 'auto' }, { type: 'ClusterIP' });
    run.start();
    await pass(60);
    expect(denied).to.be.greaterThan(3);
    expect(warned).to.have.length(denied - 2);
    expect(warned[0]).to.include('refuses a write');
  });
});
