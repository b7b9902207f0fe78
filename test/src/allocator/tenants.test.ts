/** Namespaces that take addresses from one pool: how many each may have, and what it cannot take from the others. */

import { expect } from 'chai';
import { ANNOTATION } from '../../../src/model/names.ts';
import type { Service } from '../../../src/model/service.ts';
import {
  AllocatorWorld,
  address,
  plainService,
  pool,
  service,
} from '../../support/allocator-world.ts';

const limit = (maxAddresses: number) => ({ namespaces: { names: [], maxAddresses } });
const tcp = (port: number): Partial<Service> => ({ ports: [{ protocol: 'TCP', port }] });
const shares: Partial<Service> = { annotations: { [ANNOTATION.share]: 'w' } };
const named = (...addresses: readonly string[]): Partial<Service> => ({
  annotations: { [ANNOTATION.addresses]: addresses.join() },
});

describe('the share of a namespace in a pool', () => {
  it('ends at namespaces.maxAddresses, with a reason, and leaves the rest to others', () => {
    const world = new AllocatorWorld(pool('lab', ['192.0.2.0/29'], limit(2)));
    world.apply(service('a/1'));
    world.apply(service('a/2'));
    expect(world.apply(service('a/3'))).to.deep.equal([]);
    const { verdict, problems } = world.decide('a/3');
    expect(verdict).to.include({ status: 'False', reason: 'NamespaceLimit' });
    expect(verdict?.message).to.include('namespace a has all 2 addresses that pool lab gives');
    // it waits for its own namespace, and keeps nobody else's place in the line for the pool
    expect(problems[0]).to.include({ kind: 'waiting', limitOf: 'a' });
    expect(problems[0]).to.not.have.property('pools');
    expect(world.apply(service('b/1'))).to.deep.equal(['192.0.2.2']);
  });

  it('counts the names of one Service one by one', () => {
    const world = new AllocatorWorld(pool('lab', ['192.0.2.0/28'], limit(3)));
    const many = named('192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4', '192.0.2.5');
    expect(world.apply(service('a/many', many))).to.have.length(3);
    expect(world.claimsOf('a/many')).to.have.length(3);
    expect(world.decide('a/many').verdict?.reason).to.equal('NamespaceLimit');
  });

  it('counts a shared address once, and for each namespace that has a part in it', () => {
    const rest = { ...limit(1), shareAcross: ['a', 'b'] };
    const world = new AllocatorWorld(pool('lab', ['192.0.2.0/29'], rest));
    expect(world.apply(service('a/1', { ...tcp(1), ...shares }))).to.deep.equal(['192.0.2.0']);
    expect(world.apply(service('a/2', { ...tcp(2), ...shares }))).to.deep.equal(['192.0.2.0']);
    expect(world.apply(service('b/1', { ...tcp(3), ...shares }))).to.deep.equal(['192.0.2.0']);
    expect(world.apply(service('b/2', tcp(4)))).to.deep.equal([]);
  });

  it('counts what was given back until it is free: addresses cannot be used up by making and deleting', () => {
    const world = new AllocatorWorld(pool('lab', ['192.0.2.0/29'], limit(1)));
    world.apply(service('a/1'));
    world.delete('a/1');
    expect(world.apply(service('a/2'))).to.deep.equal([]);
    world.deleteClaim('192.0.2.0');
    expect(world.settle('a/2')).to.deep.equal(['192.0.2.0']);
  });

  it('lets a Service that is made again take back its own at once, whatever nodes have still to confirm', () => {
    const world = new AllocatorWorld(pool('lab', ['192.0.2.0/29', '2001:db8::/125'], limit(2)));
    const dual: Partial<Service> = { families: ['ipv4', 'ipv6'], familyPolicy: 'RequireDualStack' };
    expect(world.apply(service('a/1', dual))).to.deep.equal(['192.0.2.0', '2001:db8::']);
    world.delete('a/1');
    expect(world.apply(service('a/2')), 'not what another one gave back').to.deep.equal([]);
    expect(world.decide('a/2').verdict?.reason).to.equal('NamespaceLimit');
    const again = service('a/1', { ...dual, uid: 'made again' });
    expect(world.apply(again)).to.deep.equal(['192.0.2.0', '2001:db8::']);
    expect(world.claims.at(address('192.0.2.0'))?.services).to.have.length(1);
  });

  it('is no reason to take what a Service has, and a pool without a limit is tried next', () => {
    const first = pool('first', ['192.0.2.0/29'], { priority: 1 });
    const world = new AllocatorWorld(first, pool('second', ['198.51.100.0/29']));
    world.apply(service('a/1'));
    world.apply(service('a/2'));
    world.setPools({ ...first, ...limit(1) }, pool('second', ['198.51.100.0/29']));
    expect(world.settle('a/2')).to.deep.equal(['192.0.2.1']);
    expect(world.apply(service('a/3'))).to.deep.equal(['198.51.100.0']);
  });

  it('holds for external IPs, too, and for both families of one Service', () => {
    const rest = { ...limit(1), allowExternalIps: true };
    const world = new AllocatorWorld(pool('lab', ['192.0.2.0/29', '2001:db8::/125'], rest));
    world.apply(plainService('a/1', { externalIps: ['192.0.2.1', '192.0.2.2'] }));
    expect(world.claimsOf('a/1')).to.deep.equal(['192.0.2.1']);
    expect(world.decide('a/1').warnings.join()).to.include('namespaces.maxAddresses');
    expect(world.book.takenIn('lab'), 'nothing is reserved on top').to.equal(1);
    const dual: Partial<Service> = { families: ['ipv4', 'ipv6'], familyPolicy: 'RequireDualStack' };
    expect(world.apply(service('b/1', dual))).to.deep.equal([]);
    expect(world.claimsOf('b/1')).to.deep.equal([]);
  });

  it('is said to a Service that asks for an external IP of any pool, which waits for its own namespace', () => {
    const rest = { ...limit(1), allowExternalIps: true };
    const world = new AllocatorWorld(pool('lab', ['192.0.2.0/29'], rest));
    const auto = { annotations: { [ANNOTATION.externalIp]: 'auto' } };
    world.apply(plainService('a/1', auto));
    expect(world.claimsOf('a/1')).to.deep.equal(['192.0.2.0']);
    world.apply(plainService('a/2', auto));
    const { problems } = world.decide('a/2');
    expect(problems[0]).to.include({ kind: 'waiting', reason: 'NamespaceLimit', limitOf: 'a' });
  });
});

