/**
 * Adj-RIB-Out: everything that one neighbour shall be told, and how far we got with it. No I/O: the driver hands it the
 * desired routes and the turns of the session, and pulls finished messages whenever the socket has room.
 *
 * Nothing is queued as messages. What has not been pulled is a state per route, so a newer `apply` replaces what the older one
 * wanted, and a neighbour that reads slowly, or not at all, costs no memory beyond the table (BIRD works like this too).
 * `take` gives withdrawals first, then announcements by attribute set, then End-of-RIB once per family and session.
 *
 * The two families are two tables (adj-rib-out-family.ts) that know nothing of each other.
 */

import { ByteWriter } from '../bytes/writer.ts';
import type { Family } from '../net/address.ts';
import { FamilyRibOut } from './adj-rib-out-family.ts';
import { FAMILIES, type FamilyId, hasUnicast, unicastFamily } from './family.ts';
import type { RefusedRoute, SessionView } from './pack.ts';
import { refused } from './pack.ts';
import { usualMessageLimit } from './pack-messages.ts';
import type { Route } from './route.ts';

/** Room for a handful of routes, the usual change in a running system; the buffer grows by doubling. */
const SMALL_BATCH = 512;
/** What a burst begins with: small, so that the neighbour works on it while we make the rest. Each batch doubles it. */
const FIRST_BATCH = 4096;

function newRibs(): Readonly<Record<Family, FamilyRibOut>> {
  return { ipv4: new FamilyRibOut('ipv4'), ipv6: new FamilyRibOut('ipv6') };
}

/** Finished messages, headers included, one behind the other. */
export interface Batch {
  readonly bytes: Uint8Array;
  readonly messages: number;
}

/**
 * What one neighbour shall be told: wishes in, packed UPDATEs out.
 *
 * @example
 * const rib = new AdjRibOut();
 * rib.apply([{ prefix: prefix('198.51.100.7/32'), attributes: { med: 10 } }]);
 * rib.established({ negotiated, nextHops: { ipv4: ipv4('192.0.2.2') } });
 * for (let batch = rib.take(65536); batch; batch = rib.take(65536)) socket.write(batch.bytes);
 */
export class AdjRibOut {
  #ribs = newRibs();
  #view: SessionView | undefined = undefined;
  /** how much the next batch may be, beside what the caller says */
  #batchBytes = FIRST_BATCH;
  /**
   * The last desired set, kept only while it holds path identifiers: which of them count depends on the session, so the set is
   * read again when one comes up.
   */
  #withPathIds: readonly Route[] | undefined = undefined;

  /**
   * Makes this the whole set that the neighbour shall have. The same set again changes nothing and sends nothing. Of
   * two routes for one prefix and path identifier the first one counts; where path identifiers cannot be sent, the route with the
   * lowest one does. True where the set is not the one before.
   */
  apply(desired: Iterable<Route>): boolean {
    const routes: readonly Route[] = Array.isArray(desired) ? desired : [...desired];
    this.#withPathIds = routes.some((route) => (route.pathId ?? 0) !== 0)
      ? routes.toSorted((a, b) => (a.pathId ?? 0) - (b.pathId ?? 0))
      : undefined;
    return this.#read(this.#withPathIds ?? routes);
  }

  /**
   * While it is true, End-of-RIB waits: a speaker that has come back from a restart, and does not know all that it will announce yet, would
   * have its neighbours drop the rest of what they kept for it (RFC 4724 §4.2).
   */
  set isPartial(isPartial: boolean) {
    for (const family of FAMILIES) this.#ribs[family].isPartial = isPartial;
  }

