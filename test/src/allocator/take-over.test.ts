import { formatAddress } from 'bgp-ts';
import { expect } from 'chai';
import fc from 'fast-check';
import { ANNOTATION } from '../../../src/model/names.ts';
import type { Service } from '../../../src/model/service.ts';
import {
  AllocatorWorld,
  address,
  plainService,
  pool,
  service,
} from '../../support/allocator-world.ts';

const LAB = pool('lab', ['192.0.2.0/29']);
const SIX = pool('six', ['2001:db8::/64']);
const asks = (addresses: string, share?: string) => ({
  annotations: {
    [ANNOTATION.addresses]: addresses,
    ...(share !== undefined && { [ANNOTATION.share]: share }),
  },
});
const tcp = (port: number): Partial<Service> => ({ ports: [{ protocol: 'TCP', port }] });
const has = (...texts: readonly string[]): Partial<Service> => ({ ingress: texts.map(address) });

/** as another balancer left it */
function put(world: AllocatorWorld, key: string, ...rest: readonly Partial<Service>[]): Service {
  const value = service(key, Object.assign({}, ...rest));
  world.put(value);
  return value;
}

describe('take-over: an address that Services share', () => {
  it('is adopted for all of them when they name it under one word', () => {
    const world = new AllocatorWorld(LAB);
    put(world, 'a/dns', has('192.0.2.7'), tcp(53), asks('192.0.2.7', 'w'));
    put(world, 'a/web', has('192.0.2.7'), tcp(80), asks('192.0.2.7', 'w'));
    expect(world.decide('a/web').kind).to.equal('adopt');
    expect(world.settle('a/dns')).to.deep.equal(['192.0.2.7']);
    expect(world.settle('a/web')).to.deep.equal(['192.0.2.7']);
    const { services = [] } = world.claims.at(address('192.0.2.7')) ?? {};
    expect(services.map(({ name }) => name)).to.deep.equal(['dns', 'web']);
    expect(world.decide('a/dns').kind).to.equal('ready');
    expect(world.decide('a/web').kind).to.equal('ready');
  });

  it('stays in the status of the one that may not share it, which follows when it may', () => {
    const world = new AllocatorWorld(LAB);
    const named = { loadBalancerIp: '192.0.2.7' };
    const dns = put(world, 'a/dns', has('192.0.2.7'), tcp(53), named);
    const web = put(world, 'a/web', has('192.0.2.7'), tcp(80), named);
    world.settle('a/dns');
    expect(world.settle('a/web')).to.deep.equal(['192.0.2.7']);
    const { verdict, problems } = world.decide('a/web');
    expect(verdict).to.deep.include({ status: 'False', reason: 'OwnedByOther' });
    expect(verdict?.message).to.include('cannot take over: 192.0.2.7 belongs to Service a/dns');
    // so that it is woken when the address changes hands
    expect(problems.some((each) => each.address !== undefined)).to.equal(true);
    world.apply({ ...dns, ...asks('192.0.2.7', 'w') });
    expect(world.apply({ ...web, ...asks('192.0.2.7', 'w') })).to.deep.equal(['192.0.2.7']);
    expect(world.decide('a/web').kind).to.equal('ready');
  });

  it('stays also where the Service has external IPs from the pools', () => {
    const world = new AllocatorWorld(pool('lab', ['192.0.2.0/29'], { allowExternalIps: true }));
    const named = { loadBalancerIp: '192.0.2.7' };
    put(world, 'a/dns', has('192.0.2.7'), tcp(53), named);
    put(world, 'a/web', has('192.0.2.7'), tcp(80), named, { externalIps: ['192.0.2.1'] });
    world.settle('a/dns');
    expect(world.settle('a/web')).to.deep.equal(['192.0.2.7']);
    expect(world.claimsOf('a/web')).to.deep.equal(['192.0.2.1']);
    expect(world.settle('a/web')).to.deep.equal(['192.0.2.7']);
  });

  it('stays while it is written for another, and that is told as what it is', () => {
    const world = new AllocatorWorld(LAB);
    put(world, 'a/dns', has('192.0.2.7'), tcp(53), asks('192.0.2.7', 'w'));
    put(world, 'a/web', has('192.0.2.7'), tcp(80), asks('192.0.2.7', 'w'));
    world.book.take(address('192.0.2.7'), { kind: 'writing', by: 'a/dns' });
    const { ingress, verdict } = world.decide('a/web');
    expect(ingress).to.equal(undefined);
    expect(verdict).to.deep.include({ status: 'False', reason: 'AddressTaken' });
  });
});

