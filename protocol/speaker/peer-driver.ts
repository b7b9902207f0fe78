/**
 * Runs one neighbour: executes what the session machine says, on real timers and connections, and feeds it what happens.
 * Protocol decisions are in bgp/peer.ts, routes in route-sender.ts. What is here is glue:
 *   bytes -> Wire -> message -> stepPeer -> actions -> Wire, timers, RouteSender, events
 */

import { AdjRibIn, type ReceivedRoute } from '../bgp/adj-rib-in.ts';
import { BgpFault, type Issue } from '../bgp/error.ts';
import type { Message, UpdateMessage } from '../bgp/message.ts';
import type { Negotiated } from '../bgp/negotiate.ts';
import { ofFamilies } from '../bgp/of-families.ts';
import type { SessionView } from '../bgp/pack.ts';
import {
  acceptsIncoming,
  initialPeerState,
  type PeerState,
  peerStateName,
  stepPeer,
} from '../bgp/peer.ts';
import type { Route } from '../bgp/route.ts';
import type {
  ConnectionStateName,
  PeerAction,
  PeerEvent,
  SessionConfig,
  Side,
  StopReason,
} from '../bgp/session.ts';
import type { InterfaceAddresses } from '../io/interface-addresses.ts';
import type { Connection, ConnectionHandlers } from '../io/transport.ts';
import { describeDown, nameLikelyReason } from './describe-down.ts';
import { disconnection } from './disconnection.ts';
import { EndWatch } from './end-watch.ts';
import type { PeerStatus } from './events.ts';
import { sessionNextHops, steadyAddresses } from './next-hops.ts';
import { notificationFacts } from './notification-facts.ts';
import { PeerTally } from './peer-tally.ts';
import type { PeerWorld } from './peer-world.ts';
import { RouteSender } from './route-sender.ts';
import { type PeerSettings, sessionConfig } from './settings.ts';
import { dialOptions } from './socket-options.ts';
import { delayMs, TimerTable } from './timer-table.ts';
import { Wire } from './wire.ts';

interface Session {
  readonly side: Side;
  readonly negotiated: Negotiated;
  /** of its interface; those in front are in use */
  addresses?: InterfaceAddresses | undefined;
}

const REFUSED_SHOWN = 10;

export class PeerDriver {
  readonly #world: PeerWorld;
  readonly #timers: TimerTable;
  readonly #routes: RouteSender;
  readonly #received: AdjRibIn;
  readonly #tally = new PeerTally();
  readonly #events: PeerEvent[] = [];
  readonly #idleWaiters: (() => void)[] = [];
  readonly #wires: Record<Side, Wire | undefined> = { out: undefined, in: undefined };
  /** connections that are being closed */
  readonly #leaving = new Set<Wire>();
  readonly #endWatch: EndWatch;
  #settings: PeerSettings;
  #config: SessionConfig;
  #machine: PeerState = initialPeerState();
  #state: ConnectionStateName = 'idle';
  #sinceMs: number;
  #session: Session | undefined;
  #lastError: string | undefined;
  #isDispatching = false;

  constructor(settings: PeerSettings, world: PeerWorld) {
    this.#settings = settings;
    this.#world = world;
    this.#config = this.#configNow();
    this.#received = new AdjRibIn(settings.inbound);
    this.#timers = new TimerTable(world.clock);
    this.#routes = new RouteSender(world.clock, () => this.#onSynced());
    this.#sinceMs = world.clock.wallTimeMs();
    this.#endWatch = new EndWatch(world, () => this.#settings.name);
  }

  get settings(): PeerSettings {
    return this.#settings;
  }

  start(): void {
    this.#dispatch({ kind: 'start' });
  }

