import { expect } from 'chai';
import { step } from '../../../protocol/bgp/connection.ts';
import {
  CONNECTION_EVENTS,
  type ConnectionEvent,
  type ConnectionEventKind,
} from '../../../protocol/bgp/connection-event.ts';
import {
  type ConnectionAction,
  type ConnectionConfig,
  type ConnectionState,
  timersOf,
} from '../../../protocol/bgp/connection-state.ts';
import { BgpFault } from '../../../protocol/bgp/error.ts';
import type { NotificationMessage } from '../../../protocol/bgp/message.ts';
import { buildOpen, type Negotiated, negotiate } from '../../../protocol/bgp/negotiate.ts';
import { CONNECTION_STATES, type SessionConfig } from '../../../protocol/bgp/session.ts';
import { COLUMNS, type ColumnName } from './connection-matrix.ts';
import { CONFIG, formatAction, peerOpen } from './session-fixtures.ts';

function notification(code: number, subcode: number): NotificationMessage {
  return { kind: 'notification', code, subcode, data: new Uint8Array(0) };
}

function fault(code: number, subcode: number, ...data: number[]): BgpFault {
  return new BgpFault({ code, subcode, data: Uint8Array.from(data), detail: 'as the test wants' });
}

const EVENTS: { readonly [K in ConnectionEventKind]: ConnectionEvent & { readonly kind: K } } = {
  'manual-start': { kind: 'manual-start' },
  'manual-stop': { kind: 'manual-stop', reason: { kind: 'cease', subcode: 2, text: 'bye' } },
  'automatic-start': { kind: 'automatic-start' },
  'manual-start-passive': { kind: 'manual-start-passive' },
  'automatic-start-passive': { kind: 'automatic-start-passive' },
  'automatic-start-damped': { kind: 'automatic-start-damped' },
  'automatic-start-damped-passive': { kind: 'automatic-start-damped-passive' },
  'automatic-stop': { kind: 'automatic-stop', reason: { kind: 'cease', subcode: 1 } },
  'connect-retry-timer': { kind: 'connect-retry-timer' },
  'hold-timer': { kind: 'hold-timer' },
  'keepalive-timer': { kind: 'keepalive-timer' },
  'delay-open-timer': { kind: 'delay-open-timer' },
  'idle-hold-timer': { kind: 'idle-hold-timer' },
  'tcp-invalid': { kind: 'tcp-invalid', subcode: 5 },
  'tcp-acked': { kind: 'tcp-acked' },
  'tcp-confirmed': { kind: 'tcp-confirmed' },
  'tcp-fails': { kind: 'tcp-fails', detail: 'connection refused' },
  open: { kind: 'open', message: peerOpen() },
  'header-error': { kind: 'header-error', fault: fault(1, 2, 0, 18) },
  'open-error': { kind: 'open-error', fault: fault(2, 4) },
  'collision-dump': { kind: 'collision-dump' },
  'version-error': { kind: 'version-error', message: notification(2, 1) },
  notification: { kind: 'notification', message: notification(6, 4) },
  keepalive: { kind: 'keepalive' },
  update: { kind: 'update' },
  'update-error': { kind: 'update-error', fault: fault(3, 1) },
  'send-hold-timer': { kind: 'send-hold-timer' },
  'route-refresh': { kind: 'route-refresh' },
  'route-refresh-error': { kind: 'route-refresh-error', fault: fault(7, 1, 5) },
  progress: { kind: 'progress' },
  flushed: { kind: 'flushed' },
  'close-timer': { kind: 'close-timer' },
};

interface Setting {
  readonly state: ConnectionState;
  readonly config: ConnectionConfig;
}

function negotiatedWith(session: SessionConfig): Negotiated {
  const result = negotiate(session, buildOpen(session), peerOpen());
  if (!result.ok) throw result.fault;
  return result.negotiated;
}

function setting(
  state: ConnectionState,
  session: Partial<SessionConfig> = {},
  side: ConnectionConfig['side'] = 'out',
): Setting {
  return { state, config: { session: { ...CONFIG, ...session }, side } };
}

