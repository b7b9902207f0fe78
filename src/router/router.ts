/**
 * A small BGP router: listens for neighbours from given ranges, keeps what they announce, chooses, and, where it has a kernel's
 * table, installs. It announces nothing. The shell around rib.ts (choice), install.ts (kernel) and a Speaker of bgp-ts (sessions).
 *
 * What changes is gathered for one turn of the clock before it acts: an UPDATE that takes a neighbour over its limit is told before
 * the session ends, and a burst of UPDATEs, or the end of all sessions at once, costs one look per prefix. One turn looks at so
 * many paths and no more.
 */

import {
  type Address,
  addressEquals,
  type Clock,
  type DesiredRange,
  describeDown,
  type Endpoint,
  formatAddress,
  formatPrefix,
  formatRouterId,
  type ListenOptions,
  type PeerStatus,
  type Prefix,
  type Speaker,
  type SpeakerEvent,
  type Timer,
  type UpdateMessage,
} from 'bgp-ts';
import type { RouteTable } from '../linux/route-table.ts';
import type { PeerView, RouterEvent, RouteView } from './events.ts';
import { RouteSync } from './install.ts';
import { Rib, type RibNextHop, type RibRoute } from './rib.ts';

export interface RouterSettings {
  readonly listen: ListenOptions;
  readonly asn: number;
  /** BGP identifier as an unsigned 32-bit number */
  readonly routerId: number;
  /** who may be a neighbour, by address */
  readonly neighborRanges: readonly Prefix[];
  /** and by AS number; `external` is any but ours */
  readonly neighborAsn: number | 'any' | 'external';
  /** most prefixes of one neighbour, both families together; absent = no limit */
  readonly maxPrefixes?: number;
  /** 0 = neighbours never expire */
  readonly holdSeconds: number;
  /** TCP-MD5 key of all neighbours */
  readonly password?: string;
  /** most neighbours at a time per range; default 100 */
  readonly neighborLimit?: number;
}

export interface RouterWorld {
  readonly clock: Clock;
  readonly createSpeaker: (listen: ListenOptions) => Speaker;
  /** an address of this machine: no next hop for its own kernel */
  readonly isOwnAddress: (address: Address) => boolean;
  /** absent = nothing is installed */
  readonly kernel?: {
    readonly table: RouteTable;
    /** tells when a link or an address may have changed; the result ends it */
    readonly watch: (onChange: () => void) => () => void;
  };
}

/** Where the port is taken, or the kernel does not let us: a sentence for the user. */
export class RouterError extends Error {
  constructor(sentence: string, options?: ErrorOptions) {
    super(sentence, options);
    this.name = 'RouterError';
  }
}

/** A neighbour that exceeded its limit, or is of the wrong AS, waits this long, and twice as long each time. */
const IDLE_HOLD = { idleHoldSeconds: 5, idleHoldMaximumSeconds: 60 } as const;
const GOODBYE_MS = 1000;
/** of the routes of one UPDATE */
const REJECTED_SHOWN = 3;
/** in one turn; what is left waits for the next one */
const TURN_PATHS = 10_000;

interface Ended {
  readonly event: RouterEvent;
  /** of the table, when it had heard of it */
  readonly losses: number;
}

export class Router {
  readonly #settings: RouterSettings;
  readonly #world: RouterWorld;
  readonly #speaker: Speaker;
  readonly #rib: Rib;
  readonly #sync: RouteSync | undefined;
  readonly #subscribers = new Set<(event: RouterEvent) => void>();
  /** our side of the sessions that are up, by neighbour: no next hop either */
  readonly #locals = new Map<string, Address>();
  /** ends of sessions, in order, told when it has been told what their routes have become */
  readonly #ended: Ended[] = [];
  #local: Endpoint | undefined;
  #flush: Timer | undefined;
  #isStopping = false;