  /** resolves when the neighbour has been told and no connection is left */
  stop(reason: StopReason): Promise<void> {
    const gone = new Promise<void>((resolve) => this.#idleWaiters.push(resolve));
    this.#dispatch({ kind: 'stop', reason });
    return gone;
  }

  /** the whole set that this neighbour should have; only the difference is sent */
  setRoutes(routes: Iterable<Route>, isPartial?: boolean): void {
    this.#routes.setRoutes(routes, isPartial);
  }

  /** what can change under a running session; the caller has seen to it that nothing else differs */
  setSettings(settings: PeerSettings): void {
    const isRenamed = settings.name !== this.#settings.name;
    this.#settings = settings;
    this.#config = this.#configNow();
    if (this.#session !== undefined) this.#routes.updateSession(this.#view(this.#session));
    if (isRenamed) this.#routes.tellAgain();
  }

  /** withdraws everything and resolves when that has arrived at the neighbour's kernel, or the session is gone */
  leave(): Promise<void> {
    this.#routes.leave();
    return this.#routes.synced();
  }

  /** a connection that this neighbour dialled; undefined = refused */
  accept(connection: Connection): ConnectionHandlers | undefined {
    const verdict = acceptsIncoming(this.#machine, this.#config);
    if (verdict === 'refuse') return undefined;
    if (verdict === 'replace') {
      this.#release('in')?.abort();
      this.#dispatch({ kind: 'disconnected', side: 'in', detail: 'replaced by a new connection' });
    }
    if (this.#wires.in !== undefined) return undefined;
    this.#config = this.#configNow();
    const wire = this.#newWire('in');
    wire.attach(connection);
    this.#dispatch({ kind: 'connected', side: 'in' });
    return wire;
  }

  /** the neighbour's routes that are held; none unless the settings keep them */
  receivedRoutes(): Iterable<ReceivedRoute> {
    return this.#received.routes();
  }

  status(): PeerStatus {
    const connection = this.#session && this.#wires[this.#session.side]?.connection;
    return {
      name: this.#settings.name,
      state: this.#state,
      sinceMs: this.#sinceMs,
      ...(this.#session === undefined ? {} : { negotiated: this.#session.negotiated }),
      ...(connection === undefined ? {} : { local: connection.local, remote: connection.remote }),
      ...this.#routes.progress,
      ...(this.#lastError === undefined ? {} : { lastError: this.#lastError }),
      routesHeld: this.#received.routeCount,
      counters: this.#tally.counters(
        [this.#wires.out, this.#wires.in],
        this.#session && this.#received.counters,
      ),
    };
  }

  /** events that come up while actions are executed wait their turn: the machine sees one at a time */
  #dispatch(event: PeerEvent): void {
    this.#events.push(event);
    if (this.#isDispatching) return;
    this.#isDispatching = true;
    try {
      for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift()) {
        const { state, actions } = stepPeer(this.#machine, next, this.#config);
        this.#machine = state;
        for (const action of actions) this.#execute(action);
        this.#noteTransition();
      }
    } finally {
      this.#isDispatching = false;
    }
    this.#checkIdle();
  }

  #noteTransition(): void {
    const to = peerStateName(this.#machine);
    if (to === this.#state) return;
    const from = this.#state;
    this.#state = to;
    this.#sinceMs = this.#world.clock.wallTimeMs();
    this.#world.emit({ kind: 'transition', peer: this.#settings.name, from, to });
  }

  #execute(action: PeerAction): void {
    switch (action.kind) {
      case 'connect':
        this.#dial();
        break;
      case 'send':
        this.#send(action.side, action.message);
        break;
      case 'close':
        this.#release(action.side)?.close();
        break;
      case 'abort':
        this.#release(action.side)?.abort();
        break;
      case 'start-timer':
        this.#startTimer(action);
        break;
      case 'stop-timer':
        this.#timers.stop(`${action.side} ${action.timer}`);
        break;
      case 'start-idle-hold':
        this.#timers.start('idle-hold', delayMs(action, this.#world.random), () =>
          this.#dispatch({ kind: 'timer', timer: 'idle-hold' }),
        );
        break;
      case 'stop-idle-hold':
        this.#timers.stop('idle-hold');
        break;
      case 'established':
        this.#established(action.side, action.negotiated);
        break;
      case 'down':
        this.#down(action);
        break;
    }
  }

  #startTimer(action: PeerAction & { readonly kind: 'start-timer' }): void {
    const { side, timer } = action;
    this.#timers.start(`${side} ${timer}`, delayMs(action, this.#world.random), () =>
      this.#dispatch({ kind: 'timer', timer, side }),
    );
  }

  #configNow(): SessionConfig {
    const restarting = this.#world.restart.isOpen(this.#settings);
    return sessionConfig(this.#settings, { restarting });
  }

  #dial(): void {
    this.#config = this.#configNow();
    const wire = this.#newWire('out');
    const options = dialOptions(this.#settings, this.#config.connectRetrySeconds);
    wire.attach(this.#world.transport.dial(options, wire));
  }

  #newWire(side: Side): Wire {
    const wire: Wire = new Wire({
      onConnected: () => this.#dispatch({ kind: 'connected', side }),
      onMessage: (message, issues) => this.#onMessage(side, message, issues),
      onFault: (fault) => this.#onFault(side, fault),
      onProgress: () => this.#onProgress(side),
      onDrain: () => this.#onDrain(side),
      onDisconnected: (error) => {
        this.#endWatch.closed(wire);
        if (this.#leaving.delete(wire)) return this.#checkIdle();
        this.#release(side);
        this.#leaving.delete(wire);
        this.#dispatch({ kind: 'disconnected', side, ...disconnection(error) });
      },
    });
    this.#release(side)?.abort();
    this.#wires[side] = wire;
    return wire;
  }

  /** The machine is done with this connection: what it does from here on is not reported, only waited for. */
  #release(side: Side): Wire | undefined {
    const wire = this.#wires[side];
    if (wire === undefined) return undefined;
    this.#tally.keepTraffic(wire);
    this.#wires[side] = undefined;
    this.#leaving.add(wire);
    return wire;
  }

  #send(side: Side, message: Message): void {
    this.#wires[side]?.send(message);
    if (message.kind === 'notification') {
      this.#tally.notificationsSent += 1;
      const facts = notificationFacts(this.#settings.name, message);
      this.#world.emit({ kind: 'notification-sent', ...facts });
    }
    this.#checkFlushed(side);
  }

  /** tells the machine when nothing is left between us and the kernel, which is what `closing` waits for */
  #checkFlushed(side: Side): void {
    if (this.#wires[side]?.connection?.bufferedBytes !== 0) return;
    this.#dispatch({ kind: 'flushed', side });
  }

  #onProgress(side: Side): void {
    this.#dispatch({ kind: 'progress', side });
    this.#checkFlushed(side);
    if (this.#session?.side === side) this.#routes.pump();
  }

  #onDrain(side: Side): void {
    this.#checkFlushed(side);
    if (this.#session?.side === side) this.#routes.drained();
  }

  #onMessage(side: Side, message: Message, issues: readonly Issue[]): void {
    const peer = this.#settings.name;
    for (const issue of issues) this.#world.emit({ kind: 'update-issue', peer, issue });
    if (message.kind === 'notification') {
      this.#tally.notificationsReceived += 1;
      this.#world.emit({ kind: 'notification-received', ...notificationFacts(peer, message) });
    }
    this.#dispatch({ kind: 'message', side, message });
    if (this.#session?.side !== side) return;
    if (message.kind === 'update') this.#onUpdate(side, message);
    if (message.kind !== 'route-refresh') return;
    // RFC 7313: a mark around a refresh of the neighbour's own, a request of ours, or unknown and ignored
    const prefixes = this.#received.refresh(message);
    if (prefixes.length > 0) this.#world.emit({ kind: 'routes-not-refreshed', peer, prefixes });
    if (message.subtype !== 0) return;
    const family = { afi: message.afi, safi: message.safi };
    this.#world.emit({ kind: 'refresh-requested', peer, family });
    this.#routes.refresh(family);
  }

  #onUpdate(side: Side, sent: UpdateMessage): void {
    const result = this.#received.update(sent);
    const update = ofFamilies(sent, this.#session?.negotiated.families ?? []);
    this.#world.emit({ kind: 'update-received', peer: this.#settings.name, update });
    if (result.kind === 'accepted') return;
    const detail = 'the neighbour announced more routes than it may';
    const fault = new BgpFault({ ...result.notification, detail });
    this.#dispatch({ kind: 'fault', side, fault });
  }

  #onFault(side: Side, fault: BgpFault): void {
    this.#tally.faults += 1;
    if (fault.outcome === 'reset') {
      this.#dispatch({ kind: 'fault', side, fault });
      return;
    }
    // the routes are gone, the session stays: for the machine it was an UPDATE like any other (RFC 7606 §2)
    const message: UpdateMessage = { kind: 'update', withdrawn: [], attributes: {}, nlri: [] };
    this.#dispatch({ kind: 'message', side, message });
    this.#received.treatAsWithdraw(fault.withdrawn);
    this.#world.emit({ kind: 'update-fault', peer: this.#settings.name, fault });
  }

  #established(side: Side, negotiated: Negotiated): void {
    const wire = this.#wires[side];
    if (wire?.connection === undefined) return;
    const session: Session = { side, negotiated };
    this.#session = session;
    this.#tally.establishedCount += 1;
    this.#lastError = undefined;
    wire.negotiated(negotiated);
    this.#received.established(negotiated);
    const { local, remote } = wire.connection;
    const facts = { peer: this.#settings.name, side, local, remote, negotiated };
    this.#world.emit({ kind: 'established', ...facts });
    this.#routes.begin(wire, this.#view(session));
  }

  #view(session: Session): SessionView {
    const { negotiated, side } = session;
    const local = this.#wires[side]?.connection?.local;
    if (local === undefined) return { negotiated, nextHops: {} };
    const now = this.#world.interfaceAddresses(local);
    session.addresses = steadyAddresses(session.addresses, now);
    const { nextHop = {}, extendedNextHop } = this.#settings;
    const own = session.addresses;
    return { negotiated, nextHops: sessionNextHops(nextHop, local.address, own, extendedNextHop) };
  }

  #onSynced(): void {
    // the neighbour has our End-of-RIB: a restart is over (RFC 4724 §4.1)
    if (!this.#routes.isPartial) this.#world.restart.close(this.#settings);
    this.#config = this.#configNow();
    const peer = this.#settings.name;
    const refused = this.#routes.refused;
    if (refused.length > 0) {
      const first = refused.slice(0, REFUSED_SHOWN);
      this.#world.emit({ kind: 'routes-refused', peer, count: refused.length, first });
    }
    this.#world.emit({ kind: 'routes-synced', peer, routes: this.#routes.advertised });
  }

  #down(action: PeerAction & { readonly kind: 'down' }): void {
    if (this.#session?.side === action.side) {
      this.#session = undefined;
      this.#routes.end();
      this.#tally.keepReceived(this.#received.counters);
      this.#received.down();
    }
    const { wasEstablished } = action;
    const hasKey = this.#settings.password !== undefined;
    const reason = wasEstablished ? action.reason : nameLikelyReason(action.reason, hasKey);
    // the end of a second connection is no error of the session that stands
    if (this.#session === undefined && reason.kind !== 'stopped')
      this.#lastError = describeDown(reason);
    this.#world.emit({ kind: 'down', peer: this.#settings.name, wasEstablished, reason });
    if (wasEstablished) this.#endWatch.begin(reason, this.#wires[action.side]);
  }

  #checkIdle(): void {
    if (this.#isDispatching || this.#state !== 'idle' || this.#leaving.size > 0) return;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }
}
