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

const LAB = pool('lab', ['192.0.2.0/29']);
const SIX = pool('six', ['2001:db8::/64']);
const BOTH: Partial<Service> = { families: ['ipv4', 'ipv6'] };
const asks = (addresses: string) => ({ annotations: { [ANNOTATION.addresses]: addresses } });
const from = (pools: string) => ({ annotations: { [ANNOTATION.pool]: pools } });

describe('decideService: whose it is', () => {
  it('serves its own class, and no class when it is the default', () => {
    const world = new AllocatorWorld(LAB);
    expect(world.apply(service('a/own'))).to.deep.equal(['192.0.2.0']);
    const { loadBalancerClass: _, ...classless } = service('a/classless');
    expect(world.apply(classless)).to.deep.equal([]);
    expect(world.decide('a/classless').kind).to.equal('not-ours');
    world.isDefaultClass = true;
    expect(world.settle('a/classless')).to.deep.equal(['192.0.2.1']);
    expect(world.apply(service('a/other', { loadBalancerClass: 'x/y' }))).to.deep.equal([]);
    expect(world.apply(plainService('a/plain'))).to.deep.equal([]);
  });

  it('warns of annotations under herald.dev/ that it does not know, with the one that was meant', () => {
    const world = new AllocatorWorld(LAB);
    const strange = {
      'herald.dev/adresses': '192.0.2.5',
      'herald.dev/frobnicate': 'x',
      'x/y': 'z',
    };
    world.apply(service('a/b', { annotations: strange }));
    expect(world.decide('a/b').warnings).to.deep.equal([
      'the annotation herald.dev/adresses is none that Herald knows, so it is ignored; did you mean herald.dev/addresses?',
      'the annotation herald.dev/frobnicate is none that Herald knows, so it is ignored; those it knows are herald.dev/addresses, herald.dev/pool, herald.dev/share, herald.dev/external-ip',
    ]);
    const many = Object.fromEntries(
      Array.from({ length: 5000 }, (_, index) => [`herald.dev/a${index}`, '']),
    );
    world.apply(service('a/many', { annotations: many }));
    expect(world.decide('a/many').warnings).to.have.length(5);
    world.apply(plainService('a/plain', { annotations: { 'herald.dev/external-ips': 'auto' } }));
    expect(world.decide('a/plain').warnings.join()).to.include('herald.dev/external-ip?');
    world.apply(service('a/right', asks('192.0.2.3')));
    expect(world.decide('a/right').warnings).to.deep.equal([]);
  });

  it('does not take addresses away when somebody forgets the flag', () => {
    const world = new AllocatorWorld(LAB);
    world.isDefaultClass = true;
    const { loadBalancerClass: _, ...classless } = service('a/b');
    world.apply(classless);
    world.isDefaultClass = false;
    expect(world.decide('a/b').kind).to.equal('ready');
    expect(world.settle('a/b')).to.deep.equal(['192.0.2.0']);
  });

  it('gives everything back when the Service goes, is being deleted or changes its type', () => {
    const world = new AllocatorWorld(LAB);
    world.apply(service('a/gone'));
    const leaving = service('a/leaving');
    world.apply(leaving);
    const turned = service('a/turned');
    world.apply(turned);
    world.delete('a/gone');
    world.apply({ ...leaving, isBeingDeleted: true });
    world.apply({ ...turned, isLoadBalancer: false });
    expect([...world.claims.all].map(({ services }) => services.length)).to.deep.equal([0, 0, 0]);
    expect([...world.claims.released]).to.have.length(3);
    // quarantined: the next one gets another
    expect(world.apply(service('a/next'))).to.deep.equal(['192.0.2.3']);
  });
});

