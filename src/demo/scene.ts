/**
 * All that a view shows, as plain data: the terminal draws it, the page gets it as JSON. What the router says and what the agents say
 * are kept apart: `route` and `session` are the router's, `joined` and `agentSession` the agent's.
 */

import type { AgentStatus } from '../agent/status.ts';
import type { Member } from './cast.ts';
import type { Facts, RequestCounts } from './facts.ts';
import type { Power } from './machine.ts';
import type { Strip } from './request-log.ts';
import type { Step, StepResult, StoryState } from './story.ts';

export interface Scene {
  readonly elapsedMs: number;
  /** `play`: the story is over and the verbs work */
  readonly mode: 'story' | 'play';
  readonly prefix: string;
  readonly holdSeconds: number;
  readonly isHoldBroken: boolean;
  readonly steps: readonly SceneStep[];
  /** index of the step that runs; steps.length = over */
  readonly step: number;
  readonly nodes: readonly SceneNode[];
  readonly requests: RequestCounts & { readonly everyMs: number };
  readonly strip: Strip;
  /** what the user's last order came to, or what is wrong */
  readonly notice: string;
}

export interface SceneStep {
  readonly title: string;
  readonly text: string;
  readonly look: string;
  readonly state: StepResult['state'];
  readonly sentence: string;
}

export type RouteState =
  /** in use */
  | 'used'
  /** known to the router, not used: draining */
  | 'spare'
  | 'none';

export interface SceneNode {
  readonly id: number;
  readonly name: string;
  readonly address: string;
  readonly power: Power;
  readonly isApiUp: boolean;
  readonly isDraining: boolean;
  /** the router calls the session established */
  readonly isSession: boolean;
  /** state of the session in the agent's words, or why there is none */
  readonly agentSession: string;
  /** state of the agent's gate *joined*; undefined = it does not answer */
  readonly joined: string | undefined;
  readonly route: RouteState;
  readonly answered: number;
  readonly lost: number;
  /** part of the new requests that the router sends here, in per cent */
  readonly share: number;
}

export interface NodeSource {
  readonly member: Member;
  readonly power: Power;
  readonly isApiUp: boolean;
  readonly status: AgentStatus | undefined;
}

export function sceneNode(
  { member, power, isApiUp, status }: NodeSource,
  facts: Facts,
  lost: number,
): SceneNode {
  const { id } = member;
  const isUsed = facts.used.includes(id);
  return {
    ...member,
    power,
    isApiUp,
    isDraining: status?.draining !== undefined,
    isSession: facts.sessions.includes(id),
    agentSession: agentSession(power, status),
    joined: power === 'running' ? status?.joined.state : undefined,
    route: isUsed ? 'used' : facts.known.includes(id) ? 'spare' : 'none',
    answered: facts.requests.answered[id - 1] ?? 0,
    lost,
    share: isUsed ? Math.round(100 / facts.used.length) : 0,
  };
}

function agentSession(power: Power, status: AgentStatus | undefined): string {
  if (power !== 'running') return power;
  return status?.sessions[0]?.state ?? 'starting';
}

export function sceneSteps(steps: readonly Step[], { results }: StoryState): readonly SceneStep[] {
  return steps.map(({ title, text, look }, at) => ({
    title,
    text,
    look,
    state: results[at]?.state ?? 'waiting',
    sentence: results[at]?.sentence ?? '',
  }));
}
