/**
 * The ToRs' files are made of two parts: what `herald manifest router` prints for the nodes' own documents, byte for
 * byte, and behind one line of comment the lab's own few lines (the rack's network, the spine).
 *
 *   node lab/configs/generate.ts          writes frr.conf of both ToRs
 *   node lab/configs/generate.ts --check  says which of them is not what would be written, exit 1
 */

/** Behind this line nothing is generated. */
export const border = "! ---- The lab's own lines: the network of the rack, and the spine ----";

export interface Rack {
  readonly router: string;
  readonly number: number;
  readonly nodes: readonly { readonly name: string; readonly address: string }[];
}

export const racks: readonly Rack[] = [
  {
    router: 'tor1',
    number: 1,
    nodes: [
      { name: 'n1', address: '10.1.0.11' },
      { name: 'n2', address: '10.1.0.12' },
    ],
  },
  { router: 'tor2', number: 2, nodes: [{ name: 'n3', address: '10.2.0.13' }] },
];

/** Arguments of `herald manifest` for a rack; the documents of any of its nodes tell of the router. */
export function manifestArguments({ nodes }: Rack, folder: string): string[] {
  const neighbours = nodes.flatMap(({ name, address }) => ['--neighbor', `${address}=${name}`]);
  const documents = `files:${folder}/${nodes[0]?.name}`;
  return ['manifest', 'router', '--for', 'frr', '--source', documents, ...neighbours];
}

/** FRR reads `router bgp` twice and takes both as one. */
export function ownLines({ number }: Rack): string {
  const spine4 = `10.0.${number}.1`;
  const spine6 = `fd00:0:${number}::1`;
  return `${border}
route-map lab-spine permit 10
exit
!
router bgp 6500${number}
 neighbor ${spine4} remote-as 65000
 neighbor ${spine4} description spine
 neighbor ${spine4} timers 3 9
 neighbor ${spine4} timers connect 2
 neighbor ${spine6} remote-as 65000
 neighbor ${spine6} description spine
 neighbor ${spine6} timers 3 9
 neighbor ${spine6} timers connect 2
 address-family ipv4 unicast
  network 10.${number}.0.0/24
  neighbor ${spine4} activate
  neighbor ${spine4} route-map lab-spine in
  neighbor ${spine4} route-map lab-spine out
 exit-address-family
 address-family ipv6 unicast
  network fd00:${number}::/64
  neighbor ${spine6} activate
  neighbor ${spine6} route-map lab-spine in
  neighbor ${spine6} route-map lab-spine out
 exit-address-family
exit
!
`;
}
