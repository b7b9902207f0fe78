/** What works but will surprise: settings of this machine for the interfaces that claims are bound to, a port that is taken, saved documents of another cluster. */

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
  { bindings }: DesiredState,
  { listenProblem }: Pick<SessionFacts, 'listenProblem'>,
  { warnings }: Pick<AgentOptions, 'warnings'>,
  { foreign, kernelProblem }: Problems,
): readonly string[] {
  const interfaces = new Set([...bindings.values()].map((wish) => wish.interface));
  const listen = listenProblem === undefined ? [] : [listenProblem];
  const unused =
    foreign === undefined ? [] : [`the saved documents of the API are not used: ${foreign}`];
  const kernel = kernelProblem === undefined ? [] : [kernelProblem];
  return [...(warnings?.(interfaces) ?? []), ...kernel, ...listen, ...unused];
}
