/**
 * What can happen to one connection: the events of RFC 4271 §8.1, and the few that later RFCs and `closing` add.
 *
 * The number before each name is the RFC's. Event 14 (TcpConnection_Valid) has no counterpart: a socket shows a connection
 * only when the handshake is over, which is event 17. Events 19 and 20 are one here, since the difference (is DelayOpen
 * running?) is in the state. Messages carry no more than the machine needs: the routes of an UPDATE are not its business.
 */

import type { BgpFault } from './error.ts';
import type { NotificationMessage, OpenMessage } from './message.ts';
import type { Disconnection, StopReason } from './session.ts';

export type ConnectionEvent =
  /** 1 ManualStart */
  | { readonly kind: 'manual-start' }
  /** 2 ManualStop */
  | { readonly kind: 'manual-stop'; readonly reason: StopReason }
  /** 3 AutomaticStart */
  | { readonly kind: 'automatic-start' }
  /** 4 ManualStart_with_PassiveTcpEstablishment */
  | { readonly kind: 'manual-start-passive' }
  /** 5 AutomaticStart_with_PassiveTcpEstablishment: after a plain failure we listen first and dial later */
  | { readonly kind: 'automatic-start-passive' }
  /** 6 AutomaticStart_with_DampPeerOscillations */
  | { readonly kind: 'automatic-start-damped' }
  /** 7 AutomaticStart_with_DampPeerOscillations_and_PassiveTcpEstablishment */
  | { readonly kind: 'automatic-start-damped-passive' }
  /** 8 AutomaticStop */
  | { readonly kind: 'automatic-stop'; readonly reason: StopReason }
  /** 9 ConnectRetryTimer_Expires */
  | { readonly kind: 'connect-retry-timer' }
  /** 10 HoldTimer_Expires */
  | { readonly kind: 'hold-timer' }
  /** 11 KeepaliveTimer_Expires */
  | { readonly kind: 'keepalive-timer' }
  /** 12 DelayOpenTimer_Expires */
  | { readonly kind: 'delay-open-timer' }
  /** 13 IdleHoldTimer_Expires */
  | { readonly kind: 'idle-hold-timer' }
  /** 15 Tcp_CR_Invalid: a connection that we do not want; the subcode of Cease says why (RFC 4486) */
  | { readonly kind: 'tcp-invalid'; readonly subcode: number }
  /** 16 Tcp_CR_Acked: our dial was answered */
  | { readonly kind: 'tcp-acked' }
  /** 17 TcpConnectionConfirmed: the neighbour's dial was accepted */
  | { readonly kind: 'tcp-confirmed' }
  /** 18 TcpConnectionFails */
  | ({ readonly kind: 'tcp-fails' } & Disconnection)
  /** 19 BGPOpen; 20 BGPOpen with DelayOpenTimer running */
  | { readonly kind: 'open'; readonly message: OpenMessage }
  /** 21 BGPHeaderErr */
  | { readonly kind: 'header-error'; readonly fault: BgpFault }
  /** 22 BGPOpenMsgErr: an OPEN that could not be read; what negotiate() refuses is found inside event 19 */
  | { readonly kind: 'open-error'; readonly fault: BgpFault }
  /** 23 OpenCollisionDump */
  | { readonly kind: 'collision-dump' }
  /** 24 NotifMsgVerErr */
  | { readonly kind: 'version-error'; readonly message: NotificationMessage }
  /** 25 NotifMsg */
  | { readonly kind: 'notification'; readonly message: NotificationMessage }
  /** 26 KeepAliveMsg */
  | { readonly kind: 'keepalive' }
  /** 27 UpdateMsg */
  | { readonly kind: 'update' }
  /** 28 UpdateMsgErr, with the outcome session reset (RFC 7606 §2) */
  | { readonly kind: 'update-error'; readonly fault: BgpFault }
  /** 29 SendHoldTimer_Expires (RFC 9687 §4.2) */
  | { readonly kind: 'send-hold-timer' }
  /** no number: ROUTE-REFRESH (RFC 2918) */
  | { readonly kind: 'route-refresh' }
  /** no number: a ROUTE-REFRESH that could not be read (RFC 7313 §5) */
  | { readonly kind: 'route-refresh-error'; readonly fault: BgpFault }
  /** no number: the neighbour took some of our bytes */
  | { readonly kind: 'progress' }
  /** no number: all that we handed over has left */
  | { readonly kind: 'flushed' }
  /** no number: `closing` lasted too long */
  | { readonly kind: 'close-timer' };

export type ConnectionEventKind = ConnectionEvent['kind'];

/** The RFC's number and name of each event, for tables and logs. Its keys are the list of all events. */
export const CONNECTION_EVENTS = {
  'manual-start': '1 ManualStart',
  'manual-stop': '2 ManualStop',
  'automatic-start': '3 AutomaticStart',
  'manual-start-passive': '4 ManualStart_with_PassiveTcpEstablishment',
  'automatic-start-passive': '5 AutomaticStart_with_PassiveTcpEstablishment',
  'automatic-start-damped': '6 AutomaticStart_with_DampPeerOscillations',
  'automatic-start-damped-passive':
    '7 AutomaticStart_with_DampPeerOscillations_and_PassiveTcpEstablishment',
  'automatic-stop': '8 AutomaticStop',
  'connect-retry-timer': '9 ConnectRetryTimer_Expires',
  'hold-timer': '10 HoldTimer_Expires',
  'keepalive-timer': '11 KeepaliveTimer_Expires',
  'delay-open-timer': '12 DelayOpenTimer_Expires',
  'idle-hold-timer': '13 IdleHoldTimer_Expires',
  'tcp-invalid': '15 Tcp_CR_Invalid',
  'tcp-acked': '16 Tcp_CR_Acked',
  'tcp-confirmed': '17 TcpConnectionConfirmed',
  'tcp-fails': '18 TcpConnectionFails',
  open: '19 BGPOpen, 20 BGPOpen with DelayOpenTimer running',
  'header-error': '21 BGPHeaderErr',
  'open-error': '22 BGPOpenMsgErr',
  'collision-dump': '23 OpenCollisionDump',
  'version-error': '24 NotifMsgVerErr',
  notification: '25 NotifMsg',
  keepalive: '26 KeepAliveMsg',
  update: '27 UpdateMsg',
  'update-error': '28 UpdateMsgErr',
  'send-hold-timer': '29 SendHoldTimer_Expires (RFC 9687)',
  'route-refresh': 'ROUTE-REFRESH (RFC 2918)',
  'route-refresh-error': 'ROUTE-REFRESH error (RFC 7313)',
  progress: 'the neighbour took bytes',
  flushed: 'all bytes have left',
  'close-timer': 'closing lasted too long',
} as const satisfies Record<ConnectionEventKind, string>;
