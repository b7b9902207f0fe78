/**
 * Many neighbours, one set of wishes. `apply()` makes the neighbours and their routes what `desired` says and touches
 * nothing that has not changed: a change of one neighbour never disturbs another's session.
 *
 * The speaker dials, and listens where it is told to. A port that is taken is an event and a retry; dialling goes on. Neighbours
 * by range, that come and go with their connections, are in dynamic-peers.ts.
 */

import type { ReceivedRoute } from '../bgp/adj-rib-in.ts';
import { CeaseSubcode } from '../bgp/codes.ts';
import type { Route } from '../bgp/route.ts';
import type { StopReason } from '../bgp/session.ts';
import type { Clock, Timer } from '../io/clock.ts';
import { unmapAddress } from '../io/endpoint.ts';
import type { InterfaceAddresses } from '../io/interface-addresses.ts';
import type { Random } from '../io/random.ts';
import {
  type Connection,
  type ConnectionHandlers,
  type Endpoint,
  type Listener,
  type ListenOptions,
  type Transport,
  TransportError,
} from '../io/transport.ts';
import { addressKey, prefixKey } from '../net/address.ts';
import { type RefusedSettings, sortSettings } from './check-settings.ts';
import { type Admission, type DesiredRange, DynamicPeers } from './dynamic-peers.ts';
import { eachApart } from './each-apart.ts';
import type { PeerStatus, SpeakerEvent } from './events.ts';
import { PeerDriver } from './peer-driver.ts';
import type { PeerWorld } from './peer-world.ts';
import { RestartWindow } from './restart-window.ts';
import { needsNewSession, type PeerSettings } from './settings.ts';
import { socketOptions } from './socket-options.ts';

export interface SpeakerOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly transport: Transport;
  /** addresses beside a local one, for "next hop self" of the other family; `resolveLocalAddresses` is the real one */
  readonly interfaceAddresses: (local: Endpoint) => InterfaceAddresses | undefined;
  /** absent = dial only */
  readonly listen?: ListenOptions;
  /** this process comes back from a planned restart: tell neighbours so (R bit of RFC 4724) */
  readonly restarting?: boolean;
}

export interface DesiredPeer {
  readonly settings: PeerSettings;
  /** everything this neighbour should have from us */
  readonly routes: Iterable<Route>;
  /**
   * What is known of it so far, after a restart: End-of-RIB, at which a neighbour drops what it has kept for us and was not told again, waits for
   * wishes that are not partial.
   */
  readonly isPartial?: boolean;
}

export interface Desired {
  readonly peers: readonly DesiredPeer[];
  /** neighbours that are not known by address: who dials from there is one; the speaker must listen */
  readonly ranges?: readonly DesiredRange[];
}

/** What is wished for, in copies that are the speaker's own. */
type Wishes = Required<Desired>;

export type SpeakerStop =
  /** going away: withdraw, for at most `deadlineMs` (5 s), then Cease/Administrative Shutdown with this text (RFC 9003) */
  | { readonly kind: 'shutdown'; readonly text?: string; readonly deadlineMs?: number }
  /** no time is left: the same Cease, handed to the kernel before this call returns, and nothing in front of it */
  | { readonly kind: 'at-once'; readonly text?: string }
  /** coming back soon: close without a NOTIFICATION so that neighbours keep our routes (RFC 4724) */
  | { readonly kind: 'restart' };

const LISTEN_RETRY_MS = 5000;
const WITHDRAW_DEADLINE_MS = 5000;

/**
 * A speaker on any clock and transport; `createSpeaker` makes one on this machine's.
 *
 * @example
 * const speaker = new Speaker({ clock, random, transport: network.host(ipv4('192.0.2.1')), interfaceAddresses: () => undefined });
 * await speaker.start();
 * speaker.apply({ peers: [{ settings, routes: [] }] });
 * await speaker.stop({ kind: 'shutdown', deadlineMs: 1000 });
 */
