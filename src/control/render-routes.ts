/** `herald routes`: one row per address and peer, as text or as data. Pure, from AgentStatus alone. */

import type { AgentStatus, ClaimPeerStatus, ClaimStatus } from '../agent/status.ts';
import { describeWaiting, firstShut, ROUTE_TONES, type RouteState } from './claim-summary.ts';
import type { Style } from './style.ts';
import { type Column, formatTable, type Row } from './table.ts';

/** `herald routes -o json` prints a list of these. */
export interface RouteEntry {
  readonly prefix: string;
  readonly peer: string;
  readonly state: RouteState;
  /** absent: our own address on the session's interface */
  readonly nextHop?: string;
  readonly communities: readonly string[];
  readonly prepend: number;
  readonly med?: number;
  readonly localPref?: number;
  /** why there is none, or why it waits */
  readonly reason?: string;
}

export function listRoutes(status: AgentStatus): readonly RouteEntry[] {
  const aggregates = new Map<string, RouteEntry>();
  const entries = status.claims.flatMap((claim) =>
    claim.peers.flatMap((peer) => {
      const entry = routeEntry(claim, peer, status);
      if (peer.aggregate === undefined) return [entry];
      const key = `${entry.prefix} ${entry.peer}`;
      const known = aggregates.get(key);
      if (known === undefined || ORDER[entry.state] < ORDER[known.state])
        aggregates.set(key, entry);
      return [];
    }),
  );
  return [...aggregates.values(), ...entries];
}

/** the best of its claims is how an aggregate is */
const ORDER: Readonly<Record<RouteState, number>> = { up: 0, draining: 1, waiting: 2, none: 3 };

function routeEntry(claim: ClaimStatus, peer: ClaimPeerStatus, status: AgentStatus): RouteEntry {
  const reason = reasonOf(peer, status);
  return {
    prefix: peer.aggregate ?? `${claim.address}/${claim.address.includes(':') ? 128 : 32}`,
    peer: peer.peer,
    state: peer.route,
    ...(peer.attributes ?? { communities: [], prepend: 0 }),
    ...(reason === undefined ? {} : { reason }),
  };
}

function reasonOf(
  { peer, route, gates }: ClaimPeerStatus,
  status: AgentStatus,
): string | undefined {
  if (route === 'up') return undefined;
  const gate = firstShut(gates);
  if (gate !== undefined) return `${gate.name}: ${gate.sentence}`;
  return route === 'waiting' ? describeWaiting(peer, status) : undefined;
}

const COLUMNS: readonly Column[] = [
  { title: 'PREFIX', most: 18, spills: true },
  { title: 'PEER', most: 12 },
  { title: 'STATE', most: 8 },
  { title: 'NEXT HOP', most: 15, spills: true },
  { title: 'ATTRIBUTES' },
];

export function renderRoutes(status: AgentStatus, style: Style): string {
  const routes = listRoutes(status);
  if (routes.length === 0) {
    return 'no routes: no IPClaim meets a BGPPeer on this node; herald status tells more\n';
  }
  return formatTable(COLUMNS, routes.map(routeRow), style);
}

function routeRow(route: RouteEntry): Row {
  const { prefix, peer, state } = route;
  const nextHop = route.nextHop ?? (state === 'up' || state === 'draining' ? 'self' : '-');
  return {
    cells: [
      prefix,
      peer,
      { text: state, tone: ROUTE_TONES[state] },
      nextHop,
      attributesText(route),
    ],
  };
}

function attributesText(route: RouteEntry): string {
  const parts = [
    ...route.communities,
    ...(route.prepend > 0 ? [`prepend=${route.prepend}`] : []),
    ...(route.med === undefined ? [] : [`med=${route.med}`]),
    ...(route.localPref === undefined ? [] : [`local-pref=${route.localPref}`]),
  ];
  if (route.state === 'none' || route.state === 'waiting') return route.reason ?? '-';
  return parts.length === 0 ? '-' : parts.join(' ');
}
