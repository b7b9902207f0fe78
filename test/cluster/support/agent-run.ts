/** An agent of a test cluster as its DaemonSet runs it: the token of its pod, a state folder that outlives it, metrics and probes on a port of its own. */

import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NAMESPACE } from '../../../src/model/names.ts';
import { isNotFound } from '../../../src/sources/kube/api.ts';
import { convertIpNode } from '../../../src/sources/kube/convert-ip-node.ts';
import { IP_NODES } from '../../../src/sources/kube/resources.ts';
import { nowMs } from '../../../tools/probe/monotonic.ts';
import type { Host } from '../../support/netns.ts';
import { untilValue } from '../../support/poll.ts';
import type { Cluster } from './cluster.ts';
import { type HeraldRun, startHerald } from './herald-run.ts';
import { freePorts } from './servers.ts';

export interface AgentRunOptions {
  readonly cluster: Cluster;
  readonly node: string;
  /** default: that of the service account, bound to the node */
  readonly kubeconfig?: string;
  /** of the machine; default the node's name */
  readonly machine?: string;
  readonly flags?: readonly string[];
  /** another release than the one under test: its `herald` */
  readonly program?: string;
  /** in this namespace, where the test shows it the API; its metrics are there, too */
  readonly host?: Host;
}

export interface AgentRun extends HeraldRun {
  /** of /metrics, /livez and /readyz */
  readonly url: string;
}

export const agentKubeconfig = (cluster: Cluster, node: string): Promise<string> =>
  cluster.serviceAccountKubeconfig(NAMESPACE, 'herald-agent', { boundToNode: node });

export async function startAgent(options: AgentRunOptions): Promise<AgentRun> {
  const { cluster, node, machine = node, flags = [] } = options;
  const kubeconfig = options.kubeconfig ?? (await agentKubeconfig(cluster, node));
  const state = join(cluster.folder, `machine-${machine}`);
  mkdirSync(state, { recursive: true });
  const [port = 0] = await freePorts(1);
  const args = [
    ...['agent', '--source', 'kube', '--node-name', node, '--kube-proxy-check', 'none'],
    ...['--state-dir', state, '--socket', join(state, 'agent.sock'), '--log-level', 'debug'],
    ...['--metrics-address', `127.0.0.1:${port}`, ...flags],
  ];
  const run = startHerald(args, {
    name: `agent-${machine}`,
    folder: cluster.folder,
    kubeconfig,
    ...(options.program !== undefined && { program: options.program }),
    ...(options.host !== undefined && { host: options.host }),
  });
  return Object.assign(run, { url: `http://127.0.0.1:${port}` });
}

/** A View that is saved comes later the slower the disk is. */
export async function untilSaved(
  { folder }: Cluster,
  machine: string,
  accept: (view: string) => boolean,
): Promise<void> {
  const file = join(folder, `machine-${machine}`, 'view.json');
  const read = () => (existsSync(file) ? readFileSync(file, 'utf8') : '');
  await untilValue(`the saved View of ${machine}`, read, accept, { timeoutMs: 60_000 });
}

/**
 * When the last renewal of its Lease that it knows to be good had begun, by its own word: its fence counts from there. Never later than it was. Asked
 * of an agent that is cut off from the API this is the last one, whatever was under way at the cut.
 */
export async function leaseRenewedMs({ url }: Pick<AgentRun, 'url'>): Promise<number> {
  const askedMs = nowMs();
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const age = /^herald_lease_age_seconds (\S+)$/m.exec(metrics)?.[1];
  if (age === undefined) throw new Error('it has renewed no Lease');
  return askedMs - Number(age) * 1000;
}

/** The status of a node's IPNode; undefined while there is none. */
export async function ipNodeOf({ api }: Cluster, node: string) {
  try {
    return convertIpNode(await api.get(IP_NODES, node));
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

type IpNodeFound = NonNullable<Awaited<ReturnType<typeof ipNodeOf>>>;

export interface IpNodeWait {
  readonly cluster: Cluster;
  readonly node: string;
  readonly timeoutMs?: number;
}

export async function untilIpNode(
  { cluster, node, timeoutMs = 60_000 }: IpNodeWait,
  what: string,
  accept: (found: IpNodeFound) => boolean,
): Promise<IpNodeFound> {
  const found = await untilValue(
    `the IPNode of ${node} says: ${what}`,
    () => ipNodeOf(cluster, node),
    (now) => now !== undefined && accept(now),
    { timeoutMs },
  );
  if (found === undefined) throw new Error('it was there');
  return found;
}

/** What a Service says of its nodes counts those that have told of a session. */
export async function untilSessionUp(wait: IpNodeWait): Promise<void> {
  await untilIpNode(
    wait,
    'it has joined and a session is up',
    ({ status: { joined, sessions = [] } }) =>
      joined?.open === true && sessions.some(({ state }) => state === 'Established'),
  );
}
