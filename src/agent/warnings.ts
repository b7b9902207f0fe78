/** What works but will surprise: settings of this machine for the interfaces that claims are bound to, a port that is taken. */

import type { AgentOptions } from './agent-options.ts';
import type { DesiredState } from './desired.ts';
import type { SessionFacts } from './session-facts.ts';

export function warningsOf(
  { bindings }: DesiredState,
  { listenProblem }: Pick<SessionFacts, 'listenProblem'>,
  { warnings }: Pick<AgentOptions, 'warnings'>,
): readonly string[] {
  const interfaces = new Set([...bindings.values()].map((wish) => wish.interface));
  const listen = listenProblem === undefined ? [] : [listenProblem];
  return [...(warnings?.(interfaces) ?? []), ...listen];
}
