/**
 * The machine of one neighbour: one or two connections, collision, idle hold. Pure.
 *
 * `out` is the connection that we dial, `in` the one that the neighbour dialled; each is a machine of connection.ts. What is
 * decided here: when the out side starts, whether an incoming connection is wanted, which one survives a collision
 * (collision.ts), how long to wait after an error (damping.ts).
 *
 * What the driver keeps to: it asks `acceptsIncoming` before it reports `connected` of side `in`, and on `replace` cuts the old
 * connection and reports it `disconnected` first. After `close`, `abort` or a `disconnected` it reports nothing more of that
 * connection; it reports `connected` of side `out` only for the latest `connect`. Events out of place are ignored, not
 * punished.
 */

import { CeaseSubcode, ErrorCode, OpenSubcode } from './codes.ts';
import { isLive, isReplacedByNewConnection, survivingSide } from './collision.ts';
import { step } from './connection.ts';
import type { ConnectionEvent } from './connection-event.ts';
import { type ConnectionState, IDLE, timersOf } from './connection-state.ts';
import { type Damping, isDamped, NO_PENALTY, punish } from './damping.ts';
import type { BgpFault } from './error.ts';
import type { Message, OpenMessage } from './message.ts';
import type {
  ConnectionStateName,
  ConnectionTimer,
  PeerAction,
  PeerEvent,
  SessionConfig,
  Side,
  StopReason,
} from './session.ts';

export interface PeerState {
  /** `idle-hold`: an error is being waited out, nothing is dialled or accepted */
  readonly mode: 'stopped' | 'running' | 'idle-hold';
  /** why the out side is started next: by the operator and after an idle hold it dials at once, otherwise it waits first */
  readonly nextStart: 'operator' | 'idle-hold' | 'retry';
  readonly out: ConnectionState;
  readonly in: ConnectionState;
  readonly damping: Damping;
  /** an OPEN that waits for the neighbour to decide a collision with an Established session (collision.ts) */
  readonly deferred?: DeferredOpen;
}

export interface DeferredOpen {
  readonly side: Side;
  readonly open: OpenMessage;
}

export interface PeerStep {
  readonly state: PeerState;
  readonly actions: readonly PeerAction[];
}

export type RunningTimer =
  | { readonly timer: 'idle-hold' }
  | { readonly timer: ConnectionTimer; readonly side: Side };

/**
 * A neighbour that has not been started.
 *
 * @example
 * peerStateName(initialPeerState()); // 'idle'
 */
export function initialPeerState(): PeerState {
  return { mode: 'stopped', nextStart: 'operator', out: IDLE, in: IDLE, damping: NO_PENALTY };
}

/**
 * One event of one neighbour.
 *
 * @example
 * const { state, actions } = stepPeer(initialPeerState(), { kind: 'start' }, config);
 * // state.out.kind === 'connect'; actions: start-timer connect-retry, connect
 */
export function stepPeer(state: PeerState, event: PeerEvent, config: SessionConfig): PeerStep {
  return settle(apply(state, event, config), config);
}

const RANK: Readonly<Record<ConnectionStateName, number>> = {
  idle: 0,
  closing: 1,
  active: 2,
  connect: 3,
  'open-sent': 4,
  'open-confirm': 5,
  established: 6,
};

/**
 * The state to show: that of the connection that got furthest.
 *
 * @example
 * peerStateName(stepPeer(state, { kind: 'start' }, config).state); // 'connect'
 */
export function peerStateName(state: PeerState): ConnectionStateName {
  const { kind: out } = state.out;
  const { kind: incoming } = state.in;
  return RANK[incoming] > RANK[out] ? incoming : out;
}

/** All timers that run in this state, and no other does. */
export function timersRunning(state: PeerState): readonly RunningTimer[] {
  const sides = (['out', 'in'] as const).flatMap((side) =>
    timersOf(state[side]).map((timer) => ({ timer, side })),
  );
  return isIdleHoldRunning(state) ? [...sides, { timer: 'idle-hold' }] : sides;
}

/**
 * What to do with a connection that the neighbour dialled, before it becomes side `in`. `accept` also covers what stepPeer will
 * reject with a Cease; `refuse` is for when there is no side left to say it on.
 *
 * @example
 * if (acceptsIncoming(state, config) === 'refuse') connection.abort();
 */
