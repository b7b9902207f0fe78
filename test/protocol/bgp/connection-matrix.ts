/**
 * Every state × every event of the connection machine, as RFC 4271 §8.2.2 (with RFC 6608 and RFC 9687) has it.
 *
 * A cell is `next state: actions`; `-` = the event is ignored. Actions: `+timer seconds` starts (`~` = with jitter), `-timer`
 * stops; `dial`, `close`, `abort`; OPEN, KEEPALIVE and NOTIFICATION code/subcode data are sent; `up` = session established;
 * `down reason` = an attempt ended, `session down reason` = an established session ended. The conditions of the columns
 * (hold time 0, DelayOpen, passive, side) are those of `COLUMNS` at the end. docs/fsm.md is made from this file.
 */

import type {
  CONNECTION_EVENTS,
  ConnectionEventKind,
} from '../../../protocol/bgp/connection-event.ts';

export type Cell = string;
export type Column = Readonly<Record<keyof typeof CONNECTION_EVENTS & ConnectionEventKind, Cell>>;

/** "The initial state of the BGP FSM": only starts matter; incoming connections are refused. */
const IDLE: Column = {
  'manual-start': 'connect: +connect-retry 20~, dial',
  'manual-stop': '-',
  'automatic-start': 'connect: +connect-retry 20~, dial',
  'manual-start-passive': 'active: +connect-retry 20~',
  'automatic-start-passive': 'active: +connect-retry 20~',
  'automatic-start-damped': 'connect: +connect-retry 20~, dial',
  'automatic-start-damped-passive': 'active: +connect-retry 20~',
  'automatic-stop': '-',
  'connect-retry-timer': '-',
  'hold-timer': '-',
  'keepalive-timer': '-',
  'delay-open-timer': '-',
  'idle-hold-timer': 'connect: +connect-retry 20~, dial',
  'tcp-invalid': 'closing: NOTIFICATION 6/5, +close 3',
  'tcp-acked': 'idle: abort',
  'tcp-confirmed': 'idle: abort',
  'tcp-fails': '-',
  open: '-',
  'header-error': '-',
  'open-error': '-',
  'collision-dump': '-',
  'version-error': '-',
  notification: '-',
  keepalive: '-',
  update: '-',
  'update-error': '-',
  'send-hold-timer': '-',
  'route-refresh': '-',
  'route-refresh-error': '-',
  progress: '-',
  flushed: '-',
  'close-timer': '-',
};

/** A passive neighbour is never dialled, so nothing is retried. */
const IDLE_PASSIVE: Column = {
  ...IDLE,
  'manual-start-passive': 'active: ',
  'automatic-start-passive': 'active: ',
  'automatic-start-damped-passive': 'active: ',
  'idle-hold-timer': 'active: ',
};

/** "BGP FSM is waiting for the TCP connection to be completed"; start events are ignored. */
const CONNECT: Column = {
  'manual-start': '-',
  'manual-stop': 'idle: -connect-retry, abort, down stopped',
  'automatic-start': '-',
  'manual-start-passive': '-',
  'automatic-start-passive': '-',
  'automatic-start-damped': '-',
  'automatic-start-damped-passive': '-',
  'automatic-stop': 'idle: -connect-retry, abort, down stopped',
  'connect-retry-timer': 'connect: abort, down disconnected, +connect-retry 20~, dial',
  'hold-timer': '-',
  'keepalive-timer': '-',
  'delay-open-timer': '-',
  'idle-hold-timer': '-',
  'tcp-invalid': '-',
  'tcp-acked': 'open-sent: -connect-retry, OPEN, +hold 240',
  'tcp-confirmed': 'open-sent: -connect-retry, OPEN, +hold 240',
  'tcp-fails': 'idle: -connect-retry, down disconnected',
  open: '-',
  'header-error': '-',
  'open-error': '-',
  'collision-dump': 'idle: -connect-retry, abort, down collision',
  'version-error': '-',
  notification: '-',
  keepalive: '-',
  update: '-',
  'update-error': '-',
  'send-hold-timer': '-',
  'route-refresh': '-',
  'route-refresh-error': '-',
  progress: '-',
  flushed: '-',
  'close-timer': '-',
};

