/** The status of a running agent from its parts. */

import { formatRouterId } from 'bgp-ts';
import type { AgentOptions } from './agent-options.ts';
import type { DesiredState } from './desired.ts';
import type { GateHistory } from './gate-history.ts';
import type { KeptRoutes } from './kept-routes.ts';
import { buildStatus, type StatusInput, statusDocument } from './report.ts';
import type { SessionFacts } from './session-facts.ts';
import type { AgentStatus, StatusDocument } from './status.ts';
import type { View } from './view.ts';
import { warningsOf } from './warnings.ts';

export interface StatusParts {
  readonly view: View;
  readonly desired: DesiredState;
  readonly sessions: SessionFacts;
  readonly kept: KeptRoutes | undefined;
  readonly history: GateHistory;
  readonly startedMs: number;
  /** why the saved documents of the API are not used */
  readonly foreign: string | undefined;
  /** why the kernel cannot be asked about addresses */
  readonly kernelProblem: string | undefined;
}

/** `claims` false: of the node and its sessions alone, without warnings, at the cost of nothing per claim or interface */
export function statusOf(options: AgentOptions, parts: StatusParts, claims: boolean): AgentStatus {
  return buildStatus(inputOf(options, parts, claims));
}

/** The claims are worked out by whoever goes through them. */
export function documentOf(options: AgentOptions, parts: StatusParts): StatusDocument {
  return statusDocument(inputOf(options, parts, true));
}

function inputOf(options: AgentOptions, parts: StatusParts, claims: boolean): StatusInput {
  const { clock, version, pid, source, speaker } = options;
  const { view, desired, sessions: facts, kept, history, startedMs } = parts;
  const { name, labels } = view.node;
  const routerId = formatRouterId(view.node.routerId);
  return {
    desired: claims ? desired : { ...desired, claims: [] },
    sessions: facts.told(speaker.status()),
    facts,
    kept,
    history,
    view,
    identity: { node: { name, labels }, routerId, version, pid, source, startedMs },
    timeOf: timeFormat(clock.wallTimeMs() - view.nowMs),
    warnings: claims ? warningsOf(desired, facts, options, parts) : [],
  };
}

/** thousands of gates moved at few moments */
function timeFormat(wallOffsetMs: number): (atMs: number) => string {
  const texts = new Map<number, string>();
  return (atMs) => {
    const known = texts.get(atMs);
    if (known !== undefined) return known;
    const text = new Date(wallOffsetMs + atMs).toISOString();
    if (texts.size < 1000) texts.set(atMs, text);
    return text;
  };
}