describe('external IPs of a namespace that a pool is not for', () => {
  const closed = pool('private', ['192.0.2.0/30'], { namespaces: { names: ['victim'] } });
  const all = ['192.0.2.0', '192.0.2.1', '192.0.2.2', '192.0.2.3'];

  it('reserve nothing there: the pool is as free as before, and the lister is told', () => {
    const world = new AllocatorWorld(closed);
    world.apply(plainService('mallory/squat', { externalIps: all }));
    expect(world.book.takenIn('private')).to.equal(0);
    expect(world.decide('mallory/squat').warnings.join()).to.include('192.0.2.0');
    expect(world.apply(service('victim/web'))).to.deep.equal(['192.0.2.0']);
    expect(world.apply(service('victim/named', named('192.0.2.3')))).to.deep.equal(['192.0.2.3']);
  });

  it('are told to the Service that has the address, which nobody else can name', () => {
    const world = new AllocatorWorld(closed);
    world.apply(service('victim/web'));
    world.put(plainService('mallory/draw', { externalIps: ['192.0.2.0'] }));
    const { verdict } = world.decide('victim/web');
    expect(verdict).to.include({ status: 'True', reason: 'ListedByOther' });
    // forms that the API server takes, and that kube-proxy takes for the same address
    for (const form of ['192.0.2.00', '192.000.02.0', '::ffff:192.0.2.0', '0:0::ffff:c000:200']) {
      world.put(plainService('mallory/draw', { externalIps: [form] }));
      expect(world.decide('victim/web').verdict?.reason, form).to.equal('ListedByOther');
    }
    world.put(plainService('mallory/draw', { externalIps: ['::ffff:0:0', '192.0.2.x', ''] }));
    expect(world.decide('victim/web').verdict?.reason).to.equal('Allocated');
    expect(verdict?.message).to.include('spec.externalIPs of a Service of another namespace');
    world.remove('mallory/draw');
    expect(world.decide('victim/web').verdict).to.include({ reason: 'Allocated' });
    expect(world.claims.at(address('192.0.2.0'))?.services).to.have.length(1);
  });
});

describe('external IPs of a namespace that lists too many', () => {
  const open = pool('open', ['192.0.2.0/28'], { allowExternalIps: true });

  it('are not announced where they came after the others, and the Service reads so once', () => {
    const world = new AllocatorWorld(open);
    world.beyond.add('mallory/late');
    const externalIps = ['192.0.2.1', '192.0.2.2', '192.0.2.3'];
    world.apply(plainService('mallory/late', { externalIps }));
    expect(world.claimsOf('mallory/late')).to.deep.equal([]);
    const { warnings } = world.decide('mallory/late');
    expect(warnings).to.have.length(1);
    expect(warnings.join()).to.match(
      /^what is new in spec.externalIPs is neither reserved nor announced: the Services of namespace mallory list more than 4096/,
    );
  });

  it('stay announced where they stand, and a load balancer has its address', () => {
    const world = new AllocatorWorld(open);
    const stands = plainService('a/stands', { externalIps: ['192.0.2.1'] });
    world.apply(stands);
    world.apply(service('a/web', { externalIps: ['192.0.2.2'] }));
    for (const key of ['a/stands', 'a/web', 'a/new']) world.beyond.add(key);
    world.apply({ ...stands, externalIps: ['192.0.2.1', '192.0.2.3'] });
    expect(world.claimsOf('a/stands')).to.deep.equal(['192.0.2.1']);
    expect(world.settle('a/web')).to.deep.equal(['192.0.2.2']);
    expect(world.apply(service('a/new', { externalIps: ['192.0.2.4'] }))).to.deep.equal([
      '192.0.2.0',
    ]);
  });
});

describe('external IPs that a pool does not allow', () => {
  it('wait for the pool, and for nobody who has such an address', () => {
    const world = new AllocatorWorld(pool('closed', ['192.0.2.0/28']));
    world.apply(service('victim/web'));
    world.put(plainService('mallory/list', { externalIps: ['192.0.2.0', '192.0.2.1'] }));
    const { problems } = world.decide('mallory/list');
    expect(problems.map(({ reason }) => reason)).to.deep.equal([
      'ExternalIPNotAllowed',
      'ExternalIPNotAllowed',
    ]);
    expect(problems.flatMap((problem) => problem.address ?? [])).to.deep.equal([]);
  });

  it('wait for who has the address where the pool allows them', () => {
    const world = new AllocatorWorld(pool('open', ['192.0.2.0/28'], { allowExternalIps: true }));
    world.apply(service('victim/web'));
    world.put(plainService('other/list', { externalIps: ['192.0.2.0'] }));
    const { problems } = world.decide('other/list');
    expect(problems.flatMap((problem) => problem.address ?? [])).to.have.length(1);
  });
});
