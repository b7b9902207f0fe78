import { expect } from 'chai';
import { followed, foreignness } from '../../../src/model/cluster-identity.ts';

const SAVED = { marks: ['ca:1'], nodeUid: 'n-1', savedAtMs: 1000 };

describe('the cluster that a saved View is of', () => {
  const cases = [
    { name: 'the same authority', saved: SAVED, now: { marks: ['ca:1'] }, isForeign: false },
    { name: 'another authority', saved: SAVED, now: { marks: ['ca:2'] }, isForeign: true },
    {
      name: 'an authority beside its successor',
      saved: SAVED,
      now: { marks: ['ca:2', 'ca:1'] },
      isForeign: false,
    },
    {
      name: "a pod's token of the same Node, and another authority",
      saved: SAVED,
      now: { marks: ['ca:2'], nodeUid: 'n-1' },
      isForeign: false,
    },
    {
      name: "a pod's token of another Node, and the same authority",
      saved: SAVED,
      now: { marks: ['ca:1'], nodeUid: 'n-2' },
      isForeign: true,
    },
    {
      name: "0.1 and a pod's token of the same Node",
      saved: { nodeUid: 'n-1', savedAtMs: 1000 },
      now: { marks: ['ca:1'], nodeUid: 'n-1', unchangedSinceMs: 2000 },
      isForeign: false,
    },
    {
      name: '0.1 and a kubeconfig that is older than the View',
      saved: { nodeUid: 'n-1', savedAtMs: 1000 },
      now: { marks: ['ca:1'], unchangedSinceMs: 999 },
      isForeign: false,
    },
    {
      name: '0.1 and a kubeconfig that came after the View',
      saved: { nodeUid: 'n-1', savedAtMs: 1000 },
      now: { marks: ['ca:1'], unchangedSinceMs: 1001 },
      isForeign: true,
    },
    {
      name: '0.1 and nothing that is known',
      saved: { savedAtMs: 1000 },
      now: { marks: ['ca:1'] },
      isForeign: true,
    },
  ];
  for (const { name, saved, now, isForeign } of cases) {
    it(`${name}: ${isForeign ? 'another one' : 'this one'}`, () =>
      expect(foreignness(saved, now) !== undefined).to.equal(isForeign));
  }

  it('follows an authority that is replaced, and no sudden change', () => {
    const both = followed(['ca:1'], ['ca:1', 'ca:2']);
    expect(followed(both, ['ca:2'])).to.deep.equal(['ca:2']);
    expect(followed(['ca:1'], ['ca:2'])).to.deep.equal(['ca:1']);
  });
});