describe('take-over: an address that others list in spec.externalIPs', () => {
  it('is adopted all the same, and its condition says who lists it', () => {
    const world = new AllocatorWorld(LAB);
    world.apply(plainService('mallory/draw', { externalIps: ['192.0.2.7'] }));
    put(world, 'victim/web', has('192.0.2.7'));
    put(world, 'victim/named', has('192.0.2.6'), asks('192.0.2.6'));
    world.apply(plainService('mallory/more', { externalIps: ['192.0.2.6'] }));
    expect(world.decide('victim/web').kind).to.equal('adopt');
    for (const [key, text] of [
      ['victim/web', '192.0.2.7'],
      ['victim/named', '192.0.2.6'],
    ] as const) {
      expect(world.settle(key)).to.deep.equal([text]);
      expect(world.claimsOf(key)).to.deep.equal([text]);
      const { verdict } = world.decide(key);
      expect(verdict).to.deep.include({ status: 'True', reason: 'ListedByOther' });
    }
  });

  it('is not given to who has it in no status', () => {
    const world = new AllocatorWorld(LAB);
    world.apply(plainService('mallory/draw', { externalIps: ['192.0.2.7'] }));
    expect(world.apply(service('victim/web', asks('192.0.2.7')))).to.deep.equal([]);
    expect(world.decide('victim/web').verdict).to.include({ reason: 'AddressTaken' });
  });
});

describe('take-over: a request that cannot be met', () => {
  it('leaves the address of another balancer alone, also beside a request that cannot be read', () => {
    const world = new AllocatorWorld(LAB);
    const foreign: readonly Partial<Service>[] = [has('203.0.113.1'), { hasForeignIngress: true }];
    for (const each of foreign) {
      put(world, 'a/b', each, asks('192.0.2.4;'));
      const { kind, ingress, verdict } = world.decide('a/b');
      expect({ kind, ingress }).to.deep.equal({ kind: 'owned-by-other', ingress: undefined });
      expect(verdict?.reason).to.equal('OwnedByOther');
    }
  });

  it('adopts what is in the status until the Service can have what it asks for', () => {
    const cases: readonly (readonly [string, Partial<Service>])[] = [
      ['BadRequest', asks('192.0.2.4;')],
      ['AddressTaken', asks('192.0.2.1')],
      ['AddressNotInPool', asks('203.0.113.9')],
      ['WrongFamily', asks('2001:db8::1')],
      ['NoPoolForService', { families: ['ipv4', 'ipv6'], familyPolicy: 'RequireDualStack' }],
    ];
    for (const [reason, rest] of cases) {
      const world = new AllocatorWorld(LAB);
      world.apply(service('a/first', asks('192.0.2.1')));
      const value = put(world, 'a/b', has('192.0.2.5'), rest);
      expect(world.settle('a/b'), reason).to.deep.equal(['192.0.2.5']);
      expect(world.claimsOf('a/b'), reason).to.deep.equal(['192.0.2.5']);
      const { verdict } = world.decide('a/b');
      expect(verdict).to.deep.include({ status: 'False', reason });
      expect(verdict?.message).to.include('until then it has 192.0.2.5 from pool lab');
      const met = { ...value, ...asks('192.0.2.6'), families: ['ipv4'] as const };
      expect(world.apply(met), reason).to.deep.equal(['192.0.2.6']);
      expect(world.claimsOf('a/b'), reason).to.deep.equal(['192.0.2.6']);
    }
  });

  it('leaves an address of its pools alone that the request keeps it from adopting', () => {
    const world = new AllocatorWorld(LAB);
    const { annotations } = asks('192.0.2.5');
    put(world, 'a/b', has('192.0.2.5'), {
      annotations: { ...annotations, [ANNOTATION.pool]: 'gone' },
    });
    expect(world.settle('a/b')).to.deep.equal(['192.0.2.5']);
    expect(world.decide('a/b').verdict?.message).to.include('herald.dev/pool names gone');
  });
});

