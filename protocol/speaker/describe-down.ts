/** Why a session ended, as a sentence for people. */

import type { DownReason } from '../bgp/session.ts';

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
