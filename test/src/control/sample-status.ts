/** A status with one of everything, for what is printed and served. */

import type { GateName, GateState } from '../../../src/agent/gate.ts';
import type {
  AgentStatus,
  ClaimPeerStatus,
  ClaimStatus,
  GateStatus,
  SessionStatus,
} from '../../../src/agent/status.ts';

export const NOW_MS = Date.UTC(2026, 10, 16, 12, 0, 0);

export function ago(seconds: number): string {
  return new Date(NOW_MS - seconds * 1000).toISOString();
}

const SENTENCES: Readonly<Record<GateName, string>> = {
  joined: 'https://127.0.0.1:6443/readyz answered 200, at least 2 times in a row',
  assigned: 'anycast: every node announces it',
  healthy: 'it has no checks of its own',
  bound: 'it is on lo',
  allowed: "pool 'control-plane' holds it",
  'not-draining': 'nobody drains it',
};

type Exceptions = Partial<Record<GateName, readonly [GateState, string, string?]>>;

export function gates(exceptions: Exceptions = {}): readonly GateStatus[] {
  const names: readonly GateName[] = [
    'joined',
    'assigned',
    'healthy',
    'bound',
    'allowed',
    'not-draining',
  ];
  return names.map((name) => {
    const [state, sentence, remedy] = exceptions[name] ?? ['open', SENTENCES[name]];
    const since = ago(state === 'open' ? 192 : 5);
    return { name, state, sentence, since, ...(remedy === undefined ? {} : { remedy }) };
  });
}

export function claimPeer(over: Partial<ClaimPeerStatus> = {}): ClaimPeerStatus {
  return {
    peer: 'tor-a',
    route: 'up',
    gates: gates(),
    attributes: { nextHop: '192.0.2.10', communities: ['65000:1', 'no-export'], prepend: 0 },
    ...over,
  };
}

export function claim(address: string, over: Partial<ClaimStatus> = {}): ClaimStatus {
  return {
    address,
    name: address,
    pool: 'control-plane',
    origin: 'claims.yaml:3',
    gates: gates(),
    peers: [claimPeer(), claimPeer({ peer: 'tor-b' })],
    ...over,
  };
}

export function session(over: Partial<SessionStatus> = {}): SessionStatus {
  return {
    peer: 'tor-a',
    address: '192.0.2.1',
    asn: 64500,
    localAsn: 64512,
    state: 'established',
    since: ago(3600 * 5 + 120),
    routesSent: 12,
    routesReceived: 0,
    holdSeconds: 9,
    ...over,
  };
}

export const LONG_IPV6 = '2001:db8:1111:2222:3333:4444:5555:6666';

const unhealthy: Exceptions = {
  healthy: [
    'closed',
    'https://127.0.0.1:8443/healthz answered 503: [-]etcd failed: reason withheld',
    'look at the log of the server at 127.0.0.1:8443',
  ],
};
const draining: Exceptions = {
  'not-draining': ['draining', 'drained by hand: disk change', "'herald undrain' takes it back"],
};

export function sampleStatus(over: Partial<AgentStatus> = {}): AgentStatus {
  return {
    version: '0.1.0',
    pid: 4711,
    node: { name: 'master-1', labels: { rack: 'r1' } },
    source: 'files:/etc/herald',
    startedAt: ago(86_400 * 3 + 3600 * 4),
    joined: gates()[0] ?? { name: 'joined', state: 'open', sentence: '', since: ago(1) },
    sessions: [
      session(),
      session({
        peer: 'tor-b-with-a-very-long-name-indeed',
        address: LONG_IPV6,
        asn: 4200000001,
        state: 'active',
        since: ago(5),
        routesSent: 0,
        lastError:
          'the router sent Cease/Administrative Shutdown: maintenance until Monday, ask the network team',
      }),
      session({
        peer: 'tor-c',
        address: '[2001:db8::1]:1179',
        asn: 'external',
        refused: "the password file '/etc/herald/key' cannot be read: no such file",
        state: 'idle',
      }),
    ],
    claims: [
      claim('192.0.2.7', { interface: 'lo' }),
      claim('192.0.2.8', {
        gates: gates(unhealthy),
        peers: [claimPeer({ route: 'none', gates: gates(unhealthy) })],
      }),
      claim('192.0.2.9', {
        gates: gates(draining),
        peers: [
          claimPeer({ route: 'draining', gates: gates(draining) }),
          claimPeer({ peer: 'tor-b', route: 'waiting' }),
        ],
      }),
      claim(LONG_IPV6, {
        name: '2001-0db8-1111-2222-3333-4444-5555-6666',
        peers: [claimPeer({ route: 'waiting' })],
      }),
    ],
    faults: [
      {
        file: 'claims.yaml',
        line: 12,
        subject: 'IPClaim/192.0.2.99',
        sentence: "spec.bnd: there is no such field; did you mean 'bind'?",
        keepsLastGood: true,
      },
    ],
    warnings: ['net.ipv4.conf.all.arp_ignore is 0: this machine answers ARP for addresses on lo'],
    ...over,
  };
}
