import type { PeerStatus } from 'bgp-ts';
import { expect } from 'chai';
import { type AgentFacts, createAgentMetrics } from '../../../src/telemetry/agent-metrics.ts';
import { ControllerMetrics } from '../../../src/telemetry/controller-metrics.ts';
import { createMetricsBase } from '../../../src/telemetry/metrics-base.ts';

const COUNTERS: PeerStatus['counters'] = {
  establishedCount: 2,
  messagesSent: 10,
  messagesReceived: 9,
  bytesSent: 0,
  bytesReceived: 0,
  updatesReceived: 0,
  routesReceived: 4,
  routesWithdrawnByPeer: 0,
  routesTreatedAsWithdraw: 0,
  routesRejected: 0,
  notificationsSent: 0,
  notificationsReceived: 1,
  faults: 0,
};

function session(name: string, state: PeerStatus['state'] = 'established'): PeerStatus {
  return {
    name,
    state,
    sinceMs: 0,
    routesAdvertised: { ipv4: 3, ipv6: 1 },
    routesPending: 0,
    isSynced: true,
    owesEndOfRib: false,
    routesHeld: 0,
    counters: COUNTERS,
  };
}

const FACTS: AgentFacts = {
  sessions: [session('tor'), session('spine', 'active')],
  announced: 4,
  refused: new Map([['allowed', 2]]),
  isJoined: true,
  isStale: false,
  isDraining: false,
  lease: { isFenced: false, ageMs: 2500 },
};

function scraped() {
  const base = createMetricsBase({
    version: '0.1.0',
    role: 'agent',
    startedMs: 0,
    cpuSeconds: () => 1,
    residentBytes: () => 1,
    turns: { longestSeconds: () => 0, long: new Map() },
  });
  const metrics = createAgentMetrics(base);
  let facts = FACTS;
  metrics.watch(() => facts);
  return {
    base,
    metrics,
    set: (over: Partial<AgentFacts>) => {
      facts = { ...facts, ...over };
    },
    lines: async () => (await metrics.text()).text.split('\n'),
  };
}

describe('the metrics of an agent', () => {
  it('tell of each session its state, its routes and what it has said', async () => {
    const lines = await scraped().lines();
    expect(lines).to.include.members([
      'herald_bgp_session_up{peer="tor"} 1',
      'herald_bgp_session_up{peer="spine"} 0',
      'herald_bgp_session_state{peer="spine",state="active"} 1',
      'herald_bgp_session_state{peer="spine",state="established"} 0',
      'herald_bgp_routes_sent{peer="tor",family="ipv4"} 3',
      'herald_bgp_messages_total{peer="tor",direction="sent"} 10',
      'herald_bgp_notifications_total{peer="tor",direction="received"} 1',
      'herald_bgp_established_total{peer="tor"} 2',
      'herald_bgp_routes_received_total{peer="tor"} 4',
    ]);
  });

  it('tell of the node, with every gate from the beginning', async () => {
    const lines = await scraped().lines();
    expect(lines).to.include.members([
      'herald_claims_announced 4',
      'herald_claims_refused{gate="allowed"} 2',
      'herald_claims_refused{gate="healthy"} 0',
      'herald_joined 1',
      'herald_stale 0',
      'herald_fenced 0',
      'herald_lease_age_seconds 2.5',
      'herald_build_info{version="0.1.0",role="agent"} 1',
    ]);
  });

  it('forget a peer with the peer, and the age of a Lease with the Lease', async () => {
    const bench = scraped();
    await bench.lines();
    const { lease: _lease, ...rest } = FACTS;
    bench.metrics.watch(() => ({ ...rest, sessions: [session('tor')] }));
    const lines = await bench.lines();
    expect(lines.filter((line) => line.includes('spine'))).to.deep.equal([]);
    expect(lines.filter((line) => line.startsWith('herald_lease_age_seconds'))).to.deep.equal([]);
  });

  it('do not grow with a range of neighbours, nor count twice', async () => {
    const bench = scraped();
    bench.set({ sessions: Array.from({ length: 5000 }, (_, index) => session(`range/${index}`)) });
    await bench.lines();
    const lines = await bench.lines();
    expect(lines.filter((line) => line.startsWith('herald_bgp_session_up{'))).to.have.length(256);
    expect(lines).to.include('herald_bgp_messages_total{peer="range/0",direction="sent"} 10');
  });

  it('count requests to the API, ends of watches and how long decisions take', async () => {
    const bench = scraped();
    bench.base.meter.call('patch', 'ipnodes', '200');
    bench.base.meter.watchEnded('ipclaims', 'closed');
    bench.metrics.applied(0.003);
    const lines = await bench.lines();
    expect(lines).to.include.members([
      'herald_api_requests_total{verb="patch",resource="ipnodes",code="200"} 1',
      'herald_watch_restarts_total{resource="ipclaims",why="closed"} 1',
      'herald_apply_seconds_bucket{le="0.005"} 1',
      'herald_apply_seconds_bucket{le="0.001"} 0',
    ]);
  });

  it('have no gauges before there is an agent to look at', async () => {
    const metrics = createAgentMetrics(
      createMetricsBase({
        version: '0',
        role: 'agent',
        startedMs: 0,
        cpuSeconds: () => 0,
        residentBytes: () => 0,
        turns: { longestSeconds: () => 0, long: new Map() },
      }),
    );
    expect((await metrics.text()).text).to.not.match(/^herald_bgp_session_up\{/m);
  });

  it('stand on one page with those of a controller in the same process', async () => {
    const bench = scraped();
    const controller = new ControllerMetrics(bench.base);
    controller.counters.allocated('p');
    const text = (await bench.lines()).join('\n');
    expect(text).to.include('herald_allocations_total{pool="p"} 1');
    expect(text).to.include('herald_joined 1');
    for (const name of ['herald_build_info', 'process_cpu_seconds_total']) {
      expect(text.split(`# TYPE ${name} `), name).to.have.length(2);
    }
  });
});
