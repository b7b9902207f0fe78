/**
 * Two peer machines against each other over a tiny network in which every order of deliveries is possible. Each direction of a
 * connection is a queue that begins with "TCP is up"; one move takes the head of one queue, starts a machine, flushes a
 * closing connection or fires a timer. fast-check chooses the moves.
 */

import { expect } from 'chai';
import fc from 'fast-check';
import { survivingSide } from '../../../protocol/bgp/collision.ts';
import type { Message } from '../../../protocol/bgp/message.ts';
import { buildOpen, negotiate } from '../../../protocol/bgp/negotiate.ts';
import {
  acceptsIncoming,
  initialPeerState,
  type PeerState,
  peerStateName,
  stepPeer,
  timersRunning,
} from '../../../protocol/bgp/peer.ts';
import type {
  ConnectionTimer,
  PeerAction,
  PeerEvent,
  SessionConfig,
  Side,
} from '../../../protocol/bgp/session.ts';
import { CONFIG, PEER_CONFIG } from './session-fixtures.ts';

type Item = { readonly kind: 'up' } | { readonly kind: 'end' } | Message;

interface Wire {
  readonly id: number;
  readonly dialler: End;
  /** what is under way to each end; undefined = that end has closed and reads no more */
  readonly to: Map<End, Item[] | undefined>;
}

interface Move {
  readonly name: string;
  readonly run: () => void;
}

class End {
  readonly name: string;
  readonly #network: Network;
  readonly #config: SessionConfig;
  readonly #wires = new Map<Side, Wire>();
  state: PeerState = initialPeerState();
  isStarted = false;
  sessionsUp = 0;

  constructor(name: string, config: SessionConfig, network: Network) {
    this.name = name;
    this.#config = config;
    this.#network = network;
  }

  get stateName(): string {
    return peerStateName(this.state);
  }

  get sessionWire(): number | undefined {
    const side = this.state.out.kind === 'established' ? 'out' : 'in';
    return this.state[side].kind === 'established' ? this.#wires.get(side)?.id : undefined;
  }

  start(): void {
    this.isStarted = true;
    this.step({ kind: 'start' });
  }

  step(event: PeerEvent): void {
    const { state, actions } = stepPeer(this.state, event, this.#config);
    this.state = state;
    for (const action of actions) this.#execute(action);
    const established = [state.out, state.in].filter(({ kind }) => kind === 'established');
    expect(established.length, 'sessions at one end').to.be.at.most(1);
  }

  moves(timers: readonly ConnectionTimer[]): Move[] {
    const flushes = (['out', 'in'] as const)
      .filter((side) => this.state[side].kind === 'closing')
      .map((side) => ({
        name: `${this.name} flushes ${side}`,
        run: () => this.step({ kind: 'flushed', side }),
      }));
    const expiries = timersRunning(this.state).flatMap((running) =>
      running.timer !== 'idle-hold' && timers.includes(running.timer)
        ? [
            {
              name: `${this.name} ${running.side} ${running.timer}`,
              run: () => this.step({ kind: 'timer', ...running }),
            },
          ]
        : [],
    );
    return [...flushes, ...expiries];
  }

  receive(wire: Wire, item: Item): void {
    const side: Side = wire.dialler === this ? 'out' : 'in';
    if (item.kind === 'up' && side === 'in') this.#accept(wire);
    else if (item.kind === 'up') this.step({ kind: 'connected', side });
    else if (item.kind === 'end') {
      this.#release(side);
      this.step({ kind: 'disconnected', side, detail: 'closed by the other end' });
    } else this.step({ kind: 'message', side, message: item });
  }

  #accept(wire: Wire): void {
    const verdict = acceptsIncoming(this.state, this.#config);
    if (verdict === 'refuse') {
      this.#network.end(wire, this, 'abort');
      return;
    }
    if (verdict === 'replace') {
      this.#finish('in', 'abort');
      this.step({ kind: 'disconnected', side: 'in', detail: 'replaced' });
    }
    this.#wires.set('in', wire);
    this.step({ kind: 'connected', side: 'in' });
  }

  #execute(action: PeerAction): void {
    if (action.kind === 'connect') this.#wires.set('out', this.#network.dial(this));
    else if (action.kind === 'send') {
      const wire = this.#wires.get(action.side);
      if (wire === undefined)
        throw new Error(`${this.name} sends on ${action.side}: not connected`);
      this.#network.send(wire, this, action.message);
    } else if (action.kind === 'close' || action.kind === 'abort') {
      this.#finish(action.side, action.kind);
    } else if (action.kind === 'established') this.sessionsUp += 1;
  }

