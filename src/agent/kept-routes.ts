/**
 * What routers may still have of sessions that are down. A router that has our NOTIFICATION, or sent one, has dropped our routes. One that
 * lost the connection without one keeps them for the restart time where graceful restart was agreed on (RFC 4724 §4.2); one that no packet
 * reaches any more keeps them until its own hold timer ends, which began up to a keepalive after ours. A NOTIFICATION that has not arrived
 * leaves the whole hold time, and so does a connection that our own kernel gave up. Nothing can be sent to such a router meanwhile, so no other node may stand where these routes do.
 *
 * A loss belongs to the router, not to the document that described it: it stays when the BGPPeer is renamed, edited or deleted. Nor does it
 * belong to this process: it is in the saved View, and the next one goes on waiting.
 */

import {
  addressKey,
  type Clock,
  type Endpoint,
  formatEndpoint,
  type PeerStatus,
  type SpeakerEvent,
} from 'bgp-ts';
import { ROUTER_LATE_SECONDS } from '../model/router-memory.ts';
import type { NamedTimers } from './named-timers.ts';
import type { PeerPlan } from './peer-settings.ts';
import type { SavedView } from './saved-view.ts';

type Session = Pick<PeerStatus, 'name' | 'state'>;

/** a session that is up, as both sides agreed on it */
interface Agreed {
  readonly router: Router;
  readonly holdSeconds: number;
  /** how long the router keeps the routes when the connection ends without a NOTIFICATION; 0: not agreed on */
  readonly restartSeconds: number;
}

/** the other end, as that knows us: our own address is part of it */
interface Router {
  readonly key: string;
  /** the one connection, by both ends */
  readonly connection: string;
  readonly address: string;
  readonly asn: number;
  readonly localAsn: number;
}

export interface Lost {
  readonly name: string;
  readonly router: Router;
  readonly sinceMs: number;
  /** from then on it may have the routes for so long */
  readonly seconds: number;
  /** our NOTIFICATION is on its way: when it arrives, the router has dropped the routes */
  readonly isEnding: boolean;
  /** it was lost by a process before this one, which may have had it back */
  readonly isSaved?: true;
}

/** `sinceMs` by the wall clock */
export type SavedLoss = Pick<Lost, 'name' | 'router' | 'sinceMs' | 'seconds'>;

export interface KeptRoutesOptions {
  readonly clock: Clock;
  readonly timers: Pick<NamedTimers, 'start'>;
  readonly agent: {
    readonly decided: { readonly plans: readonly PeerPlan[] };
    readonly sessions: readonly Pick<PeerStatus, 'name' | 'state'>[];
  };
  /** of the saved View */
  readonly saved?: readonly SavedLoss[];
  /** the process before may have gone with its machine, then at the latest; absent: it has not */
  readonly resetMs?: number | undefined;
}

const HOLD_TIMER_EXPIRED = 4;
/** where no hold time was agreed on, no timer of the router ends the session: the longest time that an IPNode can say */
const ENDLESS_SECONDS = 65_535;
/** neighbours of a range come and go under names of their own; beyond this number the longest lost is forgotten */
const MOST_LOST = 1000;

export class KeptRoutes {
  readonly #options: KeptRoutesOptions;
  readonly #onForgotten: () => void;
  readonly #startedMs: number;
  /** by name of the session that is up */
  readonly #agreed = new Map<string, Agreed>();
  /** by router */
  readonly #lost = new Map<string, Lost>();

  /** `onForgotten`: no router has anything any more that it cannot be told to drop */
  constructor(options: KeptRoutesOptions, onForgotten: () => void) {
    this.#options = options;
    this.#onForgotten = onForgotten;
    this.#startedMs = options.clock.now();
    const { saved = [], clock } = options;
    for (const { name, router, sinceMs, seconds } of saved) {
      // a wall clock that was set back makes it no younger than now
      const agoMs = Math.max(0, clock.wallTimeMs() - sinceMs);
      const lost = { name, router, sinceMs: clock.now() - agoMs, seconds };
      this.#lost.set(router.key, { ...lost, isEnding: false, isSaved: true });
    }
  }