describe('decideService: which address', () => {
  it('gives the one that is asked for by annotation or spec.loadBalancerIP, several and of both families', () => {
    const world = new AllocatorWorld(LAB, SIX);
    expect(world.apply(service('a/one', asks('192.0.2.5')))).to.deep.equal(['192.0.2.5']);
    expect(world.apply(service('a/ip', { loadBalancerIp: '192.0.2.6' }))).to.deep.equal([
      '192.0.2.6',
    ]);
    const three = service('a/three', {
      ...BOTH,
      ...asks(' 192.0.2.3, 192.0.2.2,2001:db8::9 ,192.0.2.3'),
    });
    expect(world.apply(three)).to.deep.equal(['192.0.2.3', '192.0.2.2', '2001:db8::9']);
    const mixed = service('a/mixed', { ...BOTH, ...asks('2001:db8::5') });
    expect(world.apply(mixed)).to.deep.equal(['2001:db8::5', '192.0.2.0']);
  });

  it('refuses with a sentence what is no address, in no pool, of the wrong family or taken', () => {
    const world = new AllocatorWorld(LAB, SIX);
    world.apply(service('a/first', asks('192.0.2.1')));
    world.apply(plainService('a/manual', { externalIps: ['192.0.2.4'] }));
    world.claim({ metadata: { name: '192.0.2.3' }, spec: {} });
    const cases: readonly (readonly [string, string, string])[] = [
      [
        'nonsense',
        'BadRequest',
        "'nonsense' in the annotation herald.dev/addresses is not an address",
      ],
      ['203.0.113.9', 'AddressNotInPool', '203.0.113.9 is in no pool'],
      ['2001:db8::1', 'WrongFamily', 'spec.ipFamilies (ipv4)'],
      ['192.0.2.1', 'AddressTaken', 'belongs to Service a/first'],
      ['192.0.2.4', 'AddressTaken', 'spec.externalIPs of Service a/manual'],
      ['192.0.2.3', 'AddressTaken', 'made by hand'],
    ];
    for (const [text, reason, words] of cases) {
      world.put(service('a/second', asks(text)));
      const decision = world.decide('a/second');
      expect(decision.kind, text).to.equal('refused');
      expect(decision.verdict?.status).to.equal('False');
      expect(decision.verdict?.reason).to.equal(reason);
      expect(decision.verdict?.message).to.include(words);
      expect(decision.grants).to.deep.equal([]);
    }
  });

  it('takes named pools in their order, also those that do not assign by themselves', () => {
    const quiet = pool('quiet', ['198.51.100.0/31'], { autoAssign: false });
    const world = new AllocatorWorld(LAB, quiet);
    expect(world.apply(service('a/1', from('quiet,lab')))).to.deep.equal(['198.51.100.0']);
    expect(world.apply(service('a/2', from('quiet,lab')))).to.deep.equal(['198.51.100.1']);
    expect(world.apply(service('a/3', from('quiet,lab')))).to.deep.equal(['192.0.2.0']);
    expect(world.apply(service('a/4', asks('192.0.2.7')))).to.deep.equal(['192.0.2.7']);
    world.put(service('a/5', from('nowhere')));
    expect(world.decide('a/5')).to.have.nested.property('verdict.reason', 'PoolNotFound');
    world.refused.set('twin', 'it has no addresses');
    world.put(service('a/6', from('twin')));
    expect(world.decide('a/6')).to.have.nested.property('verdict.reason', 'PoolRefused');
    world.put(
      service('a/7', {
        annotations: { ...from('quiet').annotations, ...asks('192.0.2.2').annotations },
      }),
    );
    expect(world.decide('a/7')).to.have.nested.property('verdict.reason', 'AddressNotInPool');
  });

  it('tries the highest priority first, then the first by name', () => {
    const world = new AllocatorWorld(
      pool('b', ['10.0.1.0/32']),
      pool('a', ['10.0.0.0/32']),
      pool('z', ['10.0.9.0/32'], { priority: 5 }),
    );
    expect(['1', '2', '3'].map((n) => world.apply(service(`a/${n}`))[0])).to.deep.equal([
      '10.0.9.0',
      '10.0.0.0',
      '10.0.1.0',
    ]);
  });

  it('keeps pools to the namespaces and Services that they are for', () => {
    const world = new AllocatorWorld(
      pool('named', ['10.0.0.0/30'], { namespaces: { names: ['red'] } }),
      pool('chosen', ['10.0.1.0/30'], {
        namespaces: { names: [], selector: { matchLabels: { team: 'blue' } } },
      }),
      pool('gold', ['10.0.2.0/30'], { serviceSelector: { matchLabels: { tier: 'gold' } } }),
    );
    world.namespaces.set('blue', { team: 'blue' });
    expect(world.apply(service('red/a'))).to.deep.equal(['10.0.0.0']);
    expect(world.apply(service('blue/a'))).to.deep.equal(['10.0.1.0']);
    expect(world.apply(service('green/a', { labels: { tier: 'gold' } }))).to.deep.equal([
      '10.0.2.0',
    ]);
    world.put(service('green/b'));
    const { verdict } = world.decide('green/b');
    expect(verdict?.reason).to.equal('NoPoolForService');
    expect(verdict?.message).to.match(
      /: a pool that assigns by itself is not for namespace green; the serviceSelector of pool gold does not/,
    );
    world.put(service('green/c', asks('10.0.0.1')));
    expect(world.decide('green/c').verdict).to.include({
      reason: 'PoolNotAllowed',
      message:
        '10.0.0.1 cannot be used: its pool is not for namespace green; ask for another address, or change the pool',
    });
  });

  it('leaves why a pool is refused to the status of the pool: the sentence names another one, and its ranges', () => {
    const world = new AllocatorWorld(LAB);
    const why = "'198.51.100.0/24' overlaps '198.51.100.0/25' of IPPool/red-secret";
    world.refused.set('twin', why);
    world.put(service('green/web', from('twin')));
    const { verdict, problems } = world.decide('green/web');
    const message = 'pool twin cannot be used; its status says why';
    expect(verdict).to.deep.equal({ status: 'False', reason: 'PoolRefused', message });
    expect(JSON.stringify(problems)).to.not.contain('red-secret');
  });

  it('names a pool that is closed to the namespace only to a Service that names it by itself', () => {
    const names = { namespaces: { names: ['red'] } };
    const world = new AllocatorWorld(
      pool('red-secret', ['10.0.0.0/30'], names),
      pool('mine', ['10.0.1.0/30'], { autoAssign: false }),
    );
    const asksPool = (name: string, text?: string) => ({
      annotations: {
        [ANNOTATION.pool]: name,
        ...(text !== undefined && { [ANNOTATION.addresses]: text }),
      },
    });
    world.put(service('green/none'));
    world.put(service('green/address', asks('10.0.0.1')));
    world.put(service('green/other', asksPool('mine', '10.0.0.1')));
    world.put(plainService('green/list', { externalIps: ['10.0.0.1'] }));
    const auto = { annotations: { [ANNOTATION.externalIp]: 'auto' } };
    world.put(plainService('green/auto', auto));
    for (const name of ['none', 'address', 'other', 'list', 'auto']) {
      const { verdict, warnings } = world.decide(`green/${name}`);
      const words = [verdict?.message ?? '', ...warnings].join();
      expect(words, name).to.include('not for namespace green');
      expect(words, name).to.not.include('red-secret');
    }
    world.put(service('green/named', asksPool('red-secret')));
    expect(world.decide('green/named').verdict?.message).to.include(
      'pool red-secret is not for namespace green',
    );
  });

  it('gives both families from any pools; PreferDualStack takes what there is, RequireDualStack waits for both', () => {
    const world = new AllocatorWorld(LAB);
    const prefer = service('a/prefer', { ...BOTH, familyPolicy: 'PreferDualStack' });
    expect(world.apply(prefer)).to.deep.equal(['192.0.2.0']);
    expect(world.decide('a/prefer').kind).to.equal('ready');
    expect(world.decide('a/prefer').problems).to.have.length(1);
    const require = service('a/require', { ...BOTH, familyPolicy: 'RequireDualStack' });
    expect(world.apply(require)).to.deep.equal([]);
    expect(world.claimsOf('a/require')).to.deep.equal([]);
    expect(world.decide('a/require').kind).to.equal('waiting');
    world.setPools(LAB, SIX);
    expect(world.settle('a/prefer')).to.deep.equal(['192.0.2.0', '2001:db8::']);
    expect(world.settle('a/require')).to.deep.equal(['192.0.2.1', '2001:db8::1']);
  });

  it('tells none of two required addresses before both are there', () => {
    const world = new AllocatorWorld(LAB);
    const require = service('a/b', { ...BOTH, familyPolicy: 'RequireDualStack' });
    world.put(require);
    const { namespace, name, uid } = require;
    world.claim({
      metadata: { name: '192.0.2.2' },
      spec: { pool: 'lab', services: [{ namespace, name, uid }] },
    });
    expect(world.settle('a/b')).to.deep.equal([]);
    world.setPools(LAB, SIX);
    expect(world.settle('a/b')).to.deep.equal(['192.0.2.2', '2001:db8::']);
  });
});

