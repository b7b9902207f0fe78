/** Services that wait for `maxAddresses` of their namespace while the API refuses claims: none starves, and none asks without a pause. */

import { expect } from 'chai';
import { ApiError } from '../../../src/sources/kube/api.ts';
import { convertService } from '../../../src/sources/kube/convert-service.ts';
import { IP_CLAIMS, IP_POOLS, NAMESPACES, SERVICES } from '../../../src/sources/kube/resources.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { type MemoryCall, MemoryKubeApi } from '../../support/memory-kube-api.ts';
import { ingressNames, ServiceLoopsRun } from '../../support/service-loops-run.ts';

const POOL = {
  addresses: ['192.0.2.0/28'],
  autoAssign: true,
  priority: 0,
  namespaces: { maxAddresses: 1 },
  placement: { mode: 'anycast', nodeFilter: 'fair', prependStep: 3 },
  drain: { on: [], waitSeconds: 10 },
  notReady: 'keep',
};
const SPEC = {
  type: 'LoadBalancer',
  loadBalancerClass: 'herald.dev/herald',
  ipFamilies: ['IPv4'],
  ports: [{ port: 80, protocol: 'TCP' }],
};
/** of one Service in a minute: 0.2 s, 0.4 s, … 12.8 s, 25.6 s and the first, each perhaps half of that */
const TRIES_IN_A_MINUTE = 11;
/** the same in half a minute: one that has waited 30 s for those before it begins with short pauses again */
const TRIES_IN_HALF_A_MINUTE = 9;

describe('Services that wait for the limit of their namespace', () => {
  let api: MemoryKubeApi;
  let clock: ManualClock;
  let run: ServiceLoopsRun;
  let creates: string[];

  beforeEach(() => {
    api = new MemoryKubeApi();
    clock = new ManualClock();
    creates = [];
    api.put(NAMESPACES, { metadata: { name: 'a' } });
    api.put(IP_POOLS, { metadata: { name: 'lab' }, spec: POOL });
    run = new ServiceLoopsRun({ api, clock });
  });
  afterEach(() => run.stop());

  async function pass(seconds: number): Promise<void> {
    for (let passed = 0; passed < seconds; passed += 0.5) {
      for (let turn = 0; turn < 12; turn += 1) await new Promise(setImmediate);
      clock.advance(500);
    }
  }

  function service(name: string, addresses?: string): void {
    const annotations = addresses === undefined ? {} : { 'herald.dev/addresses': addresses };
    api.put(SERVICES, { metadata: { namespace: 'a', name, annotations }, spec: SPEC });
  }

  /** every claim that is asked for is noted; those of these addresses (all, if none is named) are refused */
  function refuse(...addresses: readonly string[]): void {
    const error = new ApiError(403, 'Forbidden', 'denied by a policy');
    api.fault = (call) => {
      const name = createdClaim(call);
      if (name === undefined) return undefined;
      creates.push(name);
      const isRefused = addresses.length === 0 || addresses.includes(name);
      return isRefused ? { kind: 'before', error } : undefined;
    };
  }

  const has = (name: string): readonly string[] => {
    const object = api.object(SERVICES, `a/${name}`);
    return object === undefined ? [] : ingressNames(object);
  };
  const reason = (name: string): string | undefined => {
    const object = api.object(SERVICES, `a/${name}`);
    const conditions = object && convertService(object)?.conditions;
    return conditions?.find(({ type }) => type === 'herald.dev/Allocated')?.reason;
  };

  it('keep their back-off where the claim of one of two addresses is refused', async () => {
    refuse();
    service('two', '192.0.2.1,192.0.2.2');
    run.start();
    await pass(60);
    expect(creates.length).to.be.within(4, TRIES_IN_A_MINUTE);
  });

  it('do not wake each other past their back-off', async () => {
    refuse();
    const names = ['v', 'w', 'x', 'y'];
    for (const [index, name] of names.entries()) {
      service(name, `192.0.2.${index + 1},192.0.2.${index + 9}`);
    }
    run.start();
    await pass(60);
    expect(creates.length).to.be.within(names.length, names.length * 2 * TRIES_IN_HALF_A_MINUTE);
  });

  it('are served where the one before them fails, which waits then itself', async () => {
    refuse('192.0.2.5');
    service('a-first', '192.0.2.5');
    service('b-second');
    run.start();
    await pass(60);
    expect(has('b-second')).to.deep.equal(['192.0.2.0']);
    expect(has('a-first')).to.deep.equal([]);
    expect(reason('a-first')).to.equal('NamespaceLimit');
  });

  it('are served where the address of the one before them turns out to be taken', async () => {
    const answer = Promise.withResolvers<void>();
    api.fault = (call) =>
      createdClaim(call) === '192.0.2.5' ? { kind: 'hold', until: answer.promise } : undefined;
    service('a-first', '192.0.2.5');
    service('b-second');
    run.start();
    await pass(5);
    expect(reason('b-second')).to.equal('NamespaceLimit');
    // by hand, a moment before
    const spec = { pool: 'lab', services: [] };
    api.put(IP_CLAIMS, { metadata: { name: '192.0.2.5' }, spec });
    answer.resolve();
    await pass(5);
    expect(reason('a-first')).to.equal('AddressTaken');
    expect(has('b-second')).to.deep.equal(['192.0.2.0']);
  });
});

function createdClaim({ verb, resource, body }: MemoryCall): string | undefined {
  if (verb !== 'create' || resource.plural !== 'ipclaims') return undefined;
  return JSON.parse(JSON.stringify(body)).metadata.name;
}
