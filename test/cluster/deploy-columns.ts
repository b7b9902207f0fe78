/** Objects of a small cluster as it looks on a working day, for the golden output of `kubectl get` (deploy-columns.txt). */

import { API_VERSION } from '../../src/model/names.ts';
import type { Resource } from '../../src/sources/kube/api.ts';
import { BGP_PEERS, IP_CLAIMS, IP_NODES, IP_POOLS } from '../../src/sources/kube/resources.ts';

const since = '2026-01-01T12:00:00Z';

const object = (kind: string, name: string, spec?: object) => ({
  apiVersion: API_VERSION,
  kind,
  metadata: { name },
  ...(spec === undefined ? {} : { spec }),
});

export const COLUMN_OBJECTS: readonly object[] = [
  object('IPPool', 'exclusive', {
    addresses: ['203.0.113.0/28'],
    placement: { mode: 'exclusive' },
  }),
  object('IPPool', 'public', { addresses: ['198.51.100.0/24', '2001:db8:100::/120'] }),
  object('IPPool', 'refused', { addresses: ['203.0.113.0/24'] }),
  object('IPClaim', '198.51.100.1', {
    pool: 'public',
    services: [{ namespace: 'shop', name: 'front', uid: 'a' }],
  }),
  object('IPClaim', '198.51.100.80', { pool: 'public', bind: { interface: 'lo' } }),
  object('IPClaim', '2001-0db8-0100-0000-0000-0000-0000-0001', {
    pool: 'public',
    services: [
      { namespace: 'dns', name: 'dns-tcp', uid: 'b' },
      { namespace: 'dns', name: 'dns-udp', uid: 'c' },
    ],
  }),
  object('IPClaim', '203.0.113.4', {
    pool: 'exclusive',
    services: [{ namespace: 'shop', name: 'mail', uid: 'd' }],
    node: 'node-2',
  }),
  object('IPNode', 'node-1'),
  object('IPNode', 'node-2'),
  object('IPNode', 'node-3'),
  object('BGPPeer', 'rack-2', { addressRange: '10.0.2.0/24', asn: 'external', listen: true }),
  object('BGPPeer', 'tor-1', { address: '10.0.1.1', asn: 64500 }),
  object('BGPPeer', 'tor-1-v6', { address: '2001:db8:1::1', asn: 4200000001 }),
];

interface ColumnStatus {
  readonly resource: Resource;
  readonly name: string;
  readonly status: object;
}

const condition = (type: string, status: string) => ({
  type,
  status,
  reason: 'Example',
  message: 'an example',
  lastTransitionTime: since,
});

const joined = (open: boolean, reason: string) => ({
  open,
  reason,
  message: 'an example',
  since,
});

const pool = (total: number, used: number) => ({ total, used, free: total - used });
const ready = (status: string) => ({ conditions: [condition('Ready', status)] });

export const COLUMN_STATUSES: readonly ColumnStatus[] = [
  { resource: IP_POOLS, name: 'exclusive', status: { ...pool(16, 1), ...ready('True') } },
  { resource: IP_POOLS, name: 'public', status: { ...pool(512, 3), ...ready('True') } },
  { resource: IP_POOLS, name: 'refused', status: { ...pool(256, 0), ...ready('False') } },
  { resource: IP_CLAIMS, name: '198.51.100.1', status: { phase: 'Placed' } },
  { resource: IP_CLAIMS, name: '198.51.100.80', status: { phase: 'Placed' } },
  {
    resource: IP_CLAIMS,
    name: '2001-0db8-0100-0000-0000-0000-0000-0001',
    status: { phase: 'Refused' },
  },
  { resource: IP_CLAIMS, name: '203.0.113.4', status: { phase: 'Placed' } },
  {
    resource: IP_NODES,
    name: 'node-1',
    status: {
      joined: joined(true, 'NodeReady'),
      routes: 2,
      sessions: [
        { peer: 'tor-1', address: '10.0.1.1', state: 'Established', since, routesSent: 2 },
      ],
      observedClaims: '1234',
      conditions: [condition('AgentAlive', 'True')],
    },
  },
  {
    resource: IP_NODES,
    name: 'node-2',
    status: {
      joined: joined(true, 'NodeReady'),
      routes: 3,
      draining: { reason: 'exclude-label', since },
      levels: [{ address: '203.0.113.4', level: 1 }],
      observedClaims: '1200',
      conditions: [condition('AgentAlive', 'True')],
    },
  },
  {
    resource: IP_NODES,
    name: 'node-3',
    status: {
      joined: joined(false, 'NeverReady'),
      routes: 0,
      conditions: [condition('AgentAlive', 'Unknown')],
    },
  },
  { resource: BGP_PEERS, name: 'rack-2', status: { nodes: 1, established: 0 } },
  { resource: BGP_PEERS, name: 'tor-1', status: { nodes: 2, established: 2 } },
  { resource: BGP_PEERS, name: 'tor-1-v6', status: { nodes: 2, established: 1 } },
];
