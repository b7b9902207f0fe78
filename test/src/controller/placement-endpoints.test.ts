import { expect } from 'chai';
import { PlacementEndpoints } from '../../../src/controller/placement-endpoints.ts';
import type { EndpointSlice } from '../../../src/model/endpoint-slice.ts';
import { nodeKey } from '../../../src/model/node-key.ts';

const slice = (service: string, name: string, nodes: readonly string[]): EndpointSlice => ({
  namespace: 'n',
  name,
  service,
  usable: nodes.length,
  nodes: Float64Array.from(nodes, nodeKey).sort(),
});
const local = (...names: readonly string[]) => ({
  services: names.map((name) => ({ namespace: 'n', name, healthCheckNodePort: 30_000 })),
});
const ALL = ['a', 'b', 'c'];

function at(nodes: readonly string[]): PlacementEndpoints {
  const endpoints = new PlacementEndpoints();
  for (const node of nodes) endpoints.setNode(node, true);
  return endpoints;
}

describe('endpoints of Local Services', () => {
  it('are on the nodes that all slices of all of them name', () => {
    const endpoints = at(ALL);
    const first = slice('s', 's-1', ['a']);
    endpoints.change(first, undefined);
    endpoints.change(slice('s', 's-2', ['b']), undefined);
    endpoints.change(slice('t', 't-1', ['b', 'c']), undefined);
    expect([...(endpoints.nodesFor(local('s')) ?? [])]).to.deep.equal(['a', 'b']);
    expect([...(endpoints.nodesFor(local('s', 't')) ?? [])]).to.deep.equal(['b']);
    endpoints.change(undefined, first);
    expect([...(endpoints.nodesFor(local('s')) ?? [])]).to.deep.equal(['b']);
    expect(endpoints.nodesFor(local('u'))?.size, 'nobody is behind it').to.equal(0);
    expect([...(endpoints.nodesFor(local('u', 'v')) ?? [])], 'nor behind these').to.deep.equal([]);
    const some = [...(endpoints.nodesFor(local('s', 'u')) ?? [])];
    expect(some, 'one of them is better than none').to.deep.equal(['b']);
    const cluster = { services: [{ namespace: 'n', name: 's' }] };
    expect(endpoints.nodesFor(cluster), 'it is not Local').to.equal(undefined);
    expect(endpoints.nodesFor({ services: [] }), 'a person made it').to.equal(undefined);
  });

  it('say where to ask first, and nothing where nobody is left of them', () => {
    const endpoints = at(ALL);
    endpoints.change(slice('s', 's-1', ['b']), undefined);
    const avoided = (left: readonly string[], node?: string) => [
      ...endpoints.avoided({ ...local('s'), ...(node && { node }) }, ALL, new Set(left)),
    ];
    expect(avoided([])).to.deep.equal(['a', 'c']);
    expect(avoided([], 'a'), 'who has it stays by its own word').to.deep.equal([]);
    expect(avoided(['a'], 'a')).to.deep.equal(['a', 'c']);
    expect(avoided(['b']), 'the only one has refused it').to.deep.equal(['b']);
    expect([...endpoints.avoided({ services: [] }, ALL, new Set())]).to.deep.equal([]);
  });

  it('name the claims that a change concerns, and none where the same nodes have them', () => {
    const endpoints = at(ALL);
    endpoints.set('x', local('s'));
    endpoints.set('y', { services: [{ namespace: 'n', name: 's' }] });
    const one = slice('s', 's-1', ['a']);
    expect(endpoints.change(one, undefined)).to.deep.equal(['x']);
    expect(endpoints.change({ ...one, usable: 2 }, one)).to.deep.equal([]);
    expect(endpoints.change(slice('s', 's-1', ['b']), one)).to.deep.equal(['x']);
    expect(endpoints.change(slice('t', 't-1', ['b']), undefined)).to.deep.equal([]);
    endpoints.set('x', undefined);
    expect(endpoints.change(undefined, slice('s', 's-1', ['b']))).to.deep.equal([]);
  });

  it('name the claims of Services whose slices name a node that comes or goes', () => {
    const endpoints = at(['a']);
    endpoints.set('x', local('s'));
    endpoints.set('y', local('t', 's'));
    endpoints.set('z', local('t'));
    const others = Array.from({ length: 999 }, (_, index) => `other-${index}`);
    endpoints.change(slice('s', 's-1', ['b', ...others]), undefined);
    endpoints.change(slice('t', 't-1', others), undefined);
    expect(endpoints.setNode('c', true)).to.deep.equal([]);
    expect(endpoints.setNode('b', true)).to.deep.equal(['x', 'y']);
    expect(endpoints.setNode('b', true), 'it was there').to.deep.equal([]);
    expect(endpoints.setNode('b', false)).to.deep.equal(['x', 'y']);
    for (const each of others) expect(endpoints.setNode(each, true)).to.have.length(3);
    endpoints.set('x', undefined);
    expect(endpoints.setNode('b', true)).to.deep.equal(['y']);
  });

  it('of many slices are read once, until one of them or the Nodes change', () => {
    const endpoints = at(ALL);
    let reads = 0;
    const get = (target: object, name: string | symbol): unknown => {
      reads += 1;
      return Reflect.get(target, name);
    };
    const invented = (index: number) =>
      Array.from({ length: 1000 }, (_, each) => `${'x'.repeat(200)}-${index}-${each}`);
    const hostile = Array.from({ length: 50 }, (_, index) => {
      const one = slice('s', `s-${index}`, ['a', ...invented(index)]);
      return { ...one, nodes: new Proxy(Object(one.nodes), { get }) };
    });
    for (const each of hostile) endpoints.change(each, undefined);
    reads = 0;
    const look = () => [...(endpoints.nodesFor(local('s')) ?? [])];
    expect(look(), 'names that are no Node are nobody').to.deep.equal(['a']);
    expect(reads).to.be.within(50_000, 150_000);
    reads = 0;
    for (let round = 0; round < 100; round += 1) {
      look();
      endpoints.avoided(local('s'), ALL, new Set());
    }
    endpoints.change(slice('t', 't-1', ['b']), undefined);
    expect(look()).to.deep.equal(['a']);
    expect(reads).to.equal(0);
    endpoints.change(slice('s', 's-50', ['b']), undefined);
    expect(look()).to.deep.equal(['a', 'b']);
    reads = 0;
    endpoints.setNode('a', true);
    look();
    expect(reads, 'it was there').to.equal(0);
    endpoints.setNode('a', false);
    expect(look()).to.deep.equal(['b']);
    const [first = ''] = invented(7);
    endpoints.setNode(first, true);
    expect(look(), 'a Node that comes after its endpoints').to.deep.equal([first, 'b']);
    endpoints.set('x', local('s'));
    reads = 0;
    expect(endpoints.setNode('c', true)).to.deep.equal([]);
    expect(reads, 'whether one is named, by halves').to.be.below(hostile.length * 15);
  });
});
