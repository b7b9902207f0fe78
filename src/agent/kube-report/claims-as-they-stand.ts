/**
 * Whether the exclusive claims that this node acts by are what stands in the API now, asked of the store and not of a server's memory. After an
 * outage every node asks at once, so each asks for its own claims by name: a list looks through all claims of the cluster (1.3 s of
 * a server's time at 10,000 of them, where etcd is older than 3.4.31), a get through one.
 */

import { levelOf, nodeLabel, type PreferenceLevel } from '../../model/names.ts';
import { isNotFound, type KubeApi } from '../../sources/kube/api.ts';
import { IP_CLAIMS } from '../../sources/kube/resources.ts';

/** with more than that one list costs less */
export const MOST_GETS = 200;
const AT_ONCE = 8;

/** `own`: by claim, the level that this node believes in. Objects that it refused to read are none that it acts by. */
export async function areAsBelieved(
  api: KubeApi,
  node: string,
  own: ReadonlyMap<string, PreferenceLevel>,
  signal: AbortSignal,
): Promise<boolean> {
  if (own.size > MOST_GETS) return await areListed(api, node, own, signal);
  const open = [...own];
  let isSame = true;
  const ask = async () => {
    for (let next = open.pop(); next !== undefined && isSame; next = open.pop()) {
      const [name, level] = next;
      if ((await standingLevel(api, node, name, signal)) !== level) isSame = false;
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, own.size) }, ask));
  return isSame;
}

async function standingLevel(
  api: KubeApi,
  node: string,
  name: string,
  signal: AbortSignal,
): Promise<PreferenceLevel | undefined> {
  try {
    const { metadata } = await api.get(IP_CLAIMS, name, { signal });
    return levelOf(metadata.labels ?? {}, node);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function areListed(
  api: KubeApi,
  node: string,
  own: ReadonlyMap<string, PreferenceLevel>,
  signal: AbortSignal,
): Promise<boolean> {
  // without a resourceVersion: not what some server remembers, but what it has when it has caught up with etcd
  const list = await api.list(IP_CLAIMS, { labelSelector: nodeLabel(node), signal });
  const standing = new Map(
    list.items.map(({ metadata }) => [metadata.name, levelOf(metadata.labels ?? {}, node)]),
  );
  return [...own].every(([name, level]) => standing.get(name) === level);
}
