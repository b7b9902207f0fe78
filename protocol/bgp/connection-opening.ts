/**
 * Idle, Connect and Active of RFC 4271 §8.2.2: the states before our OPEN is out.
 *
 * Choices the RFC leaves open: SendNOTIFICATIONwithoutOPEN is on, so a bad message during DelayOpen is answered. A
 * `passive` neighbour is never dialled, also not when the connect retry timer would be due: that timer does not run
 * (the RFC means only the first attempt by "passive"). A timer that does not run in a state is ignored when it fires
 * late; where the RFC drops to Idle for it, it would punish the neighbour for a race on our side.
 */

import type { ConnectionEvent } from './connection-event.ts';
import {
  type ConnectionConfig,
  type ConnectionStep,
  canDial,
  cut,
  down,
  IDLE,
  isDelaying,
  lost,
  move,
  notified,
  notifyFault,
  receiveOpen,
  reject,
  retryLater,
  type StateOf,
  sendOpen,
  startTimer,
  stay,
  stop,
} from './connection-state.ts';
import type { BgpFault } from './error.ts';
import type { NotificationMessage, OpenMessage } from './message.ts';
import type { DownReason } from './session.ts';

const UNEXPECTED: DownReason = {
  kind: 'disconnected',
  detail: 'closed: a message came before OPEN',
};

export function stepIdle(
  state: StateOf<'idle'>,
  event: ConnectionEvent,
  config: ConnectionConfig,
): ConnectionStep {
  switch (event.kind) {
    case 'manual-start':
    case 'automatic-start':
    case 'automatic-start-damped':
      return dial(state, config);
    case 'manual-start-passive':
    case 'automatic-start-passive':
    case 'automatic-start-damped-passive':
      return listen(state, config);
    case 'idle-hold-timer':
      return canDial(config) ? dial(state, config) : listen(state, config);
    case 'tcp-invalid':
      return reject(state, config, event.subcode);
    // RFC 4271 §8.2.2 Idle: "refuses all incoming BGP connections"; also a dial that was given up and answered late
    case 'tcp-acked':
    case 'tcp-confirmed':
      return { state, actions: [{ kind: 'abort', side: config.side }] };
    case 'manual-stop':
    case 'automatic-stop':
    case 'connect-retry-timer':
    case 'hold-timer':
    case 'keepalive-timer':
    case 'delay-open-timer':
    case 'tcp-fails':
    case 'open':
    case 'header-error':
    case 'open-error':
    case 'collision-dump':
    case 'version-error':
    case 'notification':
    case 'keepalive':
    case 'update':
    case 'update-error':
    case 'send-hold-timer':
    case 'route-refresh':
    case 'route-refresh-error':
    case 'progress':
    case 'flushed':
    case 'close-timer':
      return stay(state);
  }
}

export function stepConnect(
  state: StateOf<'connect'>,
  event: ConnectionEvent,
  config: ConnectionConfig,
): ConnectionStep {
  switch (event.kind) {
    case 'manual-stop':
    case 'automatic-stop':
      return cut(state, config, { kind: 'stopped' });
    case 'connect-retry-timer':
      return state.wait === 'tcp' ? dialAgain(state, config) : stay(state);
    case 'delay-open-timer':
      return state.wait === 'delay-open' ? sendOpen(state, config) : stay(state);
    case 'tcp-acked':
    case 'tcp-confirmed':
      return state.wait === 'tcp' ? connected(state, config) : stay(state);
    // the RFC goes to Active if DelayOpen runs, to Idle if not
    case 'tcp-fails':
      return state.wait === 'delay-open' && canDial(config)
        ? retryLater(state, config, event)
        : lost(state, config, event);
    case 'open':
      return openReceived(state, event.message, config);
    case 'header-error':
    case 'open-error':
      return faultReceived(state, event.fault, config);
    case 'version-error':
    case 'notification':
      return notificationReceived(state, event.message, config);
    case 'keepalive':
    case 'update':
    case 'update-error':
    case 'route-refresh':
    case 'route-refresh-error':
      return unexpected(state, config);
    case 'collision-dump':
      return cut(state, config, { kind: 'collision' });
    case 'manual-start':
    case 'automatic-start':
    case 'manual-start-passive':
    case 'automatic-start-passive':
    case 'automatic-start-damped':
    case 'automatic-start-damped-passive':
    case 'hold-timer':
    case 'keepalive-timer':
    case 'idle-hold-timer':
    case 'tcp-invalid':
    case 'send-hold-timer':
    case 'progress':
    case 'flushed':
    case 'close-timer':
      return stay(state);
  }
}