export function acceptsIncoming(
  state: PeerState,
  config: SessionConfig,
): 'accept' | 'replace' | 'refuse' {
  if (state.in.kind === 'idle') return 'accept';
  const isInTheWay = state.in.kind === 'closing' || isReplacedByNewConnection(state.in);
  return isInTheWay && isIncomingWanted(state, config) ? 'replace' : 'refuse';
}

function isIncomingWanted(state: PeerState, config: SessionConfig): boolean {
  return state.mode === 'running' && (config.passive || config.acceptIncoming);
}

function apply(state: PeerState, event: PeerEvent, config: SessionConfig): PeerStep {
  switch (event.kind) {
    case 'start':
      return state.mode === 'stopped'
        ? quiet({ ...state, mode: 'running', nextStart: 'operator' })
        : quiet(state);
    case 'stop':
      return stopAll(state, event.reason, config);
    case 'connected':
      return event.side === 'in'
        ? admit(state, config)
        : run(state, 'out', { kind: 'tcp-acked' }, config);
    case 'disconnected':
      return run(state, event.side, { ...event, kind: 'tcp-fails' }, config);
    case 'message':
      return event.message.kind === 'open'
        ? receiveOpen(state, event.side, event.message, config)
        : receiveOther(state, event.side, event.message, config);
    case 'fault':
      return run(state, event.side, faultEvent(event.fault), config);
    case 'timer':
      return event.timer === 'idle-hold'
        ? idleHoldOver(state)
        : timerFired(state, event.side, event.timer, config);
    case 'progress':
    case 'flushed':
      return run(state, event.side, { kind: event.kind }, config);
  }
}

const TIMER_EVENTS = {
  'connect-retry': { kind: 'connect-retry-timer' },
  hold: { kind: 'hold-timer' },
  keepalive: { kind: 'keepalive-timer' },
  'delay-open': { kind: 'delay-open-timer' },
  'send-hold': { kind: 'send-hold-timer' },
  close: { kind: 'close-timer' },
} as const satisfies Record<ConnectionTimer, ConnectionEvent>;

function messageEvent(message: Exclude<Message, OpenMessage>): ConnectionEvent {
  if (message.kind !== 'notification') return { kind: message.kind };
  const isVersionError =
    message.code === ErrorCode.open && message.subcode === OpenSubcode.unsupportedVersion;
  return { kind: isVersionError ? 'version-error' : 'notification', message };
}

function faultEvent(fault: BgpFault): ConnectionEvent {
  switch (fault.code) {
    case ErrorCode.open:
      return { kind: 'open-error', fault };
    case ErrorCode.update:
      return { kind: 'update-error', fault };
    case ErrorCode.routeRefresh:
      return { kind: 'route-refresh-error', fault };
    default:
      return { kind: 'header-error', fault };
  }
}

function quiet(state: PeerState): PeerStep {
  return { state, actions: [] };
}

function otherSide(side: Side): Side {
  return side === 'out' ? 'in' : 'out';
}

function isIdleHoldRunning(state: PeerState): boolean {
  return state.mode === 'idle-hold' || state.damping.isOnProbation;
}

function then(before: PeerStep, next: (state: PeerState) => PeerStep): PeerStep {
  const after = next(before.state);
  return { state: after.state, actions: [...before.actions, ...after.actions] };
}

/** One event of one connection, and what its end means for the neighbour. */
function run(
  state: PeerState,
  side: Side,
  event: ConnectionEvent,
  config: SessionConfig,
): PeerStep {
  const { state: connection, actions } = step(state[side], event, { session: config, side });
  const after: PeerStep = { state: { ...state, [side]: connection }, actions };
  const hasDampedEnd = actions.some((action) => action.kind === 'down' && isDamped(action.reason));
  return hasDampedEnd ? then(after, (next) => holdIdle(next, side, config)) : after;
}

