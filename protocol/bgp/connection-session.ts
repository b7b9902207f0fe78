/**
 * OpenSent, OpenConfirm and Established of RFC 4271 §8.2.2, with RFC 6608 (subcodes of the FSM error) and RFC 9687 (send
 * hold timer).
 *
 * Where this is not the letter of the RFC: a NOTIFICATION is never answered by one (the RFC's OpenSent would, against
 * its own §6.4 and every implementation); a malformed header in Established is 1/x as §6.1 wants, not 5/x; a timer that
 * does not run is ignored when it fires late, since it says nothing about the neighbour; ROUTE-REFRESH restarts the hold
 * timer like the UPDATEs that RFC 4271 knows. A second TCP connection (events 16, 17) is peer.ts's business.
 */

import { ErrorCode, FsmSubcode, MessageType } from './codes.ts';
import type { ConnectionEvent } from './connection-event.ts';
import {
  type ConnectionConfig,
  type ConnectionState,
  type ConnectionStep,
  canDial,
  collide,
  lost,
  move,
  notified,
  notify,
  notifyFault,
  receiveOpen,
  restartHold,
  retryLater,
  type StateOf,
  send,
  startKeepalive,
  startTimer,
  stay,
  stop,
} from './connection-state.ts';
import type { NotificationMessage } from './message.ts';
import type { Negotiated } from './negotiate.ts';

export function stepOpenSent(
  state: StateOf<'open-sent'>,
  event: ConnectionEvent,
  config: ConnectionConfig,
): ConnectionStep {
  switch (event.kind) {
    case 'manual-stop':
    case 'automatic-stop':
      return stop(state, config, event.reason);
    case 'hold-timer':
      return holdExpired(state, config);
    // the RFC listens on; an incoming connection has nothing to retry and ends
    case 'tcp-fails':
      return canDial(config) ? retryLater(state, config, event) : lost(state, config, event);
    case 'open':
      return receiveOpen(state, event.message, config);
    case 'header-error':
    case 'open-error':
      return notifyFault(state, config, event.fault);
    case 'collision-dump':
      return collide(state, config);
    case 'version-error':
    case 'notification':
      return notified(state, config, event.message);
    case 'keepalive':
      return unexpected(state, config, MessageType.keepalive);
    case 'update':
    case 'update-error':
      return unexpected(state, config, MessageType.update);
    case 'route-refresh':
    case 'route-refresh-error':
      return unexpected(state, config, MessageType.routeRefresh);
    case 'manual-start':
    case 'automatic-start':
    case 'manual-start-passive':
    case 'automatic-start-passive':
    case 'automatic-start-damped':
    case 'automatic-start-damped-passive':
    case 'connect-retry-timer':
    case 'keepalive-timer':
    case 'delay-open-timer':
    case 'idle-hold-timer':
    case 'tcp-invalid':
    case 'tcp-acked':
    case 'tcp-confirmed':
    case 'send-hold-timer':
    case 'progress':
    case 'flushed':
    case 'close-timer':
      return stay(state);
  }
}

export function stepOpenConfirm(
  state: StateOf<'open-confirm'>,
  event: ConnectionEvent,
  config: ConnectionConfig,
): ConnectionStep {
  switch (event.kind) {
    case 'manual-stop':
    case 'automatic-stop':
      return stop(state, config, event.reason);
    case 'hold-timer':
      return hasHoldTimer(state) ? holdExpired(state, config) : stay(state);
    case 'keepalive-timer':
      return hasHoldTimer(state) ? sendKeepalive(state, config) : stay(state);
    case 'tcp-fails':
      return lost(state, config, event);
    case 'header-error':
    case 'open-error':
      return notifyFault(state, config, event.fault);
    case 'collision-dump':
      return collide(state, config);
    case 'version-error':
    case 'notification':
      return notified(state, config, event.message);
    case 'keepalive':
      return establish(state, config);
    case 'open':
      return unexpected(state, config, MessageType.open);
    case 'update':
    case 'update-error':
      return unexpected(state, config, MessageType.update);
    case 'route-refresh':
    case 'route-refresh-error':
      return unexpected(state, config, MessageType.routeRefresh);
    case 'manual-start':
    case 'automatic-start':
    case 'manual-start-passive':
    case 'automatic-start-passive':
    case 'automatic-start-damped':
    case 'automatic-start-damped-passive':
    case 'connect-retry-timer':
    case 'delay-open-timer':
    case 'idle-hold-timer':
    case 'tcp-invalid':
    case 'tcp-acked':
    case 'tcp-confirmed':
    case 'send-hold-timer':
    case 'progress':
    case 'flushed':
    case 'close-timer':
      return stay(state);
  }
}

