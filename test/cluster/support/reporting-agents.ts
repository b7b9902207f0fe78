/**
 * Many agents that hold exclusive claims, played by a few processes (reporting-agents-main.ts), and an API server that is killed under them. They come as a
 * ServiceAccount, so that the server's priority and fairness holds for them as it does for real ones.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { API_VERSION, NAMESPACE, nodeLabel } from '../../../src/model/names.ts';
import { IP_CLAIMS, NODES } from '../../../src/sources/kube/resources.ts';
import { nowMs } from '../../../tools/probe/monotonic.ts';
import { done, notYet, until } from '../../support/poll.ts';
import type { Cluster } from './cluster.ts';
import { nodeBody } from './objects.ts';

const PER_PROCESS = 125;
const WRITES_AT_ONCE = 16;
/** they share the machine with the server: started in one moment, none of a thousand would be served in time */
const START_MS_EACH = 60;
const START_PATIENCE_MS = 600_000;
const main = join(import.meta.dirname, 'reporting-agents-main.ts');

export interface CrowdSize {
  readonly agents: number;
  /** exclusive claims on each */
  readonly claims: number;
}

interface Troop {
  readonly child: ChildProcess;
  ask(): Promise<readonly [fenced: number, lastUpMs: number]>;
}

export class ReportingAgents {
  readonly #troops: readonly Troop[];

  private constructor(troops: readonly Troop[]) {
    this.#troops = troops;
  }

  /** Makes the pool, the claims with the labels of their holders, the Nodes; then starts the agents and waits until none is fenced. */
  static async start(cluster: Cluster, size: CrowdSize): Promise<ReportingAgents> {
    const names = Array.from({ length: size.agents }, (_, index) => `played-${index}`);
    await cluster.applyObjects(pool());
    await inTurns(names, (name) => cluster.api.create(NODES, nodeBody(name, {})));
    const claims = names.flatMap((name, index) =>
      Array.from({ length: size.claims }, (_, which) => claim(index * size.claims + which, name)),
    );
    await inTurns(claims, (each) => cluster.api.create(IP_CLAIMS, each));
    const kubeconfig = await cluster.serviceAccountKubeconfig(NAMESPACE, 'played');
    await cluster.applyObjects(mayDoAll('played'));
    const troops: Troop[] = [];
    for (let first = 0; first < names.length; first += PER_PROCESS) {
      const startMs = names.length * START_MS_EACH;
      troops.push(enlist(kubeconfig, startMs, names.slice(first, first + PER_PROCESS)));
    }
    const crowd = new ReportingAgents(troops);
    try {
      await crowd.untilUp(START_PATIENCE_MS);
      return crowd;
    } catch (error) {
      crowd.stop();
      throw error;
    }
  }

  async fenced(): Promise<number> {
    return (await this.#ask()).fenced;
  }

  /** When the last of them came up, on the monotonic clock. */
  async untilUp(timeoutMs = 300_000): Promise<number> {
    return await until(
      'no agent is fenced',
      async () => {
        const { fenced, lastUpMs } = await this.#ask();
        return fenced === 0 ? done(lastUpMs) : notYet(`${fenced} are fenced`);
      },
      { timeoutMs, everyMs: 250 },
    );
  }

  async untilDown(all: number): Promise<void> {
    const isDown = async () => {
      const fenced = await this.fenced();
      return fenced === all ? done(true) : notYet(`${fenced} are fenced`);
    };
    await until('every agent is fenced', isDown, { timeoutMs: 120_000, everyMs: 250 });
  }

  stop(): void {
    for (const { child } of this.#troops) child.kill('SIGKILL');
  }

  async #ask(): Promise<{ readonly fenced: number; readonly lastUpMs: number }> {
    const answers = await Promise.all(this.#troops.map((troop) => troop.ask()));
    return {
      fenced: answers.reduce((sum, [fenced]) => sum + fenced, 0),
      lastUpMs: Math.max(...answers.map(([, lastUpMs]) => lastUpMs)),
    };
  }
}

export interface Outage {
  /** from when the server was ready again until the last agent was back at its own level */
  readonly backMs: number;
  /** of the API server, within that time */
  readonly apiCpuSeconds: number;
}

/** The API server is killed and started again on the same etcd. All agents must have stepped down in between, or there was no outage. */
export async function outage(
  cluster: Cluster,
  crowd: ReportingAgents,
  { agents, awayMs }: { readonly agents: number; readonly awayMs: number },
): Promise<Outage> {
  const [server] = cluster.servers;
  if (server === undefined) throw new Error('there is no API server');
  await server.kill();
  await Promise.all([crowd.untilDown(agents), delay(awayMs)]);
  await server.start();
  const readyMs = nowMs();
  const cpu = cluster.cpuSeconds().servers[0] ?? 0;
  const upMs = await crowd.untilUp();
  return {
    backMs: Math.max(0, upMs - readyMs),
    apiCpuSeconds: (cluster.cpuSeconds().servers[0] ?? 0) - cpu,
  };
}

function pool(): object {
  const placement = { mode: 'exclusive', nodeFilter: 'fair' };
  const spec = { addresses: ['10.128.0.0/16'], placement };
  return { apiVersion: API_VERSION, kind: 'IPPool', metadata: { name: 'exclusive' }, spec };
}

function claim(index: number, node: string): object {
  const metadata = {
    name: `10.128.${index >> 8}.${index & 255}`,
    labels: { [nodeLabel(node)]: '0' },
  };
  return { apiVersion: API_VERSION, kind: 'IPClaim', metadata, spec: { pool: 'exclusive', node } };
}

function mayDoAll(name: string): object {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', name, namespace: NAMESPACE }],
  };
}

async function inTurns<T>(all: readonly T[], work: (each: T) => Promise<unknown>): Promise<void> {
  const rest = all[Symbol.iterator]();
  const turns = Array.from({ length: WRITES_AT_ONCE }, async () => {
    for (const each of rest) await work(each);
  });
  await Promise.all(turns);
}

function enlist(kubeconfig: string, startMs: number, names: readonly string[]): Troop {
  const args = [main, kubeconfig, String(startMs), names.join(',')];
  const node = [process.execPath, '--conditions=bgp-ts-source', ...args];
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', ...node], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    child,
    ask: async () => {
      child.stdin?.write('state\n');
      const { value, done: isOver } = await lines.next();
      if (isOver === true) throw new Error('played agents have ended');
      const [fenced, lastUpMs] = String(value).split(' ').map(Number);
      return [fenced ?? 0, lastUpMs ?? 0];
    },
  };
}
