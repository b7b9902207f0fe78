import { expect } from 'chai';
import fc from 'fast-check';
import { leastOf } from '../../../src/scheduler/assign.ts';
import { Filling, fillLevel, MOST_IN_A_ROW } from '../../../src/scheduler/fill.ts';

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

  it('come to a node a few at a time, and what is left over one by one', () => {
    const { got } = place([0, 0, 5, 0], 11, byFilling);
    expect(got.join(' ')).to.equal('n0 n0 n0 n1 n1 n1 n3 n3 n3 n0 n1');
    const many = place([0, 0], 16, byFilling).got.join(' ');
    expect(many).to.equal('n0 n0 n0 n0 n1 n1 n1 n1 n0 n0 n0 n0 n1 n1 n1 n1');
  });

  it('leave nobody with many more than another, wherever it ends', () => {
    fc.assert(
      fc.property(manyLoads, fc.nat(100), fc.nat(100), (loads, count, done) => {
        const stopped = (choose: typeof byFilling): typeof byFilling => {
          return (nodes, loadOf) => {
            const next = choose(nodes, loadOf);
            return (waiting) => next(waiting + count);
          };
        };
        const found = place(loads, done, stopped(byFilling)).loads;
        const fair = place(loads, done, stopped(byLeast)).loads;
        const worst = Math.max(...found.map((load, index) => Math.abs(load - (fair[index] ?? 0))));
        expect(worst).to.be.at.most(MOST_IN_A_ROW);
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
    const [both, one] = [['a', 'b'], ['b']];
    expect([ask(both, 6), ask(both, 5)]).to.deep.equal(['a', 'a']);
    expect([ask(one, 4), ask(one, 3)]).to.deep.equal(['b', 'b']);
    expect(ask([], 2)).to.equal('');
  });
});
