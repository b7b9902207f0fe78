/** RFC 4271 §9.1.2.2, step by step: each case differs in one thing, and what comes later in the order says the opposite. */

import { type Address, address, type PathAttributes, parseCommunity } from 'bgp-ts';
import { expect } from 'chai';
import { type Path, type PathPeer, pathOf, selectPaths } from '../../../src/router/best-path.ts';

function peer(name: string, over: Partial<PathPeer> = {}): PathPeer {
  const own = address(`192.0.2.${name.length === 1 ? name.charCodeAt(0) : 9}`);
  return { name, address: own, asn: 64512, routerId: 1, isInternal: false, ...over };
}

const sequence = (...asns: number[]) => [{ type: 'sequence', asns } as const];

function path(who: PathPeer, attributes: PathAttributes = {}): Path {
  const nextHop: Address = address('192.0.2.200');
  return pathOf(who, nextHop, { origin: 'igp', asPath: sequence(64512), ...attributes });
}

const used = (...paths: Path[]) => selectPaths(paths).map(({ peer: { name } }) => name);
const shutdown = [parseCommunity('graceful-shutdown') ?? 0];

describe('the best path', () => {
  it('is all of them where they are equal, in the order of router id and address', () => {
    const [a, b, c] = [
      path(peer('a', { routerId: 3 })),
      path(peer('c', { routerId: 2 })),
      path(peer('b', { routerId: 2 })),
    ];
    expect(used(a, b, c)).to.deep.equal(['b', 'c', 'a']);
    expect(selectPaths([])).to.deep.equal([]);
  });

  it('has the highest local preference, before the shorter path', () => {
    const internal = { isInternal: true };
    const a = path(peer('a', internal), { localPref: 200, asPath: sequence(1, 2, 3) });
    const b = path(peer('b', internal), { localPref: 150 });
    expect(used(a, b)).to.deep.equal(['a']);
    const none = path(peer('c', internal), { asPath: sequence(1, 2, 3) });
    expect(used(none, path(peer('d', internal), { localPref: 99 })), '100').to.deep.equal(['c']);
  });

  it('does not believe the local preference of an external neighbour', () => {
    const a = path(peer('a'), { localPref: 900, asPath: sequence(1, 2) });
    expect(used(a, path(peer('b')))).to.deep.equal(['b']);
  });

  it('is one that is about to go only where there is no other (RFC 8326)', () => {
    const leaving = path(peer('a'), { communities: shutdown });
    const worse = path(peer('b'), { asPath: sequence(1, 2, 3, 4), origin: 'incomplete' });
    expect(used(leaving, worse)).to.deep.equal(['b']);
    expect(used(leaving)).to.deep.equal(['a']);
    const internal = peer('c', { isInternal: true });
    const both = path(internal, { communities: shutdown, localPref: 200 });
    expect(used(both, path(peer('d', { isInternal: true }), { localPref: 1 }))).to.deep.equal([
      'd',
    ]);
  });

  it('has the shortest AS path; a set counts as one, a confederation not', () => {
    const short = path(peer('a'), { asPath: sequence(1, 2), origin: 'incomplete' });
    const long = path(peer('b'), { asPath: sequence(1, 2, 3) });
    expect(used(short, long)).to.deep.equal(['a']);
    const set = path(peer('c'), {
      asPath: [
        { type: 'confed-sequence', asns: [7, 8] },
        { type: 'sequence', asns: [1] },
        { type: 'set', asns: [2, 3, 4] },
      ],
      origin: 'incomplete',
    });
    expect(used(short, set)).to.deep.equal(['a', 'c']);
  });

  it('has the lowest origin, before MED', () => {
    const a = path(peer('a'), { origin: 'egp', med: 1 });
    const b = path(peer('b'), { origin: 'igp', med: 9 });
    const c = path(peer('c'), { origin: 'incomplete', med: 0 });
    expect(used(a, b, c)).to.deep.equal(['b']);
  });

  it('has the lowest MED among paths of one neighbouring AS; none is the lowest', () => {
    const a = path(peer('a'), { med: 10 });
    const b = path(peer('b'), { med: 5 });
    const other = path(peer('c'), { med: 50, asPath: sequence(64999) });
    expect(used(a, b, other), 'AS 64999 is not compared').to.deep.equal(['b', 'c']);
    expect(used(a, b, path(peer('d')))).to.deep.equal(['d']);
  });

  it('is external before internal', () => {
    const internal = path(peer('a', { isInternal: true, routerId: 0 }));
    expect(used(internal, path(peer('b', { routerId: 9 })))).to.deep.equal(['b']);
    expect(used(internal)).to.deep.equal(['a']);
  });

  it('ties internal routes by who brought them in (RFC 4456 §9)', () => {
    const a = path(peer('a', { isInternal: true, routerId: 1 }), {
      originatorId: { family: 'ipv4', bits: 9 },
    });
    const b = path(peer('b', { isInternal: true, routerId: 5 }));
    expect(used(a, b)).to.deep.equal(['b', 'a']);
  });
});
