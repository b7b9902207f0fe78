/**
 * The controller's metrics. Counters are counted as things happen (ControllerCounters, ApiMeter); gauges are read from the caches at
 * each scrape. Whatever is of a pool or a peer goes with it; everything else starts at zero.
 */

import { Counter, Gauge, type Registry } from 'prom-client';
import type { ControllerCounters } from '../controller/counters.ts';
import { CLAIM_PHASES, type ControllerFacts, NODE_STATES } from '../controller/facts.ts';
import type { MetricsBase } from './metrics-base.ts';

export class ControllerMetrics {
  readonly counters: ControllerCounters;
  readonly #registry: Registry;
  readonly #gauges: readonly ((facts: ControllerFacts) => void)[];
  readonly #queues = new Map<string, () => number>();
  #facts: (() => ControllerFacts) | undefined;

  constructor({ registry }: MetricsBase) {
    this.#registry = registry;
    const pooled = new PooledCounters(this.#registry);
    this.counters = countersOf(this.#registry, pooled, this.#queues);
    this.#gauges = [
      (facts) => pooled.follow(facts.pools.map(({ name }) => name)),
      ...poolGauges(this.#registry),
      ...peerGauges(this.#registry),
      ...clusterGauges(this.#registry),
      queueGauge(this.#registry, this.#queues),
    ];
  }

  /** where the gauges read from */
  watch(facts: () => ControllerFacts): void {
    this.#facts = facts;
  }

  /** One look at the caches per scrape, not one per gauge. */
  refresh(): void {
    const facts = this.#facts?.();
    if (facts !== undefined) for (const set of this.#gauges) set(facts);
  }

  async text(): Promise<{ readonly contentType: string; readonly text: string }> {
    this.refresh();
    return { contentType: this.#registry.contentType, text: await this.#registry.metrics() };
  }
}

/** counters with a pool for a label: there from zero with the pool, and gone with it */
class PooledCounters {
  readonly #counters: Readonly<Record<'allocated' | 'released', Counter<'pool'>>>;
  #pools: ReadonlySet<string> = new Set();

  constructor(registry: Registry) {
    const made = (name: string, help: string) =>
      new Counter({ name, help, labelNames: ['pool'], registers: [registry] });
    this.#counters = {
      allocated: made('herald_allocations_total', 'Addresses given out of the pool.'),
      released: made('herald_releases_total', 'Addresses given back to the pool.'),
    };
  }

  inc(what: 'allocated' | 'released', pool: string): void {
    this.#counters[what].inc({ pool });
  }

  follow(pools: readonly string[]): void {
    const now = new Set(pools);
    for (const counter of Object.values(this.#counters)) {
      for (const pool of now) counter.inc({ pool }, 0);
      for (const pool of this.#pools) if (!now.has(pool)) counter.remove({ pool });
    }
    this.#pools = now;
  }
}

function countersOf(
  registry: Registry,
  pooled: PooledCounters,
  queues: Map<string, () => number>,
): ControllerCounters {
  const counter = <L extends string>(name: string, help: string, label: L) =>
    new Counter({ name, help, labelNames: [label], registers: [registry] });
  const refusals = counter('herald_refusals_total', 'Services and claims refused.', 'reason');
  const moves = counter('herald_claim_moves_total', 'Exclusive claims placed on a node.', 'why');
  const conflicts = counter('herald_write_conflicts_total', 'Writes decided again.', 'loop');
  const dropped = counter('herald_events_dropped_total', 'Events that were not told.', 'why');
  for (const why of ['first', 'planned', 'dead'] as const) moves.inc({ why }, 0);
  for (const why of ['rate', 'queue', 'api'] as const) dropped.inc({ why }, 0);
  return {
    allocated: (pool) => pooled.inc('allocated', pool),
    released: (pool) => pooled.inc('released', pool),
    refused: (reason) => refusals.inc({ reason }),
    moved: (why) => moves.inc({ why }),
    conflict: (loop) => conflicts.inc({ loop }),
    eventDropped: (why) => dropped.inc({ why }),
    queue: (name, depth) => {
      queues.set(name, depth);
      return () => {
        if (queues.get(name) === depth) queues.delete(name);
      };
    },
  };
}

type Setter = (facts: ControllerFacts) => void;

function gauge<L extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly L[] = [],
): Gauge<L> {
  return new Gauge({ name, help, labelNames: [...labelNames], registers: [registry] });
}

function poolGauges(registry: Registry): readonly Setter[] {
  const of = (state: 'total' | 'used' | 'free', help: string): Setter => {
    const addresses = gauge(registry, `herald_pool_addresses_${state}`, help, ['pool']);
    return ({ pools }) => {
      addresses.reset();
      for (const pool of pools) addresses.set({ pool: pool.name }, pool[state]);
    };
  };
  return [
    of('total', 'Addresses in the pool.'),
    of('used', 'Addresses of the pool that are claimed.'),
    of('free', 'Addresses of the pool that are not.'),
  ];
}

function peerGauges(registry: Registry): readonly Setter[] {
  const wanted = gauge(registry, 'herald_peer_nodes', 'Nodes that shall peer with it.', ['peer']);
  const up = gauge(registry, 'herald_peer_established', 'Nodes whose session is up.', ['peer']);
  return [
    ({ peers }) => {
      wanted.reset();
      up.reset();
      for (const { name, nodes, established } of peers) {
        wanted.set({ peer: name }, nodes);
        up.set({ peer: name }, established);
      }
    },
  ];
}

function clusterGauges(registry: Registry): readonly Setter[] {
  const leader = gauge(registry, 'herald_controller_leader', '1 where this controller leads.');
  const synced = gauge(registry, 'herald_caches_synced', '1 once everything has been listed.');
  const claims = gauge(registry, 'herald_claims', 'Claims by how far they are.', ['phase']);
  const nodes = gauge(registry, 'herald_nodes', 'Nodes that have an agent.', ['state']);
  const sum = gauge(registry, 'herald_services_waiting', 'Services without their addresses.');
  const waiting = gauge(
    registry,
    'herald_services_waiting_by_reason',
    'Services without their addresses, by why.',
    ['reason'],
  );
  const bad = gauge(registry, 'herald_documents_refused', 'Objects that cannot be used.', ['kind']);
  return [
    (facts) => {
      leader.set(facts.isLeading ? 1 : 0);
      synced.set(facts.unsynced.length === 0 ? 1 : 0);
      for (const phase of CLAIM_PHASES) claims.set({ phase }, facts.claims[phase]);
      for (const state of NODE_STATES) nodes.set({ state }, facts.nodes[state]);
      for (const [kind, count] of Object.entries(facts.refusedDocuments)) bad.set({ kind }, count);
      waiting.reset();
      let all = 0;
      for (const [reason, count] of facts.waiting) {
        waiting.set({ reason }, count);
        all += count;
      }
      sum.set(all);
    },
  ];
}

function queueGauge(registry: Registry, queues: ReadonlyMap<string, () => number>): Setter {
  const depths = gauge(registry, 'herald_queue_depth', 'Keys that wait for a loop.', ['queue']);
  return () => {
    depths.reset();
    for (const [queue, depth] of queues) depths.set({ queue }, depth());
  };
}
