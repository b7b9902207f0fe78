/**
 * The states of one connection, the timers that run in each, and the ways out that several states share.
 *
 * Which timers run is a function of the state alone (`timersOf`), so a transition never lists what to stop: `move`
 * stops what ran before and does not run after. Starting is explicit, since it needs a duration.
 */

import { CeaseSubcode } from './codes.ts';
import type { BgpFault } from './error.ts';
import type { Message, NotificationMessage, OpenMessage } from './message.ts';
import { buildOpen, type Negotiated, negotiate } from './negotiate.ts';
import { ceaseNotification, describeNotification, notificationFromFault } from './notification.ts';
import type {
  ConnectionStateName,
  ConnectionTimer,
  Disconnection,
  DownReason,
  PeerAction,
  SessionConfig,
  Side,
  StopReason,
} from './session.ts';

interface StateFields {
  idle: unknown;
  /** dialling, or TCP is up and DelayOpen holds our OPEN back */
  connect: { readonly wait: 'tcp' | 'delay-open' };
  /** until the next dial, for the neighbour to dial (passive, or side `in`), or as in connect */
  active: { readonly wait: 'retry' | 'incoming' | 'delay-open' };
  /** the OPEN as it was sent: settings may change while the answer is under way */
  'open-sent': { readonly ours: OpenMessage };
  'open-confirm': { readonly negotiated: Negotiated };
  /** `sendHoldSeconds` 0 = that timer does not run; settled = older than a keepalive interval (collision.ts says what for) */
  established: {
    readonly negotiated: Negotiated;
    readonly sendHoldSeconds: number;
    readonly isSettled: boolean;
  };
  /** our NOTIFICATION is on its way; nothing else matters any more */
  closing: unknown;
}

/** One state by its name; without a name, any of them. */
export type StateOf<K extends ConnectionStateName = ConnectionStateName> = {
  [P in K]: { readonly kind: P } & StateFields[P];
}[K];
export type ConnectionState = StateOf;

/** A connection is out or in for life; `session` may be changed by the operator between two steps. */
export interface ConnectionConfig {
  readonly session: SessionConfig;
  readonly side: Side;
}

export type ConnectionAction = Exclude<
  PeerAction,
  { readonly kind: 'start-idle-hold' | 'stop-idle-hold' }
>;

export interface ConnectionStep {
  readonly state: ConnectionState;
  readonly actions: readonly ConnectionAction[];
}

export const IDLE: ConnectionState = { kind: 'idle' };

/** RFC 4271 §8.2.2: the hold timer before the hold time is negotiated is "a large value", 4 minutes suggested. */
const LARGE_HOLD_SECONDS = 240;

/** The timers that run in a state: all of them, and no other. */
export function timersOf(state: ConnectionState): readonly ConnectionTimer[] {
  switch (state.kind) {
    case 'idle':
      return [];
    case 'connect':
      return state.wait === 'tcp' ? ['connect-retry'] : ['delay-open'];
    case 'active':
      if (state.wait === 'incoming') return [];
      return state.wait === 'retry' ? ['connect-retry'] : ['delay-open'];
    case 'open-sent':
      return ['hold'];
    case 'open-confirm':
      return negotiatedTimers(state.negotiated);
    case 'established': {
      const timers = negotiatedTimers(state.negotiated);
      return state.sendHoldSeconds > 0 ? [...timers, 'send-hold'] : timers;
    }
    case 'closing':
      return ['close'];
  }
}

/** RFC 4271 §4.2: with hold time 0 neither timer runs. */
function negotiatedTimers(negotiated: Negotiated): readonly ConnectionTimer[] {
  return negotiated.holdTimeSeconds > 0 ? ['hold', 'keepalive'] : [];
}

/** TCP is up and DelayOpen holds our OPEN back; else there is no connection in these two states. */
export function isDelaying(state: StateOf<'connect' | 'active'>): boolean {
  return state.wait === 'delay-open';
}

export function stay(state: ConnectionState): ConnectionStep {
  return { state, actions: [] };
}

/** Goes to the next state and stops the timers that do not run there. */
export function move(
  from: ConnectionState,
  to: ConnectionState,
  config: ConnectionConfig,
  actions: readonly ConnectionAction[],
): ConnectionStep {
  const after = timersOf(to);
  const stops = timersOf(from)
    .filter((timer) => !after.includes(timer))
    .map((timer) => ({ kind: 'stop-timer', timer, side: config.side }) as const);
  return { state: to, actions: [...stops, ...actions] };
}

export function send(config: ConnectionConfig, message: Message): ConnectionAction {
  return { kind: 'send', side: config.side, message };
}

/**
 * RFC 4271 §10: jitter for connect retry and keepalive, none for the timers that measure the neighbour. Jitter takes away up to
 * a quarter, which a keepalive interval of one second cannot spare: §4.4 allows no more than one a second.
 */
export function startTimer(
  config: ConnectionConfig,
  timer: ConnectionTimer,
  seconds: number,
): ConnectionAction {
  const jitter = timer === 'connect-retry' || (timer === 'keepalive' && seconds > 1);
  return { kind: 'start-timer', timer, side: config.side, seconds, jitter };
}

/** Never dialling is a property of incoming connections and of passive neighbours. */
export function canDial(config: ConnectionConfig): boolean {
  return config.side === 'out' && !config.session.passive;
}

/** TCP is up and nothing holds our OPEN back any more. */
export function sendOpen(from: ConnectionState, config: ConnectionConfig): ConnectionStep {
  const ours = buildOpen(config.session);
  return move(from, { kind: 'open-sent', ours }, config, [
    send(config, ours),
    startTimer(config, 'hold', LARGE_HOLD_SECONDS),
  ]);
}