  /** The View, with what the next process has to wait for as well. What no time ends is not among it: a new start does (0074). */
  inView(view: SavedView | undefined): SavedView | undefined {
    const { clock } = this.#options;
    const wallMs = clock.wallTimeMs() - clock.now();
    const lost = [...this.#lost.values()]
      .filter((each) => this.#leftMs(each) > 0 && each.seconds < ENDLESS_SECONDS)
      .map(({ name, router, sinceMs, seconds }) => {
        return { name, router, sinceMs: wallMs + sinceMs, seconds };
      });
    return view === undefined || lost.length === 0 ? view : { ...view, lost };
  }

  take(event: SpeakerEvent): void {
    switch (event.kind) {
      case 'established':
        this.#agree(event);
        this.mustWait();
        return;
      case 'down':
        if (event.wasEstablished) this.#end(event);
        this.mustWait();
        return;
      case 'end-arrived':
        this.#endArrived(connectionOf(event));
        return;
      case 'removed':
        this.#rename(event.peer, event.newName);
        return;
      default:
        return;
    }
  }

  /** Seconds from the end of a session for which the router may keep the routes; of one that never was up, those of the process before this one. */
  secondsOf(plan: PeerPlan, { name, state }: Session): number {
    if (state === 'established') return 0;
    const own = [...this.#lost.values()].filter((each) => each.name === name);
    // of a session that has not been up since the start, what was before it, too
    const isUnseen = own.every(({ isSaved }) => isSaved);
    const ends = isUnseen ? [...this.#before(plan), ...own] : own;
    const counting = ends.filter((each) => this.#leftMs(each) > 0);
    return Math.max(0, ...counting.map(({ seconds }) => seconds));
  }

  /** The process before may have been killed as this one started, or have gone with its machine: then nobody closed the connection. */
  #before(plan: PeerPlan): readonly Pick<Lost, 'sinceMs' | 'seconds'>[] {
    const { resetMs } = this.#options;
    const killed = { sinceMs: this.#startedMs, seconds: restartSecondsOf(plan) };
    if (resetMs === undefined) return [killed];
    const { holdSeconds } = plan.peer.timers;
    // no session ends the wait for a range, and what comes by itself must not be waited for without an end (0074)
    const ofHold = isOfRange(plan) ? holdSeconds : wholeOf(holdSeconds);
    return [killed, { sinceMs: resetMs, seconds: ofHold }];
  }

  /** for how long a router that cannot be told anything may still have routes of this node */
  get leftMs(): number {
    const { agent } = this.#options;
    const lost = [...this.#lost.values()];
    // who is up, or was up since the start, is known as it is
    const up = agent.sessions.filter(({ state }) => state === 'established');
    const seen = [...up, ...lost.filter(({ isSaved }) => !isSaved)];
    const before = agent.decided.plans
      .filter((plan) => mayBeUnseen(plan, seen))
      .flatMap((plan) => this.#before(plan));
    return Math.max(0, ...[...before, ...lost].map((each) => this.#leftMs(each)));
  }

  /** A router may have routes that it cannot be told to drop; when none has any more, that is told. */
  mustWait(): boolean {
    const { leftMs } = this;
    if (leftMs <= 0) return false;
    this.#options.timers.start('kept', leftMs, this.#onForgotten);
    return true;
  }

  /** routers that may have our routes, and that no session of a BGPPeer leads to any more */
  get abandoned(): readonly Lost[] {
    const { plans } = this.#options.agent.decided;
    const isAbandoned = ({ name, router }: Lost) => {
      const other = this.#agreed.get(name);
      if (other !== undefined) return other.router.key !== router.key;
      return !plans.some(({ peer }) => isOf(name, peer.name));
    };
    return [...this.#lost.values()].filter((each) => this.#leftMs(each) > 0 && isAbandoned(each));
  }

  #leftMs({ sinceMs, seconds }: Pick<Lost, 'sinceMs' | 'seconds'>): number {
    if (seconds === 0) return 0;
    return sinceMs + (seconds + ROUTER_LATE_SECONDS) * 1000 - this.#options.clock.now();
  }

  #endArrived(connection: string): void {
    for (const [key, lost] of this.#lost) {
      if (lost.router.connection !== connection || !lost.isEnding) continue;
      this.#lost.set(key, { ...lost, seconds: 0, isEnding: false });
    }
  }

  /** a session that goes on under another name, and what was lost before */
  #rename(peer: string, newName: string | undefined): void {
    const agreed = this.#agreed.get(peer);
    this.#agreed.delete(peer);
    if (newName === undefined) return;
    if (agreed !== undefined) this.#agreed.set(newName, agreed);
    for (const [key, lost] of this.#lost) {
      if (lost.name === peer) this.#lost.set(key, { ...lost, name: newName });
    }
  }

  #agree(event: SpeakerEvent & { kind: 'established' }): void {
    const { peer, local, remote, negotiated } = event;
    const { holdTimeSeconds, peerGracefulRestart, peerAsn: asn, localAsn } = negotiated;
    const plan = this.#options.agent.decided.plans.find((each) => isOf(peer, each.peer.name));
    // not that of the socket: of a connection that the router dialled it is any
    const key = `${endpointKey(remote)} ${plan?.peer.port ?? 0} ${endpointKey(local)}`;
    const names = { key, connection: connectionOf(event), address: formatEndpoint(remote) };
    const restartSeconds = plan === undefined ? 0 : restartSecondsOf(plan);
    this.#agreed.set(peer, {
      router: { ...names, asn, localAsn },
      holdSeconds: holdTimeSeconds,
      restartSeconds: peerGracefulRestart === undefined ? 0 : restartSeconds,
    });
    this.#lost.delete(key);
  }

  #end({ peer, reason }: SpeakerEvent & { readonly kind: 'down' }): void {
    const agreed = this.#agreed.get(peer);
    this.#agreed.delete(peer);
    if (agreed === undefined) return;
    const { router, holdSeconds, restartSeconds } = agreed;
    const isOurs = reason.kind === 'notification-sent' || reason.kind === 'stopped';
    const isSilence = reason.kind === 'notification-sent' && reason.code === HOLD_TIMER_EXPIRED;
    const isOneSided = reason.kind === 'disconnected' && reason.isOneSided === true;
    const whole = wholeOf(holdSeconds);
    const ofHold = isSilence ? Math.ceil(holdSeconds / 3) : isOurs || isOneSided ? whole : 0;
    const ofRestart = isOurs || reason.kind === 'disconnected' ? restartSeconds : 0;
    const seconds = Math.max(ofHold, ofRestart);
    const lost = { name: peer, router, sinceMs: this.#options.clock.now(), seconds };
    this.#lost.delete(router.key);
    this.#lost.set(router.key, { ...lost, isEnding: isOurs && !isSilence });
    if (this.#lost.size > MOST_LOST) this.#forgetOne();
  }

  /** the one that was lost first, and of those first one that counts no more */
  #forgetOne(): void {
    const keys = [...this.#lost].filter(([, lost]) => this.#leftMs(lost) <= 0).map(([key]) => key);
    const [oldest] = [...keys, ...this.#lost.keys()];
    if (oldest !== undefined) this.#lost.delete(oldest);
  }
}

function wholeOf(holdSeconds: number): number {
  return holdSeconds === 0 ? ENDLESS_SECONDS : holdSeconds;
}

function connectionOf({ local, remote }: Record<'local' | 'remote', Endpoint>): string {
  return `${formatEndpoint(local)} ${formatEndpoint(remote)}`;
}

function endpointKey({ address, zone = '' }: Endpoint): string {
  return `${addressKey(address)}%${zone}`;
}

/** a neighbour of a range is named `range/address` */
function isOf(session: string, peer: string): boolean {
  return session === peer || session.startsWith(`${peer}/`);
}

function restartSecondsOf({ peer }: PeerPlan): number {
  return peer.gracefulRestart?.restartSeconds ?? 0;
}

/** also while it cannot be used, say because its key has not been read yet */
function isOfRange({ kind, peer }: PeerPlan): boolean {
  return kind === 'range' || (kind === 'refused' && peer.target.kind === 'range');
}

/**
 * A router that the process before this one had a session with may not have been seen since. Nobody knows how many of a range there were: that some
 * are back says nothing of the others.
 */
function mayBeUnseen(
  { kind, peer }: PeerPlan,
  seen: readonly { readonly name: string }[],
): boolean {
  return kind === 'range' || !seen.some(({ name }) => isOf(name, peer.name));
}
