import { expect } from 'chai';
import { newMemory, remaining } from '../../../src/controller/placement-memory.ts';
import type { PlacementSubject } from '../../../src/controller/placement-subject.ts';
import { FORMER_NODES_ANNOTATION, nodeLabel } from '../../../src/model/names.ts';
import { formerAfter } from '../../../src/scheduler/former-nodes.ts';

const [A, B] = [nodeLabel('a'), nodeLabel('b')];

/** for a leader that has seen nothing of it: a hears nothing of its claims, and said that it is two steps down */
function hauntedAfter(former: string): readonly number[] {
  const meta = { annotations: { [FORMER_NODES_ANNOTATION]: former }, resourceVersion: '20' };
  const subject = { claim: { labels: { [B]: '0' } }, meta } as unknown as PlacementSubject;
  const asked: string[] = [];
  const left = remaining(newMemory(0), subject, (label) => {
    asked.push(label);
    if (label !== A) return undefined;
    const ipNode = { name: 'a', uid: 'u', resourceVersion: '1', status: { observedClaims: '10' } };
    return { ipNode, part: { isGone: false, said: 2 } };
  });
  expect(asked, 'labels that a node may have').not.to.include(nodeLabel('*'));
  return [...left.haunted];
}

describe('what a new leader knows of nodes that have lost their labels', () => {
  for (const before of ['', '*']) {
    it(`is what the claim says, also where it says ${JSON.stringify(before)} before`, () => {
      const claim = {
        labels: { [A]: '2', [B]: '0' },
        annotations: before === '' ? {} : { [FORMER_NODES_ANNOTATION]: before },
      };
      const now = formerAfter(claim, { [A]: null }, () => false) ?? before;
      expect(hauntedAfter(now)).to.deep.equal([2]);
    });
  }

  it('is nothing of those that announced it while all did', () => {
    expect(hauntedAfter('*')).to.deep.equal([]);
  });
});
