import { expect } from 'chai';
import { nodeKey } from '../../../src/model/node-key.ts';

describe('the key of a node', () => {
  it('is another one for each of 200,000 names, also of those that differ in one place', () => {
    const names = Array.from({ length: 50_000 }, (_, index) => [
      `node-${index}`,
      `${index}.node`,
      `${'x'.repeat(240)}-${index}`,
      `${index}-${'x'.repeat(240)}`,
    ]).flat();
    const keys = new Set(names.map(nodeKey));
    expect(keys.size).to.equal(names.length);
    expect([...keys].every((key) => Number.isSafeInteger(key) && key >= 0)).to.equal(true);
    for (const bits of [1, 2 ** 31, 2 ** 52]) {
      const share = [...keys].filter((key) => Math.floor(key / bits) % 2 === 1).length / keys.size;
      expect(share, `the bit of ${bits}`).to.be.within(0.49, 0.51);
    }
  });
});
