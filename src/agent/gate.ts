/**
 * A gate: one reason why a claim may not be advertised (DESIGN: all must be open). Names are fixed, they are what
 * `herald explain`, status and metrics say. A gate that closes by fact withdraws; one that closes by an operator's intent drains
 * first: meanwhile it is `draining`, and the route is out with GRACEFUL_SHUTDOWN.
 */

export const GATE_NAMES = [
  'joined',
  'assigned',
  'healthy',
  'bound',
  'allowed',
  'not-draining',
] as const;

export type GateName = (typeof GATE_NAMES)[number];

export type GateState = 'open' | 'draining' | 'closed';

/** What `desired()` says of a gate; `since` is added by whoever remembers (gate-history.ts). */
export interface Gate {
  readonly name: GateName;
  readonly state: GateState;
  /** what is the case, one sentence without a full stop */
  readonly sentence: string;
  /** what a person can do about a gate that is not open */
  readonly remedy?: string;
  /** closed because nobody has said yet how it is: a moment later it may be open */
  readonly isUnknown?: true;
  /** it would be open if there were room: an exception, where a peer that was not selected is none */
  readonly isLimit?: true;
}
