/** What an agent knows at its start, by its options and the View that was saved. */

import { optional } from '../model/optional.ts';
import type { AgentOptions } from './agent-options.ts';
import { Knowledge } from './knowledge.ts';
import type { PasswordFiles } from './password-files.ts';
import type { SavedView } from './saved-view.ts';

export function knowledgeOf(
  options: AgentOptions,
  saved: SavedView | undefined,
  passwords: PasswordFiles,
): Knowledge {
  const { asn, node, joinCheck } = options;
  const routerId = options.isRouterIdFixed
    ? options.routerId
    : (saved?.routerId ?? options.routerId);
  return new Knowledge({
    node: { ...node, routerId, ...optional('asn', asn) },
    joinCheck,
    passwords,
    saved,
    ...optional('drains', options.store.drains),
    source: options.source,
    maxStaleMs: options.maxStaleMs,
    announcer: () => options.announcer?.current,
    sources: options.sources ?? ['files'],
    cluster: { ignoresExcludeLabel: false, ...options.cluster, nodeName: node.name },
    ...optional('clusterIdentity', options.clusterIdentity),
  });
}
