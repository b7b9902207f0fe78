/** What works but will surprise: settings of this machine for the interfaces that claims are bound to, a port that is taken, saved documents of
 * another cluster, a key that cannot be read. */

import type { AgentOptions } from './agent-options.ts';
import type { DesiredState } from './desired.ts';
import type { SessionFacts } from './session-facts.ts';

interface Problems {
  /** why the saved documents of the API are not used */
  readonly foreign: string | undefined;
  /** why the kernel cannot be asked about addresses */
  readonly kernelProblem: string | undefined;
}

export function warningsOf(
  { bindings, plans }: DesiredState,
  { listenProblem }: Pick<SessionFacts, 'listenProblem'>,
  { warnings }: Pick<AgentOptions, 'warnings'>,
  { foreign, kernelProblem }: Problems,
): readonly string[] {
  const interfaces = new Set([...bindings.values()].map((wish) => wish.interface));
  const listen = listenProblem === undefined ? [] : [listenProblem];
  const unused =
    foreign === undefined ? [] : [`the saved documents of the API are not used: ${foreign}`];
  const kernel = kernelProblem === undefined ? [] : [kernelProblem];
  const keys = plans.flatMap((plan) => {
    if (plan.kind === 'refused' || plan.unreadKey === undefined) return [];
    return [`${plan.unreadKey}; its session goes on with the key that it has`];
  });
  return [...(warnings?.(interfaces) ?? []), ...kernel, ...listen, ...unused, ...keys];
}
