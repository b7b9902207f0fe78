import { expect } from 'chai';
import { termsOf } from '../../../src/allocator/share-terms.ts';
import { ANNOTATION } from '../../../src/model/names.ts';
import type { Service } from '../../../src/model/service.ts';
import {
  AllocatorWorld,
  address,
  plainService,
  pool,
  service,
} from '../../support/allocator-world.ts';

const LAB = pool('lab', ['192.0.2.0/29'], { shareAcross: ['x', 'y'] });
const tcp = (port: number): Partial<Service> => ({ ports: [{ protocol: 'TCP', port }] });
const word = (share: string, addresses?: string): Partial<Service> => ({
  annotations: {
    [ANNOTATION.share]: share,
    ...(addresses !== undefined && { [ANNOTATION.addresses]: addresses }),
  },
});

type Ports = Service['ports'];

/** A list without this port and one with it, of which the first 8 digits of what a claim remembers are the same; found by trying. */
function alikePorts(port: number): readonly [Ports, Ports] {
  const of = (...numbers: readonly number[]): Ports =>
    numbers.map((each) => ({ protocol: 'TCP', port: each }));
  const start = (ports: Ports) => termsOf(service('x/1', { ports })).slice(0, 8);
  const without = new Map<string, Ports>();
  const others = (count: number) => [1000 + (count % 30_000), 31_000 + Math.floor(count / 30_000)];
  for (let count = 0; count < 100_000; count += 1) {
    const ports = of(...others(count));
    without.set(start(ports), ports);
  }
  for (let count = 0; count < 2_000_000; count += 1) {
    const ports = of(port, ...others(count));
    const alike = without.get(start(ports));
    if (alike !== undefined) return [alike, ports];
  }
  throw new Error('none found');
}

