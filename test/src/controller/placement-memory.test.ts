import { expect } from 'chai';
import { newMemory, type Remaining, remaining } from '../../../src/controller/placement-memory.ts';
import type { PlacementSubject } from '../../../src/controller/placement-subject.ts';
import { FORMER_NODES_ANNOTATION, nodeLabel } from '../../../src/model/names.ts';
import { formerAfter } from '../../../src/scheduler/former-nodes.ts';
import type { Part } from '../../../src/scheduler/move.ts';

const [A, B] = [nodeLabel('a'), nodeLabel('b')];

/** for a leader that has seen nothing of it: a hears nothing of its claims, and said that it is two steps down, or what else it said last */
function leftAfter(former: string, part: Part = { isGone: false, said: 2 }): Remaining {
  const meta = { annotations: { [FORMER_NODES_ANNOTATION]: former }, resourceVersion: '20' };
  const subject = { claim: { labels: { [B]: '0' } }, meta } as unknown as PlacementSubject;
  const asked: string[] = [];
  const left = remaining(newMemory(0), subject, (label) => {
    asked.push(label);
    if (label !== A) return undefined;
    const ipNode = { name: 'a', uid: 'u', resourceVersion: '1', status: { observedClaims: '10' } };
    return { ipNode, part };
  });
  expect(asked, 'labels that a node may have').not.to.include(nodeLabel('*'));
  return left;
}

describe('what a new leader knows of nodes that have lost their labels', () => {
  for (const before of ['', '*']) {
    it(`is what the claim says, also where it says ${JSON.stringify(before)} before`, () => {
      const claim = {
        labels: { [A]: '2', [B]: '0' },
        annotations: before === '' ? {} : { [FORMER_NODES_ANNOTATION]: before },
      };
      const now = formerAfter(claim, { [A]: null }, () => false) ?? before;
      expect(leftAfter(now)).to.deep.equal({ lingering: new Set(), haunted: new Set([2]) });
    });
  }

  it('is nothing of those that announced it while all did', () => {
    expect(leftAfter('*').haunted).to.deep.equal(new Set());
  });

  it('is whom to wait for: one that was its holder, or refused it, by its own last word, and one of which nobody knows a level', () => {
    const held = { lingering: new Set([0]), haunted: new Set() };
    expect(leftAfter('a', { isGone: false, said: 0 })).to.deep.equal(held);
    expect(leftAfter('a', { isGone: false, refusal: {} })).to.deep.equal(held);
    const unlisted = { lingering: new Set([2]), haunted: new Set() };
    expect(leftAfter('a', { isGone: false, isCrowded: true }), 'at 2 or 1').to.deep.equal(unlisted);
    const dead = { lingering: new Set(), haunted: new Set([1]) };
    expect(leftAfter('a', { isGone: true, said: 0 }), 'nobody waits for it').to.deep.equal(dead);
    expect(leftAfter('a', { isGone: true, refusal: {} })).to.deep.equal(dead);
    const leaving = { lingering: new Set(), haunted: new Set([2]) };
    expect(leftAfter('a', { isGone: false, said: 2, refusal: {} })).to.deep.equal(leaving);
  });
});