  constructor(settings: RouterSettings, world: RouterWorld) {
    this.#settings = settings;
    this.#world = world;
    this.#speaker = world.createSpeaker(settings.listen);
    this.#rib = new Rib({
      localAsn: settings.asn,
      isOwnAddress: (address) => this.#isOwn(address),
    });
    const { clock, kernel } = world;
    this.#sync =
      kernel &&
      new RouteSync({
        ...kernel,
        clock,
        onOutcome: (prefix, nextHops, problem) => {
          const facts = { prefix: formatPrefix(prefix), nextHops: nextHops.map(formatAddress) };
          this.#emit({ kind: 'kernel', ...facts, ...(problem === undefined ? {} : { problem }) });
        },
      });
  }

  /** Resolves with what it listens on; rejects with a RouterError, and has touched nothing then. */
  async start(): Promise<Endpoint> {
    let failure: Error | undefined;
    this.#speaker.subscribe((event) => {
      if (event.kind === 'listen-failed') failure ??= event.error;
      this.#onEvent(event);
    });
    await this.#speaker.start();
    const local = this.#local;
    // the port comes first: while another router has it, what is in the kernel is that one's
    const problem = local === undefined ? failure?.message : this.#sync?.start();
    if (local === undefined || problem !== undefined) {
      await this.stop();
      throw new RouterError(problem ?? 'cannot listen', { cause: failure });
    }
    const [refused] = this.#speaker.apply({ peers: [], ranges: this.#ranges() });
    if (refused === undefined) return local;
    await this.stop();
    throw new RouterError(refused.sentence);
  }

  /** Cease to all neighbours with this text, then the kernel's routes go. A sentence where some could not be removed. */
  async stop(text?: string): Promise<string | undefined> {
    if (this.#isStopping) return undefined;
    this.#isStopping = true;
    this.#flush?.cancel();
    const words = text === undefined ? {} : { text };
    await this.#speaker.stop({ kind: 'shutdown', deadlineMs: GOODBYE_MS, ...words });
    // nobody's session waits any more
    do this.#apply();
    while (!this.#rib.isSettled);
    this.#flush?.cancel();
    return this.#sync?.stop();
  }

  /** what is known, in order of prefixes; what has come in a burst may follow some turns later */
  routes(): readonly RouteView[] {
    this.#apply();
    return this.#rib.routes().map((route) => this.#view(route));
  }

  /** neighbours that are there, in order of addresses */
  peers(): readonly PeerView[] {
    const peers = this.#speaker.status().map((status) => this.#peerView(status));
    return peers.toSorted((a, b) => (a.peer < b.peer ? -1 : 1));
  }

  /** returns how to end the subscription */
  subscribe(onEvent: (event: RouterEvent) => void): () => void {
    this.#subscribers.add(onEvent);
    return () => this.#subscribers.delete(onEvent);
  }

  #ranges(): readonly DesiredRange[] {
    const settings = this.#settings;
    const { maxPrefixes, password, neighborLimit } = settings;
    return settings.neighborRanges.map((range, at) => ({
      settings: {
        name: `range${at}`,
        localAsn: settings.asn,
        peerAsn: settings.neighborAsn,
        routerId: settings.routerId,
        timers: { holdSeconds: settings.holdSeconds, ...IDLE_HOLD },
        // what the choice needs of an UPDATE is in the Rib; the rest, 64 KB of path perhaps, is nobody's
        inbound: {
          kind: 'keep',
          withoutAttributes: true,
          ...(maxPrefixes === undefined ? {} : { maxPrefixes }),
        },
        ...(password === undefined ? {} : { password }),
      },
      range,
      ...(neighborLimit === undefined ? {} : { limit: neighborLimit }),
      routes: [],
    }));
  }

  #onEvent(event: SpeakerEvent): void {
    switch (event.kind) {
      case 'established':
        this.#onEstablished(event);
        break;
      case 'down':
        this.#onDown(event);
        break;
      case 'update-received':
        this.#update(event.peer, event.update);
        this.#applySoon();
        break;
      case 'update-fault':
        for (const { nlri } of event.fault.withdrawn) {
          if (!(nlri instanceof Uint8Array)) this.#rib.withdraw(event.peer, nlri);
        }
        this.#applySoon();
        this.#emit({
          kind: 'bad-update',
          peer: shortName(event.peer),
          reason: event.fault.message,
        });
        break;
      case 'routes-not-refreshed':
        this.#rib.withdraw(event.peer, event.prefixes);
        this.#applySoon();
        break;
      case 'listening':
        this.#local = event.local;
        break;
      case 'connection-refused': {
        const reason =
          event.detail ?? 'no neighbour range holds that address, or its place is taken';
        this.#emit({ kind: 'refused', remote: formatAddress(event.remote.address), reason });
        break;
      }
      case 'accept-failed':
        this.#emit({ kind: 'refused', remote: 'a connection', reason: event.error.message });
        break;
      case 'listen-failed':
      case 'notification-received':
      case 'notification-sent':
      case 'refresh-requested':
      case 'removed':
      case 'routes-refused':
      case 'routes-synced':
      case 'transition':
      case 'update-issue':
        break;
    }
  }

  #update(peer: string, update: UpdateMessage): void {
    for (const { prefixes, reason } of this.#rib.update(peer, update)) {
      const shown = prefixes.slice(0, REJECTED_SHOWN).map(formatPrefix);
      const count = prefixes.length;
      this.#emit({ kind: 'rejected', peer: shortName(peer), prefixes: shown, count, reason });
    }
  }

  #onEstablished(event: SpeakerEvent & { readonly kind: 'established' }): void {
    const { peer, local, remote, negotiated } = event;
    const { peerAsn: asn, peerRouterId: routerId, internal: isInternal } = negotiated;
    const zone = remote.zone === undefined ? {} : { zone: remote.zone };
    this.#locals.set(peer, local.address);
    this.#tellEnded(() => true);
    this.#rib.up({ name: peer, address: remote.address, ...zone, asn, routerId, isInternal });
    this.#emit({ kind: 'peer-up', peer: shortName(peer), asn });
  }

  #onDown(event: SpeakerEvent & { readonly kind: 'down' }): void {
    const { peer } = event;
    this.#locals.delete(peer);
    // many may end in this turn; what they lose goes before all that others announce
    this.#rib.down(peer);
    this.#applySoon();
    const reason = describeDown(event.reason);
    if (!event.wasEstablished) {
      this.#emit({ kind: 'refused', remote: shortName(peer), reason });
      return;
    }
    const { losses } = this.#rib;
    this.#ended.push({ event: { kind: 'peer-down', peer: shortName(peer), reason }, losses });
  }

  #tellEnded(isTold: (one: Ended) => boolean): void {
    const rest = this.#ended.findIndex((one) => !isTold(one));
    const told = this.#ended.splice(0, rest === -1 ? Infinity : rest);
    for (const { event } of told) this.#emit(event);
  }

  #applySoon(): void {
    this.#flush ??= this.#world.clock.startTimer(0, () => this.#apply());
  }

  #apply(): void {
    this.#flush?.cancel();
    this.#flush = undefined;
    const changes = this.#rib.changes(TURN_PATHS);
    if (!this.#rib.isSettled) this.#applySoon();
    if (changes.length > 0) {
      if (!this.#isStopping) this.#sync?.set(changes);
      this.#emit(routesEvent(() => changes.map((route) => this.#view(route))));
    }
    this.#tellEnded(({ losses }) => this.#rib.hasLookedAt(losses));
  }

  #isOwn(address: Address): boolean {
    for (const local of this.#locals.values()) if (addressEquals(local, address)) return true;
    return this.#world.isOwnAddress(address);
  }

  #view({ prefix, nextHops }: RibRoute): RouteView {
    const problem = this.#sync?.problem(prefix);
    return {
      prefix: formatPrefix(prefix),
      nextHops: nextHops.map(nextHopView),
      ...(problem === undefined ? {} : { problem }),
    };
  }

  #peerView({ name, state, sinceMs, negotiated, lastError }: PeerStatus): PeerView {
    const rejected = this.#rib.rejected(name);
    return {
      peer: shortName(name),
      state,
      since: new Date(sinceMs).toISOString(),
      ...(negotiated === undefined
        ? {}
        : {
            asn: negotiated.peerAsn,
            routerId: formatRouterId(negotiated.peerRouterId),
            holdSeconds: negotiated.holdTimeSeconds,
          }),
      routes: this.#rib.count(name),
      rejected: rejected.count,
      ...(rejected.last === undefined ? {} : { lastRejection: rejected.last }),
      ...(lastError === undefined ? {} : { lastError }),
    };
  }

  #emit(event: RouterEvent): void {
    for (const subscriber of this.#subscribers) subscriber(event);
  }
}

function routesEvent(make: () => readonly RouteView[]): RouterEvent {
  let routes: readonly RouteView[] | undefined;
  return {
    kind: 'routes',
    get routes() {
      routes ??= make();
      return routes;
    },
  };
}

function nextHopView({ address, peer, best }: RibNextHop) {
  return { address: formatAddress(address), peer: shortName(peer), best };
}

/** `range0/192.0.2.7` is 192.0.2.7 to people: the ranges have no names of their own */
function shortName(peer: string): string {
  return peer.slice(peer.indexOf('/') + 1);
}