/** With DelayOpen configured the answer to our dial starts that timer in place of sending OPEN. */
const CONNECT_BEFORE_DELAY: Column = {
  ...CONNECT,
  'tcp-acked': 'connect: -connect-retry, +delay-open 4',
  'tcp-confirmed': 'connect: -connect-retry, +delay-open 4',
};

/** TCP is up, DelayOpen runs, connect retry does not. */
const CONNECT_DELAYING: Column = {
  'manual-start': '-',
  'manual-stop': 'idle: -delay-open, abort, down stopped',
  'automatic-start': '-',
  'manual-start-passive': '-',
  'automatic-start-passive': '-',
  'automatic-start-damped': '-',
  'automatic-start-damped-passive': '-',
  'automatic-stop': 'idle: -delay-open, abort, down stopped',
  'connect-retry-timer': '-',
  'hold-timer': '-',
  'keepalive-timer': '-',
  'delay-open-timer': 'open-sent: -delay-open, OPEN, +hold 240',
  'idle-hold-timer': '-',
  'tcp-invalid': '-',
  'tcp-acked': '-',
  'tcp-confirmed': '-',
  'tcp-fails': 'active: -delay-open, down disconnected, +connect-retry 20~',
  open: 'open-confirm: -delay-open, OPEN, KEEPALIVE, +keepalive 30~, +hold 90',
  'header-error':
    'closing: -delay-open, NOTIFICATION 1/2 0012, +close 3, down notification-sent 1/2',
  'open-error': 'closing: -delay-open, NOTIFICATION 2/4, +close 3, down notification-sent 2/4',
  'collision-dump': 'idle: -delay-open, abort, down collision',
  'version-error': 'idle: -delay-open, abort, down notification-received 2/1',
  notification: 'idle: -delay-open, abort, down notification-received 6/4',
  keepalive: 'idle: -delay-open, abort, down disconnected',
  update: 'idle: -delay-open, abort, down disconnected',
  'update-error': 'idle: -delay-open, abort, down disconnected',
  'send-hold-timer': '-',
  'route-refresh': 'idle: -delay-open, abort, down disconnected',
  'route-refresh-error': 'idle: -delay-open, abort, down disconnected',
  progress: '-',
  flushed: '-',
  'close-timer': '-',
};

/** Waiting for the connect retry timer, or for the neighbour to be faster. No TCP: no message can come. */
const ACTIVE: Column = {
  'manual-start': '-',
  'manual-stop': 'idle: -connect-retry',
  'automatic-start': '-',
  'manual-start-passive': '-',
  'automatic-start-passive': '-',
  'automatic-start-damped': '-',
  'automatic-start-damped-passive': '-',
  'automatic-stop': 'idle: -connect-retry',
  'connect-retry-timer': 'connect: +connect-retry 20~, dial',
  'hold-timer': '-',
  'keepalive-timer': '-',
  'delay-open-timer': '-',
  'idle-hold-timer': '-',
  'tcp-invalid': '-',
  'tcp-acked': 'open-sent: -connect-retry, OPEN, +hold 240',
  'tcp-confirmed': 'open-sent: -connect-retry, OPEN, +hold 240',
  'tcp-fails': '-',
  open: '-',
  'header-error': '-',
  'open-error': '-',
  'collision-dump': 'idle: -connect-retry',
  'version-error': '-',
  notification: '-',
  keepalive: '-',
  update: '-',
  'update-error': '-',
  'send-hold-timer': '-',
  'route-refresh': '-',
  'route-refresh-error': '-',
  progress: '-',
  flushed: '-',
  'close-timer': '-',
};

/** Nothing to retry: only the neighbour can end this wait. */
const ACTIVE_LISTENING: Column = {
  ...ACTIVE,
  'manual-stop': 'idle: ',
  'automatic-stop': 'idle: ',
  'connect-retry-timer': '-',
  'tcp-acked': 'open-sent: OPEN, +hold 240',
  'tcp-confirmed': 'open-sent: OPEN, +hold 240',
  'collision-dump': 'idle: ',
};

