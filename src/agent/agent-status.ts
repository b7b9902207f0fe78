/** The status of a running agent from its parts. */

import type { AgentOptions } from './agent-options.ts';
import type { DesiredState } from './desired.ts';
import type { GateHistory } from './gate-history.ts';
import { buildStatus } from './report.ts';
import type { SessionFacts } from './session-facts.ts';
import type { AgentStatus } from './status.ts';
import type { View } from './view.ts';
import { warningsOf } from './warnings.ts';

export interface StatusParts {
  readonly view: View;
  readonly desired: DesiredState;
  readonly sessions: SessionFacts;
  readonly history: GateHistory;
  readonly startedMs: number;
}

/** `claims` false: of the node and its sessions alone, without warnings, at the cost of nothing per claim or interface */
export function statusOf(options: AgentOptions, parts: StatusParts, claims: boolean): AgentStatus {
  const { clock, version, pid, source, speaker } = options;
  const { view, desired, sessions: facts, history, startedMs } = parts;
  const { name, labels } = view.node;
  const timeOf = (atMs: number) => new Date(clock.wallTimeMs() - (view.nowMs - atMs)).toISOString();
  return buildStatus({
    desired: claims ? desired : { ...desired, claims: [] },
    sessions: facts.told(speaker.status()),
    facts,
    history,
    view,
    identity: { node: { name, labels }, version, pid, source, startedMs },
    timeOf,
    warnings: claims ? warningsOf(desired, facts, options) : [],
  });
}
