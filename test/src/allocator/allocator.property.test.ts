import { formatAddress } from 'bgp-ts';
import { expect } from 'chai';
import fc from 'fast-check';
import { releasedBy } from '../../../src/allocator/claim-record.ts';
import { ANNOTATION } from '../../../src/model/names.ts';
import { poolHolds } from '../../../src/model/pool-addresses.ts';
import type { Service } from '../../../src/model/service.ts';
import { AllocatorWorld, plainService, pool, service } from '../../support/allocator-world.ts';

const SMALL = pool('small', ['10.0.0.0/30', '2001:db8::/126'], { allowExternalIps: true });
const LARGE = pool('large', ['10.0.0.0/29', '2001:db8::/125'], { allowExternalIps: true });
const EXTRA = pool('extra', ['10.0.1.0/30'], { priority: 1, shareAcross: ['a', 'b'] });
const POOLS = [[SMALL], [LARGE], [LARGE, EXTRA], [EXTRA], []];

const text = fc.nat(9).map((last) => `10.0.0.${last}`);
const change = fc.record({
  kind: fc.constant('change' as const),
  key: fc.constantFrom('a/1', 'a/2', 'a/3', 'b/1', 'b/2', 'b/3'),
  isLoadBalancer: fc.boolean(),
  isDual: fc.boolean(),
  policy: fc.constantFrom('PreferDualStack' as const, 'RequireDualStack' as const),
  asks: fc.option(text, { nil: undefined }),
  share: fc.option(fc.constantFrom('x', 'y'), { nil: undefined }),
  external: fc.option(text, { nil: undefined }),
  isAuto: fc.boolean(),
  port: fc.nat(2),
  isNew: fc.boolean(),
});
const step = fc.oneof(
  { weight: 6, arbitrary: change },
  fc.record({ kind: fc.constant('delete' as const), key: fc.constantFrom('a/1', 'a/2', 'b/1') }),
  fc.record({ kind: fc.constant('pools' as const), which: fc.nat(POOLS.length - 1) }),
  fc.record({ kind: fc.constant('confirm' as const) }),
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

function changed(world: AllocatorWorld, each: Extract<Step, { kind: 'change' }>): Service {
  const before = each.isNew ? undefined : world.services.get(each.key);
  const make = each.isLoadBalancer ? service : plainService;
  const value = make(each.key, {
    annotations: {
      ...(each.asks !== undefined && { [ANNOTATION.addresses]: each.asks }),
      ...(each.share !== undefined && { [ANNOTATION.share]: each.share }),
      ...(each.isAuto && { [ANNOTATION.externalIp]: 'auto' }),
    },
    families: each.isDual ? ['ipv4', 'ipv6'] : ['ipv4'],
    familyPolicy: each.isDual ? each.policy : 'SingleStack',
    externalIps: each.external === undefined ? [] : [each.external],
    ports: [{ protocol: 'TCP', port: each.port }],
  });
  return before === undefined ? value : { ...value, uid: before.uid, createdMs: before.createdMs };
}

function act(world: AllocatorWorld, each: Step): void {
  switch (each.kind) {
    case 'change':
      world.apply(changed(world, each));
      return;
    case 'delete':
      world.delete(each.key);
      return;
    case 'pools':
      world.setPools(...(POOLS[each.which] ?? []));
      return;
    case 'confirm':
      for (const { address } of [...world.claims.released])
        world.deleteClaim(formatAddress(address));
  }
}

/** what must be true of every world that has come to rest */
function check(world: AllocatorWorld): void {
  const owners = new Map<string, string[]>();
  for (const [key, { ingress }] of world.services) {
    for (const each of ingress) {
      const claim = world.claims.at(each);
      expect(claim?.services.map((entry) => `${entry.namespace}/${entry.name}`)).to.include(key);
      owners.set(formatAddress(each), [...(owners.get(formatAddress(each)) ?? []), key]);
    }
  }
  for (const claim of world.claims.all) {
    const isUsed = claim.services.length > 0 || releasedBy(claim) !== undefined;
    expect(isUsed, `${claim.name} is left over`).to.equal(true);
    for (const entry of claim.services) {
      const value = world.services.get(`${entry.namespace}/${entry.name}`);
      expect(value?.uid, `${claim.name} of a Service that is gone`).to.equal(entry.uid);
    }
  }
}

describe('the allocator, whatever happens to it', () => {
  it('comes to rest with every address claimed for who has it, nothing left over, nothing given twice', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const world = new AllocatorWorld(LARGE);
        for (const each of steps) {
          act(world, each);
          for (const key of ['a/1', 'a/2', 'a/3', 'b/1', 'b/2', 'b/3']) world.settle(key);
          check(world);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('never moves an address while nothing asks it to, and gives only what the pools hold', () => {
    const grow = fc.array(fc.tuple(fc.nat(5), fc.nat(POOLS.length - 1)), { maxLength: 20 });
    fc.assert(
      fc.property(grow, (steps) => {
        const world = new AllocatorWorld(LARGE);
        const had = new Map<string, readonly string[]>();
        for (const [number, which] of steps) {
          const pools = POOLS[which] ?? [];
          world.setPools(...pools);
          const key = `a/${number}`;
          const now = had.has(key) ? world.settle(key) : world.apply(service(key));
          const before = had.get(key) ?? [];
          if (before.length > 0) expect(now).to.deep.equal(before);
          else {
            const claims = world.claims.ofService(key);
            const isHeld = claims.every(({ address }) =>
              pools.some((one) => poolHolds(one, address)),
            );
            expect(isHeld).to.equal(true);
          }
          had.set(key, now);
        }
      }),
      { numRuns: 200 },
    );
  });
});
