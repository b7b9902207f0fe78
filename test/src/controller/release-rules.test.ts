import { expect } from 'chai';
import type { ClaimRecord } from '../../../src/allocator/claim-record.ts';
import { EndpointCounts } from '../../../src/controller/endpoint-counts.ts';
import { freedomOf } from '../../../src/controller/release-rules.ts';
import type { IpNode } from '../../../src/model/ip-node.ts';
import { ANYCAST_LABEL, nodeLabel } from '../../../src/model/names.ts';
import { address } from '../../support/allocator-world.ts';

const claim = (
  labels: Readonly<Record<string, string>>,
  at = '2026-01-01T23:59:00Z',
): ClaimRecord => ({
  name: '192.0.2.1',
  address: address('192.0.2.1'),
  uid: 'u',
  resourceVersion: '100',
  createdMs: 0,
  isBeingDeleted: false,
  labels,
  annotations: { 'herald.dev/released-by': 'a/b', 'herald.dev/released-at': at },
  services: [],
  isUnreadable: false,
});
const node = (name: string, observedClaims: string | undefined, open = true): IpNode => ({
  name,
  uid: name,
  resourceVersion: '1',
  status: {
    joined: { open, reason: '', message: '', since: '' },
    ...(observedClaims !== undefined && { observedClaims }),
  },
});
const ask = (
  record: ClaimRecord,
  ipNodes: readonly IpNode[],
  gone: readonly string[] = [],
  seenMs = 60_000,
) =>
  freedomOf(record, {
    ipNodes,
    hasNode: (name) => !gone.includes(name),
    maxStaleMs: 3_600_000,
    seenForMs: () => seenMs,
  });

describe('freedomOf', () => {
  const anycast = claim({ [ANYCAST_LABEL]: '' });

  it('waits for every node that has joined, compared as numbers', () => {
    expect(ask(anycast, [])).to.deep.equal({ kind: 'free' });
    expect(ask(anycast, [node('a', '100'), node('b', '1000')])).to.deep.equal({ kind: 'free' });
    expect(ask(anycast, [node('a', '99'), node('b', '100'), node('c', undefined)])).to.deep.include(
      {
        kind: 'held',
        by: ['a', 'c'],
      },
    );
    expect(ask(anycast, [node('a', '99', false)])).to.deep.equal({ kind: 'free' });
  });

  it('names 16 nodes at most, and the next ones when these have answered', () => {
    const nodes = Array.from({ length: 40 }, (_, index) => node(`n${index}`, '1'));
    const by = (count: number) => {
      const answered = nodes.map((each, index) => (index < count ? node(each.name, '100') : each));
      const freedom = ask(anycast, answered);
      return freedom.kind === 'free' ? [] : freedom.by;
    };
    const names = nodes.map(({ name }) => name);
    expect(by(0)).to.deep.equal(names.slice(0, 16));
    expect(by(16)).to.deep.equal(names.slice(16, 32));
    expect(by(39)).to.deep.equal(['n39']);
    expect(by(40)).to.deep.equal([]);
  });

  it('asks for the write that released it, and for none that came after', () => {
    const flagged = { ...anycast, releasedVersion: '90' };
    expect(ask(flagged, [node('a', '90')])).to.deep.equal({ kind: 'free' });
    expect(ask(flagged, [node('a', '89')])).to.deep.include({ kind: 'held', by: ['a'] });
  });

  it('does not wait for a node that is gone, nor longer than maxStale', () => {
    expect(ask(anycast, [node('a', '99')], ['a'])).to.deep.equal({ kind: 'free' });
    expect(ask(anycast, [node('a', '1')], [], 3_600_000)).to.deep.equal({ kind: 'free' });
  });

  it('goes by its own clock, whatever the stamp of another controller says (B2)', () => {
    for (const stamp of ['2020-01-01T00:00:00Z', '2099-01-01T00:00:00Z', 'nonsense']) {
      const held = ask(claim({ [ANYCAST_LABEL]: '' }, stamp), [node('a', '1')]);
      expect(held).to.deep.equal({ kind: 'held', by: ['a'], leftMs: 3_540_000 });
    }
  });

  it('asks only the nodes of an exclusive claim, joined or not', () => {
    const exclusive = claim({ [nodeLabel('b')]: '0', [nodeLabel('c')]: '1' });
    expect(
      ask(exclusive, [node('a', '1'), node('b', '1', false), node('c', '100')]),
    ).to.deep.include({
      kind: 'held',
      by: ['b'],
    });
  });

  it('asks nodes that lost their label unheard, until they know the claim as it was at its release', () => {
    const moved = claim({ [nodeLabel('b')]: '0' });
    const former = (names: string): ClaimRecord => ({
      ...moved,
      annotations: {
        ...moved.annotations,
        'herald.dev/former-nodes': names,
        'herald.dev/former-version': '90',
      },
    });
    const nodes = [node('a', '89'), node('b', '100'), node('c', '1')];
    expect(ask(moved, nodes)).to.deep.equal({ kind: 'free' });
    expect(ask(former('a,x'), nodes)).to.deep.include({ kind: 'held', by: ['a'] });
    expect(ask(former('a'), [node('a', '90')])).to.deep.equal({ kind: 'free' });
    expect(ask(former('a'), nodes, ['a']), 'its Node is gone').to.deep.equal({ kind: 'free' });
    expect(ask(former('a'), [node('a', '1', false)]), 'it has stopped').to.deep.equal({
      kind: 'free',
    });
    expect(ask(former('*'), nodes), 'it was anycast').to.deep.include({ by: ['a', 'c'] });
  });
});

describe('EndpointCounts', () => {
  const slice = (name: string, usable: number, service = 's') => ({
    namespace: 'a',
    name,
    service,
    usable,
  });

  it('says when a Service gets its first endpoint and when it loses its last', () => {
    const counts = new EndpointCounts();
    expect(counts.change(slice('1', 0), undefined)).to.deep.equal([]);
    expect(counts.change(slice('1', 2), slice('1', 0))).to.deep.equal(['a/s']);
    expect(counts.change(slice('2', 1), undefined)).to.deep.equal([]);
    expect(counts.change(undefined, slice('1', 2))).to.deep.equal([]);
    expect(counts.of('a/s', 'ipv4')).to.equal(1);
    expect(counts.change(slice('2', 1, 't'), slice('2', 1))).to.deep.equal(['a/s', 'a/t']);
    expect(counts.of('a/s', 'ipv4')).to.equal(0);
  });

  it('counts each family by itself, and a slice of neither for both', () => {
    const counts = new EndpointCounts();
    const four = { ...slice('4', 2), family: 'ipv4' as const };
    const six = { ...slice('6', 1), family: 'ipv6' as const };
    const both = () => [counts.of('a/s', 'ipv4'), counts.of('a/s', 'ipv6')];
    expect(counts.change(four, undefined)).to.deep.equal(['a/s']);
    expect(both()).to.deep.equal([2, 0]);
    expect(counts.change(six, undefined)).to.deep.equal(['a/s']);
    expect(counts.change({ ...six, usable: 0 }, six)).to.deep.equal(['a/s']);
    expect(both()).to.deep.equal([2, 0]);
    counts.change(slice('x', 1), undefined);
    expect(both()).to.deep.equal([3, 1]);
  });
});