/**
 * Events 19 and 20: the neighbour's OPEN. With DelayOpen running ours goes out first, together with the KEEPALIVE that
 * answers; that KEEPALIVE is sent with hold time 0 too, the timers are not started then.
 */
export function receiveOpen(
  from: StateOf<'connect' | 'active' | 'open-sent'>,
  theirs: OpenMessage,
  config: ConnectionConfig,
): ConnectionStep {
  const ours = from.kind === 'open-sent' ? from.ours : buildOpen(config.session);
  const result = negotiate(config.session, ours, theirs);
  if (!result.ok) return notifyFault(from, config, result.fault);
  const { negotiated } = result;
  return move(from, { kind: 'open-confirm', negotiated }, config, [
    ...(from.kind === 'open-sent' ? [] : [send(config, ours)]),
    send(config, { kind: 'keepalive' }),
    ...startKeepalive(config, negotiated),
    ...restartHold(config, negotiated),
  ]);
}

export function startKeepalive(
  config: ConnectionConfig,
  negotiated: Negotiated,
): readonly ConnectionAction[] {
  if (negotiated.holdTimeSeconds === 0) return [];
  return [startTimer(config, 'keepalive', negotiated.keepaliveSeconds)];
}

export function restartHold(
  config: ConnectionConfig,
  negotiated: Negotiated,
): readonly ConnectionAction[] {
  if (negotiated.holdTimeSeconds === 0) return [];
  return [startTimer(config, 'hold', negotiated.holdTimeSeconds)];
}

/** To Active: TCP is gone, the next dial is the connect retry timer's. */
export function retryLater(
  from: ConnectionState,
  config: ConnectionConfig,
  end: Disconnection,
): ConnectionStep {
  return move(from, { kind: 'active', wait: 'retry' }, config, [
    down(from, config, disconnected(end)),
    startTimer(config, 'connect-retry', config.session.connectRetrySeconds),
  ]);
}

export function down(
  from: ConnectionState,
  config: ConnectionConfig,
  reason: DownReason,
): ConnectionAction {
  return { kind: 'down', side: config.side, wasEstablished: from.kind === 'established', reason };
}

/** TCP is gone already. */
export function lost(
  from: ConnectionState,
  config: ConnectionConfig,
  end: Disconnection,
): ConnectionStep {
  return move(from, IDLE, config, [down(from, config, disconnected(end))]);
}

function disconnected({ detail, isOneSided }: Disconnection): DownReason {
  return { kind: 'disconnected', detail, ...(isOneSided === true && { isOneSided }) };
}

/** Cuts TCP, or the dial, without a word. */
export function cut(
  from: ConnectionState,
  config: ConnectionConfig,
  reason: DownReason,
): ConnectionStep {
  return move(from, IDLE, config, [
    { kind: 'abort', side: config.side },
    down(from, config, reason),
  ]);
}

/** Sends a last message and waits in `closing` until it has left. */
function sendLast(
  from: ConnectionState,
  config: ConnectionConfig,
  message: NotificationMessage,
  actions: readonly ConnectionAction[],
): ConnectionStep {
  return move(from, { kind: 'closing' }, config, [
    send(config, message),
    startTimer(config, 'close', config.session.closeSeconds),
    ...actions,
  ]);
}

export function notify(
  from: ConnectionState,
  config: ConnectionConfig,
  message: NotificationMessage,
  detail: string,
): ConnectionStep {
  const { code, subcode } = message;
  const reason: DownReason = { kind: 'notification-sent', code, subcode, detail };
  return sendLast(from, config, message, [down(from, config, reason)]);
}

export function notifyFault(
  from: ConnectionState,
  config: ConnectionConfig,
  fault: BgpFault,
): ConnectionStep {
  return notify(from, config, notificationFromFault(fault), fault.detail);
}

/** Cease, or for a planned restart nothing but the end of the connection (RFC 4724 §4). */
export function stop(
  from: ConnectionState,
  config: ConnectionConfig,
  reason: StopReason,
): ConnectionStep {
  const stopped = down(from, config, { kind: 'stopped' });
  if (reason.kind === 'restart') {
    return move(from, IDLE, config, [{ kind: 'close', side: config.side }, stopped]);
  }
  return sendLast(from, config, ceaseNotification(reason.subcode, reason.text), [stopped]);
}

/** RFC 4271 §6.8: the connection that lost is closed with Cease, subcode 7 by RFC 4486. */
export function collide(from: ConnectionState, config: ConnectionConfig): ConnectionStep {
  const lostCollision = down(from, config, { kind: 'collision' });
  return sendLast(from, config, ceaseNotification(CeaseSubcode.connectionCollision), [
    lostCollision,
  ]);
}

/** A connection that nobody asked for: no session was attempted on it, so none went down. */
export function reject(
  from: ConnectionState,
  config: ConnectionConfig,
  subcode: number,
): ConnectionStep {
  return sendLast(from, config, ceaseNotification(subcode), []);
}

/** The neighbour said why it goes; RFC 4271 §6.4 knows no answer to that. */
export function notified(
  from: ConnectionState,
  config: ConnectionConfig,
  message: NotificationMessage,
): ConnectionStep {
  const { code, subcode } = message;
  const { name, text } = describeNotification(message);
  const detail = text === undefined ? name : `${name}: ${text}`;
  return cut(from, config, { kind: 'notification-received', code, subcode, detail });
}