  #finish(side: Side, how: 'close' | 'abort'): void {
    const wire = this.#release(side);
    if (wire !== undefined) this.#network.end(wire, this, how);
  }

  #release(side: Side): Wire | undefined {
    const wire = this.#wires.get(side);
    this.#wires.delete(side);
    wire?.to.set(this, undefined);
    return wire;
  }
}

class Network {
  readonly #wires: Wire[] = [];
  readonly ends: readonly End[];

  constructor(ours: SessionConfig, theirs: SessionConfig) {
    this.ends = [new End('A', ours, this), new End('B', theirs, this)];
  }

  dial(dialler: End): Wire {
    const up: Item = { kind: 'up' };
    const to = new Map<End, Item[] | undefined>(this.ends.map((end) => [end, [up]]));
    const wire: Wire = { id: this.#wires.length, dialler, to };
    this.#wires.push(wire);
    return wire;
  }

  send(wire: Wire, from: End, item: Item): void {
    for (const end of this.ends) if (end !== from) wire.to.get(end)?.push(item);
  }

  /** an abort takes with it what had not arrived; TCP coming up and the end of it are seen all the same */
  end(wire: Wire, from: End, how: 'close' | 'abort'): void {
    wire.to.set(from, undefined);
    for (const end of this.ends) {
      const queue = wire.to.get(end);
      if (end === from || queue === undefined) continue;
      if (how === 'abort') queue.splice(0, queue.length, ...queue.filter((i) => i.kind === 'up'));
      queue.push({ kind: 'end' });
    }
  }

  moves(timers: readonly ConnectionTimer[]): Move[] {
    const starts = this.ends
      .filter((end) => !end.isStarted)
      .map((end) => ({ name: `${end.name} starts`, run: () => end.start() }));
    const deliveries = this.#wires.flatMap((wire) =>
      this.ends.flatMap((end) => {
        const [head] = wire.to.get(end) ?? [];
        if (head === undefined) return [];
        const run = () => {
          wire.to.get(end)?.shift();
          end.receive(wire, head);
        };
        return [{ name: `${end.name} <- ${head.kind} on ${wire.id}`, run }];
      }),
    );
    return [...starts, ...deliveries, ...this.ends.flatMap((end) => end.moves(timers))];
  }

  /** makes the chosen moves, then whatever is left in order; returns what was done */
  run(choices: readonly number[], timers: readonly ConnectionTimer[]): string[] {
    const log: string[] = [];
    for (let turn = 0; turn < 300; turn += 1) {
      const moves = this.moves(turn < choices.length ? timers : ['delay-open']);
      const move = moves[(choices[turn] ?? 0) % Math.max(moves.length, 1)];
      if (move === undefined) return log;
      log.push(move.name);
      move.run();
    }
    throw new Error(`no end in sight:\n${log.join('\n')}`);
  }
}

const graceful = {
  kind: 'graceful-restart',
  restarting: false,
  notification: false,
  restartTimeSeconds: 30,
  families: [{ afi: 1, safi: 1, forwarding: true }],
} as const;

/** Which end has precedence, by identifier or, with equal identifiers, by AS number. */
const identities = fc.constantFrom(
  { ours: { routerId: 1 }, theirs: { routerId: 2 } },
  { ours: { routerId: 2 }, theirs: { routerId: 1 } },
  // unsigned: 192.0.2.1 is larger than 10.0.0.1, though its sign bit is set
  { ours: { routerId: 0xc0000201 }, theirs: { routerId: 0x0a000001 } },
  { ours: { routerId: 7 }, theirs: { routerId: 7 } },
  {
    ours: { routerId: 7, localAsn: 65009, peerAsn: 65002 },
    theirs: { routerId: 7, localAsn: 65002, peerAsn: 65009 },
  },
);

const common = fc.record({
  delayOpenSeconds: fc.constantFrom(0, 4),
  holdTimeSeconds: fc.constantFrom(0, 90),
  capabilities: fc.constantFrom(CONFIG.capabilities, [...CONFIG.capabilities, graceful]),
});

const choices = fc.array(fc.nat(), { maxLength: 60 });