const ACTIVE_BEFORE_DELAY: Column = {
  ...ACTIVE_LISTENING,
  'tcp-acked': 'active: +delay-open 4',
  'tcp-confirmed': 'active: +delay-open 4',
};

/** As in Connect, but ManualStop sends Cease here and TCP failure leads to Idle. */
const ACTIVE_DELAYING: Column = {
  ...CONNECT_DELAYING,
  'manual-stop': 'closing: -delay-open, NOTIFICATION 6/2 03627965, +close 3, down stopped',
  'tcp-fails': 'idle: -delay-open, down disconnected',
};

const OPEN_SENT: Column = {
  'manual-start': '-',
  'manual-stop': 'closing: -hold, NOTIFICATION 6/2 03627965, +close 3, down stopped',
  'automatic-start': '-',
  'manual-start-passive': '-',
  'automatic-start-passive': '-',
  'automatic-start-damped': '-',
  'automatic-start-damped-passive': '-',
  'automatic-stop': 'closing: -hold, NOTIFICATION 6/1, +close 3, down stopped',
  'connect-retry-timer': '-',
  'hold-timer': 'closing: -hold, NOTIFICATION 4/0, +close 3, down notification-sent 4/0',
  'keepalive-timer': '-',
  'delay-open-timer': '-',
  'idle-hold-timer': '-',
  'tcp-invalid': '-',
  'tcp-acked': '-',
  'tcp-confirmed': '-',
  'tcp-fails': 'active: -hold, down disconnected, +connect-retry 20~',
  open: 'open-confirm: KEEPALIVE, +keepalive 30~, +hold 90',
  'header-error': 'closing: -hold, NOTIFICATION 1/2 0012, +close 3, down notification-sent 1/2',
  'open-error': 'closing: -hold, NOTIFICATION 2/4, +close 3, down notification-sent 2/4',
  'collision-dump': 'closing: -hold, NOTIFICATION 6/7, +close 3, down collision',
  'version-error': 'idle: -hold, abort, down notification-received 2/1',
  notification: 'idle: -hold, abort, down notification-received 6/4',
  keepalive: 'closing: -hold, NOTIFICATION 5/1 04, +close 3, down notification-sent 5/1',
  update: 'closing: -hold, NOTIFICATION 5/1 02, +close 3, down notification-sent 5/1',
  'update-error': 'closing: -hold, NOTIFICATION 5/1 02, +close 3, down notification-sent 5/1',
  'send-hold-timer': '-',
  'route-refresh': 'closing: -hold, NOTIFICATION 5/1 05, +close 3, down notification-sent 5/1',
  'route-refresh-error':
    'closing: -hold, NOTIFICATION 5/1 05, +close 3, down notification-sent 5/1',
  progress: '-',
  flushed: '-',
  'close-timer': '-',
};

/** The neighbour dialled: when it is gone there is nothing of ours to retry. */
const OPEN_SENT_IN: Column = { ...OPEN_SENT, 'tcp-fails': 'idle: -hold, down disconnected' };

/** The neighbour offers hold time 0: the KEEPALIVE that answers is sent, the timers are not started. */
const OPEN_SENT_NO_HOLD: Column = { ...OPEN_SENT, open: 'open-confirm: -hold, KEEPALIVE' };

