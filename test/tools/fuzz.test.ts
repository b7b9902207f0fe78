/** The fuzzer in small: 20,000 messages in every run of the unit ring; `make fuzz` does a million. */

import { expect } from 'chai';
import { Campaign } from '../../tools/fuzz-campaign.ts';

const COUNT = 20_000;

describe('mutated messages', () => {
  it('never make the codec throw, hang or lose its balance', () => {
    const { counts, crashes } = new Campaign({ seed: 1 }).runTo(COUNT);
    expect(crashes.map(({ hex, what }) => `${hex}: ${what}`)).to.deep.equal([]);
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
    expect(total).to.equal(COUNT);
  });

  it('get to every message and every outcome: a fuzzer that stops at the header tests nothing', () => {
    const { counts } = new Campaign({ seed: 2 }).runTo(COUNT);
    const atLeast = (outcome: string, share: number) => {
      expect(counts[outcome], outcome).to.be.at.least(COUNT * share);
    };
    for (const kind of ['update', 'open', 'notification', 'route-refresh']) {
      atLeast(`decoded ${kind}`, 0.01);
    }
    atLeast('decoded update with issues', 0.01);
    for (const subcode of [3, 5, 11]) atLeast(`treat-as-withdraw 3/${subcode}`, 0.01);
    for (const fault of ['3/1', '3/9', '3/10', '2/0', '1/2']) atLeast(`reset ${fault}`, 0.01);
  });

  it('are the same for the same seed', () => {
    const seen = [3, 3, 4].map((seed) => {
      const hashes: number[] = [];
      const onMessage = (_index: number, bytes: Uint8Array) => {
        hashes.push(bytes.reduce((hash, octet) => (Math.imul(hash, 31) + octet) | 0, 0));
      };
      new Campaign({ seed, onMessage }).runTo(500);
      return hashes.join(' ');
    });
    expect(seen[0]).to.equal(seen[1]).and.not.equal(seen[2]);
  });
});
