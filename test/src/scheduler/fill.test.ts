import { expect } from 'chai';
import fc from 'fast-check';
import { leastOf } from '../../../src/scheduler/assign.ts';
import { Filling, fillLevel } from '../../../src/scheduler/fill.ts';

const manyLoads = fc.array(fc.nat(12), { minLength: 1, maxLength: 12 });
const nodesOf = (loads: readonly number[]) => loads.map((_, index) => `n${index}`);
const rising = (loads: Iterable<number>) => [...loads].sort((one, other) => one - other);

/** So many claims of one node, one after the other; who got each, and the loads in the end. */
function place(loads: readonly number[], count: number, choose: typeof byFilling) {
  const nodes = nodesOf(loads);
  const now = new Map(nodes.map((node, index) => [node, loads[index] ?? 0]));
  const next = choose(nodes, (node) => now.get(node) ?? 0);
  const got = Array.from({ length: count }, (_, index) => {
    const node = next(count - index) ?? '';
    now.set(node, (now.get(node) ?? 0) + 1);
    return node;
  });
  return { got, loads: rising(now.values()) };
}

function byFilling(nodes: readonly string[], loadOf: (node: string) => number) {
  const filling = new Filling();
  return (waiting: number) =>
    filling.next({ from: 'gone', group: 'g', eligible: nodes, waiting, loadOf });
}

const byLeast: typeof byFilling = (nodes, loadOf) => () => leastOf(nodes, loadOf);

describe('the level to which claims lift all nodes', () => {
  it('is the highest that they can pay for', () => {
    fc.assert(
      fc.property(manyLoads, fc.nat(100), (loads, count) => {
        const price = (level: number) =>
          loads.reduce((sum, load) => sum + Math.max(0, level - load), 0);
        const level = fillLevel(loads, count);
        expect(price(level)).to.be.at.most(count);
        expect(price(level + 1)).to.be.above(count);
      }),
    );
  });
});

describe('the claims of one node that is lost', () => {
  it('leave the others with the same loads as one at a time to the least loaded would', () => {
    fc.assert(
      fc.property(manyLoads, fc.nat(100), (loads, count) => {
        const { loads: found } = place(loads, count, byFilling);
        expect(found).to.deep.equal(place(loads, count, byLeast).loads);
      }),
    );
  });

  it('come to each node in one go, and what is left over one by one', () => {
    const { got } = place([0, 0, 5, 0], 11, byFilling);
    expect(got.join(' ')).to.equal('n0 n0 n0 n1 n1 n1 n3 n3 n3 n0 n1');
  });

  it('lift nobody above the level of all on the way', () => {
    fc.assert(
      fc.property(manyLoads, fc.integer({ min: 1, max: 100 }), (loads, count) => {
        const level = fillLevel(loads, count);
        const part = place(loads, Math.ceil(count / 2), (nodes, loadOf) => {
          const next = byFilling(nodes, loadOf);
          return (waiting) => next(waiting + Math.floor(count / 2));
        });
        const highest = Math.max(...loads, level + 1);
        expect(Math.max(...part.loads)).to.be.at.most(highest);
      }),
    );
  });

  it('go to another when the one that is being filled may not have them any more', () => {
    const loads = new Map<string, number>();
    const filling = new Filling();
    const ask = (eligible: readonly string[], waiting: number) => {
      const loadOf = (node: string) => loads.get(node) ?? 0;
      const node = filling.next({ from: 'gone', group: 'g', eligible, waiting, loadOf }) ?? '';
      loads.set(node, loadOf(node) + 1);
      return node;
    };
    expect([ask(['a', 'b'], 6), ask(['a', 'b'], 5)]).to.deep.equal(['a', 'a']);
    expect([ask(['b'], 4), ask(['b'], 3)]).to.deep.equal(['b', 'b']);
    expect(ask([], 2)).to.equal('');
  });
});