const NO_HOLD = { ...CONFIG, holdTimeSeconds: 0 };
const DELAYED = { delayOpenSeconds: 4 };
const NEGOTIATED = negotiatedWith(CONFIG);
const NEGOTIATED_NO_HOLD = negotiatedWith(NO_HOLD);
const OPEN_SENT: ConnectionState = { kind: 'open-sent', ours: buildOpen(CONFIG) };

const SETTINGS: Readonly<Record<ColumnName, Setting>> = {
  idle: setting({ kind: 'idle' }),
  'idle, passive': setting({ kind: 'idle' }, { passive: true }),
  connect: setting({ kind: 'connect', wait: 'tcp' }),
  'connect, DelayOpen configured': setting({ kind: 'connect', wait: 'tcp' }, DELAYED),
  'connect, DelayOpen running': setting({ kind: 'connect', wait: 'delay-open' }, DELAYED),
  active: setting({ kind: 'active', wait: 'retry' }),
  'active, passive': setting({ kind: 'active', wait: 'incoming' }, { passive: true }),
  'active, DelayOpen configured, incoming': setting(
    { kind: 'active', wait: 'incoming' },
    DELAYED,
    'in',
  ),
  'active, DelayOpen running, incoming': setting(
    { kind: 'active', wait: 'delay-open' },
    DELAYED,
    'in',
  ),
  'open-sent': setting(OPEN_SENT),
  'open-sent, incoming': setting(OPEN_SENT, {}, 'in'),
  'open-sent, hold time 0': setting({ kind: 'open-sent', ours: buildOpen(NO_HOLD) }, NO_HOLD),
  'open-confirm': setting({ kind: 'open-confirm', negotiated: NEGOTIATED }),
  'open-confirm, hold time 0': setting(
    { kind: 'open-confirm', negotiated: NEGOTIATED_NO_HOLD },
    NO_HOLD,
  ),
  established: setting({
    kind: 'established',
    negotiated: NEGOTIATED,
    sendHoldSeconds: 480,
    isSettled: true,
  }),
  'established, no send hold': setting(
    { kind: 'established', negotiated: NEGOTIATED, sendHoldSeconds: 0, isSettled: true },
    { sendHoldSeconds: 0 },
  ),
  'established, hold time 0': setting(
    { kind: 'established', negotiated: NEGOTIATED_NO_HOLD, sendHoldSeconds: 0, isSettled: true },
    NO_HOLD,
  ),
  closing: setting({ kind: 'closing' }),
};

function keys<K extends string>(record: Readonly<Record<K, unknown>>): K[] {
  const isKey = (key: string): key is K => Object.hasOwn(record, key);
  return Object.keys(record).filter(isKey);
}

/** What the machine does, in the notation of the matrix. */
function cellOf({ state, config }: Setting, event: ConnectionEvent): string {
  const after = step(state, event, config);
  const isSame = JSON.stringify(after.state) === JSON.stringify(state);
  if (isSame && after.actions.length === 0) return '-';
  return `${after.state.kind}: ${after.actions.map(formatAction).join(', ')}`;
}

describe('the matrix of the connection machine', () => {
  it('has a column for every state and a cell for every event in each', () => {
    const states = new Set(Object.values(SETTINGS).map(({ state }) => state.kind));
    expect([...states]).to.have.members([...CONNECTION_STATES]);
    for (const column of Object.values(COLUMNS)) {
      expect(Object.keys(column)).to.have.members(Object.keys(CONNECTION_EVENTS));
    }
    expect(Object.keys(EVENTS)).to.have.members(Object.keys(CONNECTION_EVENTS));
  });

  for (const name of keys(COLUMNS)) {
    describe(name, () => {
      for (const kind of keys(EVENTS)) {
        it(`${kind} (${CONNECTION_EVENTS[kind]})`, () => {
          expect(cellOf(SETTINGS[name], EVENTS[kind])).to.equal(COLUMNS[name][kind]);
        });
      }
    });
  }
});

