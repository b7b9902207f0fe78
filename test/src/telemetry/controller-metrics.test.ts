import { expect } from 'chai';
import type { ControllerFacts } from '../../../src/controller/facts.ts';
import { ApiError, ApiUnreachable } from '../../../src/sources/kube/api.ts';
import { IP_POOLS } from '../../../src/sources/kube/resources.ts';
import { ControllerMetrics } from '../../../src/telemetry/controller-metrics.ts';
import { MeteredApi } from '../../../src/telemetry/metered-api.ts';
import { createMetricsBase } from '../../../src/telemetry/metrics-base.ts';
import { MemoryKubeApi } from '../../support/memory-kube-api.ts';

const FACTS: ControllerFacts = {
  isLeading: true,
  unsynced: [],
  pools: [{ name: 'a', total: 256, used: 3, free: 253 }],
  peers: [{ name: 'x', nodes: 3, established: 2 }],
  claims: { pending: 0, placed: 3, refused: 0, withdrawn: 0, released: 1 },
  waiting: new Map([['PoolExhausted', 2]]),
  refusedDocuments: { pools: 0, claims: 0, peers: 1 },
  nodes: { joined: 3, 'not-joined': 0, draining: 0 },
};

function underTest(facts: () => ControllerFacts = () => FACTS) {
  const base = createMetricsBase({
    version: '1.2.3',
    role: 'controller',
    startedMs: 5000,
    cpuSeconds: () => 1.5,
    residentBytes: () => 42,
    turns: { longestSeconds: () => 0, long: new Map() },
  });
  const metrics = new ControllerMetrics(base);
  metrics.watch(facts);
  const lines = async () => {
    const { text } = await metrics.text();
    return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  };
  return { base, metrics, lines };
}

describe('metrics of the controller', () => {
  it('start at zero, for everything that has no object of its own', async () => {
    const { lines } = underTest();
    expect(await lines()).to.include.members([
      'herald_build_info{version="1.2.3",role="controller"} 1',
      'herald_allocations_total{pool="a"} 0',
      'herald_releases_total{pool="a"} 0',
      'herald_claim_moves_total{why="dead"} 0',
      'herald_events_dropped_total{why="rate"} 0',
      'process_cpu_seconds_total 1.5',
      'process_resident_memory_bytes 42',
    ]);
  });

  it('read the gauges from the facts of the moment', async () => {
    const { metrics, lines } = underTest();
    const end = metrics.counters.queue('service', () => 7);
    expect(await lines()).to.include.members([
      'herald_controller_leader 1',
      'herald_caches_synced 1',
      'herald_pool_addresses_total{pool="a"} 256',
      'herald_pool_addresses_used{pool="a"} 3',
      'herald_pool_addresses_free{pool="a"} 253',
      'herald_peer_nodes{peer="x"} 3',
      'herald_peer_established{peer="x"} 2',
      'herald_claims{phase="placed"} 3',
      'herald_claims{phase="released"} 1',
      'herald_services_waiting 2',
      'herald_services_waiting_by_reason{reason="PoolExhausted"} 2',
      'herald_documents_refused{kind="peers"} 1',
      'herald_nodes{state="joined"} 3',
      'herald_queue_depth{queue="service"} 7',
    ]);
    end();
    expect((await lines()).filter((line) => line.startsWith('herald_queue'))).to.deep.equal([]);
  });

  it('go with the pool, the peer and the reason that they are of', async () => {
    let facts = FACTS;
    const { metrics, lines } = underTest(() => facts);
    metrics.counters.allocated('a');
    expect(await lines()).to.include('herald_allocations_total{pool="a"} 1');
    facts = { ...FACTS, pools: [], peers: [], waiting: new Map() };
    const left = await lines();
    expect(left.filter((line) => /pool=|peer=|by_reason/.test(line))).to.deep.equal([]);
    expect(left).to.include('herald_services_waiting 0');
  });

  it('count requests by verb, resource and how they ended', async () => {
    const { base, lines } = underTest();
    const memory = new MemoryKubeApi();
    const api = new MeteredApi(memory, base.meter);
    await api.create(IP_POOLS, { metadata: { name: 'a' } });
    await api.list(IP_POOLS);
    await api.get(IP_POOLS, 'b').catch(() => undefined);
    memory.fault = () => ({ kind: 'before', error: new ApiUnreachable('down', undefined) });
    await api.delete(IP_POOLS, 'a').catch(() => undefined);
    memory.fault = () => ({ kind: 'before', error: new ApiError(409, 'Conflict', 'newer') });
    await api.patch(IP_POOLS, 'a', { kind: 'merge', body: {} }).catch(() => undefined);
    const requests = (await lines()).filter((line) => line.startsWith('herald_api_requests'));
    expect(requests.toSorted()).to.deep.equal([
      'herald_api_requests_total{verb="create",resource="ippools",code="201"} 1',
      'herald_api_requests_total{verb="delete",resource="ippools",code="unreachable"} 1',
      'herald_api_requests_total{verb="get",resource="ippools",code="404"} 1',
      'herald_api_requests_total{verb="list",resource="ippools",code="200"} 1',
      'herald_api_requests_total{verb="patch",resource="ippools",code="409"} 1',
    ]);
  });

  it('count watches that end, not those that we end', async () => {
    const { base, lines } = underTest();
    const memory = new MemoryKubeApi();
    const api = new MeteredApi(memory, base.meter);
    const watch = (signal: AbortSignal) =>
      api.watch(IP_POOLS, {
        resourceVersion: String(memory.version),
        timeoutSeconds: 300,
        signal,
        onEvent: () => undefined,
      });
    const over = watch(new AbortController().signal);
    await Promise.resolve();
    memory.endWatches({ kind: 'silent' });
    await over;
    const ours = new AbortController();
    const ended = watch(ours.signal);
    ours.abort();
    await ended;
    const restarts = (await lines()).filter((line) => line.startsWith('herald_watch'));
    expect(restarts).to.deep.equal([
      'herald_watch_restarts_total{resource="ippools",why="silent"} 1',
    ]);
  });
});
