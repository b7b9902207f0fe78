/** Any sequence of events, from a driver that keeps to its contract and a neighbour that keeps to nothing. */

import { expect } from 'chai';
import fc from 'fast-check';
import { BgpFault } from '../../../protocol/bgp/error.ts';
import type { Message } from '../../../protocol/bgp/message.ts';
import {
  acceptsIncoming,
  initialPeerState,
  type PeerState,
  peerStateName,
  stepPeer,
  timersRunning,
} from '../../../protocol/bgp/peer.ts';
import {
  CONNECTION_TIMERS,
  type PeerAction,
  type PeerEvent,
  type SessionConfig,
  type Side,
} from '../../../protocol/bgp/session.ts';
import { CONFIG, peerOpen } from './session-fixtures.ts';

const SIDES = ['out', 'in'] as const;
const graceful = {
  kind: 'graceful-restart',
  restarting: false,
  notification: false,
  restartTimeSeconds: 30,
  families: [],
} as const;

const side = fc.constantFrom<Side>(...SIDES);
const code = fc.integer({ min: 1, max: 9 });
const subcode = fc.integer({ min: 0, max: 11 });

const stop: fc.Arbitrary<PeerEvent> = fc
  .oneof(
    fc.record({ kind: fc.constant('cease' as const), subcode, text: fc.string() }),
    fc.constant({ kind: 'restart' } as const),
  )
  .map((reason) => ({ kind: 'stop', reason }));

const message: fc.Arbitrary<Message> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .record({
        routerId: fc.constantFrom(1, 0x0a000001, 0xffffffff),
        holdTimeSeconds: fc.constantFrom(0, 3, 90),
        capabilities: fc.constantFrom(CONFIG.capabilities, [graceful]),
      })
      .map(peerOpen),
  },
  { weight: 3, arbitrary: fc.constant<Message>({ kind: 'keepalive' }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Message>(
      peerOpen({ localAsn: 65009 }),
      { kind: 'update', withdrawn: [], attributes: {}, nlri: [] },
      { kind: 'route-refresh', afi: 1, safi: 1, subtype: 0 },
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({ code, subcode })
      .map((what): Message => ({ kind: 'notification', ...what, data: new Uint8Array(0) })),
  },
);

const event: fc.Arbitrary<PeerEvent> = fc.oneof(
  { weight: 2, arbitrary: fc.constant<PeerEvent>({ kind: 'start' }) },
  { weight: 1, arbitrary: stop },
  { weight: 5, arbitrary: side.map((s): PeerEvent => ({ kind: 'connected', side: s })) },
  {
    weight: 2,
    arbitrary: side.map((s): PeerEvent => ({ kind: 'disconnected', side: s, detail: 'test' })),
  },
  {
    weight: 12,
    arbitrary: fc
      .tuple(side, message)
      .map(([s, m]): PeerEvent => ({ kind: 'message', side: s, message: m })),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(side, code, subcode).map(
      ([s, c, sub]): PeerEvent => ({
        kind: 'fault',
        side: s,
        fault: new BgpFault({ code: c, subcode: sub, detail: 'test' }),
      }),
    ),
  },
  {
    weight: 5,
    arbitrary: fc
      .tuple(side, fc.constantFrom(...CONNECTION_TIMERS))
      .map(([s, timer]): PeerEvent => ({ kind: 'timer', timer, side: s })),
  },
  { weight: 2, arbitrary: fc.constant<PeerEvent>({ kind: 'timer', timer: 'idle-hold' }) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(side, fc.constantFrom('progress' as const, 'flushed' as const))
      .map(([s, kind]): PeerEvent => ({ kind, side: s })),
  },
);

const config: fc.Arbitrary<SessionConfig> = fc
  .record({
    passive: fc.boolean(),
    acceptIncoming: fc.boolean(),
    delayOpenSeconds: fc.constantFrom(0, 4),
    holdTimeSeconds: fc.constantFrom(0, 90),
    sendHoldSeconds: fc.constantFrom(0, 480),
  })
  .map((changes) => ({ ...CONFIG, ...changes }));

/** the way to a session, whole or cut short: without it few sequences would get that far */
const approach: fc.Arbitrary<PeerEvent[]> = fc
  .tuple(side, fc.integer({ min: 2, max: 4 }))
  .map(([s, length]) => {
    const events: PeerEvent[] = [
      { kind: 'start' },
      { kind: 'connected', side: s },
      { kind: 'message', side: s, message: peerOpen() },
      { kind: 'message', side: s, message: { kind: 'keepalive' } },
    ];
    return events.slice(0, length);
  });

const sequence = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: event.map((one) => [one]) },
      { weight: 1, arbitrary: approach },
    ),
    { maxLength: 40, size: 'max' },
  )
  .map((parts) => parts.flat());

/** A driver reduced to what it must keep: which timers run, which sides have a connection or a dial. */
class Driver {
  readonly #config: SessionConfig;
  readonly timers = new Set<string>();
  readonly connected = new Set<Side>();
  readonly established = new Set<Side>();
  isDialling = false;
  sessionsUp = 0;
  state: PeerState = initialPeerState();

  constructor(sessionConfig: SessionConfig) {
    this.#config = sessionConfig;
  }

