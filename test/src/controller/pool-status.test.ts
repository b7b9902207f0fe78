import { expect } from 'chai';
import type { Condition } from '../../../src/model/service.ts';
import { convertPoolObject } from '../../../src/sources/kube/convert-documents.ts';
import { IP_CLAIMS, IP_POOLS, NAMESPACES, SERVICES } from '../../../src/sources/kube/resources.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { MemoryKubeApi } from '../../support/memory-kube-api.ts';
import { ServiceLoopsRun } from '../../support/service-loops-run.ts';

const POOL = {
  addresses: ['198.51.100.0/24'],
  autoAssign: true,
  priority: 0,
  placement: { mode: 'anycast', nodeFilter: 'fair', prependStep: 3 },
  drain: { on: [], waitSeconds: 10 },
  notReady: 'keep',
};

describe('the status of pools', () => {
  let api: MemoryKubeApi;
  let clock: ManualClock;
  let run: ServiceLoopsRun;

  beforeEach(async () => {
    api = new MemoryKubeApi();
    clock = new ManualClock();
    api.put(NAMESPACES, { metadata: { name: 'a' } });
    api.put(IP_POOLS, { metadata: { name: 'lab' }, spec: POOL });
    run = new ServiceLoopsRun({ api, clock }).start();
    await pass(3000);
  });
  afterEach(() => run.stop());

  /** in steps of half a second, each with time for what it sets off */
  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 500) {
      for (let turn = 0; turn < 12; turn += 1) await new Promise(setImmediate);
      clock.advance(500);
    }
    for (let turn = 0; turn < 12; turn += 1) await new Promise(setImmediate);
  }

  function service(name: string): void {
    const spec = {
      type: 'LoadBalancer',
      loadBalancerClass: 'herald.dev/herald',
      ipFamilies: ['IPv4'],
      ports: [{ port: 80, protocol: 'TCP' }],
    };
    api.put(SERVICES, { metadata: { namespace: 'a', name }, spec });
  }

  const used = (): unknown =>
    JSON.parse(JSON.stringify(api.object(IP_POOLS, 'lab')?.['status'] ?? {})).used;

  const writes = (): number =>
    api.calls.filter(({ verb, resource }) => verb === 'patch' && resource.plural === 'ippools')
      .length;

  it('says where levels of preference begin elsewhere on some nodes of an exclusive pool', async () => {
    const message = () => {
      const conditions = api.object(IP_POOLS, 'lab')?.['status'] as { conditions?: Condition[] };
      return conditions?.conditions?.find(({ type }) => type === 'Ready')?.message;
    };
    const put = async (generation: number, mode: string, other: object) => {
      const placement = { ...POOL.placement, mode };
      const advertisements = [{ prepend: 3, ...other }, {}];
      const spec = { ...POOL, placement, advertisements };
      api.put(IP_POOLS, { metadata: { name: 'lab', generation }, spec });
      await pass(3000);
    };
    const nodeSelector = { matchLabels: { rack: 'spare' } };
    await put(2, 'exclusive', { nodeSelector });
    expect(message()).to.include('differ by node');
    await put(3, 'anycast', { nodeSelector });
    expect(message()).not.to.include('differ by node');
    await put(4, 'exclusive', { peerSelector: { matchLabels: { tier: 'edge' } } });
    expect(message()).not.to.include('differ by node');
  });

  it('says where claims are exclusive by their own words: no agent sees one that is placed nowhere yet (C6)', async () => {
    const condition = () => {
      const { conditions = [] } = JSON.parse(
        JSON.stringify(api.object(IP_POOLS, 'lab')?.['status'] ?? {}),
      );
      return conditions.find(({ type }: Condition) => type === 'ExclusiveClaims')?.status;
    };
    expect(condition(), 'none has asked').to.equal(undefined);
    const spec = { placement: { mode: 'exclusive' } };
    api.put(IP_CLAIMS, { metadata: { name: '198.51.100.7' }, spec });
    await pass(3000);
    expect(condition()).to.equal('True');
    const object = api.object(IP_POOLS, 'lab');
    const pool = object && convertPoolObject(object);
    expect(pool?.ok === true && pool.object.hasExclusiveClaims).to.equal(true);
    api.remove(IP_CLAIMS, '198.51.100.7');
    await pass(3000);
    expect(condition()).to.equal('False');
  });

  it('follows a single change within two seconds', async () => {
    service('one');
    await pass(2000);
    expect(used()).to.equal(1);
  });

  it('is written once when a stream of changes has ended, since every agent hears of it', async () => {
    const before = writes();
    for (let index = 0; index < 60; index += 1) {
      service(`s${index}`);
      await pass(500);
    }
    expect(writes()).to.equal(before);
    await pass(2000);
    expect(writes()).to.equal(before + 1);
    expect(used()).to.equal(60);
  });

  it('waits no longer than a minute for a stream that does not end', async () => {
    const before = writes();
    for (let index = 0; index < 130; index += 1) {
      service(`s${index}`);
      await pass(500);
    }
    expect(writes()).to.equal(before + 1);
    expect(used()).to.be.within(115, 125);
    // bare numbers are old for longer, and right as soon as it is calm
    for (let index = 0; index < 120; index += 1) {
      service(`t${index}`);
      await pass(500);
    }
    expect(writes()).to.equal(before + 1);
    await pass(8000);
    expect(writes()).to.equal(before + 1);
    await pass(3000);
    expect(writes()).to.equal(before + 2);
    expect(used()).to.equal(250);
  });

  it('tells the numbers of a stream with pauses when it has come to rest, not in every pause', async () => {
    service('one');
    await pass(2000);
    const before = writes();
    for (let index = 0; index < 16; index += 1) {
      service(`s${index}`);
      await pass(3000);
    }
    expect(writes()).to.equal(before);
    await pass(3500);
    expect([writes(), used()]).to.deep.equal([before + 1, 17]);
  });

  it('tells the numbers of many addresses later than those of a few: nobody reads each of them', async () => {
    service('one');
    await pass(2000);
    const before = writes();
    for (let index = 0; index < 40; index += 1) service(`s${index}`);
    await pass(57_000);
    expect([writes(), used()]).to.deep.equal([before, 1]);
    await pass(4000);
    expect([writes(), used()]).to.deep.equal([before + 1, 41]);
  });

  it('tells the numbers of a stream that never rests every five minutes', async () => {
    service('one');
    await pass(2000);
    const before = writes();
    for (let index = 0; index < 200; index += 1) {
      service(`s${index}`);
      await pass(3000);
    }
    expect(writes()).to.be.within(before + 1, before + 2);
    // and what has been calm for long tells the next change at once
    await pass(301_000);
    service('last');
    await pass(2000);
    expect(used()).to.equal(202);
  });

  it('flags the claims of a pool that is refused as what they are, and of one that is gone after that', async () => {
    const other = { ...POOL, addresses: ['192.0.2.0/24'] };
    api.put(IP_POOLS, { metadata: { name: 'other' }, spec: other });
    service('web');
    await pass(3000);
    const conditions = (resource: typeof IP_POOLS, name: string): readonly Condition[] =>
      JSON.parse(JSON.stringify(api.object(resource, name)?.['status'] ?? {})).conditions ?? [];
    const flag = () => conditions(IP_CLAIMS, '198.51.100.0').find(({ type }) => type === 'InPool');
    expect(flag()).to.equal(undefined);
    const spec = { ...POOL, addresses: ['198.51.100.0/24', '192.0.2.0/25'] };
    api.put(IP_POOLS, { ...api.object(IP_POOLS, 'lab'), metadata: { name: 'lab' }, spec });
    await pass(3000);
    expect(flag()).to.deep.include({ status: 'False', reason: 'PoolRefused' });
    expect(flag()?.message).to.match(/^pool lab is refused \(.*192\.0\.2\.0\/25.*\); it is kept/);
    const outside = conditions(IP_POOLS, 'lab').find(({ type }) => type === 'ClaimsOutside');
    expect(outside?.status).to.equal('False');
    api.remove(IP_POOLS, 'lab');
    await pass(3000);
    expect(flag()).to.deep.include({ status: 'False', reason: 'PoolGone' });
    api.put(IP_POOLS, { metadata: { name: 'lab' }, spec: POOL });
    await pass(3000);
    expect(flag()).to.deep.include({ status: 'True', reason: 'Held' });
  });
});
