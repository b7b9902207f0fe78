import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { loadAll } from 'js-yaml';
import { clusterPlaces } from '../../lab/cluster/places.ts';
import { parseTopology } from '../../lab/runner/topology.ts';
import { field, items, text } from '../interop/routers/json.ts';

const LAB = join(import.meta.dirname, '../../lab');
const topology = parseTopology(readFileSync(join(LAB, 'topology.clab.yml'), 'utf8'), {});
const documents = (path: string): unknown[] =>
  loadAll(readFileSync(join(LAB, path), 'utf8')).filter((each) => each !== null);

describe('the topology as a cluster', () => {
  const places = clusterPlaces(topology, (node) => `lab.x.${node}`);

  it('has a node where a Herald is, in the rack of the router that it is wired to', () => {
    expect(places.nodes).to.deep.equal([
      { name: 'n1', netns: 'lab.x.n1', labels: { 'topology.kubernetes.io/zone': 'tor1' } },
      { name: 'n2', netns: 'lab.x.n2', labels: { 'topology.kubernetes.io/zone': 'tor1' } },
      { name: 'n3', netns: 'lab.x.n3', labels: { 'topology.kubernetes.io/zone': 'tor2' } },
    ]);
  });

  it('has kubelets in place of the agents and web servers of the file, and all else as it is', () => {
    expect([...places.withoutPrograms].sort()).to.deep.equal(
      ['n1', 'n1-herald', 'n2', 'n2-herald', 'n3', 'n3-herald'].sort(),
    );
  });

  it('is told of the same routers as the nodes without a cluster, for the nodes of each rack', () => {
    const told = documents('cluster/deploy/network.yaml').filter(
      (each) => field(each, 'kind') === 'BGPPeer',
    );
    for (const node of places.nodes) {
      const [alone] = documents(`configs/${node.name}/peer.yaml`);
      const name = text(field(alone, 'metadata', 'name'));
      const peer = told.find((each) => field(each, 'metadata', 'name') === name);
      for (const each of ['address', 'asn', 'localASN'])
        expect(field(peer, 'spec', each), `${each} of ${name}`).to.equal(
          field(alone, 'spec', each),
        );
      expect(field(peer, 'spec', 'nodeSelector', 'matchLabels')).to.deep.equal(node.labels);
    }
  });

  it('gives out only addresses that the routers take', () => {
    const pool = documents('cluster/deploy/network.yaml').find(
      (each) => field(each, 'kind') === 'IPPool',
    );
    expect(items(field(pool, 'spec', 'addresses'))).to.deep.equal([
      '192.0.2.0/25',
      '2001:db8:64::/121',
    ]);
    const config = readFileSync(join(LAB, 'configs/tor1/frr.conf'), 'utf8');
    expect(config).to.include('permit 192.0.2.0/24 ge 32').and.include('permit 2001:db8:64::/120');
  });
});