describe('decideService: who waits', () => {
  it('says what it waits for: no pool, none that fits, a full one', () => {
    const world = new AllocatorWorld();
    world.put(service('a/b'));
    expect(world.decide('a/b').verdict).to.deep.include({ status: 'False', reason: 'NoPool' });
    world.setPools(pool('one', ['10.0.0.0/32']));
    world.apply(service('a/first'));
    const full = world.decide('a/b');
    expect(full.verdict?.reason).to.equal('PoolExhausted');
    expect(full.verdict?.message).to.include('pool one has no free IPv4 address');
    expect(full.problems[0]?.pools).to.deep.equal([{ pool: 'one', family: 'ipv4' }]);
  });

  it('leaves what is free to those that wait longer', () => {
    const world = new AllocatorWorld(pool('one', ['10.0.0.0/31']));
    const old = service('a/old', { createdMs: 1 });
    const young = service('a/young', { createdMs: 2 });
    const pools = [{ pool: 'one', family: 'ipv4' as const }];
    world.put(old);
    world.put(young);
    world.waiting.put({ key: 'a/old', createdMs: 1, pools, addresses: [] });
    world.claim({ metadata: { name: '10.0.0.1' }, spec: {} });
    expect(world.decide('a/young').kind).to.equal('waiting');
    expect(world.decide('a/old').kind).to.equal('allocate');
    world.deleteClaim('10.0.0.1');
    expect(world.decide('a/young').kind).to.equal('allocate');
  });
});

