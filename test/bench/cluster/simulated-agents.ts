/** The many agents of simulated-agents-main.ts. */

import { setTimeout as delay } from 'node:timers/promises';
import { leaseBody } from '../../../src/agent/kube-report/lease-record.ts';
import {
  ANYCAST_LABEL,
  API_VERSION,
  nodeLabel,
  nodeLease,
  parseLevel,
} from '../../../src/model/names.ts';
import { convertLease, type Lease } from '../../../src/sources/kube/convert-lease.ts';
import { isKubeObject } from '../../../src/sources/kube/kube-object.ts';
import { IP_CLAIMS, IP_NODES, LEASES, NODES } from '../../../src/sources/kube/resources.ts';
import { nowMs } from '../../../tools/probe/monotonic.ts';
import { readKubeconfig } from '../../cluster/support/kubeconfig.ts';
import { nodeBody } from '../../cluster/support/objects.ts';
import { pathOf } from '../../cluster/support/test-api.ts';
import { field, text } from '../../interop/routers/json.ts';
import { MultiplexedApi } from './multiplexed-api.ts';

const RENEW_MS = 5000;
/** as the real agent's report */
const ANSWER_MS = 1000;
const MOST_LEVELS = 100;
const AT_ONCE = 16;
const SESSION = { peer: 'tor', address: '192.0.2.1', state: 'Established' };

interface Agent {
  readonly name: string;
  readonly levels: Map<string, number>;
  seen: string;
  lastRenewedMs: number;
  lease: Lease | undefined;
  isSilent: boolean;
  isAnswerDue: boolean;
}

export class SimulatedAgents {
  readonly #api: MultiplexedApi;
  readonly #agents: readonly Agent[];

  constructor(kubeconfig: string, names: readonly string[]) {
    this.#api = new MultiplexedApi(readKubeconfig(kubeconfig));
    this.#agents = names.map((name) => ({
      name,
      levels: new Map(),
      seen: '0',
      lastRenewedMs: 0,
      lease: undefined,
      isSilent: false,
      isAnswerDue: false,
    }));
  }

  /** Nodes, IPNodes, Leases, watches; resolves when all stand. */
  async start(): Promise<void> {
    await inTurns(this.#agents, (agent) => this.#join(agent));
    await inTurns(this.#agents, (agent) => this.#open(agent));
    for (const agent of this.#agents) void this.#renewForEver(agent);
  }

  /** They renew no more; when the last of them did. */
  silence(names: readonly string[]): number {
    const gone = this.#agents.filter(({ name }) => names.includes(name));
    for (const agent of gone) agent.isSilent = true;
    return gone.length === 0 ? nowMs() : Math.max(...gone.map((agent) => agent.lastRenewedMs));
  }

  async #join(agent: Agent): Promise<void> {
    const { name } = agent;
    const metadata = { name };
    await this.#api.call('POST', pathOf(NODES), nodeBody(name, {}));
    await this.#api.call('POST', pathOf(IP_NODES), {
      apiVersion: API_VERSION,
      kind: 'IPNode',
      metadata,
    });
    await this.#report(agent);
    await this.#writeLease(agent, 'POST', pathOf(LEASES));
  }

  /** whole, and in place of what it wrote last, as the real agent does */
  async #writeLease(agent: Agent, method: 'POST' | 'PUT', path: string): Promise<void> {
    const wish = {
      node: agent.name,
      nodeUid: undefined,
      holder: agent.name,
      wallMs: Date.now(),
    };
    const written = await this.#api.call(method, path, leaseBody(wish, agent.lease));
    agent.lease = isKubeObject(written) ? convertLease(written) : undefined;
    agent.lastRenewedMs = nowMs();
  }

  async #open(agent: Agent): Promise<void> {
    const own = nodeLabel(agent.name);
    await Promise.all([
      this.#watch(ANYCAST_LABEL, () => undefined),
      this.#watch(own, (event) => this.#take(agent, own, event)),
    ]);
  }

  async #watch(labelSelector: string, onEvent: (event: unknown) => void): Promise<void> {
    const query = new URLSearchParams({
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: await this.#api.resourceVersion(pathOf(IP_CLAIMS)),
      labelSelector,
      timeoutSeconds: '3600',
    });
    await this.#api.watch(`${pathOf(IP_CLAIMS)}?${query.toString()}`, onEvent);
  }

  #take(agent: Agent, own: string, event: unknown): void {
    const metadata = field(event, 'object', 'metadata');
    agent.seen = text(field(metadata, 'resourceVersion')) || agent.seen;
    const name = text(field(metadata, 'name'));
    const type = text(field(event, 'type'));
    if (type === 'BOOKMARK') return;
    if (type === 'DELETED') agent.levels.delete(name);
    else agent.levels.set(name, parseLevel(text(field(metadata, 'labels', own))));
    if (agent.isSilent || agent.isAnswerDue) return;
    agent.isAnswerDue = true;
    setTimeout(() => {
      agent.isAnswerDue = false;
      if (!agent.isSilent) void this.#report(agent);
    }, ANSWER_MS);
  }

  async #report({ name, levels, seen }: Agent): Promise<void> {
    const told = [...levels].slice(-MOST_LEVELS);
    const status = {
      joined: {
        open: true,
        reason: 'Joined',
        message: 'it has joined',
        since: '2026-01-01T00:00:00Z',
      },
      sessions: [SESSION],
      levels: told.map(([address, level]) => ({ address, level })),
      observedClaims: seen,
    };
    await this.#api.call('PATCH', pathOf(IP_NODES, name, 'status'), { status });
  }

  async #renewForEver(agent: Agent): Promise<void> {
    // spread over the period, as machines that were not started together
    await delay(Math.random() * RENEW_MS);
    while (!agent.isSilent) {
      const started = nowMs();
      await this.#writeLease(agent, 'PUT', pathOf(LEASES, nodeLease(agent.name)));
      await delay(Math.max(0, RENEW_MS - (nowMs() - started)));
    }
  }
}

async function inTurns(
  agents: readonly Agent[],
  work: (agent: Agent) => Promise<void>,
): Promise<void> {
  const rest = agents[Symbol.iterator]();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const agent of rest) await work(agent);
    }),
  );
}
