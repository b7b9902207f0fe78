/**
 * How long to leave a neighbour alone after an error: DampPeerOscillations of RFC 4271 §8.1.1.
 *
 * Damped is what will happen again if we come back at once: one side cannot read or will not have what the other says.
 * Not damped is what passes by itself, and for which the connect retry timer is pace enough: TCP failures, a neighbour
 * that froze or vanished, a neighbour that was stopped or reset by its operator, one that is not configured yet. So no
 * order of booting two routers costs more than the connect retry time. (BIRD draws the line between Cease and the rest;
 * the exceptions on both sides of that line are the table below.)
 *
 * Each damped error doubles the wait up to the maximum. It is forgiven when a session has been Established for the
 * maximum: peer.ts runs the idle hold timer during that probation, since a pure machine has no clock.
 */

import { CeaseSubcode, ErrorCode, OpenSubcode } from './codes.ts';
import type { DownReason, SessionConfig } from './session.ts';

export interface Damping {
  /** the last idle hold, 0 if there is nothing to forgive */
  readonly penaltySeconds: number;
  /** a session is up and the idle hold timer counts towards forgiveness */
  readonly isOnProbation: boolean;
}

export const NO_PENALTY: Damping = { penaltySeconds: 0, isOnProbation: false };

export function punish(damping: Damping, config: SessionConfig): Damping {
  const { initialSeconds, maximumSeconds } = config.idleHold;
  const doubled = damping.penaltySeconds === 0 ? initialSeconds : damping.penaltySeconds * 2;
  return { penaltySeconds: Math.min(doubled, maximumSeconds), isOnProbation: false };
}

/** By error code: the subcodes that are damped, or not; anything unknown is an error like the others. */
const DAMPED_BY_CODE: Readonly<Record<number, (subcode: number) => boolean>> = {
  [ErrorCode.holdTimerExpired]: () => false,
  [ErrorCode.sendHoldTimerExpired]: () => false,
  // RFC 4486 §4 recommends damping for 2, 3, 5 and 8. Of these 2, 3 and 5 end by an operator's hand, and who comes back late
  // then is a nuisance; 1 is a limit that the same routes would hit again.
  [ErrorCode.cease]: (subcode) =>
    subcode === CeaseSubcode.maximumPrefixes || subcode === CeaseSubcode.outOfResources,
};

export function isDamped(reason: DownReason): boolean {
  switch (reason.kind) {
    case 'notification-sent':
      return isDampedCode(reason.code, reason.subcode);
    case 'notification-received':
      return !isVersionError(reason) && isDampedCode(reason.code, reason.subcode);
    case 'disconnected':
    case 'collision':
    case 'stopped':
      return false;
  }
}

function isDampedCode(code: number, subcode: number): boolean {
  return DAMPED_BY_CODE[code]?.(subcode) ?? true;
}

/** RFC 4271 §8.2.2 leaves event 24 undamped, unlike the other errors of an OPEN. */
function isVersionError(notification: {
  readonly code: number;
  readonly subcode: number;
}): boolean {
  const { code, subcode } = notification;
  return code === ErrorCode.open && subcode === OpenSubcode.unsupportedVersion;
}
