/** What the tests of the session machines share: a configuration, OPENs, and actions as short text. */

import type { OpenMessage } from '../../../protocol/bgp/message.ts';
import { buildOpen } from '../../../protocol/bgp/negotiate.ts';
import type { PeerAction, SessionConfig } from '../../../protocol/bgp/session.ts';

export const OUR_ASN = 65001;
export const PEER_ASN = 65002;

export const CONFIG: SessionConfig = {
  localAsn: OUR_ASN,
  routerId: 0x0a000001,
  peerAsn: PEER_ASN,
  holdTimeSeconds: 90,
  connectRetrySeconds: 20,
  delayOpenSeconds: 0,
  passive: false,
  acceptIncoming: true,
  capabilities: [{ kind: 'multiprotocol', afi: 1, safi: 1 }, { kind: 'route-refresh' }],
  idleHold: { initialSeconds: 10, maximumSeconds: 80 },
  sendHoldSeconds: 480,
  closeSeconds: 3,
};

/** The neighbour as it is configured on its own end. */
export const PEER_CONFIG: SessionConfig = {
  ...CONFIG,
  localAsn: PEER_ASN,
  routerId: 0x0a000002,
  peerAsn: OUR_ASN,
};

export function peerOpen(changes: Partial<SessionConfig> = {}): OpenMessage {
  return buildOpen({ ...PEER_CONFIG, ...changes });
}

function hex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** One action as in connection-matrix.ts. */
export function formatAction(action: PeerAction): string {
  switch (action.kind) {
    case 'connect':
      return 'dial';
    case 'send': {
      const { message } = action;
      if (message.kind !== 'notification') return message.kind.toUpperCase();
      return `NOTIFICATION ${message.code}/${message.subcode} ${hex(message.data)}`.trimEnd();
    }
    case 'close':
    case 'abort':
      return action.kind;
    case 'start-timer':
      return `+${action.timer} ${action.seconds}${action.jitter ? '~' : ''}`;
    case 'stop-timer':
      return `-${action.timer}`;
    case 'start-idle-hold':
      return `+idle-hold ${action.seconds}${action.jitter ? '~' : ''}`;
    case 'stop-idle-hold':
      return '-idle-hold';
    case 'established':
      return 'up';
    case 'down': {
      const { reason } = action;
      const code = 'code' in reason ? ` ${reason.code}/${reason.subcode}` : '';
      return `${action.wasEstablished ? 'session down' : 'down'} ${reason.kind}${code}`;
    }
  }
}

/** As formatAction, with the side where there is one. */
export function formatSided(action: PeerAction): string {
  return 'side' in action ? `${action.side} ${formatAction(action)}` : formatAction(action);
}