  /** passes on what a driver can see; the rest it would not report */
  feed(input: PeerEvent): void {
    if (input.kind === 'connected') this.#connected(input.side);
    else if (input.kind === 'timer') this.#timer(input);
    else if (input.kind === 'start' || input.kind === 'stop') this.step(input);
    else if (input.kind === 'disconnected') this.#disconnected(input);
    else if (this.connected.has(input.side)) this.step(input);
  }

  step(input: PeerEvent): void {
    const { state, actions } = stepPeer(this.state, input, this.#config);
    this.state = state;
    for (const action of actions) this.#execute(action);
    this.#check();
  }

  #connected(on: Side): void {
    if (on === 'out') {
      if (!this.isDialling) return;
      this.isDialling = false;
    } else {
      const verdict = acceptsIncoming(this.state, this.#config);
      if (verdict === 'refuse') return;
      if (verdict === 'replace') {
        this.connected.delete('in');
        this.step({ kind: 'disconnected', side: 'in', detail: 'replaced' });
      }
    }
    this.connected.add(on);
    this.step({ kind: 'connected', side: on });
  }

  #disconnected(input: PeerEvent & { readonly kind: 'disconnected' }): void {
    const wasDialling = input.side === 'out' && this.isDialling;
    if (wasDialling) this.isDialling = false;
    else if (!this.connected.delete(input.side)) return;
    this.step(input);
  }

  /** a timer that does not run may fire late: nothing may come of it */
  #timer(input: PeerEvent & { readonly kind: 'timer' }): void {
    const name = 'side' in input ? `${input.side} ${input.timer}` : input.timer;
    if (this.timers.delete(name)) {
      this.step(input);
      return;
    }
    const { state, actions } = stepPeer(this.state, input, this.#config);
    expect(actions, name).to.deep.equal([]);
    expect(state, name).to.deep.equal(this.state);
  }

  #execute(action: PeerAction): void {
    switch (action.kind) {
      case 'connect':
        expect(this.isDialling, 'two dials at once').to.equal(false);
        expect(this.connected.has('out'), 'a dial over a connection').to.equal(false);
        this.isDialling = true;
        break;
      case 'send':
        expect(this.connected.has(action.side), `send on ${action.side}`).to.equal(true);
        break;
      case 'close':
      case 'abort':
        if (action.side === 'out') this.isDialling = false;
        this.connected.delete(action.side);
        break;
      case 'start-timer':
        expect(action.seconds).to.be.greaterThan(0);
        this.timers.add(`${action.side} ${action.timer}`);
        break;
      case 'stop-timer':
        this.timers.delete(`${action.side} ${action.timer}`);
        break;
      case 'start-idle-hold':
        this.timers.add('idle-hold');
        break;
      case 'stop-idle-hold':
        expect(this.timers.delete('idle-hold')).to.equal(true);
        break;
      case 'established':
        expect(this.established.has(action.side), 'up twice').to.equal(false);
        this.established.add(action.side);
        this.sessionsUp += 1;
        break;
      case 'down':
        expect(this.established.delete(action.side)).to.equal(action.wasEstablished);
        break;
    }
  }

  #check(): void {
    const running = timersRunning(this.state).map((one) =>
      'side' in one ? `${one.side} ${one.timer}` : one.timer,
    );
    expect([...this.timers]).to.have.members(running);
    const states = SIDES.filter((s) => this.state[s].kind === 'established');
    expect(states.length).to.be.at.most(1);
    expect([...this.established]).to.deep.equal(states);
  }
}

describe('any sequence of events', () => {
  it('keeps timers, connections and sessions consistent, and ends idle with nothing left after stop', () => {
    let sessions = 0;
    fc.assert(
      fc.property(config, sequence, stop, fc.boolean(), (settings, events, last, isSlow) => {
        const driver = new Driver(settings);
        for (const one of events) driver.feed(one);
        driver.feed(last);
        for (const s of SIDES) {
          driver.feed(
            isSlow ? { kind: 'timer', timer: 'close', side: s } : { kind: 'flushed', side: s },
          );
        }
        expect(peerStateName(driver.state)).to.equal('idle');
        expect([...driver.timers]).to.deep.equal([]);
        expect([...driver.connected]).to.deep.equal([]);
        expect(driver.isDialling).to.equal(false);
        sessions += driver.sessionsUp;
      }),
      { numRuns: 1500 },
    );
    // not a property of events that never get anywhere
    expect(sessions).to.be.greaterThan(500);
  });

  it('survives JSON between any two steps', () => {
    fc.assert(
      fc.property(config, sequence, (settings, events) => {
        let state = initialPeerState();
        let revived: PeerState = initialPeerState();
        for (const one of events) {
          const plain = stepPeer(state, one, settings);
          const again = stepPeer(revived, one, settings);
          expect(again.actions).to.deep.equal(plain.actions);
          state = plain.state;
          revived = JSON.parse(JSON.stringify(again.state));
          expect(revived).to.deep.equal(state);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('is answered in every state, also what no driver would report', () => {
    fc.assert(
      fc.property(config, sequence, (settings, events) => {
        let state = initialPeerState();
        for (const one of events) ({ state } = stepPeer(state, one, settings));
        const after = stepPeer(state, { kind: 'stop', reason: { kind: 'restart' } }, settings);
        expect(['idle', 'closing']).to.include(peerStateName(after.state));
      }),
      { numRuns: 500 },
    );
  });
});
