import { expect } from 'chai';
import type { Sourced } from '../../../src/model/documents.ts';
import type { IpPool } from '../../../src/model/ip-pool.ts';
import { type PoolFacts, PoolsInForce, type PoolsNow } from '../../../src/model/pools-in-force.ts';
import { pool, sourced } from '../agent/scenery.ts';

/** name, range, when it was made, and what its object says */
interface Given extends Partial<PoolFacts> {
  readonly name: string;
  readonly range: string;
  readonly createdMs?: number;
}

function choose(memory: PoolsInForce, ...given: readonly Given[]): PoolsNow {
  const pools = given.map(({ name, range, createdMs = 0 }) =>
    sourced(pool({ name, addresses: [range] }), createdMs),
  );
  const facts = new Map(
    given.map(({ name, range: _, createdMs: __, ...facts }) => [
      name,
      {
        uid: name,
        generation: 1,
        ready: 'unknown' as const,
        isBeingDeleted: false,
        isReadable: true,
        ...facts,
      },
    ]),
  );
  return memory.choose(pools, (name) => {
    const found = facts.get(name);
    if (found === undefined) throw new Error(name);
    return found;
  });
}

const texts = (pools: readonly Sourced<IpPool>[]) =>
  pools.map(({ object }) => `${object.name} ${object.ranges[0]?.text}`);

describe('pools in force on a node', () => {
  const a = { name: 'a', range: '192.0.2.0/25', createdMs: 1 };
  const b = { name: 'b', range: '192.0.2.128/25', createdMs: 2 };
  const overB = { ...a, range: '192.0.2.0/24', generation: 2 };

  it('one that is edited into another stays as it was accepted last, and says so', () => {
    const memory = new PoolsInForce();
    expect(texts(choose(memory, a, b).pools)).to.deep.equal(['a 192.0.2.0/25', 'b 192.0.2.128/25']);
    for (let round = 0; round < 2; round += 1) {
      const { pools, conflicting, faults } = choose(memory, overB, b);
      expect(texts(pools)).to.deep.equal(['b 192.0.2.128/25', 'a 192.0.2.0/25']);
      expect(texts(conflicting)).to.deep.equal(['a 192.0.2.0/24']);
      expect(faults.map(({ subject, keepsLastGood }) => [subject, keepsLastGood])).to.deep.equal([
        ['IPPool/a', true],
      ]);
    }
    // that form keeps nobody out: the controller does not know it
    const c = { name: 'c', range: '192.0.2.64/26', createdMs: 3 };
    expect(texts(choose(memory, { ...overB, range: '192.0.2.192/26' }, b, c).pools)).to.deep.equal([
      'b 192.0.2.128/25',
      'c 192.0.2.64/26',
      'a 192.0.2.0/25',
    ]);
    expect(texts(choose(memory, b, c).pools)).to.deep.equal([
      'b 192.0.2.128/25',
      'c 192.0.2.64/26',
    ]);
  });

  it('a new one of the same name has no earlier form', () => {
    const memory = new PoolsInForce();
    choose(memory, a, b);
    const { pools } = choose(memory, { ...overB, uid: 'another' }, b);
    expect(texts(pools)).to.deep.equal(['b 192.0.2.128/25']);
  });

  it('one that cannot be read, or is on its way out, keeps nobody out and stays for its claims', () => {
    const over = { name: 'c', range: '192.0.2.0/24', createdMs: 9 };
    for (const leaving of [{ isReadable: false }, { isBeingDeleted: true }]) {
      const { pools, conflicting } = choose(new PoolsInForce(), { ...a, ...leaving }, over);
      expect(texts(pools)).to.deep.equal(['c 192.0.2.0/24', 'a 192.0.2.0/25']);
      expect(conflicting).to.deep.equal([]);
    }
  });

  it('a restart comes to the same answer by the condition Ready', () => {
    const older = { name: 'z', range: '192.0.2.0/24', createdMs: 0, ready: 'false' as const };
    const { pools } = choose(new PoolsInForce(), older, { ...a, ready: 'true' });
    expect(texts(pools)).to.deep.equal(['a 192.0.2.0/25']);
  });
});
