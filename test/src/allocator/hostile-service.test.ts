/** A Service that carries more than any Service needs: bounded where it is read, refused with a sentence, and no work for anybody else. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { unique } from '../../../src/allocator/address-set.ts';
import { externalAddresses, serviceRequest } from '../../../src/allocator/service-request.ts';
import { externalIpsPatch } from '../../../src/controller/service-writes.ts';
import { ANNOTATION } from '../../../src/model/names.ts';
import { type Service, serviceKey } from '../../../src/model/service.ts';
import type { KubeObject } from '../../../src/sources/kube/api.ts';
import { convertService } from '../../../src/sources/kube/convert-service.ts';
import { AllocatorWorld, address, pool, service } from '../../support/allocator-world.ts';

const many = (count: number) =>
  Array.from({ length: count }, (_, index) => `2001:db8::${(index + 2).toString(16)}`);

setFlagsFromString('--expose-gc');
const collect: unknown = runInNewContext('gc');

function heapBytes(): number {
  if (typeof collect === 'function') collect();
  return process.memoryUsage().heapUsed;
}

/** the same, which counts how often a part of it is read */
function counted<T extends object>(value: T): { readonly value: T; readonly reads: () => number } {
  let reads = 0;
  const get = (target: T, name: string | symbol): unknown => {
    reads += 1;
    return Reflect.get(target, name);
  };
  return { value: new Proxy(value, { get }), reads: () => reads };
}

function converted(parts: {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: object;
  readonly status?: object;
}): Service {
  const { annotations = {}, spec = {}, status = {} } = parts;
  const metadata = { namespace: 'a', name: 'web', uid: 'u', resourceVersion: '1', annotations };
  const object: KubeObject = { apiVersion: 'v1', kind: 'Service', metadata, spec, status };
  const made = convertService(object);
  if (made === undefined) throw new Error('it cannot be read');
  return made;
}