/** After a damped error on one side. A session on the other side is proof enough that things work. */
function holdIdle(state: PeerState, side: Side, config: SessionConfig): PeerStep {
  const other = otherSide(side);
  if (state.mode !== 'running' || isLive(state[other])) return quiet(state);
  const damping = punish(state.damping, config);
  const start = { kind: 'start-idle-hold', seconds: damping.penaltySeconds, jitter: true } as const;
  const held: PeerStep = {
    state: { ...state, mode: 'idle-hold', nextStart: 'idle-hold', damping },
    actions: [start],
  };
  const reason = { kind: 'cease', subcode: CeaseSubcode.connectionRejected } as const;
  return then(held, (next) => run(next, other, { kind: 'automatic-stop', reason }, config));
}

/** The wait is over, or a session has lasted long enough to forget the errors before it. */
function idleHoldOver(state: PeerState): PeerStep {
  if (state.mode === 'idle-hold') return quiet({ ...state, mode: 'running' });
  return quiet(state.damping.isOnProbation ? { ...state, damping: NO_PENALTY } : state);
}

const MANUAL_SUBCODES: readonly number[] = [
  CeaseSubcode.administrativeShutdown,
  CeaseSubcode.peerDeconfigured,
  CeaseSubcode.administrativeReset,
];

function stopAll(state: PeerState, reason: StopReason, config: SessionConfig): PeerStep {
  const isManual = reason.kind === 'restart' || MANUAL_SUBCODES.includes(reason.subcode);
  const event: ConnectionEvent = { kind: isManual ? 'manual-stop' : 'automatic-stop', reason };
  const stopped: PeerStep = {
    state: { ...state, mode: 'stopped', damping: NO_PENALTY },
    actions: isIdleHoldRunning(state) ? [{ kind: 'stop-idle-hold' }] : [],
  };
  const out = then(stopped, (next) => run(next, 'out', event, config));
  return then(out, (next) => run(next, 'in', event, config));
}

function admit(state: PeerState, config: SessionConfig): PeerStep {
  // the driver asked before: this is an event out of place
  if (state.in.kind !== 'idle') return quiet(state);
  if (!isIncomingWanted(state, config)) {
    return rejectIncoming(state, CeaseSubcode.connectionRejected, config);
  }
  if (isReplacedByNewConnection(state.out)) {
    return then(dropRestarted(state, config), (next) => admitNew(next, config));
  }
  if (state.out.kind === 'established') {
    return rejectIncoming(state, CeaseSubcode.connectionCollision, config);
  }
  return admitNew(state, config);
}

function rejectIncoming(state: PeerState, subcode: number, config: SessionConfig): PeerStep {
  return run(state, 'in', { kind: 'tcp-invalid', subcode }, config);
}

function admitNew(state: PeerState, config: SessionConfig): PeerStep {
  const started = run(state, 'in', { kind: 'automatic-start-passive' }, config);
  return then(started, (next) => run(next, 'in', { kind: 'tcp-confirmed' }, config));
}

/** The session that we dialled is dead, though TCP does not know it yet. */
function dropRestarted(state: PeerState, config: SessionConfig): PeerStep {
  const aborted: PeerStep = { state, actions: [{ kind: 'abort', side: 'out' }] };
  const detail = 'the neighbour restarted and opened a new connection';
  return then(aborted, (next) => run(next, 'out', { kind: 'tcp-fails', detail }, config));
}

/** An OPEN that is acceptable by itself may lose against the other connection; then it is not answered (§6.8). */
function receiveOpen(
  state: PeerState,
  side: Side,
  message: OpenMessage,
  config: SessionConfig,
): PeerStep {
  const accepted = run(state, side, { kind: 'open', message }, config);
  const connection = accepted.state[side];
  const other = otherSide(side);
  if (connection.kind !== 'open-confirm' || !isLive(state[other])) return accepted;
  if (survivingSide(connection.negotiated) !== side || state.deferred !== undefined) {
    return run(state, side, { kind: 'collision-dump' }, config);
  }
  if (state[other].kind === 'established') return defer(state, { side, open: message });
  return then(accepted, (next) => run(next, other, { kind: 'collision-dump' }, config));
}

/** Long enough for what is under way to arrive. */
const DECISION_SECONDS = 10;