describe('decideService: what stands', () => {
  it('keeps the address through changes that do not ask for another', () => {
    const world = new AllocatorWorld(LAB);
    const asked = service('a/b', asks('192.0.2.4'));
    world.apply(asked);
    expect(world.apply({ ...asked, annotations: {} })).to.deep.equal(['192.0.2.4']);
    world.setPools(
      pool('lab', ['192.0.2.0/29'], { autoAssign: false, namespaces: { names: ['x'] } }),
    );
    expect(world.settle('a/b')).to.deep.equal(['192.0.2.4']);
    world.setPools(pool('lab', ['192.0.2.0/30']));
    expect(world.settle('a/b')).to.deep.equal(['192.0.2.4']);
    world.setPools();
    expect(world.settle('a/b')).to.deep.equal(['192.0.2.4']);
    expect(world.decide('a/b').kind).to.equal('ready');
    expect(world.claimsOf('a/b')).to.deep.equal(['192.0.2.4']);
  });

  it('never gives out again what a shrunk pool has lost', () => {
    const world = new AllocatorWorld(LAB);
    world.apply(service('a/b', asks('192.0.2.4')));
    world.setPools(pool('lab', ['192.0.2.0/30']));
    world.setPools(LAB);
    for (let n = 0; n < 7; n += 1)
      expect(world.apply(service(`b/${n}`))).to.not.include('192.0.2.4');
    expect(world.apply(service('b/last'))).to.deep.equal([]);
  });

  it('takes the new before it gives up the old, and keeps the old while the new cannot be had', () => {
    const world = new AllocatorWorld(LAB);
    const value = service('a/b', asks('192.0.2.4'));
    world.apply(value);
    world.apply(service('a/other', asks('192.0.2.6')));
    expect(world.apply({ ...value, ...asks('192.0.2.6') })).to.deep.equal(['192.0.2.4']);
    expect(world.decide('a/b').verdict).to.deep.include({
      status: 'False',
      reason: 'AddressTaken',
    });
    const put = { ...value, ...asks('192.0.2.5'), ingress: [address('192.0.2.4')] };
    world.put(put);
    const decision = world.decide('a/b');
    expect(decision.kind).to.equal('allocate');
    expect(decision.leave.map(({ name }) => name)).to.deep.equal(['192.0.2.4']);
    expect(world.settle('a/b')).to.deep.equal(['192.0.2.5']);
    expect([...world.claims.released].map(({ name }) => name)).to.deep.equal(['192.0.2.4']);
  });

  it('gives up at once what was never told to anybody', () => {
    const world = new AllocatorWorld(LAB);
    world.apply(service('a/other', asks('192.0.2.6')));
    const value = service('a/b', asks('192.0.2.6'));
    world.put(value);
    const { namespace, name, uid } = value;
    const spec = { pool: 'lab', services: [{ namespace, name, uid }] };
    world.claim({ metadata: { name: '192.0.2.1' }, spec });
    expect(world.decide('a/b').kind).to.equal('refused');
    expect(world.decide('a/b').leave.map((claim) => claim.name)).to.deep.equal(['192.0.2.1']);
  });

  it('moves to the pool that it names now, and drops a family that it no longer has', () => {
    const world = new AllocatorWorld(
      LAB,
      SIX,
      pool('other', ['10.0.0.0/30'], { autoAssign: false }),
    );
    const value = service('a/b', { ...BOTH, familyPolicy: 'RequireDualStack' });
    expect(world.apply(value)).to.deep.equal(['192.0.2.0', '2001:db8::']);
    const single: Service = { ...value, families: ['ipv4'], familyPolicy: 'SingleStack' };
    expect(world.apply(single)).to.deep.equal(['192.0.2.0']);
    expect(world.apply({ ...single, ...from('other') })).to.deep.equal(['10.0.0.0']);
    expect(world.claimsOf('a/b')).to.deep.equal(['10.0.0.0']);
  });

  it('keeps one of two that two controllers made at once: the one in its status, else the oldest', () => {
    const world = new AllocatorWorld(LAB);
    const value = service('a/b');
    world.put(value);
    const { namespace, name, uid } = value;
    const spec = { pool: 'lab', services: [{ namespace, name, uid }] };
    world.claim({ metadata: { name: '192.0.2.5' }, spec });
    world.claim({ metadata: { name: '192.0.2.2' }, spec });
    expect(world.settle('a/b')).to.deep.equal(['192.0.2.5']);
    expect(world.claimsOf('a/b')).to.deep.equal(['192.0.2.5']);
    expect([...world.claims.released].map((claim) => claim.name)).to.deep.equal(['192.0.2.2']);
  });

  it('does not inherit the claim of one of the same name that is gone, unless it asks for the address by name', () => {
    const world = new AllocatorWorld(LAB);
    world.apply(service('a/b', asks('192.0.2.4')));
    expect(world.apply(service('a/b'))).to.deep.equal(['192.0.2.0']);
    expect(world.claimsOf('a/b')).to.deep.equal(['192.0.2.0']);
    world.apply(service('a/c', asks('192.0.2.5')));
    const again = service('a/c', asks('192.0.2.5'));
    expect(world.apply(again)).to.deep.equal(['192.0.2.5']);
    expect(world.claims.at(address('192.0.2.5'))?.services[0]?.uid).to.equal(again.uid);
  });

  it('gives a released address back to who gave it back, and to nobody else', () => {
    const world = new AllocatorWorld(LAB);
    world.apply(service('a/b', asks('192.0.2.4')));
    world.delete('a/b');
    world.put(service('a/thief', asks('192.0.2.4')));
    expect(world.decide('a/thief').verdict?.reason).to.equal('AddressQuarantined');
    expect(world.decide('a/thief').kind).to.equal('waiting');
    expect(world.apply(service('a/b', asks('192.0.2.4')))).to.deep.equal(['192.0.2.4']);
    const claim = world.claims.at(address('192.0.2.4'));
    expect(claim?.withdrawn).to.equal(undefined);
    expect(Object.keys(claim?.annotations ?? {})).to.deep.equal([]);
  });

  it('never touches a hand-made claim and never gives its address out', () => {
    const world = new AllocatorWorld(LAB);
    world.claim({ metadata: { name: '192.0.2.0' }, spec: {} });
    expect(world.apply(service('a/b'))).to.deep.equal(['192.0.2.1']);
    expect(world.apply(service('a/greedy', asks('192.0.2.0')))).to.deep.equal([]);
    expect(world.decide('a/greedy').verdict?.message).to.include('was made by hand');
    expect([...world.claims.released]).to.deep.equal([]);
  });
});

