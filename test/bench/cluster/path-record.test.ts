import { expect } from 'chai';
import type { RouteChange } from '../../cluster/support/receiving-router.ts';
import { absences, drainedOf } from './path-record.ts';

const PREFIX = '198.18.0.1/32';
const asPath = (level: number) => Array.from({ length: 1 + 3 * level }, () => 64_512);
const announced = (peer: string, atMs: number, level: number): RouteChange => {
  const attributes = { communities: [], asPath: asPath(level) };
  return { kind: 'announced', prefix: PREFIX, peer, atMs, attributes };
};
const withdrawn = (peer: string, atMs: number): RouteChange => {
  return { kind: 'withdrawn', prefix: PREFIX, peer, atMs };
};

describe('what two routers have seen of a drain', () => {
  it('finds nothing in an orderly move', () => {
    const changes = [
      announced('b', 1, 1),
      announced('a', 2, 2),
      announced('b', 3, 0),
      withdrawn('a', 4),
    ];
    const none = { absent: 0, equal: 0, longestMs: 0 };
    expect(absences([announced('a', 0, 0)], changes, 9)).to.deep.equal(none);
  });

  it('finds an address without a path however short that was, and for how long', () => {
    const changes = [withdrawn('a', 10), announced('b', 11, 0), withdrawn('b', 20)];
    const before = [announced('a', 0, 0)];
    expect(absences(before, changes.slice(0, 2), 99)).to.include({ absent: 1, longestMs: 1 });
    expect(absences(before, changes, 50)).to.include({ absent: 1, longestMs: 30 });
  });

  it('finds two paths of the same preference', () => {
    const told = absences([announced('a', 0, 0)], [announced('b', 1, 0), withdrawn('a', 2)], 9);
    expect(told).to.include({ absent: 0, equal: 1 });
  });

  it('tells how far apart samples are, how many were absent at once, and when the last was back', () => {
    const look = (atMs: number, absent: readonly string[]) => ({ atMs, absent, equal: [] });
    const looks = [look(0, []), look(40, ['x', 'y']), look(100, ['z']), look(250, [])];
    expect(drainedOf(looks)).to.deep.equal({
      ...{ absent: 3, equal: 0, absentAtOnce: 2, backMs: 250, looks: 4 },
      lookMs: { p50: 60, most: 150 },
    });
    expect(drainedOf([look(0, []), look(10, [])])).to.include({ absent: 0, backMs: 0 });
  });
});
