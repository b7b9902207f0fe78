/** Where each router's own words were read: the commands that the drivers run, for the list below the interop table. */

import type { Family, RouterKind } from './routers/router.ts';

const tables: Readonly<Record<RouterKind, (family: Family) => string>> = {
  bird: (family) => `birdc show route table master${family === 'ipv4' ? 4 : 6} all`,
  frr: (family) => `vtysh -c 'show bgp ${family} unicast json detail'`,
  gobgp: (family) => `gobgp -j global rib -a ${family}`,
  openbgpd: (family) => `bgpctl -j show rib ${family === 'ipv4' ? 'inet' : 'inet6'} detail`,
  exabgp: (family) => `ExaBGP API {"type":"update"} ${family} unicast`,
};

const sessions: Readonly<Record<RouterKind, string>> = {
  bird: 'birdc show protocols all',
  frr: "vtysh -c 'show bgp neighbors json'",
  gobgp: 'gobgp -j neighbor',
  openbgpd: 'bgpctl -j show neighbor',
  exabgp: 'ExaBGP API {"type":"state"}',
};

const counts: Readonly<Record<RouterKind, (family: Family) => string>> = {
  ...tables,
  bird: (family) =>
    `birdc show route where source = RTS_BGP table master${family === 'ipv4' ? 4 : 6} count`,
  frr: (family) => `vtysh -c 'show bgp ${family} unicast summary json'`,
  gobgp: () => 'gobgp -j neighbor (afi_safis.state.accepted)',
};

const notifications: Readonly<Record<RouterKind, string>> = {
  ...sessions,
  gobgp: 'log of gobgpd, "received notification"',
  exabgp: 'ExaBGP API {"type":"notification"}',
};

export const evidence = {
  table: (kind: RouterKind, family: Family) => `\`${tables[kind](family)}\``,
  count: (kind: RouterKind, family: Family) => `\`${counts[kind](family)}\``,
  session: (kind: RouterKind) => `\`${sessions[kind]}\``,
  notification: (kind: RouterKind) => `\`${notifications[kind]}\``,
  wire: (filter: string) => `tshark \`${filter}\``,
  ours: (event: string) => `our event \`${event}\``,
} as const;