export class Speaker {
  readonly #options: SpeakerOptions;
  readonly #peers = new Map<string, PeerDriver>();
  readonly #dynamic: DynamicPeers;
  readonly #restart: RestartWindow;
  /** neighbours that were removed and are still saying goodbye */
  readonly #leaving = new Set<Promise<void>>();
  readonly #subscribers = new Set<(event: SpeakerEvent) => void>();
  /** addresses and ranges whose options the listener could not be given: who comes from there would come without the key */
  readonly #unguarded = new Set<string>();
  /** the wishes that came last and have not been looked at yet */
  #wishes: Wishes | undefined;
  #isApplying = false;
  #listener: Listener | undefined;
  #listenTimer: Timer | undefined;
  #stopping = false;
  #isListening = false;

  constructor(options: SpeakerOptions) {
    this.#options = options;
    this.#restart = new RestartWindow(options.clock, options.restarting === true);
    this.#dynamic = new DynamicPeers(this.#world());
  }

  /** resolves after the first attempt to listen; failing to is an event, not an error */
  async start(): Promise<void> {
    if (this.#options.listen !== undefined) await this.listen(this.#options.listen);
  }

  /** Listens from now on, if it does not yet; like `start`, resolves after the first attempt. */
  async listen(options: ListenOptions): Promise<void> {
    if (this.#isListening) return;
    this.#isListening = true;
    await this.#listen(options);
  }

  /** events come from the event loop, in order; returns how to end the subscription */
  subscribe(onEvent: (event: SpeakerEvent) => void): () => void {
    this.#subscribers.add(onEvent);
    return () => this.#subscribers.delete(onEvent);
  }

  /**
   * Idempotent: the same wishes twice send nothing. Settings that cannot be had are refused, one by one: such a neighbour has no session, and
   * all others are as wished. What is wished from within an event replaces what is being applied.
   */
  apply(desired: Desired): readonly RefusedSettings[] {
    if (this.#stopping) return [];
    const { peers, ranges, refused } = sortSettings(desired.peers, desired.ranges);
    this.#wishes = {
      peers: peers.map((peer) => ({ ...peer, settings: own(peer.settings) })),
      ranges: ranges.map((each) => ({
        ...each,
        settings: structuredClone(each.settings),
        // read once for each neighbour that comes
        routes: [...each.routes],
      })),
    };
    if (this.#isApplying) return refused;
    this.#isApplying = true;
    try {
      while (this.#wishes !== undefined && !this.#stopping) this.#applyLatest(this.#wishes);
    } finally {
      this.#isApplying = false;
      this.#wishes = undefined;
    }
    return refused;
  }

  /** what this neighbour has announced; empty unless its settings say `inbound: { kind: 'keep' }` */
  receivedRoutes(peer: string): readonly ReceivedRoute[] {
    const driver = this.#peers.get(peer) ?? this.#dynamic.driver(peer);
    return [...(driver?.receivedRoutes() ?? [])];
  }

  status(): readonly PeerStatus[] {
    return this.#drivers().map((driver) => driver.status());
  }

  async stop(how: SpeakerStop): Promise<void> {
    this.#stopping = true;
    this.#listenTimer?.cancel();
    const drivers = this.#drivers();
    if (how.kind === 'shutdown') {
      const left = Promise.all(drivers.map((driver) => driver.leave()));
      await this.#within(how.deadlineMs ?? WITHDRAW_DEADLINE_MS, left);
    }
    const reason = stopReason(how);
    await Promise.all(drivers.map((driver) => driver.stop(reason)));
    await Promise.all([...this.#leaving, this.#dynamic.left()]);
    this.#peers.clear();
    this.#dynamic.clear();
    await this.#listener?.close();
  }

  /** every step may tell an event, and whoever hears it may wish for something else, or stop us */
  #applyLatest({ peers, ranges }: Wishes): void {
    this.#wishes = undefined;
    const isOutdated = () => this.#wishes !== undefined || this.#stopping;
    const wanted = new Map(peers.map((peer) => [peer.settings.name, peer]));
    this.#rename(wanted);
    const takes = (remote: Endpoint) => peers.some(({ settings }) => isFrom(remote, settings));
    const steps = [
      () => eachApart([...this.#peers.values()], (driver) => this.#removeUnless(driver, wanted)),
      () => this.#applyRanges(ranges),
      () => this.#dynamic.apply(ranges, takes, isOutdated),
      () => eachApart(peers, (peer) => isOutdated() || this.#applyPeer(peer)),
    ];
    eachApart(steps, (step) => isOutdated() || step());
  }

  #removeUnless(driver: PeerDriver, wanted: ReadonlyMap<string, DesiredPeer>): void {
    if (this.#wishes !== undefined || this.#stopping) return;
    const peer = wanted.get(driver.settings.name);
    if (peer === undefined) this.#remove(driver, CeaseSubcode.peerDeconfigured);
    else if (needsNewSession(driver.settings, peer.settings)) {
      this.#remove(driver, CeaseSubcode.otherConfigurationChange);
    }
  }

  /** The same session under another name goes on: a name is nothing that the neighbour knows of. */
  #rename(wanted: ReadonlyMap<string, DesiredPeer>): void {
    const isNew = ({ settings }: DesiredPeer) => !this.#peers.has(settings.name);
    for (const [name, driver] of [...this.#peers]) {
      if (wanted.has(name)) continue;
      const heir = [...wanted.values()].find(
        (peer) => isNew(peer) && !needsNewSession(driver.settings, { ...peer.settings, name }),
      );
      if (heir === undefined) continue;
      this.#peers.delete(name);
      this.#peers.set(heir.settings.name, driver);
      driver.setSettings(heir.settings);
      this.#emit({ kind: 'removed', peer: name, newName: heir.settings.name });
    }
  }

  /** what the listener asks of whom */
  #applyRanges(ranges: readonly DesiredRange[]): void {
    const wanted = new Set(ranges.map(({ range }) => prefixKey(range)));
    for (const { range } of this.#dynamic.ranges) {
      const key = prefixKey(range);
      if (!wanted.has(key)) this.#guard(key, (listener) => listener.clearRangeOptions(range));
    }
    for (const range of ranges) this.#setRangeOptions(range);
  }

  #applyPeer(peer: DesiredPeer): void {
    const driver = this.#peers.get(peer.settings.name);
    if (driver !== undefined) {
      driver.setSettings(peer.settings);
      driver.setRoutes(peer.routes, peer.isPartial);
      return;
    }
    const added = new PeerDriver(peer.settings, this.#world());
    this.#peers.set(peer.settings.name, added);
    this.#setListenOptions(peer.settings);
    added.setRoutes(peer.routes, peer.isPartial);
    added.start();
  }

  #world(): PeerWorld {
    const { clock, random, transport } = this.#options;
    const emit = (event: SpeakerEvent) => this.#emit(event);
    const interfaceAddresses = (local: Endpoint) =>
      this.#aside(() => this.#options.interfaceAddresses(local));
    return { clock, random, transport, interfaceAddresses, emit, restart: this.#restart };
  }

  #drivers(): readonly PeerDriver[] {
    return [...this.#peers.values(), ...this.#dynamic.drivers()];
  }

  #remove(driver: PeerDriver, subcode: number): void {
    this.#peers.delete(driver.settings.name);
    this.#forgetListenOptions(driver.settings);
    const gone = driver.stop({ kind: 'cease', subcode });
    this.#leaving.add(gone);
    void gone.then(() => {
      this.#leaving.delete(gone);
      const { name: peer } = driver.settings;
      if (!this.#peers.has(peer)) this.#emit({ kind: 'removed', peer });
    });
  }

  #forgetListenOptions(gone: PeerSettings): void {
    if (!accepts(gone)) return;
    const key = addressKey(gone.address);
    this.#guard(key, (listener) => listener.clearPeerOptions(gone.address));
    // another neighbour on the same address (other port, other source) keeps its key
    for (const { settings } of this.#peers.values()) {
      if (addressKey(settings.address) === key) this.#setListenOptions(settings);
    }
  }

  #setListenOptions(settings: PeerSettings): void {
    if (!accepts(settings)) return;
    const options = socketOptions(settings);
    const key = addressKey(settings.address);
    this.#guard(key, (listener) => listener.setPeerOptions(settings.address, options));
  }

  #setRangeOptions({ range, settings }: DesiredRange): void {
    const options = socketOptions(settings);
    this.#guard(prefixKey(range), (listener) => listener.setRangeOptions(range, options));
  }

  /** What cannot be had is one neighbour's trouble: it is told, and nobody comes in from there until it can. */
  #guard(key: string, change: (listener: Listener) => void): void {
    if (this.#listener === undefined) return;
    try {
      change(this.#listener);
      this.#unguarded.delete(key);
    } catch (error) {
      if (!(error instanceof TransportError)) throw error;
      this.#unguarded.add(key);
      this.#emit({ kind: 'accept-failed', error });
    }
  }

  async #listen(options: ListenOptions): Promise<void> {
    try {
      const onError = (error: TransportError) => this.#emit({ kind: 'accept-failed', error });
      const listener = await this.#options.transport.listen({ onError, ...options }, (connection) =>
        this.#accept(connection),
      );
      if (this.#stopping) return await listener.close();
      this.#listener = listener;
      for (const { settings } of this.#peers.values()) this.#setListenOptions(settings);
      for (const range of this.#dynamic.ranges) this.#setRangeOptions(range);
      this.#emit({ kind: 'listening', local: listener.local });
    } catch (error) {
      if (!(error instanceof TransportError)) throw error;
      if (this.#stopping) return;
      this.#emit({ kind: 'listen-failed', error, retryInMs: LISTEN_RETRY_MS });
      this.#listenTimer = this.#options.clock.startTimer(LISTEN_RETRY_MS, () => {
        void this.#listen(options);
      });
    }
  }

  #accept(connection: Connection): ConnectionHandlers | undefined {
    const { remote } = connection;
    const isGuarded = !this.#unguarded.has(addressKey(remote.address));
    let isKnown = false;
    for (const driver of this.#peers.values()) {
      const { settings } = driver;
      if (!isFrom(remote, settings)) continue;
      isKnown = true;
      if (!isGuarded || !accepts(settings)) continue;
      const handlers = driver.accept(connection);
      if (handlers !== undefined) return handlers;
    }
    const admission = isKnown ? undefined : this.#admit(connection);
    if (admission?.ok === true) return admission.handlers;
    const detail = admission?.detail === undefined ? {} : { detail: admission.detail };
    this.#emit({ kind: 'connection-refused', remote, ...detail });
    return undefined;
  }

  /** of nobody that was listed: it may belong to a range */
  #admit(connection: Connection): Admission | undefined {
    const range = this.#dynamic.rangeOf(connection.remote.address);
    if (range === undefined || this.#stopping) return undefined;
    if (this.#unguarded.has(prefixKey(range.range))) return undefined;
    return this.#dynamic.accept(connection, range);
  }

  #emit(event: SpeakerEvent): void {
    for (const subscriber of this.#subscribers) this.#aside(() => subscriber(event));
  }

  /** The mistake of another's function is its owner's to hear of, and must not tear a session that is in the middle of something. */
  #aside<T>(call: () => T): T | undefined {
    try {
      return call();
    } catch (error) {
      this.#options.clock.startTimer(0, () => {
        throw error;
      });
      return undefined;
    }
  }

  /** waits for `work`, but not longer than the deadline */
  #within(deadlineMs: number, work: Promise<unknown>): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#options.clock.startTimer(deadlineMs, resolve);
      void work.then(() => {
        timer.cancel();
        resolve();
      });
    });
  }
}

function stopReason(how: SpeakerStop): StopReason {
  if (how.kind === 'restart') return how;
  const text = how.text === undefined ? {} : { text: how.text };
  return { kind: 'cease', subcode: CeaseSubcode.administrativeShutdown, ...text };
}

function accepts(settings: PeerSettings): boolean {
  return settings.listen === true || settings.passive === true;
}

/** fe80::1 on eth0 is another neighbour than fe80::1 on eth1 */
function isFrom(remote: Endpoint, { address, zone }: PeerSettings): boolean {
  if (addressKey(address) !== addressKey(remote.address)) return false;
  return zone === undefined || remote.zone === undefined || zone === remote.zone;
}

/** A copy that the caller cannot change under us, or every later comparison would be of the settings with themselves. */
function own(settings: PeerSettings): PeerSettings {
  const copy = structuredClone(settings);
  const { address, sourceAddress } = copy;
  return {
    ...copy,
    address: unmapAddress(address),
    ...(sourceAddress === undefined ? {} : { sourceAddress: unmapAddress(sourceAddress) }),
  };
}