export function stepActive(
  state: StateOf<'active'>,
  event: ConnectionEvent,
  config: ConnectionConfig,
): ConnectionStep {
  switch (event.kind) {
    // with DelayOpen running the RFC sends Cease on ManualStop, and drops on AutomaticStop
    case 'manual-stop':
      return isDelaying(state) ? stop(state, config, event.reason) : move(state, IDLE, config, []);
    case 'automatic-stop':
      return isDelaying(state)
        ? cut(state, config, { kind: 'stopped' })
        : move(state, IDLE, config, []);
    case 'connect-retry-timer':
      return state.wait === 'retry' ? dial(state, config) : stay(state);
    case 'delay-open-timer':
      return state.wait === 'delay-open' ? sendOpen(state, config) : stay(state);
    case 'tcp-acked':
    case 'tcp-confirmed':
      return state.wait === 'delay-open' ? stay(state) : connected(state, config);
    case 'tcp-fails':
      return isDelaying(state) ? lost(state, config, event) : stay(state);
    case 'open':
      return openReceived(state, event.message, config);
    case 'header-error':
    case 'open-error':
      return faultReceived(state, event.fault, config);
    case 'version-error':
    case 'notification':
      return notificationReceived(state, event.message, config);
    case 'keepalive':
    case 'update':
    case 'update-error':
    case 'route-refresh':
    case 'route-refresh-error':
      return unexpected(state, config);
    case 'collision-dump':
      return isDelaying(state)
        ? cut(state, config, { kind: 'collision' })
        : move(state, IDLE, config, []);
    case 'manual-start':
    case 'automatic-start':
    case 'manual-start-passive':
    case 'automatic-start-passive':
    case 'automatic-start-damped':
    case 'automatic-start-damped-passive':
    case 'hold-timer':
    case 'keepalive-timer':
    case 'idle-hold-timer':
    case 'tcp-invalid':
    case 'send-hold-timer':
    case 'progress':
    case 'flushed':
    case 'close-timer':
      return stay(state);
  }
}

function dial(from: StateOf<'idle' | 'active'>, config: ConnectionConfig): ConnectionStep {
  return move(from, { kind: 'connect', wait: 'tcp' }, config, [
    startTimer(config, 'connect-retry', config.session.connectRetrySeconds),
    { kind: 'connect' },
  ]);
}

function dialAgain(state: StateOf<'connect'>, config: ConnectionConfig): ConnectionStep {
  const detail = 'no answer before the connect retry timer';
  const actions = [
    { kind: 'abort', side: config.side },
    down(state, config, { kind: 'disconnected', detail }),
    startTimer(config, 'connect-retry', config.session.connectRetrySeconds),
    { kind: 'connect' },
  ] as const;
  return { state, actions };
}

function listen(from: StateOf<'idle'>, config: ConnectionConfig): ConnectionStep {
  if (!canDial(config)) return move(from, { kind: 'active', wait: 'incoming' }, config, []);
  return move(from, { kind: 'active', wait: 'retry' }, config, [
    startTimer(config, 'connect-retry', config.session.connectRetrySeconds),
  ]);
}

function connected(state: StateOf<'connect' | 'active'>, config: ConnectionConfig): ConnectionStep {
  const seconds = config.session.delayOpenSeconds;
  if (seconds === 0) return sendOpen(state, config);
  return move(state, { kind: state.kind, wait: 'delay-open' }, config, [
    startTimer(config, 'delay-open', seconds),
  ]);
}

/*
 * What the neighbour sends while DelayOpen holds our OPEN back. Without TCP a message can only be left over from an earlier
 * connection, and says nothing about this attempt.
 */

type Delayed = StateOf<'connect' | 'active'>;

function openReceived(
  state: Delayed,
  message: OpenMessage,
  config: ConnectionConfig,
): ConnectionStep {
  return isDelaying(state) ? receiveOpen(state, message, config) : stay(state);
}

function faultReceived(state: Delayed, fault: BgpFault, config: ConnectionConfig): ConnectionStep {
  return isDelaying(state) ? notifyFault(state, config, fault) : stay(state);
}

function notificationReceived(
  state: Delayed,
  message: NotificationMessage,
  config: ConnectionConfig,
): ConnectionStep {
  return isDelaying(state) ? notified(state, config, message) : stay(state);
}

/** RFC 6608 has no subcode for these two states; RFC 4271 drops the connection. */
function unexpected(state: Delayed, config: ConnectionConfig): ConnectionStep {
  return isDelaying(state) ? cut(state, config, UNEXPECTED) : stay(state);
}
