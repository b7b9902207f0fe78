import { expect } from 'chai';
import { type Reach, wantedWithdrawn } from '../../../src/allocator/claim-writes.ts';
import { AllocatorWorld, address, pool, service } from '../../support/allocator-world.ts';

const LAB = pool('lab', ['192.0.2.0/29']);
const ENTRY = [
  { namespace: 'a', name: '1' },
  { namespace: 'a', name: '2' },
];
const NONE = { reason: 'NoEndpoints: no Service of this claim has an endpoint' };
const PERSON = { reason: 'maintenance, ask Ann' };
const RELEASED = { reason: 'Released: x' };

describe('wantedWithdrawn', () => {
  const rows: readonly (readonly [
    string,
    { reason: string } | undefined,
    [Reach, Reach],
    { reason: string } | undefined,
  ])[] = [
    [
      'announces while anybody is behind any of its Services',
      undefined,
      ['none', 'some'],
      undefined,
    ],
    ['withdraws when nobody is', undefined, ['none', 'none'], NONE],
    ['comes back with the first endpoint', NONE, ['some', 'none'], undefined],
    ['leaves Local Services to the nodes', NONE, ['local', 'none'], undefined],
    ['changes nothing for what it does not know', undefined, ['unknown', 'none'], undefined],
    ['keeps a withdrawal for what it does not know', NONE, ['unknown', 'none'], NONE],
    ["never removes a person's word", PERSON, ['some', 'some'], PERSON],
    ["never writes over a person's word", PERSON, ['none', 'none'], PERSON],
    ['ends a release when a Service is back', RELEASED, ['some', 'none'], undefined],
    ['ends a release without knowing more', RELEASED, ['unknown', 'unknown'], undefined],
  ];
  for (const [name, before, [first, second], wanted] of rows) {
    it(name, () => {
      const reachOf = (key: string) => (key === 'a/1' ? first : second);
      expect(wantedWithdrawn(before, ENTRY, reachOf)).to.deep.equal(wanted);
    });
  }
});

describe('writes of a claim', () => {
  const claimOf = (world: AllocatorWorld, text: string) => world.claims.at(address(text));

  it('starts withdrawn where nobody is behind the Service, and follows its endpoints', () => {
    const world = new AllocatorWorld(LAB);
    world.reach.set('a/b', 'none');
    world.apply(service('a/b'));
    expect(claimOf(world, '192.0.2.0')?.withdrawn).to.deep.equal(NONE);
    world.reach.set('a/b', 'some');
    world.settle('a/b');
    expect(claimOf(world, '192.0.2.0')?.withdrawn).to.equal(undefined);
  });

  it('has the pool and, where all nodes may announce it, the anycast label', () => {
    const world = new AllocatorWorld(
      LAB,
      pool(`long-${'x'.repeat(70)}`, ['10.0.0.0/30'], {
        priority: 1,
        placement: { mode: 'exclusive', nodeFilter: 'fair', prependStep: 3 },
      }),
    );
    world.apply(service('a/exclusive'));
    const labels = claimOf(world, '10.0.0.0')?.labels ?? {};
    expect(Object.keys(labels)).to.deep.equal(['herald.dev/pool']);
    expect(labels['herald.dev/pool']).to.have.length(63);
    world.setPools(LAB);
    world.apply(service('a/anycast'));
    expect(claimOf(world, '192.0.2.0')?.labels).to.deep.equal({
      'herald.dev/pool': 'lab',
      'herald.dev/anycast': '',
    });
  });

  it('keeps the health check port of Local Services right', () => {
    const world = new AllocatorWorld(LAB);
    const value = service('a/b');
    world.apply(value);
    world.apply({ ...value, isLocal: true, healthCheckNodePort: 30001 });
    const port = () => claimOf(world, '192.0.2.0')?.services[0]?.healthCheckNodePort;
    expect(port()).to.equal(30001);
    world.apply({ ...value, isLocal: true, healthCheckNodePort: 30002 });
    expect(port()).to.equal(30002);
    world.apply({ ...value, healthCheckNodePort: 30002 });
    expect(port()).to.equal(undefined);
  });

  it("keeps a person's withdrawal through release and return", () => {
    const world = new AllocatorWorld(LAB);
    const value = service('a/b', { annotations: { 'herald.dev/addresses': '192.0.2.3' } });
    world.put(value);
    const { namespace, name, uid } = value;
    world.claim({
      metadata: { name: '192.0.2.3' },
      spec: { services: [{ namespace, name, uid }], withdrawn: PERSON },
    });
    world.settle('a/b');
    world.delete('a/b');
    expect([...world.claims.released]).to.have.length(1);
    expect(claimOf(world, '192.0.2.3')?.withdrawn).to.deep.equal(PERSON);
    world.apply(service('a/b', { annotations: value.annotations }));
    expect(claimOf(world, '192.0.2.3')?.withdrawn).to.deep.equal(PERSON);
    expect(claimOf(world, '192.0.2.3')?.services).to.have.length(1);
  });

  it('says at its release by which version nodes that had it before were out of it', () => {
    const world = new AllocatorWorld(LAB);
    const value = service('a/b', { annotations: { 'herald.dev/addresses': '192.0.2.3' } });
    world.put(value);
    const { namespace, name, uid } = value;
    world.claim({
      metadata: { name: '192.0.2.3', annotations: { 'herald.dev/former-nodes': 'n1' } },
      spec: { services: [{ namespace, name, uid }] },
    });
    world.settle('a/b');
    const before = claimOf(world, '192.0.2.3')?.resourceVersion;
    world.delete('a/b');
    const released = claimOf(world, '192.0.2.3');
    expect(released?.annotations['herald.dev/former-version']).to.equal(before);
    expect(released?.annotations['herald.dev/former-nodes']).to.equal('n1');
    world.apply(service('a/b', { annotations: value.annotations }));
    expect(claimOf(world, '192.0.2.3')?.annotations).to.deep.equal({
      'herald.dev/former-nodes': 'n1',
    });
  });
});