export function stepEstablished(
  state: StateOf<'established'>,
  event: ConnectionEvent,
  config: ConnectionConfig,
): ConnectionStep {
  switch (event.kind) {
    case 'manual-stop':
    case 'automatic-stop':
      return stop(state, config, event.reason);
    case 'hold-timer':
      return hasHoldTimer(state) ? holdExpired(state, config) : stay(state);
    case 'keepalive-timer':
      return hasHoldTimer(state)
        ? sendKeepalive({ ...state, isSettled: true }, config)
        : stay(state);
    case 'send-hold-timer':
      return state.sendHoldSeconds > 0 ? sendHoldExpired(state, config) : stay(state);
    case 'progress':
      return state.sendHoldSeconds > 0
        ? { state, actions: [startTimer(config, 'send-hold', state.sendHoldSeconds)] }
        : stay(state);
    case 'tcp-fails':
      return lost(state, config, event);
    case 'header-error':
    case 'update-error':
    case 'route-refresh-error':
      return notifyFault(state, config, event.fault);
    case 'collision-dump':
      return collide(state, config);
    case 'version-error':
    case 'notification':
      return notified(state, config, event.message);
    case 'keepalive':
    case 'update':
    case 'route-refresh':
      return { state, actions: restartHold(config, state.negotiated) };
    // whatever is wrong inside it, an OPEN has no place here
    case 'open':
    case 'open-error':
      return unexpected(state, config, MessageType.open);
    case 'manual-start':
    case 'automatic-start':
    case 'manual-start-passive':
    case 'automatic-start-passive':
    case 'automatic-start-damped':
    case 'automatic-start-damped-passive':
    case 'connect-retry-timer':
    case 'delay-open-timer':
    case 'idle-hold-timer':
    case 'tcp-invalid':
    case 'tcp-acked':
    case 'tcp-confirmed':
    case 'flushed':
    case 'close-timer':
      return stay(state);
  }
}

type Negotiating = StateOf<'open-confirm' | 'established'>;

function hasHoldTimer(state: Negotiating): boolean {
  return state.negotiated.holdTimeSeconds > 0;
}

function establish(state: StateOf<'open-confirm'>, config: ConnectionConfig): ConnectionStep {
  const { negotiated } = state;
  const sendHoldSeconds = sendHold(config, negotiated);
  const next = { kind: 'established', negotiated, sendHoldSeconds, isSettled: false } as const;
  return move(state, next, config, [
    ...restartHold(config, negotiated),
    ...(sendHoldSeconds > 0 ? [startTimer(config, 'send-hold', sendHoldSeconds)] : []),
    { kind: 'established', side: config.side, negotiated },
  ]);
}

/**
 * The send hold timer lives on our keepalives: they are what moves when there are no routes to send. So it does not run
 * with hold time 0 (RFC 9687 §4.3), and it is greater than the hold time whatever was configured (§4.4).
 */
function sendHold(config: ConnectionConfig, negotiated: Negotiated): number {
  const { sendHoldSeconds } = config.session;
  if (sendHoldSeconds === 0 || negotiated.holdTimeSeconds === 0) return 0;
  return Math.max(sendHoldSeconds, negotiated.holdTimeSeconds + 1);
}

function sendKeepalive(state: Negotiating, config: ConnectionConfig): ConnectionStep {
  const actions = [
    send(config, { kind: 'keepalive' }),
    ...startKeepalive(config, state.negotiated),
  ];
  return { state, actions };
}

function holdExpired(state: ConnectionState, config: ConnectionConfig): ConnectionStep {
  const message = notification(ErrorCode.holdTimerExpired, 0);
  return notify(state, config, message, 'the hold timer expired');
}

/** The NOTIFICATION will hardly leave, and RFC 9687 §4.3 wants no delay by it: the session is down now, TCP soon after. */
function sendHoldExpired(state: ConnectionState, config: ConnectionConfig): ConnectionStep {
  const message = notification(ErrorCode.sendHoldTimerExpired, 0);
  return notify(state, config, message, 'the neighbour took no bytes for too long');
}

const FSM_SUBCODES = {
  'open-sent': FsmSubcode.inOpenSent,
  'open-confirm': FsmSubcode.inOpenConfirm,
  established: FsmSubcode.inEstablished,
} as const;

/** RFC 6608 §4: the subcode says in which state, the one octet of data is the type of the message. */
function unexpected(
  state: StateOf<'open-sent' | 'open-confirm' | 'established'>,
  config: ConnectionConfig,
  type: number,
): ConnectionStep {
  const message = notification(ErrorCode.fsm, FSM_SUBCODES[state.kind], type);
  return notify(state, config, message, `unexpected message of type ${type} in ${state.kind}`);
}

function notification(code: number, subcode: number, ...data: number[]): NotificationMessage {
  return { kind: 'notification', code, subcode, data: Uint8Array.from(data) };
}
