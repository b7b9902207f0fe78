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

const OPEN = pool('open', ['192.0.2.0/29'], { allowExternalIps: true });
const CLOSED = pool('closed', ['192.0.2.0/29']);
const AUTO: Partial<Service> = { annotations: { [ANNOTATION.externalIp]: 'auto' } };
const byHand = (text: string): Partial<Service> => ({ externalIps: [text] });

describe('externalIPs', () => {
  // SEEDS.md C11: annotation × type × own externalIPs; what is in externalIPs, in the status and claimed
  const rows: readonly (readonly [string, Service, string[], string[], string[]])[] = [
    ['nothing', plainService('a/1'), [], [], []],
    ['by hand', plainService('a/2', byHand('192.0.2.5')), ['192.0.2.5'], [], ['192.0.2.5']],
    ['auto', plainService('a/3', AUTO), ['192.0.2.0'], [], ['192.0.2.0']],
    [
      'auto and by hand',
      plainService('a/4', { ...AUTO, ...byHand('192.0.2.5') }),
      ['192.0.2.5'],
      [],
      ['192.0.2.5'],
    ],
    ['load balancer', service('a/5'), [], ['192.0.2.0'], ['192.0.2.0']],
    [
      'load balancer, by hand',
      service('a/6', byHand('192.0.2.5')),
      ['192.0.2.5'],
      ['192.0.2.5'],
      ['192.0.2.5'],
    ],
    ['load balancer, auto', service('a/7', AUTO), [], ['192.0.2.0'], ['192.0.2.0']],
    [
      'load balancer, auto and by hand',
      service('a/8', { ...AUTO, ...byHand('192.0.2.5') }),
      ['192.0.2.5'],
      ['192.0.2.5'],
      ['192.0.2.5'],
    ],
  ];
  for (const [name, value, externalIps, ingress, claims] of rows) {
    it(`gives exactly one address: ${name}`, () => {
      const world = new AllocatorWorld(OPEN);
      const key = `${value.namespace}/${value.name}`;
      expect(world.apply(value)).to.deep.equal(ingress);
      expect(world.services.get(key)?.externalIps).to.deep.equal(externalIps);
      expect(world.claimsOf(key)).to.deep.equal(claims);
    });
  }

  it('reserves what is written by hand and never gives it out, whatever the pool says', () => {
    for (const one of [OPEN, CLOSED]) {
      const world = new AllocatorWorld(one);
      world.apply(plainService('a/manual', byHand('192.0.2.0')));
      expect(world.apply(service('a/b'))).to.deep.equal(['192.0.2.1']);
    }
  });

  it('never announces nor gives out what is an address of a node, and says whose (SEEDS H25)', () => {
    const world = new AllocatorWorld(OPEN);
    world.book.take(address('192.0.2.0'), { kind: 'node', by: 'n1' });
    world.apply(plainService('a/manual', byHand('192.0.2.0')));
    expect(world.claimsOf('a/manual')).to.deep.equal([]);
    expect(world.decide('a/manual').warnings.join()).to.include('is an address of node n1');
    expect(world.apply(service('a/web'))).to.deep.equal(['192.0.2.1']);
  });

  it('announces them only from pools that allow it, and says so', () => {
    const world = new AllocatorWorld(CLOSED);
    world.apply(plainService('a/b', byHand('192.0.2.3')));
    expect(world.claimsOf('a/b')).to.deep.equal([]);
    expect(world.decide('a/b').warnings.join()).to.include('does not say allowExternalIPs');
    world.apply(plainService('a/elsewhere', byHand('203.0.113.3')));
    expect(world.decide('a/elsewhere').warnings).to.deep.equal([]);
    world.setPools(OPEN);
    world.settle('a/b');
    expect(world.claimsOf('a/b')).to.deep.equal(['192.0.2.3']);
    world.setPools(CLOSED);
    world.settle('a/b');
    expect(world.claimsOf('a/b')).to.deep.equal([]);
    expect(world.decide('a/b').warnings.join()).to.include('does not say allowExternalIPs');
  });

  it('takes back what a pool allows no more: by hand it is announced no more, an automatic one leaves the list too', () => {
    const shut = { ...OPEN, allowExternalIps: false };
    const world = new AllocatorWorld(OPEN);
    world.apply(plainService('a/hand', byHand('192.0.2.3')));
    world.apply(plainService('a/auto', AUTO));
    world.apply(service('a/both', byHand('192.0.2.5')));
    world.setPools(shut);
    for (const key of ['a/hand', 'a/auto', 'a/both']) world.settle(key);
    expect(world.claimsOf('a/hand')).to.deep.equal([]);
    expect(world.services.get('a/hand')?.externalIps).to.deep.equal(['192.0.2.3']);
    expect(world.claimsOf('a/auto')).to.deep.equal([]);
    expect(world.services.get('a/auto')?.externalIps).to.deep.equal([]);
    expect(world.decide('a/auto').verdict).to.include({ reason: 'ExternalIPNotAllowed' });
    // as a load balancer it may have the address, and has it already
    expect(world.claimsOf('a/both')).to.deep.equal(['192.0.2.5']);
    world.setPools(OPEN);
    for (const key of ['a/hand', 'a/auto']) world.settle(key);
    expect(world.claimsOf('a/hand')).to.deep.equal(['192.0.2.3']);
    expect(world.claimsOf('a/auto')).to.have.length(1);
  });

  it('keeps them when their pool goes altogether, as every address of a Service', () => {
    const world = new AllocatorWorld(OPEN);
    world.apply(plainService('a/hand', byHand('192.0.2.3')));
    world.setPools();
    world.settle('a/hand');
    expect(world.claimsOf('a/hand')).to.deep.equal(['192.0.2.3']);
  });

  it('does not announce a Local one of another type than LoadBalancer, and says what it needs', () => {
    const world = new AllocatorWorld(OPEN);
    const dark = plainService('a/dark', { ...byHand('192.0.2.5'), isLocal: true });
    world.apply(dark);
    expect(world.claimsOf('a/dark')).to.deep.equal([]);
    expect(world.decide('a/dark').warnings.join()).to.equal(
      '192.0.2.5 of spec.externalIPs is not announced: externalTrafficPolicy: Local needs type LoadBalancer, or no node can tell whether it has an endpoint; change one of the two',
    );
    // nobody else gets it all the same
    world.apply(plainService('a/auto', { ...AUTO, isLocal: true }));
    expect(world.claimsOf('a/auto')).to.deep.equal([]);
    expect(world.decide('a/auto').verdict).to.include({ reason: 'ExternalIPNotAllowed' });
    world.apply(plainService('a/whole', byHand('192.0.2.6')));
    const balancer = { ...byHand('192.0.2.7'), isLocal: true, healthCheckNodePort: 30001 };
    world.apply(service('a/balancer', balancer));
    expect(world.claimsOf('a/whole')).to.deep.equal(['192.0.2.6']);
    expect(world.claimsOf('a/balancer')).to.deep.equal(['192.0.2.7']);
  });

  it('refuses auto without such a pool, and warns of other words', () => {
    const world = new AllocatorWorld(CLOSED);
    world.apply(plainService('a/b', AUTO));
    const decision = world.decide('a/b');
    expect(decision.verdict).to.deep.include({ status: 'False', reason: 'ExternalIPNotAllowed' });
    expect(decision.verdict?.message).to.include('pool closed does not say allowExternalIPs');
    world.put(plainService('a/c', { annotations: { [ANNOTATION.externalIp]: 'yes' } }));
    expect(world.decide('a/c').warnings.join()).to.include("knows only the value 'auto'");
    expect(world.decide('a/c').kind).to.equal('not-ours');
  });

  it('puts an automatic address back that somebody removed, and takes it out with the annotation', () => {
    const world = new AllocatorWorld(OPEN);
    const value = plainService('a/b', AUTO);
    world.apply(value);
    world.apply({ ...value, externalIps: [] });
    expect(world.services.get('a/b')?.externalIps).to.deep.equal(['192.0.2.0']);
    world.apply({ ...value, annotations: {}, externalIps: ['192.0.2.0', '203.0.113.1'] });
    expect(world.services.get('a/b')?.externalIps).to.deep.equal(['203.0.113.1']);
    expect(world.claimsOf('a/b')).to.deep.equal([]);
  });

  it('swaps an automatic address for a manual one', () => {
    const world = new AllocatorWorld(OPEN);
    const value = plainService('a/b', AUTO);
    world.apply(value);
    world.apply({ ...value, externalIps: ['192.0.2.4'] });
    expect(world.services.get('a/b')?.externalIps).to.deep.equal(['192.0.2.4']);
    expect(world.claimsOf('a/b')).to.deep.equal(['192.0.2.4']);
    expect([...world.claims.released].map(({ name }) => name)).to.deep.equal(['192.0.2.0']);
  });

  it('lets Services of one namespace write the same address; the route stays until the last has gone', () => {
    const world = new AllocatorWorld(OPEN);
    world.apply(
      plainService('a/1', { ...byHand('192.0.2.3'), ports: [{ protocol: 'TCP', port: 1 }] }),
    );
    world.apply(
      plainService('a/2', { ...byHand('192.0.2.3'), ports: [{ protocol: 'TCP', port: 2 }] }),
    );
    world.apply(
      plainService('b/3', { ...byHand('192.0.2.3'), ports: [{ protocol: 'TCP', port: 3 }] }),
    );
    const names = () => world.claims.at(address('192.0.2.3'))?.services.map(({ name }) => name);
    expect(names()).to.deep.equal(['1', '2']);
    expect(world.decide('b/3').warnings.join()).to.include('belongs to a Service of another');
    world.delete('a/1');
    expect(names()).to.deep.equal(['2']);
    world.delete('a/2');
    expect(names()).to.deep.equal([]);
  });
});
