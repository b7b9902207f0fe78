/** The condition AgentAlive of an IPNode. Pure. What is not known is not written: the word of an earlier controller stands until then. */

import type { Life } from '../scheduler/liveness.ts';
import type { WantedCondition } from './conditions.ts';

export const AGENT_ALIVE = 'AgentAlive';

export interface AgentLife {
  readonly life: Life;
  /** its IPNode says that it serves: an agent that stops says otherwise before it gives its Lease back */
  readonly isJoined: boolean;
}

export function aliveCondition({ life, isJoined }: AgentLife): WantedCondition | undefined {
  if (life === 'released' && isJoined) {
    const message = 'no exclusive pool applies to it, so its agent renews no Lease';
    return condition('Unknown', 'NoLease', message);
  }
  switch (life) {
    case 'unproven':
      return undefined;
    case 'alive':
      return condition('True', 'LeaseRenewed', 'its agent renews its Lease');
    case 'released':
      return condition('False', 'AgentStopped', 'its agent has stopped and gave its Lease back');
    case 'silent':
    case 'dead': {
      const message = 'its agent has not renewed its Lease for longer than the Lease lasts';
      return condition('False', 'LeaseExpired', message);
    }
    case 'unheard': {
      const message =
        'its agent is silent, and so are most others or all: its claims stay for one more lease duration, and until the API is seen to serve another node';
      return condition('Unknown', 'ControllerBlind', message);
    }
  }
}

function condition(
  status: WantedCondition['status'],
  reason: string,
  message: string,
): WantedCondition {
  return { type: AGENT_ALIVE, status, reason, message };
}
