/** Which machines of the lab's topology become nodes of the cluster, and in which rack they are. Pure. */

import type { Topology } from '../runner/topology.ts';
import type { NodePlace } from './plan.ts';

export interface ClusterPlaces {
  readonly nodes: readonly NodePlace[];
  /** what runs on them in the topology's own way gives place to the cluster */
  readonly withoutPrograms: ReadonlySet<string>;
}

/**
 * A machine with a Herald beside it is a node. Its rack is the router that it is wired to, and says so with the label that Kubernetes has for
 * it, so that the controllers' pods are spread over the racks too.
 */
export function clusterPlaces(
  topology: Topology,
  netnsOf: (node: string) => string,
): ClusterPlaces {
  const agents = topology.nodes.filter(
    ({ image, networkOf }) => image.startsWith('herald:') && networkOf !== undefined,
  );
  const names = agents.flatMap(({ networkOf }) => (networkOf === undefined ? [] : [networkOf]));
  const nodes = names.map((name) => ({
    name,
    netns: netnsOf(name),
    labels: { 'topology.kubernetes.io/zone': rackOf(topology, name) },
  }));
  return { nodes, withoutPrograms: new Set([...names, ...agents.map(({ name }) => name)]) };
}

function rackOf(topology: Topology, node: string): string {
  for (const { a, b } of topology.links) {
    if (a.node === node) return b.node;
    if (b.node === node) return a.node;
  }
  throw new Error(`${node} is not wired to any router in the topology.`);
}
