/** Where the machines of lab/topology.clab.yml stand: what a scenario calls by name, and a router by address. */

const UPLINKS: ReadonlyMap<string, string> = new Map([
  ['tor1', '10.0.1.2'],
  ['tor2', '10.0.2.2'],
  ['n1', '10.1.0.11'],
  ['n2', '10.1.0.12'],
  ['n3', '10.2.0.13'],
]);

export const NODES = ['n1', 'n2', 'n3'] as const;

const UPLINKS_IPV6: ReadonlyMap<string, string> = new Map([
  ['n1', 'fd00:1::11'],
  ['n2', 'fd00:1::12'],
  ['n3', 'fd00:2::13'],
]);

/** the address under which the router above knows it */
export function uplinkOf(machine: string, family: 'ipv4' | 'ipv6' = 'ipv4'): string {
  const address = (family === 'ipv4' ? UPLINKS : UPLINKS_IPV6).get(machine);
  if (address === undefined) throw new Error(`${machine} has no router above it`);
  return address;
}

const SPINE: ReadonlyMap<string, string> = new Map([
  ['tor1', '10.0.1.1'],
  ['tor2', '10.0.2.1'],
]);

/** the spine, as the router of a rack knows it */
export function spineFrom(tor: string): string {
  const address = SPINE.get(tor);
  if (address === undefined) throw new Error(`${tor} is no router of a rack`);
  return address;
}

/** the router of its rack */
export function torOf(node: string): string {
  return node === 'n3' ? 'tor2' : 'tor1';
}

/** the nodes of its rack */
export function nodesOf(tor: string): readonly string[] {
  return NODES.filter((node) => torOf(node) === tor);
}
