/** A tenant lists the addresses of others, and takes them out again, over and over: they are warned at once, not written each time, and lose nothing. */

import { expect } from 'chai';
import { convertService } from '../../../src/sources/kube/convert-service.ts';
import { IP_POOLS, NAMESPACES, SERVICES } from '../../../src/sources/kube/resources.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { MemoryKubeApi } from '../../support/memory-kube-api.ts';
import { ingressNames, ServiceLoopsRun } from '../../support/service-loops-run.ts';

const FLIPS = 40;
const EVERY_MS = 500;

describe('external IPs that come and go', () => {
  const api = new MemoryKubeApi();
  const clock = new ManualClock();
  let run: ServiceLoopsRun;

  before(() => {
    for (const name of ['victim', 'mallory']) api.put(NAMESPACES, { metadata: { name } });
    const placement = { mode: 'anycast', nodeFilter: 'fair', prependStep: 3 };
    const rest = { autoAssign: true, priority: 0, drain: { on: [], waitSeconds: 10 } };
    const spec = { addresses: ['192.0.2.0/28'], ...rest, placement, notReady: 'keep' };
    api.put(IP_POOLS, { metadata: { name: 'lab' }, spec });
    run = new ServiceLoopsRun({ api, clock }).start();
  });
  after(() => run.stop());

  async function passes(ms: number): Promise<void> {
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    clock.advance(ms);
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
  }

  function put(key: string, spec: object): void {
    const [namespace = '', name = ''] = key.split('/');
    const before = api.object(SERVICES, key);
    const common = { ipFamilies: ['IPv4'], ports: [{ port: 80, protocol: 'TCP' }] };
    const metadata = { ...before?.metadata, namespace, name };
    api.put(SERVICES, { ...before, metadata, spec: { ...common, ...spec } });
  }

  const reason = (): string | undefined => {
    const object = api.object(SERVICES, 'victim/web');
    return (object && convertService(object))?.conditions[0]?.reason;
  };
  const writes = () =>
    api.calls.filter(({ verb, name }) => verb === 'patch' && name === 'web').length;

  it('are told when they come, and a while after they have gone', async () => {
    put('victim/web', { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/herald' });
    await passes(1000);
    await passes(1000);
    expect(reason()).to.equal('Allocated');
    const before = writes();
    for (let flip = 0; flip < FLIPS; flip += 1) {
      const externalIPs = flip % 2 === 0 ? ['192.0.2.0'] : ['203.0.113.9'];
      put('mallory/draw', { type: 'ClusterIP', externalIPs });
      await passes(EVERY_MS);
      if (flip === 0) expect(reason()).to.equal('ListedByOther');
    }
    // 20 seconds: one write for each flip would be 40
    expect(writes() - before).to.be.within(1, 6);
    for (let second = 0; second < 15; second += 1) await passes(1000);
    expect(reason()).to.equal('Allocated');
  });
});

describe('external IPs of a namespace that their pool is not for', () => {
  const api = new MemoryKubeApi();
  const clock = new ManualClock();
  const run = new ServiceLoopsRun({ api, clock });
  after(() => run.stop());

  function put(key: string, spec: object): void {
    const [namespace = '', name = ''] = key.split('/');
    const common = { ipFamilies: ['IPv4'], ports: [{ port: 80, protocol: 'TCP' }] };
    api.put(SERVICES, { metadata: { namespace, name }, spec: { ...common, ...spec } });
  }

  async function settle(): Promise<void> {
    for (let second = 0; second < 5; second += 1) {
      for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
      clock.advance(1000);
    }
  }

  it('take nothing of it, whatever they list: who it is for has its addresses (C9)', async () => {
    for (const name of ['victim', 'mallory']) api.put(NAMESPACES, { metadata: { name } });
    const placement = { mode: 'anycast', nodeFilter: 'fair', prependStep: 3 };
    const rest = { autoAssign: true, priority: 0, drain: { on: [], waitSeconds: 10 } };
    const namespaces = { names: ['victim'] };
    const spec = { addresses: ['192.0.2.0/31'], namespaces, ...rest, placement, notReady: 'keep' };
    api.put(IP_POOLS, { metadata: { name: 'private' }, spec });
    put('mallory/squat', { type: 'ClusterIP', externalIPs: ['192.0.2.0', '192.0.2.1'] });
    run.start();
    await settle();
    for (const name of ['a', 'b']) {
      put(`victim/${name}`, { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/herald' });
    }
    await settle();
    const addresses = ['a', 'b'].flatMap((name) => {
      const object = api.object(SERVICES, `victim/${name}`);
      return object === undefined ? [] : ingressNames(object);
    });
    expect([...addresses].sort()).to.deep.equal(['192.0.2.0', '192.0.2.1']);
  });
});
