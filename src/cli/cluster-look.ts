/**
 * `herald status` and `explain` asked of a cluster: the flags, the way to the API with the user's own credentials, one answer as text or JSON. Reads only.
 */

import { readFileSync } from 'node:fs';
import { nodeClock } from 'bgp-ts';
import { CannotLook } from '../cluster-view/asking.ts';
import type { Style } from '../control/style.ts';
import { SILENT_LOG } from '../log/log.ts';
import { type ClosableKubeApi, createKubeApi } from '../sources/kube/api-client.ts';
import { type FoundAccess, findAccess, KubeAccessError } from '../sources/kube/find-kubeconfig.ts';
import { loadKubeAccess } from '../sources/kube/kube-access.ts';
import { filledText, part } from '../sources/kube/loose-fields.ts';
import { UsageError, type World } from './command.ts';
import { isAnswering, isJson, styleOf } from './look.ts';

export const CLUSTER_FLAGS = {
  kubeconfig: { type: 'string' },
  context: { type: 'string' },
  namespace: { type: 'string', short: 'n' },
  cluster: { type: 'boolean' },
  json: { type: 'boolean' },
} as const;

export const CLUSTER_HELP = `  --kubeconfig FILE       ask the API with this kubeconfig (default: KUBECONFIG, then
                          ~/.kube/config)
  --context NAME          ask the API in this context of the kubeconfig (default: its current)
  --cluster               ask the API even where an agent runs on this machine
  --json                  the same as -o json`;

export interface ClusterValues {
  readonly socket?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly namespace?: string;
  readonly cluster?: boolean;
  readonly output?: string;
  readonly json?: boolean;
  readonly watch?: boolean;
}

/** Somebody who names a kubeconfig means the cluster, and somebody who names a socket means the agent; else whoever answers. */
function whomToAsk(values: ClusterValues, world: World): 'agent' | 'cluster' | 'either' {
  const isCluster =
    values.cluster === true || values.kubeconfig !== undefined || values.context !== undefined;
  if (isCluster && values.socket !== undefined) {
    throw new UsageError('--socket asks an agent, --kubeconfig and --context a cluster: name one');
  }
  if (isCluster) return 'cluster';
  return values.socket !== undefined || (world.env['HERALD_SOCKET'] ?? '') !== ''
    ? 'agent'
    : 'either';
}

export function isClusterJson(values: ClusterValues): boolean {
  return values.json === true || isJson(values);
}

/** What is asked of a cluster, and how the answer is shown. */
export interface ClusterQuestion<T> {
  read(api: ClosableKubeApi, origin: string): Promise<T>;
  text(answer: T, style: Style): string;
  /** 0 unless said otherwise */
  exitCode?(answer: T): number;
}

export async function askCluster<T>(
  name: string,
  question: ClusterQuestion<T>,
  values: ClusterValues,
  world: World,
): Promise<number> {
  if (values.watch === true) {
    throw new UsageError('--watch is for the socket of an agent; kubectl get -w watches a cluster');
  }
  const asJson = isClusterJson(values);
  const { api, origin } = await connect(values, world);
  try {
    const answer = await question.read(api, origin);
    world.stdout.write(
      asJson ? `${JSON.stringify(answer, undefined, 2)}\n` : question.text(answer, styleOf(world)),
    );
    return question.exitCode?.(answer) ?? 0;
  } catch (error) {
    if (!(error instanceof CannotLook)) throw error;
    world.stderr.write(`herald ${name}: ${error.message}\n`);
    return 1;
  } finally {
    api.close();
  }
}

export interface Connected {
  readonly api: ClosableKubeApi;
  /** for people */
  readonly origin: string;
}

/** Throws a UsageError where there is no way to a cluster. */
export async function connect(values: ClusterValues, world: World): Promise<Connected> {
  try {
    const access = await loadKubeAccess({ ...sourcesOf(values, world), clock: nodeClock });
    const { version } = world;
    const api = createKubeApi(access, { clock: nodeClock, log: SILENT_LOG, version });
    return { api, origin: `${access.servers[0]?.origin ?? ''}, ${access.origin}` };
  } catch (error) {
    if (error instanceof KubeAccessError) throw new UsageError(error.message);
    throw error;
  }
}

function sourcesOf({ kubeconfig, context }: ClusterValues, { env }: World) {
  return {
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(context === undefined ? {} : { context }),
    env,
    readFile: (path: string) => readFileSync(path, 'utf8'),
  };
}

export interface WhoIsAsked {
  readonly whom: 'agent' | 'cluster';
  /** why the cluster was not asked, where nobody has named the agent */
  readonly noCluster?: string;
}

export async function whoIsAsked(values: ClusterValues, world: World): Promise<WhoIsAsked> {
  const whom = whomToAsk(values, world);
  if (whom !== 'either') return { whom };
  const noCluster = whyNoCluster(values, world);
  if (noCluster !== undefined) return { whom: 'agent', noCluster };
  return { whom: (await isAnswering(values, world)) ? 'agent' : 'cluster' };
}

/** undefined where a kubeconfig is there to be used */
function whyNoCluster(values: ClusterValues, world: World): string | undefined {
  const access = found(values, world);
  return access instanceof KubeAccessError ? access.message : undefined;
}

/** As kubectl has it: -n, else that of the context, else default. */
export function namespaceOf(values: ClusterValues, world: World): string {
  if (values.namespace !== undefined) return values.namespace;
  const access = found(values, world);
  if (access instanceof KubeAccessError || access.kind !== 'kubeconfig') return 'default';
  const name = values.context ?? access.config.currentContext;
  const entry = access.config.contexts.find((each) => each['name'] === name);
  const context = entry === undefined ? {} : part(entry, 'context');
  return filledText(context, 'namespace') ?? 'default';
}

function found(values: ClusterValues, world: World): FoundAccess | KubeAccessError {
  try {
    return findAccess(sourcesOf(values, world));
  } catch (error) {
    if (error instanceof KubeAccessError) return error;
    throw error;
  }
}
