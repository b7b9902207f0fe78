/**
 * The routes of one family towards one neighbour: what it shall have, what it has been told, and what is left to say.
 *
 * One rule holds everything: an entry waits exactly while `wanted` differs from `told`, session or no session. A newer change
 * moves the entry to another bucket, a change that is taken back takes it out, and a route that was never told and is
 * not wanted any more is forgotten. So nothing has to be prepared when a session comes up: all that is wanted already waits.
 * Being refused by a session is a property of a bucket; its entries stay and wait for a session that takes them.
 *
 * RFC 4271 §9.2, RFC 4724 §2 (End-of-RIB once, behind the first full set), RFC 2918 and RFC 7313 §4 (refresh).
 */

import type { ByteWriter } from '../bytes/writer.ts';
import type { Family, Prefix } from '../net/address.ts';
import { AttributeSets } from './adj-rib-out-sets.ts';
import type { Entry } from './adj-rib-out-table.ts';
import { Bucket, BucketQueue, EntryTable } from './adj-rib-out-table.ts';
import { MAX_MESSAGE_LENGTH } from './codes.ts';
import { hasUnicast } from './family.ts';
import type { Refusal, RefusedRoute, SessionView } from './pack.ts';
import { sessionAttributes } from './pack.ts';
import type { DestinationSource, NlriFormat } from './pack-messages.ts';
import {
  prepareAttributes,
  usualMessageLimit,
  writeAnnouncement,
  writeEndOfRib,
  writeRefreshMark,
  writeWithdrawal,
} from './pack-messages.ts';
import type { Route, RouteAttributes } from './route.ts';
import { RefreshSubtype } from './route-refresh.ts';

/** The neighbour holds something for the prefix, and whatever is wanted has to be said again. */
const STALE = new Bucket({});

/** A message that every neighbour takes holds a good number of prefixes, however little room there is. */
const SMALLEST_LIMIT = MAX_MESSAGE_LENGTH;

interface Marks {
  endOfRib: boolean;
  refreshBegin: boolean;
  refreshEnd: boolean;
  /** RFC 7313 §4: no begin of a refresh may be sent before End-of-RIB */
  refreshAfterEndOfRib: boolean;
}

function noMarks(): Marks {
  return { endOfRib: false, refreshBegin: false, refreshEnd: false, refreshAfterEndOfRib: false };
}

export class FamilyRibOut {
  readonly #family: Family;
  readonly #table = new EntryTable();
  readonly #sets = new AttributeSets();
  readonly #withdraws = new Bucket({});
  /** buckets with something to announce that this session has not refused, oldest first */
  readonly #ready = new BucketQueue();
  #view: SessionView | undefined = undefined;
  #format: NlriFormat;
  /** what is owed besides routes */
  #marks = noMarks();
  /** more is to come, and End-of-RIB behind it */
  isPartial = false;
  #wanted = 0;
  #advertised = 0;
  #generation = 0;
  #seen = 0;
  #isChanged = false;

  constructor(family: Family) {
    this.#family = family;
    this.#format = { family, addPath: false };
  }

  get wantedCount(): number {
    return this.#wanted;
  }

  get advertisedCount(): number {
    return this.#advertised;
  }