/** The Established session stands while the neighbour, which has our OPEN on both, makes its choice known. */
function defer(state: PeerState, deferred: DeferredOpen): PeerStep {
  const { side } = deferred;
  const timer = { timer: 'hold', side, seconds: DECISION_SECONDS, jitter: false } as const;
  return { state: { ...state, deferred }, actions: [{ kind: 'start-timer', ...timer }] };
}

/** A KEEPALIVE behind a deferred OPEN says that the neighbour has chosen this connection. */
function receiveOther(
  state: PeerState,
  side: Side,
  message: Exclude<Message, OpenMessage>,
  config: SessionConfig,
): PeerStep {
  const event = messageEvent(message);
  if (state.deferred?.side !== side || message.kind !== 'keepalive') {
    return run(state, side, event, config);
  }
  const yielded = run(state, otherSide(side), { kind: 'collision-dump' }, config);
  const chosen = then(yielded, (next) => settleDeferred(next, config));
  return then(chosen, (next) => run(next, side, event, config));
}

function timerFired(
  state: PeerState,
  side: Side,
  timer: ConnectionTimer,
  config: SessionConfig,
): PeerStep {
  const isUndecided = state.deferred?.side === side && timer === 'hold';
  const event: ConnectionEvent = isUndecided ? { kind: 'collision-dump' } : TIMER_EVENTS[timer];
  return run(state, side, event, config);
}

/** The other connection is gone, so the deferred OPEN counts; or its own is, and there is nothing left to wait for. */
function settleDeferred(state: PeerState, config: SessionConfig): PeerStep {
  const { deferred, ...rest } = state;
  if (deferred === undefined) return quiet(state);
  const { side, open } = deferred;
  if (state[side].kind !== 'open-sent') return quiet(rest);
  if (isLive(state[otherSide(side)])) return quiet(state);
  return run(rest, side, { kind: 'open', message: open }, config);
}

/** What follows from the state alone, whatever the event was. */
function settle(before: PeerStep, config: SessionConfig): PeerStep {
  const decided = then(before, (state) => settleDeferred(state, config));
  const alone = then(decided, (state) => dropPointlessAttempt(state, config));
  const started = then(alone, (state) => startOut(state, config));
  return then(started, (state) => watchProbation(state, config));
}

/** One connection is live: an attempt on which we have not sent our OPEN is given up. */
function dropPointlessAttempt(state: PeerState, config: SessionConfig): PeerStep {
  const isAttempt = (side: Side) => state[side].kind === 'connect' || state[side].kind === 'active';
  if (isLive(state.in) && isAttempt('out')) {
    return run(state, 'out', { kind: 'collision-dump' }, config);
  }
  if (isLive(state.out) && isAttempt('in')) {
    return run(state, 'in', { kind: 'collision-dump' }, config);
  }
  return quiet(state);
}

function startOut(state: PeerState, config: SessionConfig): PeerStep {
  if (state.mode !== 'running' || state.out.kind !== 'idle' || isLive(state.in)) {
    return quiet(state);
  }
  const next: PeerState = { ...state, nextStart: 'retry' };
  return run(next, 'out', startEvent(state.nextStart, config), config);
}

function startEvent(nextStart: PeerState['nextStart'], config: SessionConfig): ConnectionEvent {
  switch (nextStart) {
    case 'operator':
      return { kind: config.passive ? 'manual-start-passive' : 'manual-start' };
    case 'idle-hold':
      return { kind: 'idle-hold-timer' };
    // listens, and dials when the connect retry timer is due: no failure leads to a dial without a pause
    case 'retry':
      return { kind: 'automatic-start-passive' };
  }
}

function watchProbation(state: PeerState, config: SessionConfig): PeerStep {
  const { penaltySeconds, isOnProbation } = state.damping;
  const isUp = state.out.kind === 'established' || state.in.kind === 'established';
  const isDue = isUp && penaltySeconds > 0;
  if (isDue === isOnProbation) return quiet(state);
  const next: PeerState = { ...state, damping: { penaltySeconds, isOnProbation: isDue } };
  const seconds = config.idleHold.maximumSeconds;
  if (isDue) return { state: next, actions: [{ kind: 'start-idle-hold', seconds, jitter: false }] };
  return { state: next, actions: [{ kind: 'stop-idle-hold' }] };
}
