/**
 * Moves one neighbour's routes from its Adj-RIB-Out to its wire, as fast as the socket has room and no faster. The RIB is
 * pulled, never pushed: a neighbour that reads slowly leaves changes in the RIB, where newer ones replace them.
 */

import { AdjRibOut, type Batch } from '../bgp/adj-rib-out.ts';
import { type FamilyId, familyId, unicastFamily } from '../bgp/family.ts';
import type { RefusedRoute, SessionView } from '../bgp/pack.ts';
import type { Route } from '../bgp/route.ts';
import type { Clock, Timer } from '../io/clock.ts';
import type { Family } from '../net/address.ts';
import { ArrivalPoll } from './arrival-poll.ts';
import type { PeerStatus } from './events.ts';
import type { Wire } from './wire.ts';

/** How much is taken from the RIB per write: a few full messages, so that a change is never far behind. */
const WRITE_BYTES = 65536;

/** How long everything has to be told before the farewell is made: changes come in groups. */
const FAREWELL_AFTER_MS = 500;

type RouteProgress = Pick<
  PeerStatus,
  'routesAdvertised' | 'routesPending' | 'isSynced' | 'owesEndOfRib'
>;

export class RouteSender {
  readonly #clock: Clock;
  readonly #rib = new AdjRibOut();
  readonly #onSynced: () => void;
  readonly #waiters: (() => void)[] = [];
  #wire: Wire | undefined;
  #nextHops = '';
  /** the socket takes more */
  #writable = false;
  /** families that are being sent again, as the neighbour asked; true = it has asked once more since */
  readonly #refreshing = new Map<Family, boolean>();
  #isPartial = false;
  /** something was sent, or is to be sent, since `onSynced` was last called */
  #isNews = false;
  /**
   * The withdrawals of all that this neighbour has, made while there is time: when the process is told to stop, they leave at once.
   * A handful of octets per route; dropped by the next change.
   */
  #farewell: Batch | undefined;
  #farewellTimer: Timer | undefined;
  readonly #arrival: ArrivalPoll;

  constructor(clock: Clock, onSynced: () => void) {
    this.#clock = clock;
    this.#onSynced = onSynced;
    this.#arrival = new ArrivalPoll(clock);
  }

  /** Withdraws everything, for good: the session is about to end. */
  leave(): void {
    const farewell = this.#farewell;
    const wire = this.#wire;
    if (farewell === undefined || wire === undefined || !this.#writable || !this.#rib.isSynced()) {
      this.setRoutes([]);
      return;
    }
    this.#dropFarewell();
    wire.messagesSent += farewell.messages;
    this.#writable = wire.write(farewell.bytes);
    this.#rib.left();
    this.#isNews = true;
    this.pump();
  }