describe('take-over: what Herald wrote itself', () => {
  it('is taken out where the claim was given to another, with and without a claim left', () => {
    for (const others of [[], ['2001:db8::5']]) {
      const world = new AllocatorWorld(LAB, SIX);
      const families = others.length > 0 ? (['ipv4', 'ipv6'] as const) : (['ipv4'] as const);
      const wants = asks(['192.0.2.5', ...others].join());
      world.apply(service('a/old', { ...wants, families }));
      world.deleteClaim('192.0.2.5');
      const { namespace, name, uid } = put(world, 'a/new');
      const spec = { pool: 'lab', services: [{ namespace, name, uid }] };
      world.claim({ metadata: { name: '192.0.2.5' }, spec });
      expect(world.settle('a/old')).to.deep.equal(others);
      expect(world.settle('a/new')).to.deep.equal(['192.0.2.5']);
      expect(world.decide('a/old').verdict?.reason).to.equal('AddressTaken');
    }
  });

  it('moves to an address that is asked for now', () => {
    const world = new AllocatorWorld(LAB);
    put(world, 'a/theirs', has('192.0.2.2'), asks('192.0.2.3'));
    expect(world.settle('a/theirs')).to.deep.equal(['192.0.2.3']);
    const value = service('a/ours', asks('192.0.2.4'));
    world.apply(value);
    expect(world.apply({ ...value, ...asks('192.0.2.5') })).to.deep.equal(['192.0.2.5']);
  });
});

const text = fc.constantFrom('192.0.2.0', '192.0.2.1', '192.0.2.2', '192.0.2.9', '203.0.113.1');
const found = fc.record({
  ingress: fc.uniqueArray(text, { maxLength: 2 }),
  names: fc.option(fc.oneof(text, fc.constantFrom('x;', '2001:db8::1')), { nil: undefined }),
  share: fc.option(fc.constantFrom('x', 'y'), { nil: undefined }),
  pool: fc.option(fc.constantFrom('lab', 'gone'), { nil: undefined }),
  port: fc.nat(2),
  isDual: fc.boolean(),
  policy: fc.constantFrom('PreferDualStack' as const, 'RequireDualStack' as const),
});

type Found = typeof found extends fc.Arbitrary<infer F> ? F : never;

function asFound(each: Found): Partial<Service> {
  return {
    ...has(...each.ingress),
    ...tcp(each.port),
    annotations: {
      ...(each.names !== undefined && { [ANNOTATION.addresses]: each.names }),
      ...(each.share !== undefined && { [ANNOTATION.share]: each.share }),
      ...(each.pool !== undefined && { [ANNOTATION.pool]: each.pool }),
    },
    families: each.isDual ? ['ipv4', 'ipv6'] : ['ipv4'],
    familyPolicy: each.isDual ? each.policy : 'SingleStack',
  };
}

function check(world: AllocatorWorld, key: string, { ingress: before, names }: Found): void {
  const now = (world.services.get(key)?.ingress ?? []).map(formatAddress);
  const isMoved = names !== undefined && now.includes(names);
  if (!isMoved) expect(now, key).to.include.members([...before]);
  const isOurs = world.decide(key).kind !== 'owned-by-other';
  if (isOurs) expect(world.claimsOf(key), key).to.have.members([...now]);
}

describe('take-over, whatever another balancer left', () => {
  it('takes nothing out of a status before the Service has what it asks for by name', () => {
    fc.assert(
      fc.property(fc.array(found, { minLength: 1, maxLength: 5 }), (all) => {
        const world = new AllocatorWorld(pool('lab', ['192.0.2.0/30']));
        const keys = all.map((_, index) => `a/${index}`);
        for (const [index, each] of all.entries()) put(world, `a/${index}`, asFound(each));
        for (const key of [...keys, ...keys]) world.settle(key);
        for (const [index, each] of all.entries()) check(world, `a/${index}`, each);
      }),
      { numRuns: 500 },
    );
  });
});