  /** Changes that the neighbour has not been told, without those that this session refuses. */
  get pendingCount(): number {
    let count = this.#withdraws.size;
    for (let each = this.#ready.head; each !== undefined; each = each.next) count += each.size;
    return count;
  }

  /** Entries held, wanted or not: what memory is bounded by. */
  get knownCount(): number {
    return this.#table.size;
  }

  /** Attribute sets held; those that nobody uses go when they are as many as the others. */
  get attributeSetCount(): number {
    return this.#sets.size;
  }

  get isSynced(): boolean {
    const { refreshBegin, refreshEnd } = this.#marks;
    return !(this.#hasRoutesToSend() || this.#isEndDue() || refreshBegin || refreshEnd);
  }

  /** it has not been sent since the session began */
  get owesEndOfRib(): boolean {
    return this.isActive && this.#marks.endOfRib;
  }

  get isActive(): boolean {
    return this.#view !== undefined;
  }

  /** A new full set of so many routes begins: `want` every one of them, then `endApply`. */
  beginApply(count: number): void {
    this.#table.reserve(count);
    this.#generation++;
    this.#seen = 0;
    this.#isChanged = false;
  }

  /** The first of several routes for one prefix and path identifier counts. */
  want(prefix: Prefix, pathId: number, attributes: RouteAttributes): void {
    const entry = this.#table.findOrAdd(prefix, pathId);
    if (entry.mark === this.#generation) return;
    entry.mark = this.#generation;
    this.#seen++;
    const bucket = this.#sets.bucketOf(attributes);
    if (entry.wanted === bucket) return;
    if (entry.wanted === undefined) this.#wanted++;
    entry.wanted = bucket;
    this.#isChanged = true;
    this.#settle(entry);
  }

  /** True where the new set is not the one before. */
  endApply(): boolean {
    if (this.#seen !== this.#wanted) {
      this.#wanted = this.#seen;
      this.#isChanged = true;
      this.#table.forEach((entry) => {
        if (entry.mark === this.#generation || entry.wanted === undefined) return;
        entry.wanted = undefined;
        this.#settle(entry);
      });
    }
    this.#sets.sweep(this.#table);
    return this.#isChanged;
  }

  /** Takes over a running session for which nothing is told and nothing owed. */
  resume(view: SessionView): void {
    this.established(view);
    this.#marks = noMarks();
  }

  /** The session is up. Where it does not speak this family nothing is sent and all routes count as refused. */
  established(view: SessionView): void {
    const { negotiated } = view;
    const speaks = hasUnicast(negotiated.families, this.#family);
    this.#view = speaks ? view : undefined;
    this.#format = {
      family: this.#family,
      addPath: hasUnicast(negotiated.addPathSend, this.#family),
    };
    this.#marks = { ...noMarks(), endOfRib: speaks };
    this.#forgetRefusals();
  }

  down(): void {
    this.#view = undefined;
    this.#marks = noMarks();
    this.#advertised = 0;
    this.#forgetRefusals();
    this.#table.forEach((entry) => {
      if (entry.told === undefined) return;
      entry.told = undefined;
      this.#settle(entry);
    });
  }

  /** Other next hops on the same session: what now reads differently is said again. */
  updateView(view: SessionView): void {
    const before = this.#view;
    if (before === undefined) return;
    this.#view = view;
    const changed = new Set<Bucket>();
    for (const bucket of this.#sets.all()) {
      if (this.#wording(bucket, before) !== this.#wording(bucket, view)) changed.add(bucket);
    }
    this.#forgetRefusals();
    this.#table.forEach((entry) => {
      if (entry.told !== undefined && changed.has(entry.told)) entry.told = STALE;
      this.#settle(entry);
    });
  }