  #dropFarewell(): void {
    this.#farewell = undefined;
    this.#farewellTimer?.cancel();
    this.#farewellTimer = undefined;
  }

  #planFarewell(): void {
    this.#farewellTimer?.cancel();
    this.#farewellTimer = this.#clock.startTimer(FAREWELL_AFTER_MS, () => {
      this.#farewell = this.#rib.farewell();
    });
  }

  /** `isPartial`: more will follow soon, and End-of-RIB only behind a set that is not */
  setRoutes(routes: Iterable<Route>, isPartial = false): void {
    if (this.#rib.apply(routes) || isPartial !== this.#isPartial) this.#isNews = true;
    this.#isPartial = isPartial;
    this.#rib.isPartial = isPartial;
    this.pump();
  }

  /** a session is up: the whole set and End-of-RIB go out on this wire */
  begin(wire: Wire, view: SessionView): void {
    this.#wire = wire;
    this.#nextHops = JSON.stringify(view.nextHops);
    this.#writable = true;
    this.#isNews = true;
    this.#rib.established(view);
    this.pump();
  }

  end(): void {
    this.#wire = undefined;
    this.#writable = false;
    this.#refreshing.clear();
    this.#dropFarewell();
    this.#arrival.stop();
    this.#rib.down();
    this.#release();
  }

  /** next hops may have changed under the running session */
  updateSession(view: SessionView): void {
    const nextHops = JSON.stringify(view.nextHops);
    if (nextHops === this.#nextHops) return;
    this.#nextHops = nextHops;
    this.#rib.updateSession(view);
    this.#isNews = true;
    this.pump();
  }

  /** `onSynced` once more, as soon as there is nothing left to send: the neighbour goes by another name now, and nothing was told under it */
  tellAgain(): void {
    this.#isNews = true;
    this.pump();
  }

  /**
   * However often a neighbour asks while an answer is under way, it gets one more: each begins with a walk over the whole table, and
   * a flood of requests must not keep the event loop from our other neighbours.
   */
  refresh(id: FamilyId): void {
    const family = unicastFamily(id);
    if (family === undefined) return;
    this.#isNews = true;
    if (this.#refreshing.has(family)) this.#refreshing.set(family, true);
    else this.#beginRefresh(family);
    this.pump();
  }

  #beginRefresh(family: Family): void {
    this.#refreshing.set(family, false);
    this.#rib.refresh(familyId(family));
  }

  /** true where an answer has been sent in full and another one is owed */
  #nextRefresh(): boolean {
    let isOwed = false;
    for (const [family, isAskedAgain] of this.#refreshing) {
      if (!this.#rib.isSynced(family)) continue;
      this.#refreshing.delete(family);
      if (!isAskedAgain) continue;
      this.#beginRefresh(family);
      isOwed = true;
    }
    return isOwed;
  }

  /** the socket has room again */
  drained(): void {
    this.#writable = this.#wire !== undefined;
    this.pump();
  }

  /** resolves when everything wanted has arrived at the neighbour's kernel, or the session is gone */
  synced(): Promise<void> {
    if (this.#wire === undefined || this.#isSynced()) return Promise.resolve();
    this.#askLater();
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  get advertised(): Readonly<Record<Family, number>> {
    return this.#rib.advertised;
  }

  /** End-of-RIB waits for more */
  get isPartial(): boolean {
    return this.#isPartial;
  }

  /** `isSynced` is false from a change to the `routes-synced` that ends it, also while no session is up. */
  get progress(): RouteProgress {
    const { advertised, pendingCount, owesEndOfRib } = this.#rib;
    const isSynced = !this.#isNews;
    return { routesAdvertised: advertised, routesPending: pendingCount, isSynced, owesEndOfRib };
  }

  get refused(): readonly RefusedRoute[] {
    return this.#rib.refused();
  }

  /** sends what there is and what fits; also called when bytes have left, to notice that all has */
  pump(): void {
    const wire = this.#wire;
    if (wire === undefined) return;
    while (this.#writable) {
      const batch = this.#rib.take(WRITE_BYTES);
      if (batch === undefined) {
        if (this.#nextRefresh()) continue;
        break;
      }
      this.#dropFarewell();
      wire.messagesSent += batch.messages;
      this.#writable = wire.write(batch.bytes);
    }
    if (!this.#isNews && this.#waiters.length === 0) return;
    if (!this.#isSynced()) {
      this.#askLater();
      return;
    }
    this.#release();
    if (!this.#isNews) return;
    this.#isNews = false;
    this.#planFarewell();
    this.#onSynced();
  }

  #isSynced(): boolean {
    return this.#isWritten() && this.#wire?.connection?.isAcknowledged === true;
  }

  #isWritten(): boolean {
    return this.#writable && this.#rib.isSynced() && this.#wire?.connection?.bufferedBytes === 0;
  }

  /** what is not written yet says so itself */
  #askLater(): void {
    if (!this.#isWritten()) return;
    const isOver = () => !this.#isWritten() || this.#isSynced();
    this.#arrival.start(isOver, () => this.pump());
  }

  #release(): void {
    for (const resolve of this.#waiters.splice(0)) resolve();
  }
}
