/** The many agents of simulated-agents-main.ts. Their watches, and how these come back when the server ends them, are the agent's own code. */

import { setTimeout as delay } from 'node:timers/promises';
import { nodeClock, nodeRandom } from 'bgp-ts';
import { leaseBody } from '../../../src/agent/kube-report/lease-record.ts';
import { SILENT_LOG } from '../../../src/log/log.ts';
import { API_VERSION, nodeLabel, nodeLease, parseLevel } from '../../../src/model/names.ts';
import { ApiUnreachable } from '../../../src/sources/kube/api.ts';
import { ClaimWatch } from '../../../src/sources/kube/claim-watch.ts';
import { convertLease, type Lease } from '../../../src/sources/kube/convert-lease.ts';
import { IP_NODES, LEASES, NODES } from '../../../src/sources/kube/resources.ts';
import { nowMs } from '../../../tools/probe/monotonic.ts';
import { readKubeconfig } from '../../cluster/support/kubeconfig.ts';
import { nodeBody } from '../../cluster/support/objects.ts';
import { TestApi } from '../../cluster/support/test-api.ts';
import { done, notYet, until } from '../../support/poll.ts';

const RENEW_MS = 5000;
/** the real agent gathers for 200 ms, and waits as long for more that comes with it; for what nobody waits for some two seconds */
const ANSWER_MS = 400;
const FACT_MS = 2000;
const MOST_LEVELS = 100;
const AT_ONCE = 16;
const SYNC_TIMEOUT_MS = 300_000;
const RETRY_MS = 1000;
const MOST_TRIES = 30;
const SESSION = { peer: 'tor', address: '192.0.2.1', state: 'Established' };

/** What an agent does by the clock. */
export interface Habits {
  /** its Lease; only where a pool is exclusive */
  readonly renews: boolean;
  /** how often it reports what has moved, though nobody waits for it */
  readonly reportMs?: number;
}

export const EXCLUSIVE_HABITS: Habits = { renews: true };

interface Agent {
  readonly name: string;
  readonly levels: Map<string, number>;
  readonly claims: ClaimWatch;
  lastRenewedMs: number;
  lease: Lease | undefined;
  isSilent: boolean;
  isAnswerDue: boolean;
}

export class SimulatedAgents {
  readonly #api: TestApi;
  readonly #agents: readonly Agent[];
  readonly #habits: Habits;

  constructor(kubeconfig: string, names: readonly string[], habits: Habits) {
    this.#habits = habits;
    this.#api = new TestApi(readKubeconfig(kubeconfig), 'herald', Number.POSITIVE_INFINITY);
    this.#agents = names.map((name) => this.#agent(name));
  }

  #agent(nodeName: string): Agent {
    const claims = new ClaimWatch({
      ...{ api: this.#api, clock: nodeClock, random: nodeRandom, log: SILENT_LOG, nodeName },
      onNews: () => this.#take(agent),
    });
    const agent: Agent = {
      ...{ name: nodeName, levels: new Map(), claims, lease: undefined },
      ...{ lastRenewedMs: 0, isSilent: false, isAnswerDue: false },
    };
    return agent;
  }

  /** Nodes, IPNodes, Leases, watches; resolves when all stand. */
  async start(): Promise<void> {
    await inTurns(this.#agents, (agent) => this.#join(agent));
    const { renews, reportMs } = this.#habits;
    if (renews) for (const agent of this.#agents) void this.#renewForEver(agent);
    await inTurns(this.#agents, async ({ name, claims }) => {
      claims.start();
      const isSynced = () => (claims.hasSynced ? done(true) : notYet(name));
      await until(`${name} has its claims`, isSynced, { timeoutMs: SYNC_TIMEOUT_MS });
    });
    if (reportMs === undefined) return;
    for (const agent of this.#agents) void this.#reportForEver(agent, reportMs);
  }

  /** They renew and report no more; when the last of them renewed. */
  silence(names: readonly string[]): number {
    const gone = this.#agents.filter(({ name }) => names.includes(name));
    for (const agent of gone) agent.isSilent = true;
    return gone.length === 0 ? nowMs() : Math.max(...gone.map((agent) => agent.lastRenewedMs));
  }

  async #join(agent: Agent): Promise<void> {
    const { name } = agent;
    await this.#api.create(NODES, nodeBody(name, {}));
    await this.#api.create(IP_NODES, {
      apiVersion: API_VERSION,
      kind: 'IPNode',
      metadata: { name },
    });
    await this.#report(agent);
    if (this.#habits.renews) await this.#renew(agent);
  }

  /** whole, and in place of what it wrote last, as the real agent does */
  async #renew(agent: Agent): Promise<void> {
    const { name, lease } = agent;
    const body = leaseBody(
      { node: name, nodeUid: undefined, holder: name, wallMs: Date.now(), seconds: 15 },
      lease,
    );
    const written =
      lease === undefined
        ? await this.#api.create(LEASES, body)
        : await this.#api.update(LEASES, nodeLease(name), body);
    agent.lease = convertLease(written);
    agent.lastRenewedMs = nowMs();
  }

  #take(agent: Agent): void {
    const { claims, levels } = agent;
    const own = nodeLabel(agent.name);
    let hasMoved = false;
    let isAwaited = false;
    for (const name of claims.takeChanged()) {
      const claim = claims.items.get(name)?.converted;
      const label = claim?.ok === true ? claim.object.labels[own] : undefined;
      const level = label === undefined ? undefined : parseLevel(label);
      hasMoved ||= levels.get(name) !== level;
      isAwaited ||= claims.items.get(name)?.isStraight !== true;
      if (level === undefined) levels.delete(name);
      else levels.set(name, level);
    }
    if (!hasMoved || agent.isSilent || agent.isAnswerDue) return;
    agent.isAnswerDue = true;
    setTimeout(
      () => {
        agent.isAnswerDue = false;
        if (!agent.isSilent) void insist(() => this.#report(agent));
      },
      isAwaited ? ANSWER_MS : FACT_MS,
    );
  }

  async #report({ name, levels, claims }: Agent): Promise<void> {
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
      observedClaims: String(claims.observe()),
    };
    const patch = { kind: 'merge', body: { status } } as const;
    await this.#api.patch(IP_NODES, name, patch, { subresource: 'status' });
  }

  async #reportForEver(agent: Agent, everyMs: number): Promise<void> {
    await delay(Math.random() * everyMs);
    while (!agent.isSilent) {
      await insist(() => this.#report(agent));
      await delay(everyMs);
    }
  }

  async #renewForEver(agent: Agent): Promise<void> {
    // spread over the period, as machines that were not started together
    await delay(Math.random() * RENEW_MS);
    while (!agent.isSilent) {
      const started = nowMs();
      await insist(() => this.#renew(agent));
      await delay(Math.max(0, RENEW_MS - (nowMs() - started)));
    }
  }
}

/** a connection that the server has just closed, or a server that is busy: real agents ask again */
async function insist(work: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await work();
      return;
    } catch (error) {
      if (!(error instanceof ApiUnreachable) || tries === MOST_TRIES) throw error;
      await delay(RETRY_MS);
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
