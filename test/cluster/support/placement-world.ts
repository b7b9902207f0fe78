/**
 * Placement on a real API server: the program's own client, caches and loops in this process, and agents that are nothing but their Node,
 * IPNode and Lease. A watch beside it all notes every state that a claim's labels go through.
 */

import { readFileSync } from 'node:fs';
import { nodeClock, nodeRandom } from 'bgp-ts';
import { ControllerCaches } from '../../../src/controller/caches.ts';
import { NO_COUNTERS } from '../../../src/controller/counters.ts';
import { LivenessLoop } from '../../../src/controller/liveness-loop.ts';
import { PlacementLoop } from '../../../src/controller/placement-loop.ts';
import { ServiceLoops } from '../../../src/controller/service-loops.ts';
import { SILENT_LOG } from '../../../src/log/log.ts';
import { type LeaseTimes, leaseTimes } from '../../../src/model/lease-times.ts';
import { CONTROLLER_LEASE, isNodeLabel, NAMESPACE } from '../../../src/model/names.ts';
import { ApiError, ApiUnreachable, type KubeObject } from '../../../src/sources/kube/api.ts';
import { createKubeApi } from '../../../src/sources/kube/api-client.ts';
import { loadKubeAccess } from '../../../src/sources/kube/kube-access.ts';
import { IP_CLAIMS, LEASES } from '../../../src/sources/kube/resources.ts';
import { FakeAgent } from '../../support/fake-agents.ts';
import { done, notYet, until } from '../../support/poll.ts';
import { at, type Cluster } from './cluster.ts';

/** a third of the default */
export const QUICK = leaseTimes(5);
const REAL = leaseTimes(15);

const readFile = (path: string): string => readFileSync(path, 'utf8');
const EVENTS = { record: () => undefined };

export class PlacementWorld {
  readonly #cluster: Cluster;
  readonly #times: LeaseTimes;
  readonly agents: FakeAgent[] = [];
  readonly #stops: (() => void)[] = [];
  #isOver = false;

  constructor(cluster: Cluster, times = REAL) {
    this.#cluster = cluster;
    this.#times = times;
  }

  agent(name: string): FakeAgent {
    const agent = this.agents.find((each) => each.name === name);
    if (agent === undefined) throw new Error(`no agent ${name}`);
    return agent;
  }

  /** Agents that renew and answer until the end. */
  async join(...names: readonly string[]): Promise<void> {
    for (const name of names) {
      await this.#cluster.addNode(name);
      const agent = new FakeAgent(this.#cluster.api, name);
      agent.leaseSeconds = this.#times.durationMs / 1000;
      this.agents.push(agent);
      await agent.report();
      await agent.renew();
      void this.#live(agent);
    }
  }

  async #live(agent: FakeAgent): Promise<void> {
    let renewedMs = performance.now();
    while (!this.#isOver) {
      await pause(80);
      if (agent.isSilent || this.#isOver) continue;
      await attempt(() => agent.answer());
      if (performance.now() - renewedMs < this.#times.renewMs) continue;
      renewedMs = performance.now();
      await attempt(() => agent.renew());
    }
  }

  /** The Lease of a leader: a sign that the API takes writes. */
  async lead(): Promise<void> {
    const metadata = { name: CONTROLLER_LEASE, namespace: NAMESPACE };
    await this.#cluster.api.create(LEASES, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata,
    });
    void this.#keepLeading();
  }

  async #keepLeading(): Promise<void> {
    for (let transitions = 1; !this.#isOver; transitions += 1) {
      const body = { spec: { leaseTransitions: transitions } };
      await attempt(() =>
        this.#cluster.api.patch(LEASES, CONTROLLER_LEASE, { kind: 'merge', body }),
      );
      await pause(700);
    }
  }

  /** Returns how to stop it. */
  async control(options: { readonly services?: boolean } = {}): Promise<() => void> {
    const { kubeconfig } = this.#cluster;
    const access = await loadKubeAccess({ kubeconfig, env: {}, readFile, clock: nodeClock });
    const base = { clock: nodeClock, random: nodeRandom, log: SILENT_LOG };
    const api = createKubeApi(access, base);
    const caches = new ControllerCaches({ ...base, api });
    const context = { ...base, api, caches, events: EVENTS, counters: NO_COUNTERS };
    const liveness = new LivenessLoop(context);
    const settings = { defaultClass: false, maxStaleMs: 3_600_000 };
    const loops = [
      liveness,
      new PlacementLoop({ ...context, liveness }),
      ...(options.services === true ? [new ServiceLoops({ ...context, settings })] : []),
    ];
    caches.start();
    caches.whenSynced(() => {
      for (const loop of loops) loop.start();
    });
    const stop = () => {
      for (const loop of loops) loop.stop();
      caches.stop();
      api.close();
    };
    this.#stops.push(stop);
    return stop;
  }

  async claims(): Promise<readonly KubeObject[]> {
    return (await this.#cluster.api.list(IP_CLAIMS)).items;
  }

  async loads(): Promise<Readonly<Record<string, number>>> {
    const loads: Record<string, number> = Object.fromEntries(
      this.agents.map(({ name }) => [name, 0]),
    );
    for (const claim of await this.claims()) {
      const node = holderOf(claim) ?? 'nobody';
      loads[node] = (loads[node] ?? 0) + 1;
    }
    return loads;
  }

  /** all claims have one label each, of the node that they name, at level 0, and these numbers of them */
  settled(wanted: readonly number[], timeoutMs = 120_000): Promise<unknown> {
    return until(
      `the nodes hold ${wanted.join()}`,
      async () => {
        const claims = await this.claims();
        const loads = await this.loads();
        const isInOrder = claims.every((claim) => levelsOf(claim) === `${holderOf(claim)}=0`);
        const found = Object.values(loads)
          .sort((x, y) => x - y)
          .join();
        const isThere = found === [...wanted].sort((x, y) => x - y).join();
        return isThere && isInOrder ? done(true) : notYet({ loads, isInOrder });
      },
      { timeoutMs, everyMs: 100 },
    );
  }

  /** every state of the node labels of every claim, from now on; stop it to read it */
  async record(): Promise<{ readonly states: ReadonlyMap<string, string[]>; stop(): void }> {
    const states = new Map<string, string[]>();
    const list = await this.#cluster.api.list(IP_CLAIMS);
    const note = (claim: KubeObject) => {
      const known = states.get(claim.metadata.name) ?? [];
      const levels = levelsOf(claim);
      if (known.at(-1) !== levels) known.push(levels);
      states.set(claim.metadata.name, known);
    };
    for (const claim of list.items) note(claim);
    const ending = new AbortController();
    void this.#cluster.api.watch(IP_CLAIMS, {
      resourceVersion: list.resourceVersion,
      signal: ending.signal,
      timeoutSeconds: 600,
      onEvent: (event) => {
        if (event.kind !== 'bookmark') note(event.object);
      },
    });
    return { states, stop: () => ending.abort() };
  }

  stop(): void {
    this.#isOver = true;
    for (const stop of this.#stops.splice(0)) stop();
  }
}

export function holderOf(claim: KubeObject): string | undefined {
  const node = at(claim, 'spec', 'node');
  return typeof node === 'string' ? node : undefined;
}

/** `a=2 b=0` */
export function levelsOf({ metadata: { labels = {} } }: KubeObject): string {
  return Object.entries(labels)
    .filter(([key]) => isNodeLabel(key))
    .map(([key, value]) => `${key.slice(key.indexOf('/') + 1)}=${value}`)
    .sort()
    .join(' ');
}

async function attempt(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ApiError || error instanceof ApiUnreachable)) throw error;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
