/** What a person may say about draining, and the answer; and the drain of a stop. It changes what is known; the agent decides anew. */

import { type Address, formatAddress } from 'bgp-ts';
import { optional } from '../model/optional.ts';
import type { AgentOptions } from './agent-options.ts';
import type { Knowledge } from './knowledge.ts';
import type { DrainAnswer } from './status.ts';
import type { Drain } from './view.ts';

/** `address` undefined = the whole node */
export function drain(
  knowledge: Knowledge,
  address: Address | undefined,
  reason: string,
  nowMs: number,
): DrainAnswer {
  const order = { sinceMs: nowMs, reason: `drained by hand: ${reason}` };
  if (address === undefined) {
    if (knowledge.nodeDrain === undefined) knowledge.drainNode(order);
    return done('draining this node: routes leave after the wait of their pool');
  }
  const claim = knowledge.claimAt(address);
  if (claim === undefined) return notClaimed(address);
  if (!knowledge.isDrained(claim.name)) knowledge.drainClaim(claim.name, order);
  return done(`draining ${formatAddress(address)}: its route leaves after the wait of its pool`);
}

export function undrain(knowledge: Knowledge, address: Address | undefined): DrainAnswer {
  if (address === undefined) {
    knowledge.drainNode(undefined);
    return done('this node is not draining any more');
  }
  const claim = knowledge.claimAt(address);
  if (claim === undefined) return notClaimed(address);
  knowledge.drainClaim(claim.name, undefined);
  const node = knowledge.nodeDrain === undefined ? '' : '; the node as a whole still is';
  return done(`${formatAddress(address)} is not draining any more${node}`);
}

/** of an agent that stops; with nobody to hear it there is nothing to wait for */
export function stopDrain(
  { clock, speaker, stopMoveMs, stopMostMs }: AgentOptions,
  reason: string,
): Drain {
  const isHeard = speaker.status().some(({ state }) => state === 'established');
  const bounds = { ...optional('moveMs', stopMoveMs), ...optional('mostMs', stopMostMs) };
  const order = { sinceMs: clock.now(), reason: `the agent stops (${reason})` };
  return { ...order, ...(isHeard ? bounds : { waitMs: 0 }) };
}

/** to whatever is asked of an agent that stops: the next start begins with what was saved before */
export const STOPPING: DrainAnswer = {
  ok: false,
  sentence: 'the agent is stopping; start it again and say so then',
};

/** What a person is told, who may turn the machine off at once: only what is kept is promised. */
export async function promised(
  answer: DrainAnswer,
  isKept: () => Promise<boolean>,
): Promise<DrainAnswer> {
  if (!answer.ok || (await isKept())) return answer;
  const why = 'it could not be saved yet (state.save in the log), so a restart would forget it';
  return { ...answer, sentence: `${answer.sentence}; ${why}` };
}

function done(sentence: string): DrainAnswer {
  return { ok: true, sentence };
}

function notClaimed(address: Address): DrainAnswer {
  return { ok: false, sentence: `no document claims ${formatAddress(address)} on this node` };
}
