/** What metrics and probes tell of a running agent. Looks, decides nothing. */

import type { AgentFacts } from '../telemetry/agent-metrics.ts';
import type { Health } from '../telemetry/http.ts';
import type { Agent } from './agent.ts';
import type { GateName } from './gate.ts';
import type { ReportHealth } from './kube-report/kube-report.ts';
import { refusalsOf } from './refusals.ts';
import { ABANDONED } from './status.ts';

type Told = Pick<Agent, 'status' | 'sessions' | 'decided' | 'announced' | 'carriers' | 'documents'>;

export function agentFacts(agent: Told, report: ReportHealth | undefined): AgentFacts {
  const { joined, stale, draining } = agent.status({ claims: false });
  const refused = new Map<GateName, number>();
  for (const { gate, peer } of refusalsOf(agent.decided, agent.carriers)) {
    // one that others announce is not refused
    if (peer === undefined) refused.set(gate, (refused.get(gate) ?? 0) + 1);
  }
  return {
    sessions: agent.sessions,
    announced: agent.announced.routes,
    refused,
    isJoined: joined.state === 'open',
    isStale: stale !== undefined,
    isDraining: draining !== undefined,
    ...(report?.lease === undefined ? {} : { lease: report.lease }),
  };
}

/**
 * Ready: documents have been read, or a saved View stands in. Not whether sessions are up: a router that is down must not take
 * every agent out of a rolling update.
 */
export function agentReadiness(agent: Told, report: ReportHealth | undefined): Health {
  const { joined, stale, sessions } = agent.status({ claims: false });
  const configured = sessions.filter(({ state }) => state !== ABANDONED);
  const up = configured.filter(({ state }) => state === 'established').length;
  const hasDocuments = agent.documents !== undefined;
  return {
    ok: hasDocuments && report?.objection === undefined,
    lines: [
      hasDocuments ? 'documents: read' : 'documents: none yet',
      `joined: ${joined.state === 'open' ? 'yes' : 'no'}, ${joined.sentence}`,
      `sessions: ${up} of ${configured.length} up`,
      ...(stale === undefined ? [] : [`stale: ${stale.sentence}`]),
      ...(report?.objection === undefined ? [] : [`refused: ${report.objection}`]),
    ],
  };
}