const OPEN_CONFIRM: Column = {
  'manual-start': '-',
  'manual-stop': 'closing: -hold, -keepalive, NOTIFICATION 6/2 03627965, +close 3, down stopped',
  'automatic-start': '-',
  'manual-start-passive': '-',
  'automatic-start-passive': '-',
  'automatic-start-damped': '-',
  'automatic-start-damped-passive': '-',
  'automatic-stop': 'closing: -hold, -keepalive, NOTIFICATION 6/1, +close 3, down stopped',
  'connect-retry-timer': '-',
  'hold-timer':
    'closing: -hold, -keepalive, NOTIFICATION 4/0, +close 3, down notification-sent 4/0',
  'keepalive-timer': 'open-confirm: KEEPALIVE, +keepalive 30~',
  'delay-open-timer': '-',
  'idle-hold-timer': '-',
  'tcp-invalid': '-',
  'tcp-acked': '-',
  'tcp-confirmed': '-',
  'tcp-fails': 'idle: -hold, -keepalive, down disconnected',
  open: 'closing: -hold, -keepalive, NOTIFICATION 5/2 01, +close 3, down notification-sent 5/2',
  'header-error':
    'closing: -hold, -keepalive, NOTIFICATION 1/2 0012, +close 3, down notification-sent 1/2',
  'open-error':
    'closing: -hold, -keepalive, NOTIFICATION 2/4, +close 3, down notification-sent 2/4',
  'collision-dump': 'closing: -hold, -keepalive, NOTIFICATION 6/7, +close 3, down collision',
  'version-error': 'idle: -hold, -keepalive, abort, down notification-received 2/1',
  notification: 'idle: -hold, -keepalive, abort, down notification-received 6/4',
  keepalive: 'established: +hold 90, +send-hold 480, up',
  update: 'closing: -hold, -keepalive, NOTIFICATION 5/2 02, +close 3, down notification-sent 5/2',
  'update-error':
    'closing: -hold, -keepalive, NOTIFICATION 5/2 02, +close 3, down notification-sent 5/2',
  'send-hold-timer': '-',
  'route-refresh':
    'closing: -hold, -keepalive, NOTIFICATION 5/2 05, +close 3, down notification-sent 5/2',
  'route-refresh-error':
    'closing: -hold, -keepalive, NOTIFICATION 5/2 05, +close 3, down notification-sent 5/2',
  progress: '-',
  flushed: '-',
  'close-timer': '-',
};

/** Without hold and keepalive timers there is nothing to stop, and neither can expire. */
const OPEN_CONFIRM_NO_HOLD: Column = {
  ...without(OPEN_CONFIRM, '-hold, -keepalive, '),
  'hold-timer': '-',
  'keepalive-timer': '-',
  keepalive: 'established: up',
};

const ESTABLISHED: Column = {
  'manual-start': '-',
  'manual-stop':
    'closing: -hold, -keepalive, -send-hold, NOTIFICATION 6/2 03627965, +close 3, session down stopped',
  'automatic-start': '-',
  'manual-start-passive': '-',
  'automatic-start-passive': '-',
  'automatic-start-damped': '-',
  'automatic-start-damped-passive': '-',
  'automatic-stop':
    'closing: -hold, -keepalive, -send-hold, NOTIFICATION 6/1, +close 3, session down stopped',
  'connect-retry-timer': '-',
  'hold-timer':
    'closing: -hold, -keepalive, -send-hold, NOTIFICATION 4/0, +close 3, session down notification-sent 4/0',
  'keepalive-timer': 'established: KEEPALIVE, +keepalive 30~',
  'delay-open-timer': '-',
  'idle-hold-timer': '-',
  'tcp-invalid': '-',
  'tcp-acked': '-',
  'tcp-confirmed': '-',
  'tcp-fails': 'idle: -hold, -keepalive, -send-hold, session down disconnected',
  open: 'closing: -hold, -keepalive, -send-hold, NOTIFICATION 5/3 01, +close 3, session down notification-sent 5/3',
  'header-error':
    'closing: -hold, -keepalive, -send-hold, NOTIFICATION 1/2 0012, +close 3, session down notification-sent 1/2',
  'open-error':
    'closing: -hold, -keepalive, -send-hold, NOTIFICATION 5/3 01, +close 3, session down notification-sent 5/3',
  'collision-dump':
    'closing: -hold, -keepalive, -send-hold, NOTIFICATION 6/7, +close 3, session down collision',
  'version-error':
    'idle: -hold, -keepalive, -send-hold, abort, session down notification-received 2/1',
  notification:
    'idle: -hold, -keepalive, -send-hold, abort, session down notification-received 6/4',
  keepalive: 'established: +hold 90',
  update: 'established: +hold 90',
  'update-error':
    'closing: -hold, -keepalive, -send-hold, NOTIFICATION 3/1, +close 3, session down notification-sent 3/1',
  'send-hold-timer':
    'closing: -hold, -keepalive, -send-hold, NOTIFICATION 8/0, +close 3, session down notification-sent 8/0',
  'route-refresh': 'established: +hold 90',
  'route-refresh-error':
    'closing: -hold, -keepalive, -send-hold, NOTIFICATION 7/1 05, +close 3, session down notification-sent 7/1',
  progress: 'established: +send-hold 480',
  flushed: '-',
  'close-timer': '-',
};

