/**
 * Who has which address in the lab's cluster. Pure.
 *
 * The nodes stand in the fabric (racks, routers, client) that others have built; the cluster adds a management network of its own, on which
 * the API server, the kubelets and the pods of different nodes speak with each other. So a cable of the fabric can be cut, or a
 * router be stopped, and the cluster still knows its nodes: what a test sees then is the work of the routers and of Herald alone.
 *
 *   this machine .254 ─┐                      management network: a bridge in the namespace of the control plane
 *   control plane  .1 ─┼─ n1 .11 ─ fabric     pods of n1: 10.244.1.0/24, fd00:244:1::/64
 *                      ├─ n2 .12 ─ fabric
 *                      └─ n3 .13 ─ fabric
 */

/** A node of the fabric that shall become a node of the cluster. */
export interface NodePlace {
  /** of the Node, and of the machine */
  readonly name: string;
  /** the name of its network namespace, as `ip netns` knows it */
  readonly netns: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** One address of each family. */
export interface Addresses {
  readonly ipv4: string;
  readonly ipv6: string;
}

export interface NodePlan extends NodePlace {
  /** on the management network: the Node's InternalIP */
  readonly address: Addresses;
  /** what its pods are given */
  readonly pods: Addresses;
}

export interface ClusterPlan {
  readonly name: string;
  /** of the control plane, made by us */
  readonly netns: string;
  readonly server: Addresses;
  /** this machine's own end of the management network, for kubectl */
  readonly host: string;
  readonly hostInterface: string;
  readonly nodes: readonly NodePlan[];
}

export const SERVICE_CIDR: Addresses = { ipv4: '10.96.0.0/16', ipv6: 'fd00:96::/108' };
export const POD_CIDR: Addresses = { ipv4: '10.244.0.0/16', ipv6: 'fd00:244::/32' };
/** The first address of each range is that of the Service `kubernetes`. */
export const KUBERNETES_SERVICE = '10.96.0.1';
export const API_PORT = 6443;
export const MANAGEMENT_INTERFACE = 'mgmt0';
export const MANAGEMENT_LENGTH: Readonly<Record<keyof Addresses, number>> = { ipv4: 24, ipv6: 64 };

const FIRST_NETWORK = 200;
const LAST_NETWORK = 219;
const FIRST_NODE = 11;
const MOST_NODES = 200;
/** Linux has room for 15 characters in the name of an interface, and we put four before it. */
const LONGEST_NAME = 11;

/** These two are known from the name alone, so that they can be removed when nothing else is known. */
export const controlNamespace = (name: string): string => `lab.${name}.control-plane`;
export const hostInterface = (name: string): string => `hl-${name}`;

/** `taken`: the routes of this machine, as `ip route` prints them. */
export function planCluster(
  name: string,
  places: readonly NodePlace[],
  taken: string,
): ClusterPlan {
  if (!/^[a-z][a-z0-9-]*$/.test(name) || name.length > LONGEST_NAME)
    throw new Error(`${name} is no name for a cluster: a-z, 0-9 and -, ${LONGEST_NAME} at most.`);
  if (places.length === 0 || places.length > MOST_NODES)
    throw new Error(`a cluster has 1 to ${MOST_NODES} nodes, not ${places.length}.`);
  const network = freeNetwork(taken);
  const nodes = places.map((place, index) => ({
    ...place,
    address: managementAddress(network, FIRST_NODE + index),
    pods: { ipv4: `10.244.${index + 1}.0/24`, ipv6: `fd00:244:${index + 1}::/64` },
  }));
  return {
    name,
    netns: controlNamespace(name),
    server: managementAddress(network, 1),
    host: managementAddress(network, 254).ipv4,
    hostInterface: hostInterface(name),
    nodes,
  };
}

const managementAddress = (network: number, host: number): Addresses => ({
  ipv4: `198.18.${network}.${host}`,
  ipv6: `fd00:18:${network}::${host}`,
});

/** From the addresses that RFC 2544 keeps for tests. Two clusters may run side by side, and the machine may have such networks of its own. */
function freeNetwork(taken: string): number {
  for (let network = FIRST_NETWORK; network <= LAST_NETWORK; network += 1) {
    if (!taken.includes(`198.18.${network}.`)) return network;
  }
  throw new Error(
    `198.18.${FIRST_NETWORK}.0/24 to 198.18.${LAST_NETWORK}.0/24 are all in use on this machine.`,
  );
}

/** Lines of `ip -batch` for the namespace of a node: its management interface is there already. */
export function nodeNetworkLines(plan: ClusterPlan, node: NodePlan): readonly string[] {
  const others = plan.nodes.filter((each) => each.name !== node.name);
  return [
    'link set lo up',
    ...interfaceLines(MANAGEMENT_INTERFACE, node.address),
    ...others.flatMap((each) => routeLines(each.pods, each.address)),
    // kube-proxy turns what goes there round; without a route the kernel would have no source address for it
    `route replace ${SERVICE_CIDR.ipv4} via ${plan.server.ipv4} src ${node.address.ipv4}`,
    `route replace ${SERVICE_CIDR.ipv6} via ${plan.server.ipv6} src ${node.address.ipv6}`,
  ];
}

/** The same for the control plane, whose interface is the bridge. */
export function serverNetworkLines(plan: ClusterPlan): readonly string[] {
  return [
    'link set lo up',
    ...interfaceLines(MANAGEMENT_INTERFACE, plan.server),
    ...plan.nodes.flatMap((each) => routeLines(each.pods, each.address)),
  ];
}

const interfaceLines = (device: string, address: Addresses): readonly string[] => [
  `address replace ${address.ipv4}/${MANAGEMENT_LENGTH.ipv4} dev ${device}`,
  `address replace ${address.ipv6}/${MANAGEMENT_LENGTH.ipv6} dev ${device} nodad`,
  `link set ${device} up`,
];

const routeLines = (subnet: Addresses, via: Addresses): readonly string[] => [
  `route replace ${subnet.ipv4} via ${via.ipv4}`,
  `route replace ${subnet.ipv6} via ${via.ipv6}`,
];
