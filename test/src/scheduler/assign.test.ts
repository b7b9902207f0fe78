import { expect } from 'chai';
import fc from 'fast-check';
import {
  type AssignClaim,
  type AssignView,
  assign,
  assignOne,
  type NodeGroup,
} from '../../../src/scheduler/assign.ts';
import { rebalance } from '../../../src/scheduler/rebalance.ts';

const NOBODY = new Set<string>();
const names = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`);
const group = (eligible: readonly string[], keeps: Iterable<string> = []): NodeGroup => ({
  eligible: [...eligible].sort(),
  keeps: new Set(keeps),
});
const one = (claims: readonly AssignClaim[], nodes: NodeGroup): AssignView => ({
  claims,
  groups: new Map([['g', nodes]]),
});
const claim = (index: number, node?: string): AssignClaim => ({
  name: `c${String(index).padStart(5, '0')}`,
  group: 'g',
  nodeFilter: 'fair',
  ...(node !== undefined && { node }),
});

function spread(nodes: readonly string[], placed: Iterable<string | undefined>): number {
  const loads = new Map(nodes.map((node) => [node, 0]));
  for (const node of placed) if (node !== undefined && loads.has(node)) add(loads, node);
  const counts = [...loads.values()];
  return counts.length === 0 ? 0 : Math.max(...counts) - Math.min(...counts);
}

function add(loads: Map<string, number>, node: string): void {
  loads.set(node, (loads.get(node) ?? 0) + 1);
}

const nodeSets = fc.subarray(names(8), { minLength: 0 });
const claimsOf = (nodes: readonly string[]) =>
  fc.array(fc.option(fc.constantFrom(...nodes, 'gone'), { nil: undefined }), { maxLength: 60 });

describe('assign', () => {
  it('spreads a burst of 100 claims over three nodes as 33, 33 and 34', () => {
    const decisions = assign(
      one(
        Array.from({ length: 100 }, (_, i) => claim(i)),
        group(names(3)),
      ),
    );
    const loads = new Map<string, number>();
    for (const decision of decisions) if (decision.kind === 'place') add(loads, decision.node);
    expect([...loads.values()].sort()).to.deep.equal([33, 33, 34]);
  });

  it('keeps the difference between the most and the least loaded at one after any burst', () => {
    fc.assert(
      fc.property(fc.subarray(names(8), { minLength: 1 }), fc.nat(200), (nodes, count) => {
        const claims = Array.from({ length: count }, (_, index) => claim(index));
        const placed = assign(one(claims, group(nodes)));
        const where = placed.map((each) => (each.kind === 'none' ? undefined : each.node));
        expect(spread(nodes, where)).to.be.at.most(1);
      }),
    );
  });

  it('gives each claim that needs a node the least loaded one, wherever the others already are', () => {
    fc.assert(
      fc.property(fc.subarray(names(6), { minLength: 1 }), claimsOf(names(6)), (nodes, where) => {
        const claims = where.map((node, index) => claim(index, node));
        const loads = new Map(nodes.map((node) => [node, 0]));
        const decisions = assign(one(claims, group(nodes)));
        for (const each of decisions) if (each.kind === 'keep') add(loads, each.node);
        for (const each of decisions) {
          if (each.kind !== 'place') continue;
          expect(loads.get(each.node)).to.equal(Math.min(...loads.values()));
          add(loads, each.node);
        }
      }),
    );
  });

  it('moves only what must move, and places a claim exactly when somebody may have it', () => {
    fc.assert(
      fc.property(nodeSets, nodeSets, claimsOf(names(8)), (nodes, unsure, where) => {
        const claims = where.map((node, index) => claim(index, node));
        const keeps = new Set(unsure.filter((node) => !nodes.includes(node)));
        for (const decision of assign(one(claims, group(nodes, keeps)))) {
          const before = claims.find(({ name }) => name === decision.claim)?.node ?? '';
          const mayStay = nodes.includes(before) || keeps.has(before);
          expect(decision.kind).to.equal(expectedKind(mayStay, nodes));
          expect(mayStay ? [before] : [...nodes, undefined]).to.include(nodeOf(decision));
        }
      }),
    );
  });

  it('gives the same answer to the same view, in whatever order it is told', () => {
    fc.assert(
      fc.property(claimsOf(names(5)), fc.nat(1000), (where, seed) => {
        const claims = where.map((node, index) => claim(index, node));
        const shuffled = claims
          .map((each, index) => ({ each, key: (index * 7919 + seed) % 101 }))
          .sort((a, b) => a.key - b.key)
          .map(({ each }) => each);
        const nodes = group(names(3));
        expect(assign(one(shuffled, nodes))).to.deep.equal(assign(one(claims, nodes)));
      }),
    );
  });

  it('says the same of one claim at a time', () => {
    fc.assert(
      fc.property(nodeSets, claimsOf(names(8)), (eligible, where) => {
        const claims = where.map((node, index) => claim(index, node));
        const nodes = group(eligible);
        const loads = new Map<string, number>();
        const decisions = assign(one(claims, nodes));
        for (const each of decisions) if (each.kind === 'keep') add(loads, each.node);
        for (const [index, expected] of decisions.entries()) {
          const found = assignOne(claims[index] ?? claim(0), nodes, (node) => loads.get(node) ?? 0);
          expect(found).to.deep.equal(expected);
          if (found.kind === 'place') add(loads, found.node);
        }
      }),
    );
  });

  it('moves nothing when a node joins or comes back', () => {
    const claims = Array.from({ length: 9 }, (_, index) => claim(index, `n${index % 3}`));
    for (const decision of assign(one(claims, group(names(5))))) {
      expect(decision.kind).to.equal('keep');
    }
  });

  it('counts the load of all groups together', () => {
    const a = { ...claim(1), group: 'a' };
    const b = { ...claim(2), group: 'b' };
    const groups = new Map([
      ['a', group(['n0'])],
      ['b', group(['n0', 'n1'])],
    ]);
    expect(assign({ claims: [a, b], groups }).map(nodeOf)).to.deep.equal(['n0', 'n1']);
  });

  it('puts all on the first living node, and lets them stay when an earlier one comes back', () => {
    const first = (node?: string) => [0, 1, 2].map((index) => firstAlive(index, node));
    expect(assign(one(first(), group(names(3)))).map(nodeOf)).to.deep.equal(['n0', 'n0', 'n0']);
    const moved = assign(one(first('n0'), group(['n1', 'n2'])));
    expect(moved.map(nodeOf)).to.deep.equal(['n1', 'n1', 'n1']);
    expect(assign(one(first('n1'), group(names(3)))).map(nodeOf)).to.deep.equal(['n1', 'n1', 'n1']);
  });

  it('asks nodes that have a part in the claim first, and goes round those that did not answer', () => {
    const near = { ...claim(1), near: ['n2', 'n1'], avoid: NOBODY };
    expect(assign(one([near], group(names(3)))).map(nodeOf)).to.deep.equal(['n2']);
    const avoided = { ...claim(1, 'n0'), avoid: new Set(['n0']) };
    expect(assign(one([avoided], group(names(3)))).map(nodeOf)).to.deep.equal(['n1']);
    expect(assign(one([avoided], group(['n0']))).map(nodeOf)).to.deep.equal(['n0']);
  });

  it('weighs what it is told beside the claims', () => {
    const view = one([claim(1)], group(names(2)));
    expect(assign({ ...view, loads: new Map([['n0', 1]]) }).map(nodeOf)).to.deep.equal(['n1']);
  });
});

describe('rebalance', () => {
  it('comes to rest with a difference of one, each move from the fullest to the emptiest', () => {
    fc.assert(
      fc.property(claimsOf(names(4)), (where) => {
        let claims = where.flatMap((node, index) =>
          node === undefined || node === 'gone' ? [] : [claim(index, node)],
        );
        const nodes = names(4);
        for (let moves = 0; moves <= 200; moves += 1) {
          const before = spread(
            nodes,
            claims.map(({ node }) => node),
          );
          const move = rebalance(one(claims, group(nodes)));
          if (move === undefined) {
            expect(before).to.be.at.most(1);
            return;
          }
          claims = claims.map((each) =>
            each.name === move.claim ? { ...each, node: move.to } : each,
          );
          expect(
            spread(
              nodes,
              claims.map(({ node }) => node),
            ),
          ).to.be.at.most(before);
        }
        expect.fail('it never comes to rest');
      }),
    );
  });

  it('leaves first-alive claims, and nodes that nobody is sure of', () => {
    const first = [0, 1, 2].map((index) => firstAlive(index, 'n0'));
    expect(rebalance(one(first, group(names(2))))).to.equal(undefined);
    const unsure = [0, 1, 2].map((index) => claim(index, 'n0'));
    expect(rebalance(one(unsure, group(['n1'], ['n0'])))).to.equal(undefined);
  });
});

function expectedKind(mayStay: boolean, nodes: readonly string[]): string {
  if (mayStay) return 'keep';
  return nodes.length === 0 ? 'none' : 'place';
}

function firstAlive(index: number, node?: string): AssignClaim {
  return { ...claim(index, node), nodeFilter: 'first-alive' };
}

function nodeOf(decision: ReturnType<typeof assign>[number]): string | undefined {
  return decision.kind === 'none' ? undefined : decision.node;
}