function describeEnds(network: Network): string {
  return network.ends.map((end) => `${end.name} ${JSON.stringify(end.state)}`).join('\n');
}

function expectOneSession(network: Network, log: readonly string[]): void {
  const [a, b] = network.ends.map((end) => end.sessionWire);
  const story = `${log.join('\n')}\n${describeEnds(network)}`;
  expect(a, story).to.be.a('number');
  expect(a, story).to.equal(b);
}

describe('the survivor of a collision', () => {
  const survivor = (ours: Partial<SessionConfig>, theirs: Partial<SessionConfig>) => {
    const config = { ...CONFIG, ...ours, peerAsn: 'external' } as const;
    const open = buildOpen({ ...PEER_CONFIG, ...theirs });
    const result = negotiate(config, buildOpen(config), open);
    if (!result.ok) throw result.fault;
    return survivingSide(result.negotiated);
  };

  it('is the connection dialled by the larger identifier, compared as unsigned', () => {
    expect(survivor({ routerId: 2 }, { routerId: 1 })).to.equal('out');
    expect(survivor({ routerId: 1 }, { routerId: 2 })).to.equal('in');
    expect(survivor({ routerId: 0x80000000 }, { routerId: 0x7fffffff })).to.equal('out');
    expect(survivor({ routerId: 0x7fffffff }, { routerId: 0x80000000 })).to.equal('in');
  });

  it('is the connection dialled by the larger AS if the identifiers are equal (RFC 6286)', () => {
    expect(survivor({ routerId: 7, localAsn: 2 }, { routerId: 7, localAsn: 1 })).to.equal('out');
    expect(survivor({ routerId: 7, localAsn: 1 }, { routerId: 7, localAsn: 2 })).to.equal('in');
    expect(survivor({ routerId: 7, localAsn: 1 }, { routerId: 7, localAsn: 4200000000 })).to.equal(
      'in',
    );
  });
});

describe('two speakers that dial each other', () => {
  it('end with exactly one session, the same on both ends, in any order of events and without a retry', () => {
    const seenBoth = new Set<boolean>();
    fc.assert(
      fc.property(identities, common, choices, (identity, settings, order) => {
        const network = new Network(
          { ...CONFIG, ...settings, ...identity.ours },
          { ...PEER_CONFIG, ...settings, ...identity.theirs },
        );
        for (const end of network.ends) end.start();
        const log = network.run(order, ['delay-open']);
        expectOneSession(network, log);
        // every attempt but the surviving one is over: nothing is left that could disturb it
        expect(network.moves(['delay-open']), log.join('\n')).to.deep.equal([]);
        seenBoth.add(log.some((line) => line.includes('notification')));
      }),
      { numRuns: 1000 },
    );
    // the property would be empty if the orders never led to a collision, or always did
    expect(seenBoth.size).to.equal(2);
  });

  it('end with one session also if they start at any time and dial again at any time', () => {
    fc.assert(
      fc.property(identities, common, choices, (identity, settings, order) => {
        const network = new Network(
          { ...CONFIG, ...settings, ...identity.ours },
          { ...PEER_CONFIG, ...settings, ...identity.theirs },
        );
        const log = network.run(order, ['delay-open', 'connect-retry']);
        for (let retry = 0; retry < 4 && !isUp(network); retry += 1) {
          log.push(...network.run([0], ['connect-retry']));
        }
        expectOneSession(network, log);
      }),
      { numRuns: 1000 },
    );
  });

  it('need one dial if one of them is passive', () => {
    fc.assert(
      fc.property(identities, common, choices, (identity, settings, order) => {
        const network = new Network(
          { ...CONFIG, ...settings, ...identity.ours },
          { ...PEER_CONFIG, ...settings, ...identity.theirs, passive: true },
        );
        for (const end of network.ends) end.start();
        const log = network.run(order, ['delay-open']);
        expectOneSession(network, log);
        expect(network.ends.map((end) => end.sessionsUp)).to.deep.equal([1, 1]);
      }),
      { numRuns: 300 },
    );
  });

  it('keep the session of the one that dialled first when the other comes later', () => {
    const network = new Network(CONFIG, PEER_CONFIG);
    const log = network.run([], []);
    expectOneSession(network, log);
    expect(log[0]).to.equal('A starts');
  });
});

function isUp(network: Network): boolean {
  return network.ends.every((end) => end.stateName === 'established');
}