describe('a Service that carries too much', () => {
  it('names 16 addresses and gets them, and 17 are refused with a sentence', () => {
    const world = new AllocatorWorld(pool('lab', ['192.0.2.0/24']));
    const list = (count: number) => Array.from({ length: count }, (_, index) => `192.0.2.${index}`);
    const asks = (key: string, count: number) =>
      service(key, { annotations: { [ANNOTATION.addresses]: list(count).join(', ') } });
    expect(world.apply(asks('a/few', 16))).to.have.length(16);
    expect(world.apply(asks('b/many', 17))).to.deep.equal([]);
    const { verdict } = world.decide('b/many');
    expect(verdict).to.include({ status: 'False', reason: 'BadRequest' });
    expect(verdict?.message).to.contain('names more than 16 addresses');
  });

  it('keeps what it has when it names too many', () => {
    const world = new AllocatorWorld(pool('lab', ['192.0.2.0/24']));
    const web = service('a/web');
    expect(world.apply(web)).to.deep.equal(['192.0.2.0']);
    const annotations = { [ANNOTATION.addresses]: many(40).join() };
    expect(world.apply({ ...web, annotations })).to.deep.equal(['192.0.2.0']);
  });

  it('cannot gather addresses by changing its mind about what it lacks', () => {
    const world = new AllocatorWorld(pool('lab', ['192.0.2.0/24']));
    world.apply(service('victim/web', { annotations: { [ANNOTATION.addresses]: '192.0.2.255' } }));
    const greedy = service('a/greedy');
    for (let from = 0; from < 240; from += 15) {
      const fresh = Array.from({ length: 15 }, (_, index) => `192.0.2.${from + index}`);
      const addresses = [...fresh, '192.0.2.255'].join();
      world.apply({ ...greedy, annotations: { [ANNOTATION.addresses]: addresses } });
    }
    expect(world.claimsOf('a/greedy').length).to.be.within(1, 32);
    expect(world.decide('a/greedy').verdict?.message).to.contain('it holds 32 addresses');
  });

  it('holds 32 addresses at most, those of spec.externalIPs among them, and has what it names', () => {
    const lab = pool('lab', ['192.0.2.0/24'], { allowExternalIps: true });
    const list = (from: number, count: number) =>
      Array.from({ length: count }, (_, index) => `192.0.2.${from + index}`);
    const both = service('a/both', {
      annotations: { [ANNOTATION.addresses]: list(0, 16).join() },
      externalIps: list(100, 60),
    });
    const world = new AllocatorWorld(lab);
    expect(world.apply(both)).to.have.length(16);
    expect(world.claimsOf('a/both')).to.have.length(32);
    const other = new AllocatorWorld(lab);
    expect(other.apply({ ...both, annotations: {} })).to.have.length(1);
    expect(other.claimsOf('a/both')).to.have.length.within(31, 32);
    // one that is in both lists is one address
    const twice = new AllocatorWorld(lab);
    const externalIps = [...list(0, 16), ...list(100, 16)];
    expect(twice.apply({ ...both, externalIps })).to.have.length(16);
    expect(twice.claimsOf('a/both')).to.have.length(32);
  });

  it('names no more in spec.loadBalancerIP, of which the API server takes a megabyte', () => {
    const list = (count: number) =>
      Array.from({ length: count }, (_, index) => `192.0.2.${index}`).join();
    const flood = converted({ spec: { loadBalancerIP: many(60_000).join() } });
    expect(flood.loadBalancerIp).to.have.length(2049);
    expect(serviceRequest(flood).addresses).to.deep.equal([]);
    expect(serviceRequest(flood).fault).to.contain(
      'spec.loadBalancerIP names more than 16 addresses',
    );
    const world = new AllocatorWorld(pool('lab', ['192.0.2.0/24']));
    expect(world.apply(service('a/few', { loadBalancerIp: list(16) }))).to.have.length(16);
    expect(world.apply(service('b/many', { loadBalancerIp: list(17) }))).to.deep.equal([]);
    // an annotation that names none leaves the word to it
    const annotations = { [ANNOTATION.addresses]: ' , ' };
    const wrong = service('b/both', { annotations, loadBalancerIp: 'nowhere' });
    expect(serviceRequest(wrong).fault).to.contain('in spec.loadBalancerIP is not an address');
  });

  it('leaves a long annotation, many pools and a long word where they are', () => {
    const long = converted({ annotations: { [ANNOTATION.addresses]: many(36_000).join() } });
    expect(long.annotations[ANNOTATION.addresses]).to.have.length(2049);
    expect(serviceRequest(long).addresses).to.deep.equal([]);
    expect(serviceRequest(long).fault).to.contain('more than 16 addresses');
    const pools = converted({ annotations: { [ANNOTATION.pool]: many(17).join() } });
    expect(serviceRequest(pools).fault).to.contain('more than 16 pools');
    const word = converted({ annotations: { [ANNOTATION.share]: 'w'.repeat(300) } });
    expect(serviceRequest(word).fault).to.contain('longer than 253 characters');
    expect(serviceRequest(word).shareKey).to.equal(undefined);
  });

  it('keeps no annotation in memory that has nothing to do with Herald', () => {
    const others = Object.fromEntries(many(100).map((each) => [`herald.dev/${each}`, 'x']));
    const annotations = { ...others, 'example.org/notes': 'n'.repeat(100_000) };
    const kept = converted({ annotations: { ...annotations, [ANNOTATION.pool]: 'lab' } });
    expect(Object.keys(kept.annotations)).to.have.length(17);
    expect(kept.annotations[ANNOTATION.pool]).to.equal('lab');
  });

  it('has 64 external IPs read, says how many are not, and never loses one to our writing', () => {
    const spec = { type: 'ClusterIP', externalIPs: many(30_000) };
    const flood = converted({ spec, annotations: { [ANNOTATION.externalIp]: 'auto' } });
    expect(externalAddresses(flood)).to.have.length(64);
    expect(serviceRequest(flood).warnings.join()).to.contain('lists 30000 addresses');
    const world = new AllocatorWorld(pool('lab', ['192.0.2.0/24'], { allowExternalIps: true }));
    world.put(flood);
    const decision = world.decide('a/web');
    expect(decision.verdict).to.include({ status: 'False', reason: 'BadRequest' });
    const externalIps = { add: [address('192.0.2.1')], drop: [address('2001:db8::2')] };
    expect(externalIpsPatch(flood, { ...decision, externalIps })).to.equal(undefined);
  });

  it('has a status that Herald does not write over where it has not read all of it', () => {
    const ingress = many(65).map((ip) => ({ ip }));
    const told = converted({ status: { loadBalancer: { ingress } } });
    expect(told.ingress).to.have.length(64);
    expect(told.hasForeignIngress).to.equal(true);
  });

  it('is compared with those that share in one walk over its ports', () => {
    const ports = (from: number) =>
      Array.from({ length: 20_000 }, (_, index) => ({
        protocol: 'TCP' as const,
        port: from + index,
      }));
    const world = new AllocatorWorld(pool('lab', ['192.0.2.0/24']));
    const annotations = { [ANNOTATION.share]: 'w' };
    expect(world.apply(service('a/one', { annotations, ports: ports(1) }))).to.deep.equal([
      '192.0.2.0',
    ]);
    const startedUs = process.cpuUsage().user;
    expect(world.apply(service('a/two', { annotations, ports: ports(30_000) }))).to.deep.equal([
      '192.0.2.0',
    ]);
    // each with each is 400,000,000 comparisons
    expect(process.cpuUsage().user - startedUs).to.be.below(1_000_000);
  });

  it('is compared once with each of 63 that share its address, each with 3,000 ports', () => {
    const world = new AllocatorWorld(pool('lab', ['192.0.2.0/24']));
    const annotations = { [ANNOTATION.share]: 'w' };
    const protocols = ['TCP', 'UDP', 'SCTP'] as const;
    const ports = (from: number) =>
      Array.from({ length: 3000 }, (_, index) => ({
        protocol: protocols[Math.floor((from + index) / 65_535)] ?? 'TCP',
        port: ((from + index) % 65_535) + 1,
      }));
    for (let member = 0; member < 64; member += 1) {
      world.apply(service(`a/${member}`, { annotations, ports: ports(member * 3000) }));
    }
    expect(world.claims.size).to.equal(1);
    world.decide('a/63');
    const startedUs = process.cpuUsage().user;
    for (let round = 0; round < 20; round += 1) world.decide('a/63');
    // 20 times 63 times 3,000 look-ups, several times each: over a second
    expect(process.cpuUsage().user - startedUs).to.be.below(300_000);
  });

  it('costs no memory for each pair of Services that share and Services that wait for the same key', () => {
    const namespaces = { names: [], maxAddresses: 8 };
    const world = new AllocatorWorld(pool('lab', ['192.0.2.0/24'], { namespaces }));
    const annotations = { [ANNOTATION.share]: 'w' };
    const one = (index: number, port: number) =>
      service(`a/${index}`, { annotations, ports: [{ protocol: 'TCP', port }] });
    for (let index = 0; index < 8 * 63; index += 1) {
      world.apply(one(index, 1 + Math.floor(index / 8)));
    }
    expect(world.claims.size).to.equal(8);
    // each is compared with all 504: the last one of each claim has its port
    const waiting = Array.from({ length: 1500 }, (_, index) => one(1000 + index, 63));
    for (const each of waiting) world.put(each);
    const before = heapBytes();
    for (const each of waiting) expect(world.decide(serviceKey(each)).problems).to.have.lengthOf(1);
    // 756,000 pairs would be some 50 MB
    expect(heapBytes() - before).to.be.below(10_000_000);
  });

  describe('on 16 addresses that it shares with 63 others', () => {
    const names = Array.from({ length: 16 }, (_, index) => `192.0.2.${index}`);
    const annotations = { [ANNOTATION.share]: 'w', [ANNOTATION.addresses]: names.join() };
    const ingress = names.map(address);
    const tcp = (port: number) => ({ protocol: 'TCP' as const, port });

    /** 64 that share all 16, by their numbers */
    function shared(parts: (index: number) => Partial<Service>): {
      readonly world: AllocatorWorld;
      readonly members: readonly Service[];
    } {
      const world = new AllocatorWorld(pool('lab', ['192.0.2.0/24']));
      const members = Array.from({ length: 64 }, (_, index) => {
        const one = { ...service(`a/${index}`, { annotations, ...parts(index) }), ingress };
        world.put(one);
        world.settle(`a/${index}`);
        return one;
      });
      // what the first of them had is written down as soon as it has company
      world.settle('a/0');
      const sizes = names.map((name) => world.claims.at(address(name))?.services.length);
      expect(new Set(sizes)).to.deep.equal(new Set([64]));
      return { world, members };
    }

    it('has its ports and its part in each claim read a few times in one decision, whoever took one of its ports', () => {
      const ports = Array.from({ length: 1000 }, (_, index) => tcp(1 + ((index * 7) % 1000)));
      const { world, members } = shared((index) => ({
        ports: index === 0 ? ports : [tcp(5000 + index)],
      }));
      const asked = counted(ports);
      const [first, ...others] = members;
      if (first === undefined) throw new Error('there is none');
      world.put({ ...first, ports: asked.value });
      for (const [index, other] of others.entries()) {
        world.put({ ...other, ports: [tcp(1 + index)] });
      }
      const terms = names.map((name) => {
        const claim = world.claims.at(address(name));
        if (claim === undefined) throw new Error(`${name} has no claim`);
        const kept = counted(claim.annotations);
        world.claims.put({ ...claim, resourceVersion: '100000', annotations: kept.value });
        return kept;
      });
      const { kind, problems } = world.decide('a/0');
      expect({ kind, problems }).to.deep.equal({ kind: 'ready', problems: [] });
      // for each of the others, each claim and each look it would be some millions
      expect(asked.reads()).to.be.below(5 * ports.length);
      for (const { reads } of terms) expect(reads()).to.be.within(1, 20);
      const before = asked.reads();
      const other = world.decide('a/63');
      expect(other.verdict?.reason).to.equal('ShareConflict');
      world.decide('a/0');
      expect(asked.reads() - before).to.be.below(5 * 64);
    });

    it('has a selector of hundreds of labels read once, although all are Local and have the same', () => {
      const selector = () =>
        Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`k${index}`, 'v']));
      const { world, members } = shared((index) => ({
        isLocal: true,
        healthCheckNodePort: 30_000 + index,
        ports: [tcp(1 + index)],
        selector: selector(),
      }));
      const [first] = members;
      if (first === undefined) throw new Error('there is none');
      const asked = counted(selector());
      world.put({ ...first, selector: asked.value });
      expect(world.decide('a/0').kind).to.equal('ready');
      expect(asked.reads()).to.be.below(3 * 500);
      const before = asked.reads();
      for (let round = 0; round < 5; round += 1) world.decide('a/0');
      expect(asked.reads()).to.equal(before);
    });
  });

  it('finds room under a word that stands on 2,000 claims without counting its namespace anew for each', () => {
    const namespaces = { names: [], maxAddresses: 5000 };
    const world = new AllocatorWorld(pool('lab', ['198.18.0.0/16'], { namespaces }));
    const annotations = { [ANNOTATION.share]: 'w' };
    for (let index = 0; index < 2000; index += 1) {
      const one = service(`a/${index}`, { annotations });
      world.services.set(`a/${index}`, one);
      const name = `198.18.${index >> 8}.${index & 255}`;
      const entry = { namespace: 'a', name: one.name, uid: one.uid };
      world.claim({ metadata: { name, annotations }, spec: { pool: 'lab', services: [entry] } });
    }
    world.put(service('a/last', { annotations }));
    const startedUs = process.cpuUsage().user;
    expect(world.decide('a/last').kind).to.equal('allocate');
    // 2,000 times 2,000 addresses: some seconds
    expect(process.cpuUsage().user - startedUs).to.be.below(500_000);
  });

  it('has each of its addresses once, in their order', () => {
    const [a, b] = [address('192.0.2.1'), address('2001:db8::1')];
    expect(unique([a, b, address('192.0.2.1')])).to.deep.equal([a, b]);
  });
});
