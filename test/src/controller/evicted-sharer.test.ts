/** A Service that takes the port of another on an address that they share leaves it, whatever its owner does meanwhile. */

import { expect } from 'chai';
import { ANNOTATION, SHARE_TERMS_ANNOTATION } from '../../../src/model/names.ts';
import { IP_CLAIMS, IP_POOLS, NAMESPACES, SERVICES } from '../../../src/sources/kube/resources.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { MemoryKubeApi } from '../../support/memory-kube-api.ts';
import { ingressNames, ServiceLoopsRun } from '../../support/service-loops-run.ts';

const SHARED = '192.0.2.0';

describe('a Service that breaks the rules of sharing', () => {
  let api: MemoryKubeApi;
  let clock: ManualClock;
  let run: ServiceLoopsRun;

  beforeEach(async () => {
    api = new MemoryKubeApi();
    clock = new ManualClock();
    for (const name of ['victim', 'mallory']) api.put(NAMESPACES, { metadata: { name } });
    const placement = { mode: 'anycast', nodeFilter: 'fair', prependStep: 3 };
    const spec = { addresses: ['192.0.2.0/28'], shareAcross: ['victim', 'mallory'] };
    const rest = { autoAssign: true, priority: 0, drain: { on: [], waitSeconds: 10 } };
    const metadata = { name: 'lab' };
    api.put(IP_POOLS, { metadata, spec: { ...spec, ...rest, placement, notReady: 'keep' } });
    run = new ServiceLoopsRun({ api, clock }).start();
    put('mallory/m', 9999);
    await settle();
    put('victim/web', 80);
    await settle();
    expect([has('victim/web'), has('mallory/m')]).to.deep.equal([[SHARED], [SHARED]]);
  });
  afterEach(() => run.stop());

  async function settle(): Promise<void> {
    for (let round = 0; round < 40; round += 1) {
      for (let turn = 0; turn < 12; turn += 1) await new Promise(setImmediate);
      clock.advance(500);
    }
  }

  function put(key: string, port: number, metadata: object = {}): void {
    const [namespace = '', name = ''] = key.split('/');
    const before = api.object(SERVICES, key);
    const annotations = { [ANNOTATION.share]: 'w' };
    api.put(SERVICES, {
      ...before,
      metadata: { ...before?.metadata, namespace, name, annotations, ...metadata },
      spec: {
        type: 'LoadBalancer',
        loadBalancerClass: 'herald.dev/herald',
        ipFamilies: ['IPv4'],
        ports: [{ port, protocol: 'TCP' }],
      },
    });
  }

  function has(key: string): readonly string[] {
    const service = api.object(SERVICES, key);
    return service === undefined ? [] : ingressNames(service);
  }

  const members = (): readonly string[] => {
    const { services = [] } = JSON.parse(
      JSON.stringify(api.object(IP_CLAIMS, SHARED)?.['spec'] ?? {}),
    );
    return services.map(({ name }: { name: string }) => name);
  };

  it('leaves although it is being deleted and a finalizer keeps it', async () => {
    const stay = { finalizers: ['example.org/stay'], deletionTimestamp: '2026-01-01T00:00:00Z' };
    put('mallory/m', 9999, stay);
    await settle();
    // who only goes slowly keeps what it has
    expect(members()).to.have.members(['m', 'web']);
    put('mallory/m', 80, stay);
    await settle();
    expect(has('mallory/m')).to.deep.equal([]);
    expect(members()).to.deep.equal(['web']);
    expect(has('victim/web')).to.deep.equal([SHARED]);
  });

  it('leaves although it came first, and was being deleted when the other one joined', async () => {
    const annotations = { [ANNOTATION.share]: 'late' };
    put('mallory/late', 9999, { annotations });
    await settle();
    const [name = ''] = has('mallory/late');
    const finalizers = ['example.org/stay'];
    const stay = { annotations, finalizers, deletionTimestamp: '2026-01-01T00:00:00Z' };
    put('mallory/late', 9999, stay);
    await settle();
    put('victim/late', 443, { annotations });
    await settle();
    expect([has('mallory/late'), has('victim/late')]).to.deep.equal([[name], [name]]);
    const terms = api.object(IP_CLAIMS, name)?.metadata.annotations?.[SHARE_TERMS_ANNOTATION];
    expect(terms).to.match(/^mallory\/late=[^,]+,victim\/late=/);
    put('mallory/late', 443, stay);
    await settle();
    expect([has('mallory/late'), has('victim/late')]).to.deep.equal([[], [name]]);
  });

  it('leaves although its owner edits it before each write of its status', async () => {
    let edits = 0;
    api.fault = ({ verb, resource, subresource, name }) => {
      const isStatus = verb === 'patch' && resource.plural === 'services' && name === 'm';
      if (isStatus && subresource === 'status') {
        put('mallory/m', 80, { labels: { edited: String(++edits) } });
      }
      return undefined;
    };
    put('mallory/m', 80);
    await settle();
    expect(edits).to.be.above(0);
    expect(has('mallory/m')).to.not.include(SHARED);
    expect(members()).to.deep.equal(['web']);
    expect(has('victim/web')).to.deep.equal([SHARED]);
    const told = run.events.filter(({ object }) => object.name === 'm');
    expect(told.map(({ message }) => message).join()).to.contain(`it leaves ${SHARED}`);
  });
});