  refresh(enhanced: boolean): void {
    if (this.#view === undefined) return;
    if (enhanced && this.#marks.endOfRib) {
      this.#marks.refreshAfterEndOfRib = true;
      return;
    }
    this.#table.forEach((entry) => {
      if (entry.told === undefined) return;
      entry.told = STALE;
      this.#settle(entry);
    });
    if (enhanced) {
      this.#marks.refreshBegin = true;
      this.#marks.refreshEnd = true;
    }
  }

  /** Begin of refresh and withdrawals; true if something was written. Withdrawals first: a neighbour may count prefixes. */
  writeWithdrawal(writer: ByteWriter, room: number): boolean {
    if (this.#view === undefined) return false;
    if (this.#marks.refreshBegin) {
      this.#marks.refreshBegin = false;
      writeRefreshMark(writer, this.#family, RefreshSubtype.begin);
      return true;
    }
    if (this.#withdraws.size === 0) return false;
    // a message is of use to the neighbour when it is whole: no larger than this batch
    const limit = Math.min(
      usualMessageLimit(this.#view.negotiated),
      Math.max(room, SMALLEST_LIMIT),
    );
    writeWithdrawal(writer, this.#withdrawn, this.#format, limit);
    return true;
  }

  /** One UPDATE with announcements, or what is owed when there is none left; true if something was written. */
  writeAnnouncement(writer: ByteWriter): boolean {
    if (this.#view === undefined) return false;
    for (let bucket = this.#ready.head; bucket !== undefined; bucket = this.#ready.head) {
      const prepared = prepareAttributes(bucket.attributes, this.#family, this.#view);
      if (prepared.kind === 'refused') {
        this.#refuse(bucket, prepared);
        continue;
      }
      this.#announcing = bucket;
      writeAnnouncement(writer, prepared, this.#announced, this.#format);
      if (bucket.size === 0) this.#ready.remove(bucket);
      return true;
    }
    return this.#withdraws.size === 0 && this.#writeMarks(writer);
  }

  /** Withdraws everything that was told, in words alone: nothing changes here. Returns how many messages that takes. */
  writeFarewell(writer: ByteWriter): number {
    if (this.#view === undefined) return 0;
    const told: Entry[] = [];
    this.#table.forEach((entry) => {
      if (entry.told !== undefined) told.push(entry);
    });
    let next = 0;
    const source: DestinationSource = {
      head: () => told[next],
      taken: () => {
        next++;
      },
    };
    let messages = 0;
    for (; next < told.length; messages++) {
      writeWithdrawal(writer, source, this.#format, SMALLEST_LIMIT);
    }
    return messages;
  }

  /** Routes that the session does not take, and why; `all` is the reason for every one of them, if there is such a reason. */
  *refused(all: Refusal | undefined): Generator<RefusedRoute, undefined> {
    for (const bucket of this.#sets.all()) {
      const refusal = all ?? bucket.refusal;
      if (refusal === undefined) continue;
      for (let entry = bucket.head; entry !== undefined; entry = entry.next) {
        yield { ...refusal, route: toRoute(entry, bucket) };
      }
    }
  }

  /** Puts an entry where its state says, and drops it when there is nothing left to know. */
  #settle(entry: Entry): void {
    const target = this.#placeOf(entry);
    const from = entry.bucket;
    if (from !== target) {
      if (from !== undefined) {
        from.remove(entry);
        if (from.size === 0) this.#ready.remove(from);
      }
      if (target !== undefined) {
        target.append(entry);
        if (target !== this.#withdraws && target.refusal === undefined) this.#ready.add(target);
      }
    }
    if (entry.wanted === undefined && entry.told === undefined) this.#table.remove(entry);
  }

  #placeOf(entry: Entry): Bucket | undefined {
    const { wanted, told } = entry;
    if (wanted === told) return undefined;
    if (wanted === undefined) return this.#withdraws;
    // What the neighbour has must not outlive attributes that it cannot be told.
    return wanted.refusal !== undefined && told !== undefined ? this.#withdraws : wanted;
  }

  #hasRoutesToSend(): boolean {
    return this.#withdraws.size > 0 || this.#ready.head !== undefined;
  }

  #isEndDue(): boolean {
    return this.#marks.endOfRib && !this.isPartial;
  }

  #writeMarks(writer: ByteWriter): boolean {
    const marks = this.#marks;
    if (this.#isEndDue()) {
      marks.endOfRib = false;
      writeEndOfRib(writer, this.#family);
      if (marks.refreshAfterEndOfRib) this.refresh(true);
      marks.refreshAfterEndOfRib = false;
      return true;
    }
    if (!marks.refreshEnd) return false;
    marks.refreshEnd = false;
    writeRefreshMark(writer, this.#family, RefreshSubtype.end);
    return true;
  }

  readonly #withdrawn: DestinationSource = {
    head: () => this.#withdraws.head,
    taken: () => {
      const entry = this.#withdraws.head;
      if (entry === undefined) return;
      entry.told = undefined;
      this.#advertised--;
      this.#settle(entry);
    },
  };

  #announcing: Bucket = STALE;

  readonly #announced: DestinationSource = {
    head: () => this.#announcing.head,
    taken: () => {
      const bucket = this.#announcing;
      const entry = bucket.head;
      if (entry === undefined) return;
      if (entry.told === undefined) this.#advertised++;
      entry.told = bucket;
      bucket.remove(entry);
    },
  };

  #refuse(bucket: Bucket, refusal: Refusal): void {
    bucket.refusal = refusal;
    this.#ready.remove(bucket);
    for (let entry = bucket.head; entry !== undefined; ) {
      const next: Entry | undefined = entry.next;
      this.#settle(entry);
      entry = next;
    }
  }

  #forgetRefusals(): void {
    for (const bucket of this.#sets.all()) {
      bucket.refusal = undefined;
      if (bucket.size > 0) this.#ready.add(bucket);
    }
  }

  /** What a bucket says on a session, as text that can be compared. */
  #wording(bucket: Bucket, view: SessionView): string {
    return JSON.stringify(sessionAttributes(bucket.attributes, this.#family, view));
  }
}

function toRoute(entry: Entry, bucket: Bucket): Route {
  const { prefix, pathId } = entry;
  const { attributes } = bucket;
  return pathId === 0 ? { prefix, attributes } : { prefix, attributes, pathId };
}
