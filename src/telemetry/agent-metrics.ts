/**
 * The agent's metrics, docs/metrics.md. Gauges are read from the agent at each scrape, so a peer that is gone is gone from here; what
 * speakers count since a peer was configured is told as it stands. Labels are names of peers, families, gates: never addresses of claims.
 */

import type { PeerStatus } from 'bgp-ts';
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { GATE_NAMES, type GateName } from '../agent/gate.ts';
import type { MetricsBase } from './metrics-base.ts';

/** What an agent has to tell at one moment. */
export interface AgentFacts {
  readonly sessions: readonly PeerStatus[];
  /** claims with a route to at least one peer */
  readonly announced: number;
  /** claims that are not announced, by the gate that is closed */
  readonly refused: ReadonlyMap<GateName, number>;
  readonly isJoined: boolean;
  readonly isStale: boolean;
  readonly isDraining: boolean;
  /** absent where no exclusive claim can come */
  readonly lease?: { readonly isFenced: boolean; readonly ageMs?: number };
}

export interface AgentMetrics {
  /** what was decided has been handed to the sessions, and that took so long */
  applied(seconds: number): void;
  /** gives the gauges something to read; before, they are not there */
  watch(facts: () => AgentFacts): void;
  text(): Promise<{ readonly contentType: string; readonly text: string }>;
}

/** a range of neighbours may bring more than anyone looks at */
const MOST_SESSIONS = 256;
const STATES = ['idle', 'connect', 'active', 'open-sent', 'open-confirm', 'established'] as const;
const APPLY_BUCKETS = [0.001, 0.005, 0.02, 0.05, 0.1, 0.5, 2];

type Setter = (facts: AgentFacts) => void;

export function createAgentMetrics({ registry }: MetricsBase): AgentMetrics {
  const apply = new Histogram({
    name: 'herald_apply_seconds',
    help: 'How long it took to hand a decision to the sessions.',
    buckets: APPLY_BUCKETS,
    registers: [registry],
  });
  const setters = [...sessionMetrics(registry), ...nodeMetrics(registry)];
  let facts: (() => AgentFacts) | undefined;
  return {
    applied: (seconds) => apply.observe(seconds),
    watch: (from) => {
      facts = from;
    },
    text: async () => {
      const latest = facts?.();
      if (latest !== undefined) for (const set of setters) set(latest);
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
}

function gauge<L extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly L[] = [],
): Gauge<L> {
  return new Gauge({ name, help, labelNames: [...labelNames], registers: [registry] });
}

function sessionMetrics(registry: Registry): readonly Setter[] {
  const up = gauge(registry, 'herald_bgp_session_up', '1 where the session is up.', ['peer']);
  const state = gauge(registry, 'herald_bgp_session_state', '1 for its state, 0 for the others.', [
    'peer',
    'state',
  ]);
  const sent = gauge(registry, 'herald_bgp_routes_sent', 'Routes that it has been told.', [
    'peer',
    'family',
  ]);
  const pending = gauge(registry, 'herald_bgp_routes_pending', 'Routes it is still to be told.', [
    'peer',
  ]);
  return [
    ({ sessions }) => {
      for (const one of [up, state, sent, pending]) one.reset();
      for (const session of sessions.slice(0, MOST_SESSIONS)) {
        const { name: peer, routesAdvertised } = session;
        up.set({ peer }, Number(session.state === 'established'));
        for (const each of STATES) state.set({ peer, state: each }, Number(session.state === each));
        sent.set({ peer, family: 'ipv4' }, routesAdvertised.ipv4);
        sent.set({ peer, family: 'ipv6' }, routesAdvertised.ipv6);
        pending.set({ peer }, session.routesPending);
      }
    },
    countersOf(registry),
  ];
}

/** The speaker has counted; a counter of ours only tells. */
function countersOf(registry: Registry): Setter {
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Counter({ name, help, labelNames: [...labelNames], registers: [registry] });
  const way = ['peer', 'direction'] as const;
  const messages = counter('herald_bgp_messages_total', 'BGP messages.', way);
  const notifications = counter('herald_bgp_notifications_total', 'BGP NOTIFICATIONs.', way);
  const established = counter('herald_bgp_established_total', 'How often it came up.', ['peer']);
  const received = counter('herald_bgp_routes_received_total', 'Announcements of the peer.', [
    'peer',
  ]);
  return ({ sessions }) => {
    for (const one of [messages, notifications, established, received]) one.reset();
    for (const { name: peer, counters } of sessions.slice(0, MOST_SESSIONS)) {
      messages.inc({ peer, direction: 'sent' }, counters.messagesSent);
      messages.inc({ peer, direction: 'received' }, counters.messagesReceived);
      notifications.inc({ peer, direction: 'sent' }, counters.notificationsSent);
      notifications.inc({ peer, direction: 'received' }, counters.notificationsReceived);
      established.inc({ peer }, counters.establishedCount);
      received.inc({ peer }, counters.routesReceived);
    }
  };
}

function nodeMetrics(registry: Registry): readonly Setter[] {
  const announced = gauge(registry, 'herald_claims_announced', 'Claims announced to a peer.');
  const refused = gauge(
    registry,
    'herald_claims_refused',
    'Claims not announced, by closed gate.',
    ['gate'],
  );
  const joined = gauge(registry, 'herald_joined', '1 where this node may announce at all.');
  const stale = gauge(registry, 'herald_stale', '1 where a source of documents is silent.');
  const draining = gauge(registry, 'herald_draining', '1 where this node drains.');
  const fenced = gauge(registry, 'herald_fenced', '1 where exclusive claims stand a step down.');
  const age = gauge(registry, 'herald_lease_age_seconds', 'Since the Lease was last renewed.');
  return [
    (facts) => {
      announced.set(facts.announced);
      for (const gate of GATE_NAMES) refused.set({ gate }, facts.refused.get(gate) ?? 0);
      joined.set(facts.isJoined ? 1 : 0);
      stale.set(facts.isStale ? 1 : 0);
      draining.set(facts.isDraining ? 1 : 0);
      fenced.set(facts.lease?.isFenced === true ? 1 : 0);
      // without a Lease there is no age; a zero would say that all is well
      age.remove();
      if (facts.lease?.ageMs !== undefined) age.set(facts.lease.ageMs / 1000);
    },
  ];
}
