/**
 * The machine of one TCP connection: RFC 4271 §8, pure.
 *
 * One handler per state, every event listed in each; an event that changes nothing is written down as such. The states
 * before our OPEN are in connection-opening.ts, those after it in connection-session.ts. Everything that concerns two
 * connections (§6.8) or time between attempts (damping, idle hold) is in peer.ts. The whole table, as the tests check
 * it, is docs/fsm.md.
 */

import type { ConnectionEvent } from './connection-event.ts';
import { stepActive, stepConnect, stepIdle } from './connection-opening.ts';
import { stepEstablished, stepOpenConfirm, stepOpenSent } from './connection-session.ts';
import {
  type ConnectionConfig,
  type ConnectionStep,
  IDLE,
  move,
  type StateOf,
  stay,
} from './connection-state.ts';
import type { ConnectionStateName } from './session.ts';

type Handler<K extends ConnectionStateName> = (
  state: StateOf<K>,
  event: ConnectionEvent,
  config: ConnectionConfig,
) => ConnectionStep;

const HANDLERS: { readonly [K in ConnectionStateName]: Handler<K> } = {
  idle: stepIdle,
  connect: stepConnect,
  active: stepActive,
  'open-sent': stepOpenSent,
  'open-confirm': stepOpenConfirm,
  established: stepEstablished,
  closing: stepClosing,
};

export function step<K extends ConnectionStateName>(
  state: StateOf<K>,
  event: ConnectionEvent,
  config: ConnectionConfig,
): ConnectionStep {
  const handler: Handler<K> = HANDLERS[state.kind];
  return handler(state, event, config);
}

/** Our last message is under way: it leaves, the neighbour is faster, or the close timer ends the wait. */
function stepClosing(
  state: StateOf<'closing'>,
  event: ConnectionEvent,
  config: ConnectionConfig,
): ConnectionStep {
  switch (event.kind) {
    case 'flushed':
      return move(state, IDLE, config, [{ kind: 'close', side: config.side }]);
    case 'close-timer':
      return move(state, IDLE, config, [{ kind: 'abort', side: config.side }]);
    case 'tcp-fails':
      return move(state, IDLE, config, []);
    case 'manual-start':
    case 'manual-stop':
    case 'automatic-start':
    case 'manual-start-passive':
    case 'automatic-start-passive':
    case 'automatic-start-damped':
    case 'automatic-start-damped-passive':
    case 'automatic-stop':
    case 'connect-retry-timer':
    case 'hold-timer':
    case 'keepalive-timer':
    case 'delay-open-timer':
    case 'idle-hold-timer':
    case 'tcp-invalid':
    case 'tcp-acked':
    case 'tcp-confirmed':
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
      return stay(state);
  }
}