  /** of a family of the session that is up */
  get owesEndOfRib(): boolean {
    return FAMILIES.some((family) => this.#ribs[family].owesEndOfRib);
  }

  /** A session is up: the neighbour has nothing yet, all that is wanted goes out, then End-of-RIB for each agreed family. */
  established(view: SessionView): void {
    if (this.#view !== undefined) this.down();
    this.#view = view;
    this.#batchBytes = FIRST_BATCH;
    if (this.#withPathIds !== undefined) this.#read(this.#withPathIds);
    for (const family of FAMILIES) this.#ribs[family].established(view);
  }

  /** Next hops of the running session changed: what reads differently now goes out again. */
  updateSession(view: SessionView): void {
    if (this.#view === undefined) return;
    this.#view = view;
    for (const family of FAMILIES) this.#ribs[family].updateView(view);
  }

  /**
   * The neighbour asked for a family again (RFC 2918). Where both sides know RFC 7313, its marks go around the answer. Families
   * that we have no routes of are nobody's error and have no answer.
   */
  refresh(id: FamilyId): void {
    const family = unicastFamily(id);
    if (family === undefined) return;
    this.#ribs[family].refresh(this.#view?.negotiated.enhancedRouteRefresh === true);
  }

  /** The session is gone, and with it all that the neighbour was told. */
  down(): void {
    this.#view = undefined;
    for (const family of FAMILIES) this.#ribs[family].down();
  }

  /**
   * The next whole messages, `maxBytes` of them at the most, except that one message always is given. Undefined when there is
   * nothing to say. What was taken counts as told.
   */
  take(maxBytes: number): Batch | undefined {
    if (this.#view === undefined) return undefined;
    const room = Math.min(maxBytes, this.#batchBytes);
    const writer = new ByteWriter(SMALL_BATCH);
    const reserve = usualMessageLimit(this.#view.negotiated);
    let messages = 0;
    while (this.#writeNext(writer, room)) {
      messages++;
      if (writer.length + reserve > room) break;
    }
    this.#batchBytes = messages === 0 ? FIRST_BATCH : Math.min(2 * room, maxBytes);
    return messages === 0 ? undefined : { bytes: writer.finish(), messages };
  }

  /**
   * Withdrawals of everything that was told, made ahead of the time when they are needed: right until something else is taken.
   * Undefined where there is nothing to withdraw, or something waits to be told first.
   */
  farewell(): Batch | undefined {
    if (!this.isSynced()) return undefined;
    const writer = new ByteWriter(SMALL_BATCH);
    const messages = FAMILIES.reduce(
      (sum, family) => sum + this.#ribs[family].writeFarewell(writer),
      0,
    );
    return messages === 0 ? undefined : { bytes: writer.finish(), messages };
  }

  /** The farewell has been sent: nothing is told any more, and nothing is wanted. */
  left(): void {
    const view = this.#view;
    this.#ribs = newRibs();
    this.#withPathIds = undefined;
    if (view !== undefined) for (const family of FAMILIES) this.#ribs[family].resume(view);
  }

  /** Changes that wait to be taken, without those that the session refuses. */
  get pendingCount(): number {
    const { ipv4, ipv6 } = this.pending;
    return ipv4 + ipv6;
  }

  get pending(): Readonly<Record<Family, number>> {
    const isUp = this.#view !== undefined;
    return this.#each((rib) => (isUp && !rib.isActive ? 0 : rib.pendingCount));
  }

  /** Routes that the neighbour has been told in this session. */
  get advertised(): Readonly<Record<Family, number>> {
    return this.#each((rib) => rib.advertisedCount);
  }

  /** Routes that the neighbour shall have, refused ones among them. */
  get wanted(): Readonly<Record<Family, number>> {
    return this.#each((rib) => rib.wantedCount);
  }

  /** Routes in memory: the wanted ones and those whose withdrawal waits. */
  get known(): Readonly<Record<Family, number>> {
    return this.#each((rib) => rib.knownCount);
  }

  /** Attribute sets in memory: those in use and for a while as many that were. */
  get attributeSets(): Readonly<Record<Family, number>> {
    return this.#each((rib) => rib.attributeSetCount);
  }

  /** A session is up and everything has been taken, End-of-RIB included unless it waits. Refused routes do not count. */
  isSynced(family?: Family): boolean {
    if (this.#view === undefined) return false;
    return FAMILIES.every((each) => {
      const rib = this.#ribs[each];
      return (family !== undefined && family !== each) || !rib.isActive || rib.isSynced;
    });
  }

  /**
   * Wanted routes that the present session does not take. Attributes are judged when their turn to be sent comes, so the list is
   * complete once the session is synced. The first of each family comes first: many of one never hide that there are some of the other.
   */
  refused(limit = 1000): readonly RefusedRoute[] {
    const view = this.#view;
    if (view === undefined) return [];
    const families = FAMILIES.map((family) => this.#refusedOf(family, view));
    const list = families.flatMap((routes) => routes.next().value ?? []);
    for (const routes of families) {
      for (const each of routes) {
        if (list.length >= limit) break;
        list.push(each);
      }
    }
    return list.slice(0, limit);
  }

  #refusedOf(family: Family, { negotiated }: SessionView): Generator<RefusedRoute, undefined> {
    const speaks = hasUnicast(negotiated.families, family);
    const reason = `${family} unicast was not agreed on with the neighbour`;
    const all = speaks ? undefined : refused('family-not-negotiated', reason);
    return this.#ribs[family].refused(all);
  }

  #read(routes: readonly Route[]): boolean {
    const { ipv4, ipv6 } = this.#ribs;
    const addPath = { ipv4: this.#sendsPathIds('ipv4'), ipv6: this.#sendsPathIds('ipv6') };
    let ipv4Count = 0;
    for (const { prefix } of routes) if (prefix.family === 'ipv4') ipv4Count++;
    ipv4.beginApply(ipv4Count);
    ipv6.beginApply(routes.length - ipv4Count);
    for (const { prefix, attributes, pathId } of routes) {
      const id = pathId !== undefined && addPath[prefix.family] ? pathId : 0;
      const rib = prefix.family === 'ipv4' ? ipv4 : ipv6;
      rib.want(prefix, id, attributes);
    }
    const changed = [ipv4.endApply(), ipv6.endApply()];
    return changed.includes(true);
  }

  #sendsPathIds(family: Family): boolean {
    return this.#view !== undefined && hasUnicast(this.#view.negotiated.addPathSend, family);
  }

  #writeNext(writer: ByteWriter, room: number): boolean {
    const { ipv4, ipv6 } = this.#ribs;
    return (
      ipv4.writeWithdrawal(writer, room) ||
      ipv6.writeWithdrawal(writer, room) ||
      ipv4.writeAnnouncement(writer) ||
      ipv6.writeAnnouncement(writer) ||
      // A set that was refused just now may have left withdrawals behind.
      ipv4.writeWithdrawal(writer, room) ||
      ipv6.writeWithdrawal(writer, room)
    );
  }

  #each(count: (rib: FamilyRibOut) => number): Readonly<Record<Family, number>> {
    return { ipv4: count(this.#ribs.ipv4), ipv6: count(this.#ribs.ipv6) };
  }
}
