/** Why a session ended, as a sentence for people. */

import type { DownReason } from '../bgp/session.ts';

/**
 * Why a session ended, in a sentence.
 *
 * @example
 * speaker.subscribe((event) => {
 *   if (event.kind === 'down') console.error(describeDown(event.reason));
 * });
 */
export function describeDown(reason: DownReason): string {
  switch (reason.kind) {
    case 'notification-sent':
      return `we sent ${reason.code}/${reason.subcode}: ${reason.detail}`;
    case 'notification-received':
      return `neighbour sent ${reason.code}/${reason.subcode}: ${reason.detail}`;
    case 'disconnected':
      return reason.detail;
    case 'collision':
      return 'closed in favour of the other connection to the same neighbour';
    case 'stopped':
      return 'stopped';
  }
}

/**
 * With a key, silence has a likely reason that nobody else will name: the neighbour's kernel drops what is signed with
 * another key and answers nothing (RFC 2385 §2).
 */
export function nameLikelyReason(reason: DownReason, hasPassword: boolean): DownReason {
  if (!hasPassword || reason.kind !== 'disconnected') return reason;
  return { ...reason, detail: `${reason.detail} (is the TCP-MD5 key the same on both sides?)` };
}