describe('the connection machine', () => {
  const established = SETTINGS.established;

  it('closes with no NOTIFICATION for a planned restart', () => {
    const event: ConnectionEvent = { kind: 'manual-stop', reason: { kind: 'restart' } };
    expect(cellOf(established, event)).to.equal(
      'idle: -hold, -keepalive, -send-hold, close, session down stopped',
    );
    expect(cellOf(SETTINGS['open-sent'], event)).to.equal('idle: -hold, close, down stopped');
  });

  it('puts the text into Cease for shutdown and reset, and into no other', () => {
    const sent = (subcode: number) =>
      step(
        established.state,
        { kind: 'manual-stop', reason: { kind: 'cease', subcode, text: 'maintenance' } },
        established.config,
      ).actions.flatMap((action) =>
        action.kind === 'send' && action.message.kind === 'notification'
          ? [action.message.data.length]
          : [],
      );
    expect(sent(2)).to.deep.equal([12]);
    expect(sent(4)).to.deep.equal([12]);
    expect(sent(3)).to.deep.equal([0]);
  });

  it('refuses an OPEN of the wrong AS with 2/2, also while DelayOpen runs', () => {
    const event: ConnectionEvent = { kind: 'open', message: peerOpen({ localAsn: 65009 }) };
    expect(cellOf(SETTINGS['open-sent'], event)).to.match(
      /^closing: -hold, NOTIFICATION 2\/2 \w*, \+close 3, down notification-sent 2\/2$/,
    );
    expect(cellOf(SETTINGS['connect, DelayOpen running'], event)).to.match(
      /^closing: -delay-open, NOTIFICATION 2\/2 \w*, \+close 3, down notification-sent 2\/2$/,
    );
  });

  it('takes the smaller hold time, and a third of it for keepalives', () => {
    const event: ConnectionEvent = { kind: 'open', message: peerOpen({ holdTimeSeconds: 30 }) };
    expect(cellOf(SETTINGS['open-sent'], event)).to.equal(
      'open-confirm: KEEPALIVE, +keepalive 10~, +hold 30',
    );
  });

  it('sends no keepalive more often than once a second: an interval of 1 s has no jitter (RFC 4271 §4.4)', () => {
    const quick: ConnectionEvent = { kind: 'open', message: peerOpen({ holdTimeSeconds: 3 }) };
    expect(cellOf(SETTINGS['open-sent'], quick)).to.equal(
      'open-confirm: KEEPALIVE, +keepalive 1, +hold 3',
    );
  });

  it('makes the send hold time greater than the hold time (RFC 9687 §4.4)', () => {
    const { state } = SETTINGS['open-confirm'];
    const short = setting(state, { sendHoldSeconds: 10 });
    expect(cellOf(short, { kind: 'keepalive' })).to.equal(
      'established: +hold 90, +send-hold 91, up',
    );
  });

  it('negotiates with the OPEN that was sent, whatever the settings are by now', () => {
    const changed = setting(OPEN_SENT, { holdTimeSeconds: 9 });
    expect(cellOf(changed, EVENTS.open)).to.contain('+hold 90');
  });

  it('stops in every transition what does not run after it, and runs nothing it did not start', () => {
    for (const { state, config } of Object.values(SETTINGS)) {
      for (const event of Object.values(EVENTS)) {
        const after = step(state, event, config);
        const running = runningAfter(timersOf(state), after.actions);
        // a timer that fired is not running any more, unless it was started again
        const fired = event.kind.replace(/-timer$/, '');
        const expected: readonly string[] = timersOf(after.state);
        const left = running.filter((timer) => timer !== fired || expected.includes(timer));
        expect(left, `${state.kind} ${event.kind}`).to.have.members([...expected]);
      }
    }
  });
});

function runningAfter(
  before: readonly string[],
  actions: readonly ConnectionAction[],
): readonly string[] {
  const running = new Set(before);
  for (const action of actions) {
    if (action.kind === 'start-timer') running.add(action.timer);
    if (action.kind === 'stop-timer') expect(running.delete(action.timer)).to.equal(true);
  }
  return [...running];
}
