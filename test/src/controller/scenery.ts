/** Objects for tests of what the controller tells: as small as they may be. */

import { parseAddress } from 'bgp-ts';
import type { BgpPeer } from '../../../src/model/bgp-peer.ts';
import { formatClaimName } from '../../../src/model/claim-name.ts';
import type { ClusterNode } from '../../../src/model/cluster-node.ts';
import type { IpClaim } from '../../../src/model/ip-claim.ts';
import type { IpNode, IpNodeRefusal } from '../../../src/model/ip-node.ts';
import type { Advertisement, IpPool, Placement } from '../../../src/model/ip-pool.ts';
import { DEFAULT_PLACEMENT } from '../../../src/model/ip-pool.ts';
import type { LabelSelector } from '../../../src/model/labels.ts';

export const SINCE = '2026-01-01T00:00:00Z';

export function clusterNode(name: string, change: Partial<ClusterNode> = {}): ClusterNode {
  return {
    name,
    uid: `uid-of-${name}`,
    labels: {},
    taints: [],
    isUnschedulable: false,
    isBeingDeleted: false,
    ready: 'true',
    addresses: [],
    ...change,
  };
}

export interface NodeReport {
  /** peers with an established session */
  readonly up?: readonly string[];
  /** peers without, and what was heard last */
  readonly down?: Readonly<Record<string, string>>;
  /** those of `down` that the agent does not even dial */
  readonly isRefused?: readonly string[];
  readonly joined?: boolean;
  readonly draining?: boolean;
  readonly ignoresExcludeLabel?: boolean;
  readonly isAlive?: boolean;
  readonly routes?: number;
  readonly refused?: readonly IpNodeRefusal[];
  readonly refusedMore?: number;
}

export function ipNode(name: string, report: NodeReport = {}): IpNode {
  const { up = [], down = {}, joined = true, draining, isAlive, routes = 0, refused } = report;
  const address = '192.0.2.1';
  const message = joined ? 'joined' : 'its Node is not Ready yet';
  return {
    name,
    uid: `uid-of-${name}`,
    resourceVersion: '1',
    status: {
      joined: { open: joined, reason: joined ? 'Joined' : 'NotJoined', message, since: SINCE },
      ...(draining === true && { draining: { reason: 'asked', since: SINCE } }),
      ...(report.ignoresExcludeLabel === true && { ignoresExcludeLabel: true }),
      sessions: [
        ...up.map((peer) => ({ peer, address, state: 'Established' as const })),
        ...Object.entries(down).map(([peer, lastError]) => ({
          peer,
          address,
          state: report.isRefused?.includes(peer) ? ('Idle' as const) : ('Active' as const),
          lastError,
        })),
      ],
      routes,
      ...(refused !== undefined && { refused }),
      ...(report.refusedMore !== undefined && { refusedMore: report.refusedMore }),
      ...(isAlive !== undefined && {
        conditions: [
          {
            type: 'AgentAlive',
            status: isAlive ? ('True' as const) : ('False' as const),
            reason: 'R',
            message: '',
          },
        ],
      }),
    },
  };
}

export function peer(name: string, change: Partial<BgpPeer> = {}): BgpPeer {
  return {
    name,
    labels: { name },
    target: { kind: 'address', address: address('192.0.2.1') },
    port: 179,
    asn: 64500,
    families: ['ipv4', 'ipv6'],
    timers: { holdSeconds: 9, keepaliveSeconds: 3, connectRetrySeconds: 5 },
    ttlSecurity: false,
    nextHop: {},
    listen: false,
    maxRoutes: 500,
    overrides: [],
    ...change,
  };
}

export function advertisement(change: Partial<Advertisement>): Advertisement {
  return { communities: [], largeCommunities: [], discardRoute: false, ...change };
}

export function ipPool(
  change: Partial<IpPool> & { readonly name: string; readonly nodeSelector?: LabelSelector },
): IpPool {
  const { nodeSelector, ...rest } = change;
  const placement: Placement = {
    ...DEFAULT_PLACEMENT,
    ...(nodeSelector !== undefined && { nodeSelector }),
  };
  return {
    labels: {},
    ranges: [
      { first: address('198.51.100.0'), last: address('198.51.100.255'), text: '198.51.100.0/24' },
    ],
    avoidFirstLast: false,
    autoAssign: true,
    priority: 0,
    shareAcross: [],
    allowExternalIps: false,
    ignoreExcludeLabel: false,
    placement,
    advertisements: [],
    drain: { on: [], waitSeconds: 0 },
    notReady: 'keep',
    ...rest,
  };
}

export function claim(text: string, change: Partial<IpClaim> = {}): IpClaim {
  return {
    name: formatClaimName(address(text)),
    address: address(text),
    labels: {},
    pool: 'pool',
    services: [],
    checks: [],
    ...change,
  };
}

export function address(text: string) {
  const parsed = parseAddress(text);
  if (parsed === undefined) throw new Error(`${text} is no address`);
  return parsed;
}
