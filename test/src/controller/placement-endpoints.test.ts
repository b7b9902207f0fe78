import { expect } from 'chai';
import { PlacementEndpoints } from '../../../src/controller/placement-endpoints.ts';
import type { EndpointSlice } from '../../../src/model/endpoint-slice.ts';

const slice = (service: string, name: string, nodes: readonly string[]): EndpointSlice => ({
  namespace: 'n',
  name,
  service,
  usable: nodes.length,
  nodes,
});
const local = (...names: readonly string[]) => ({
  services: names.map((name) => ({ namespace: 'n', name, healthCheckNodePort: 30_000 })),
});
const ALL = ['a', 'b', 'c'];

describe('endpoints of Local Services', () => {
  it('are on the nodes that all slices of all of them name', () => {
    const endpoints = new PlacementEndpoints();
    const first = slice('s', 's-1', ['a']);
    endpoints.change(first, undefined);
    endpoints.change(slice('s', 's-2', ['b']), undefined);
    endpoints.change(slice('t', 't-1', ['b', 'c']), undefined);
    expect([...(endpoints.nodesFor(local('s')) ?? [])]).to.deep.equal(['a', 'b']);
    expect([...(endpoints.nodesFor(local('s', 't')) ?? [])]).to.deep.equal(['b']);
    endpoints.change(undefined, first);
    expect([...(endpoints.nodesFor(local('s')) ?? [])]).to.deep.equal(['b']);
    expect(endpoints.nodesFor(local('u'))?.size, 'nobody is behind it').to.equal(0);
    const cluster = { services: [{ namespace: 'n', name: 's' }] };
    expect(endpoints.nodesFor(cluster), 'it is not Local').to.equal(undefined);
    expect(endpoints.nodesFor({ services: [] }), 'a person made it').to.equal(undefined);
  });

  it('say where to ask first, and nothing where nobody is left of them', () => {
    const endpoints = new PlacementEndpoints();
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
    const endpoints = new PlacementEndpoints();
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
});