describe('sharing an address', () => {
  it('joins the address of its word where the ports allow it, else takes a new one', () => {
    const world = new AllocatorWorld(LAB);
    expect(world.apply(service('a/1', { ...tcp(80), ...word('web') }))).to.deep.equal([
      '192.0.2.0',
    ]);
    expect(world.apply(service('a/2', { ...tcp(443), ...word('web') }))).to.deep.equal([
      '192.0.2.0',
    ]);
    const udp: Partial<Service> = { ports: [{ protocol: 'UDP', port: 80 }] };
    expect(world.apply(service('a/3', { ...udp, ...word('web') }))).to.deep.equal(['192.0.2.0']);
    expect(world.apply(service('a/4', { ...tcp(80), ...word('web') }))).to.deep.equal([
      '192.0.2.1',
    ]);
    expect(world.apply(service('a/5', { ...tcp(81), ...word('other') }))).to.deep.equal([
      '192.0.2.2',
    ]);
  });

  it('refuses a requested address with the Service and the port that are in the way', () => {
    const world = new AllocatorWorld(LAB);
    world.apply(service('a/1', { ...tcp(80), ...word('web', '192.0.2.3') }));
    const refusals: readonly (readonly [string, Partial<Service>, string, string])[] = [
      [
        'a/2',
        { ...tcp(80), ...word('web', '192.0.2.3') },
        'ShareConflict',
        'port 80/TCP in use by Service a/1',
      ],
      [
        'a/3',
        { ...tcp(81), ...word('mail', '192.0.2.3') },
        'AddressTaken',
        'belongs to Service a/1',
      ],
      [
        'a/4',
        { ...tcp(81), annotations: { [ANNOTATION.addresses]: '192.0.2.3' } },
        'AddressTaken',
        'the same annotation herald.dev/share',
      ],
      ['b/5', { ...tcp(81), ...word('web', '192.0.2.3') }, 'ShareConflict', 'within a namespace'],
      [
        'a/6',
        { ...tcp(81), isLocal: true, ...word('web', '192.0.2.3') },
        'ShareConflict',
        'another externalTrafficPolicy',
      ],
    ];
    for (const [key, rest, reason, words] of refusals) {
      world.put(service(key, rest));
      const { verdict } = world.decide(key);
      expect(verdict?.reason, key).to.equal(reason);
      expect(verdict?.message).to.include(words);
    }
    expect(world.apply(service('a/7', { ...tcp(81), ...word('web', '192.0.2.3') }))).to.deep.equal([
      '192.0.2.3',
    ]);
  });

  it('lets Local Services share only with the same selector', () => {
    const world = new AllocatorWorld(LAB);
    const local = { isLocal: true, healthCheckNodePort: 30000, selector: { app: 'x' } };
    world.apply(service('a/1', { ...tcp(80), ...local, ...word('web') }));
    expect(world.apply(service('a/2', { ...tcp(81), ...local, ...word('web') }))).to.deep.equal([
      '192.0.2.0',
    ]);
    const other = service('a/3', {
      ...tcp(82),
      isLocal: true,
      selector: { app: 'y' },
      ...word('web', '192.0.2.0'),
    });
    world.put(other);
    expect(world.decide('a/3').verdict?.message).to.include('another selector');
  });

  it('keeps Local Services within a namespace, in another one the same selector has other pods', () => {
    const world = new AllocatorWorld(LAB);
    const local = { isLocal: true, healthCheckNodePort: 30000, selector: { app: 'web' } };
    world.apply(service('x/1', { ...tcp(80), ...local, ...word('web') }));
    expect(world.apply(service('y/1', { ...tcp(81), ...local, ...word('web') }))).to.deep.equal([
      '192.0.2.1',
    ]);
    const named = service('y/2', { ...tcp(82), ...local, ...word('web', '192.0.2.0') });
    expect(world.apply(named)).to.deep.equal([]);
    const { verdict } = world.decide('y/2');
    expect(verdict).to.include({ status: 'False', reason: 'ShareConflict' });
    expect(verdict?.message).to.include('a Service of another namespace with other pods');
  });

  it('lets Local Services share only within a namespace: the later of two that share so leaves', () => {
    const world = new AllocatorWorld(LAB);
    const first = service('x/1', { ...tcp(80), ...word('web') });
    const second = service('y/2', { ...tcp(81), ...word('web') });
    world.apply(first);
    world.apply(second);
    // as a release that let them share has left it
    const local = { isLocal: true, selector: { app: 'web' } };
    const claim = world.claims.at(address('192.0.2.0'));
    if (claim === undefined) throw new Error('no claim');
    const { 'herald.dev/share-terms': _, ...annotations } = claim.annotations;
    world.claim({
      metadata: { name: claim.name, uid: claim.uid, annotations },
      spec: { pool: 'lab', services: claim.services },
    });
    for (const each of [first, second]) {
      world.put({ ...each, ...local, ingress: [address('192.0.2.0')] });
    }
    expect(world.settle('x/1')).to.deep.equal(['192.0.2.0']);
    expect(world.settle('y/2')).to.deep.equal(['192.0.2.1']);
    expect(world.settle('x/1')).to.deep.equal(['192.0.2.0']);
  });

  it('crosses namespaces only where the pool lists both', () => {
    const world = new AllocatorWorld(LAB);
    world.apply(service('x/1', { ...tcp(80), ...word('web') }));
    expect(world.apply(service('y/1', { ...tcp(81), ...word('web') }))).to.deep.equal([
      '192.0.2.0',
    ]);
    expect(world.apply(service('z/1', { ...tcp(82), ...word('web') }))).to.deep.equal([
      '192.0.2.1',
    ]);
  });

  it('stays until the last one has gone', () => {
    const world = new AllocatorWorld(LAB);
    world.apply(service('a/1', { ...tcp(80), ...word('web') }));
    world.apply(service('a/2', { ...tcp(81), ...word('web') }));
    world.delete('a/1');
    const claim = () => world.claims.at(address('192.0.2.0'));
    expect(claim()?.services.map(({ name }) => name)).to.deep.equal(['2']);
    expect(claim()?.withdrawn).to.equal(undefined);
    world.delete('a/2');
    expect(claim()?.services).to.deep.equal([]);
    expect(claim()?.withdrawn?.reason).to.match(/^Released/);
  });

  it('moves only the one whose word has changed; alone it keeps its address under the new word', () => {
    const world = new AllocatorWorld(LAB);
    const first = service('a/1', { ...tcp(80), ...word('web') });
    world.apply(first);
    world.apply(service('a/2', { ...tcp(81), ...word('web') }));
    expect(world.apply({ ...first, ...word('mine') })).to.deep.equal(['192.0.2.1']);
    expect(world.settle('a/2')).to.deep.equal(['192.0.2.0']);
    expect(world.claims.at(address('192.0.2.0'))?.services.map(({ name }) => name)).to.deep.equal([
      '2',
    ]);
    expect(world.apply({ ...first, ...word('yours') })).to.deep.equal(['192.0.2.1']);
    expect(world.claims.sharedAs('yours')).to.have.length(1);
    expect(world.claims.sharedAs('mine')).to.have.length(0);
  });

  describe('rules that are broken later', () => {
    const members = (world: AllocatorWorld) =>
      world.claims.at(address('192.0.2.0'))?.services.map(({ name }) => name);
    const two = () => {
      const world = new AllocatorWorld(LAB);
      const first = service('x/1', { ...tcp(80), ...word('web') });
      const second = service('y/2', { ...tcp(81), ...word('web') });
      world.apply(first);
      world.apply(second);
      world.settle('x/1');
      return { world, first, second };
    };

    it('the one that takes the port of another leaves, and the other has its address and a true condition', () => {
      const { world, second } = two();
      expect(world.apply({ ...second, ...tcp(80) })).to.deep.equal(['192.0.2.1']);
      expect(world.settle('x/1')).to.deep.equal(['192.0.2.0']);
      expect(members(world)).to.deep.equal(['1']);
      expect(world.decide('x/1').verdict).to.deep.include({ status: 'True', reason: 'Allocated' });
    });

    it('the one that came first leaves too, when it is the one that has changed', () => {
      const { world, first } = two();
      expect(world.apply({ ...first, ...tcp(81) })).to.deep.equal(['192.0.2.1']);
      expect(world.settle('y/2')).to.deep.equal(['192.0.2.0']);
      expect(members(world)).to.deep.equal(['2']);
    });

    it('two lists of ports whose hashes begin alike are told apart: who came first cannot choose them so', () => {
      const [before, after] = alikePorts(80);
      const world = new AllocatorWorld(LAB);
      const first = service('x/1', { ports: before, ...word('web') });
      expect(world.apply(first)).to.deep.equal(['192.0.2.0']);
      expect(world.apply(service('y/2', { ...tcp(80), ...word('web') }))).to.deep.equal([
        '192.0.2.0',
      ]);
      world.settle('x/1');
      expect(world.apply({ ...first, ports: after })).to.deep.equal(['192.0.2.1']);
      expect(world.settle('y/2')).to.deep.equal(['192.0.2.0']);
    });

    it('the other one is served, whichever is looked at first', () => {
      const { world, first } = two();
      world.put({ ...first, ...tcp(81), ingress: [address('192.0.2.0')] });
      expect(world.settle('y/2')).to.deep.equal(['192.0.2.0']);
      expect(world.decide('y/2').verdict).to.deep.include({ status: 'True', reason: 'Allocated' });
      expect(world.settle('x/1')).to.deep.equal(['192.0.2.1']);
    });

    it('another traffic policy leaves', () => {
      const { world, second } = two();
      const local = { ...second, isLocal: true, healthCheckNodePort: 30_000 };
      expect(world.apply(local)).to.deep.equal(['192.0.2.1']);
      expect(members(world)).to.deep.equal(['1']);
    });

    it('an address that was asked for by name is lost with a sentence that names no Service of another namespace', () => {
      const world = new AllocatorWorld(LAB);
      world.apply(service('x/1', { ...tcp(80), ...word('web') }));
      const second = service('y/2', { ...tcp(81), ...word('web', '192.0.2.0') });
      expect(world.apply(second)).to.deep.equal(['192.0.2.0']);
      world.settle('x/1');
      expect(world.apply({ ...second, ...tcp(80) })).to.deep.equal([]);
      const { verdict } = world.decide('y/2');
      expect(verdict).to.deep.include({ status: 'False', reason: 'ShareConflict' });
      expect(verdict?.message).to.include('port 80/TCP in use by a Service of another namespace');
      expect(members(world)).to.deep.equal(['1']);
    });

    it('a request that cannot be read does not keep it there', () => {
      const { world, second } = two();
      const bad = { ...word('web', 'nonsense'), ...tcp(80) };
      expect(world.apply({ ...second, ...bad })).to.deep.equal([]);
      expect(members(world)).to.deep.equal(['1']);
    });

    it('the later one leaves where nobody knows who has changed', () => {
      const { world, first } = two();
      const claim = world.claims.at(address('192.0.2.0'));
      if (claim === undefined) throw new Error('no claim');
      const { 'herald.dev/share-terms': terms, ...annotations } = claim.annotations;
      expect(terms).to.match(/^x\/1=[0-9a-f]{32},y\/2=[0-9a-f]{32}$/);
      world.claim({
        metadata: { name: claim.name, uid: claim.uid, annotations },
        spec: { pool: 'lab', services: claim.services },
      });
      world.put({ ...first, ...tcp(81), ingress: [address('192.0.2.0')] });
      expect(world.settle('y/2')).to.deep.equal(['192.0.2.1']);
      expect(world.settle('x/1')).to.deep.equal(['192.0.2.0']);
    });

    it("a port that nobody has is anybody's to take, and is remembered", () => {
      const { world, first, second } = two();
      expect(world.apply({ ...second, ...tcp(82) })).to.deep.equal(['192.0.2.0']);
      expect(world.apply({ ...first, ...tcp(82) })).to.deep.equal(['192.0.2.1']);
      expect(world.settle('y/2')).to.deep.equal(['192.0.2.0']);
    });

    it('a pool that no longer lets them share moves nobody, and says so', () => {
      const { world } = two();
      world.setPools({ ...LAB, shareAcross: [] });
      expect(world.settle('y/2')).to.deep.equal(['192.0.2.0']);
      expect(world.decide('y/2').verdict).to.include({ status: 'True', reason: 'ShareConflict' });
    });

    it('one that lists a shared address in its external IPs leaves it as well', () => {
      const world = new AllocatorWorld({ ...LAB, allowExternalIps: true });
      const external = { externalIps: ['192.0.2.5'] };
      world.apply(plainService('x/1', { ...tcp(80), ...external }));
      const second = plainService('x/2', { ...tcp(81), ...external });
      world.apply(second);
      world.settle('x/1');
      const claim = () => world.claims.at(address('192.0.2.5'))?.services.map(({ name }) => name);
      expect(claim()).to.deep.equal(['1', '2']);
      world.apply({ ...second, ...tcp(80) });
      expect(claim()).to.deep.equal(['1']);
      expect(world.decide('x/2').warnings.join()).to.include('port 80/TCP in use by Service x/1');
    });
  });

  it('waits while the first of its word is being written', () => {
    const world = new AllocatorWorld(LAB);
    world.shareBusy = 'web';
    world.put(service('a/2', word('web')));
    expect(world.decide('a/2').problems[0]?.shareKey).to.equal('web');
    world.shareBusy = undefined;
    expect(world.decide('a/2').kind).to.equal('allocate');
  });
});