describe('decideService: what is in the status already', () => {
  it('adopts an address inside the pools before anybody else gets it', () => {
    const world = new AllocatorWorld(LAB);
    world.put(service('a/had', { ingress: [address('192.0.2.0'), address('192.0.2.1')] }));
    world.put(service('a/new'));
    expect(world.settle('a/new')).to.deep.equal(['192.0.2.2']);
    expect(world.decide('a/had').kind).to.equal('adopt');
    expect(world.settle('a/had')).to.deep.equal(['192.0.2.0', '192.0.2.1']);
    expect(world.decide('a/had').kind).to.equal('ready');
  });

  it('never writes over an ingress that it did not write and cannot adopt', () => {
    const world = new AllocatorWorld(LAB);
    const foreign: readonly Partial<Service>[] = [
      { ingress: [address('203.0.113.1')] },
      { hasForeignIngress: true },
      { ingress: [address('203.0.113.1')], ...asks('192.0.2.4') },
    ];
    for (const each of foreign) {
      world.put(service('a/b', each));
      const decision = world.decide('a/b');
      expect(decision.kind).to.equal('owned-by-other');
      expect(decision.ingress).to.equal(undefined);
      expect(decision.grants).to.deep.equal([]);
      expect(decision.verdict).to.deep.include({ status: 'False', reason: 'OwnedByOther' });
    }
  });

  it('keeps its claim and its hands off when somebody else writes over our status', () => {
    const world = new AllocatorWorld(LAB);
    const value = service('a/b');
    world.apply(value);
    world.put({ ...value, ingress: [address('203.0.113.1')] });
    const decision = world.decide('a/b');
    expect(decision.kind).to.equal('owned-by-other');
    expect(decision.grants.map(({ kind }) => kind)).to.deep.equal(['keep']);
    expect(decision.leave).to.deep.equal([]);
  });

  it('replaces what it wrote itself when a person deleted claim and pool', () => {
    const world = new AllocatorWorld(LAB);
    const conditions = [
      { type: 'herald.dev/Allocated', status: 'True' as const, reason: 'Allocated', message: '' },
    ];
    world.put(service('a/b', { ingress: [address('203.0.113.1')], conditions }));
    expect(world.settle('a/b')).to.deep.equal(['192.0.2.0']);
  });
});
