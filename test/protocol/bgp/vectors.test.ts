import { expect } from 'chai';
import { describeVectors, loadVectors } from '../../support/vectors.ts';

const FOLDER = new URL('../../vectors/bgp/', import.meta.url);

describe('BGP vectors', () => {
  it('are there for every message and name their source', () => {
    const files = loadVectors(FOLDER);
    const kinds = new Set<unknown>();
    for (const vectors of files.values()) {
      for (const vector of vectors) {
        kinds.add(vector.message?.['kind'] ?? 'fault');
        expect(vector.source, vector.name).to.match(/RFC \d+|BIRD|FRR|GoBGP|OpenBGPD|ExaBGP|fuzz/);
      }
    }
    expect([...kinds]).to.include.members([
      'open',
      'notification',
      'keepalive',
      'route-refresh',
      'fault',
    ]);
  });

  it('have names of their own', () => {
    const names = [...loadVectors(FOLDER).values()].flat().map(({ name }) => name);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).to.deep.equal([]);
  });

  describeVectors(FOLDER);
});