/** RFC 9687 switched off by configuration. */
const ESTABLISHED_NO_SEND_HOLD: Column = {
  ...without(ESTABLISHED, '-send-hold, '),
  'send-hold-timer': '-',
  progress: '-',
};

/** Hold time 0: no keepalives move, so the send hold timer has nothing to go by either. */
const ESTABLISHED_NO_HOLD: Column = {
  ...without(ESTABLISHED, '-hold, -keepalive, -send-hold, '),
  'hold-timer': '-',
  'keepalive-timer': '-',
  'send-hold-timer': '-',
  keepalive: '-',
  update: '-',
  'route-refresh': '-',
  progress: '-',
};

/** The NOTIFICATION is on its way out: it leaves, TCP fails, or patience ends. */
const CLOSING: Column = {
  'manual-start': '-',
  'manual-stop': '-',
  'automatic-start': '-',
  'manual-start-passive': '-',
  'automatic-start-passive': '-',
  'automatic-start-damped': '-',
  'automatic-start-damped-passive': '-',
  'automatic-stop': '-',
  'connect-retry-timer': '-',
  'hold-timer': '-',
  'keepalive-timer': '-',
  'delay-open-timer': '-',
  'idle-hold-timer': '-',
  'tcp-invalid': '-',
  'tcp-acked': '-',
  'tcp-confirmed': '-',
  'tcp-fails': 'idle: -close',
  open: '-',
  'header-error': '-',
  'open-error': '-',
  'collision-dump': '-',
  'version-error': '-',
  notification: '-',
  keepalive: '-',
  update: '-',
  'update-error': '-',
  'send-hold-timer': '-',
  'route-refresh': '-',
  'route-refresh-error': '-',
  progress: '-',
  flushed: 'idle: -close, close',
  'close-timer': 'idle: -close, abort',
};

/** The same column with these timers not running, hence not stopped. */
function without(column: Column, stops: string): Column {
  const strip = (cell: Cell) => cell.replace(stops, '');
  return {
    ...column,
    'manual-stop': strip(column['manual-stop']),
    'automatic-stop': strip(column['automatic-stop']),
    'hold-timer': strip(column['hold-timer']),
    'tcp-fails': strip(column['tcp-fails']),
    open: strip(column.open),
    'header-error': strip(column['header-error']),
    'open-error': strip(column['open-error']),
    'collision-dump': strip(column['collision-dump']),
    'version-error': strip(column['version-error']),
    notification: strip(column.notification),
    update: strip(column.update),
    'update-error': strip(column['update-error']),
    'route-refresh': strip(column['route-refresh']),
    'route-refresh-error': strip(column['route-refresh-error']),
  };
}

export const COLUMNS = {
  idle: IDLE,
  'idle, passive': IDLE_PASSIVE,
  connect: CONNECT,
  'connect, DelayOpen configured': CONNECT_BEFORE_DELAY,
  'connect, DelayOpen running': CONNECT_DELAYING,
  active: ACTIVE,
  'active, passive': ACTIVE_LISTENING,
  'active, DelayOpen configured, incoming': ACTIVE_BEFORE_DELAY,
  'active, DelayOpen running, incoming': ACTIVE_DELAYING,
  'open-sent': OPEN_SENT,
  'open-sent, incoming': OPEN_SENT_IN,
  'open-sent, hold time 0': OPEN_SENT_NO_HOLD,
  'open-confirm': OPEN_CONFIRM,
  'open-confirm, hold time 0': OPEN_CONFIRM_NO_HOLD,
  established: ESTABLISHED,
  'established, no send hold': ESTABLISHED_NO_SEND_HOLD,
  'established, hold time 0': ESTABLISHED_NO_HOLD,
  closing: CLOSING,
} as const satisfies Record<string, Column>;

export type ColumnName = keyof typeof COLUMNS;
