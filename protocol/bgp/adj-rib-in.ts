/**
 * Adj-RIB-In: what one neighbour sent in the present session. By default its routes are rejected and only counted, in the spirit of
 * RFC 8212 (no policy, no routes): then nothing is remembered, so a full table costs nothing, and the counters are of
 * announcements, not of distinct prefixes. With `keep` the routes are held, exactly, up to a limit.
 *
 * No route selection and no policy: the owner reads `routes()`. RFC 4271 §3.2 and §9.1.2 (AS loops), RFC 4456 §8 (loops of
 * reflection), RFC 4486 §4 (too many prefixes), RFC 4724 §2 (End-of-RIB), RFC 7313 §4 (refreshes of the neighbour), RFC 7606 §2
 * (treat-as-withdraw). Not here: keeping routes of a neighbour that restarts (RFC 4724 §4.2) and marking leaks (RFC 9234 §5).
 */

import { ByteWriter } from '../bytes/writer.ts';
import type { Family } from '../net/address.ts';
import { CeaseSubcode, ErrorCode } from './codes.ts';
import type { WithdrawnByFault } from './error.ts';
import { type FamilyId, familyId, hasUnicast, unicastFamily } from './family.ts';
import type { Nlri, NotificationMessage, PathAttributes, UpdateMessage } from './message.ts';
import type { Negotiated } from './negotiate.ts';
import { routeKey } from './route.ts';
import { RefreshSubtype } from './route-refresh.ts';
import { endOfRibFamily } from './update.ts';

export type AdjRibInPolicy =
  | { readonly kind: 'reject' }
  /**
   * `maxPrefixes` counts both families together; none = no limit. `withoutAttributes`: of each route the prefix alone, for an owner that takes what it
   * needs out of the UPDATEs as they come; attributes may be 64 KB each, and a limit of prefixes is none of memory.
   */
  | { readonly kind: 'keep'; readonly maxPrefixes?: number; readonly withoutAttributes?: boolean };

export interface ReceivedRoute {
  readonly prefix: Nlri;
  readonly attributes: PathAttributes;
}

export interface AdjRibInCounters {
  /** UPDATE messages, End-of-RIB among them */
  readonly updates: number;
  /** routes in them: each announcement counts, also one for a prefix that was announced before */
  readonly announced: number;
  readonly withdrawn: number;
  /** routes that went away because an UPDATE was malformed (RFC 7606) */
  readonly treatedAsWithdraw: number;
  /** announcements dropped because we are in their path already */
  readonly loops: number;
  /** announcements that policy turned away: all of them unless routes are kept */
  readonly rejected: number;
}

export type AdjRibInResult =
  | { readonly kind: 'accepted' }
  /** the neighbour sent more than it may: send this and close */
  | { readonly kind: 'limit-exceeded'; readonly notification: NotificationMessage };

const NONE: PathAttributes = {};
const ACCEPTED: AdjRibInResult = { kind: 'accepted' };

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * Of one family. A mark of 23 octets must not cost a walk over all routes: where a refresh begins the maps change places, and where
 * one is under way what was said since is moved.
 */
interface Held {
  /** said in this session, and again since the neighbour's refresh has begun, where one has */
  said: Map<string, ReceivedRoute>;
  /** not said again yet */
  stale: Map<string, ReceivedRoute>;
}

/**
 * The routes of one neighbour, in one session at a time.
 *
 * @example
 * const rib = new AdjRibIn({ kind: 'keep', maxPrefixes: 1000 });
 * rib.established(negotiated);
 * if (rib.update(message).kind === 'limit-exceeded') close();
 * for (const { prefix } of rib.routes()) use(prefix);
 */
export class AdjRibIn {
  readonly #policy: AdjRibInPolicy;
  readonly #held: Readonly<Record<Family, Held>> = { ipv4: nothing(), ipv6: nothing() };
  readonly #endOfRib = new Set<Family>();
  #counters: Mutable<AdjRibInCounters> = noCounters();
  #session: Negotiated | undefined = undefined;

  constructor(policy: AdjRibInPolicy = { kind: 'reject' }) {
    this.#policy = policy;
  }

  /** A session begins; counters and routes are those of one session. */
  established(negotiated: Negotiated): void {
    this.#clear();
    this.#session = negotiated;
    this.#counters = noCounters();
  }

  /** The session is gone and its routes with it. The counters stay readable until the next one. */
  down(): void {
    this.#clear();
    this.#session = undefined;
  }

  update(message: UpdateMessage): AdjRibInResult {
    this.#counters.updates++;
    const { withdrawn, nlri, attributes } = message;
    const { mpReach, mpUnreach } = attributes;
    this.#markEndOfRib(message);
    this.#withdraw(withdrawn);
    if (mpUnreach?.kind === 'prefixes') this.#withdrawFamily(mpUnreach, mpUnreach.withdrawn);
    let last = this.#announce(nlri, attributes);
    if (mpReach?.kind === 'prefixes' && unicastFamily(mpReach) !== undefined) {
      last = this.#announce(mpReach.nlri, attributes) ?? last;
    }
    return last === undefined ? ACCEPTED : this.#checkLimit(last);
  }

  /** The routes of an UPDATE whose fault has the outcome treat-as-withdraw. */
  treatAsWithdraw(withdrawn: readonly WithdrawnByFault[]): void {
    this.#counters.updates++;
    for (const family of withdrawn) {
      if (family.nlri instanceof Uint8Array) continue;
      this.#counters.treatedAsWithdraw += family.nlri.length;
      if (unicastFamily(family) !== undefined) this.#remove(family.nlri);
    }
  }

  /**
   * A ROUTE-REFRESH of the neighbour. Of interest are the marks of RFC 7313 §4 around all routes of a family: what it has not
   * said again between them goes at the end.
   */
  refresh({ subtype, ...id }: FamilyId & { readonly subtype: number }): readonly Nlri[] {
    const family = unicastFamily(id);
    if (family === undefined) return [];
    if (subtype === RefreshSubtype.begin) this.#beginRefresh(family);
    return subtype === RefreshSubtype.end ? this.#endRefresh(family) : [];
  }

  #beginRefresh(family: Family): void {
    // before its End-of-RIB such a mark is not to be believed
    if (this.#session?.peerGracefulRestart !== undefined && !this.#endOfRib.has(family)) return;
    const held = this.#held[family];
    if (held.stale.size === 0) {
      [held.said, held.stale] = [held.stale, held.said];
      return;
    }
    for (const [key, route] of held.said) held.stale.set(key, route);
    held.said.clear();
  }

  #endRefresh(family: Family): readonly Nlri[] {
    const { stale } = this.#held[family];
    const removed = Array.from(stale.values(), ({ prefix }) => prefix);
    stale.clear();
    return removed;
  }

  /** Routes held right now; none unless they are kept. */
  *routes(): IterableIterator<ReceivedRoute> {
    for (const { stale, said } of Object.values(this.#held)) {
      yield* stale.values();
      yield* said.values();
    }
  }

  get routeCount(): number {
    const { ipv4, ipv6 } = this.#held;
    return ipv4.said.size + ipv4.stale.size + ipv6.said.size + ipv6.stale.size;
  }

  get counters(): AdjRibInCounters {
    return { ...this.#counters };
  }

  /** The neighbour has sent all it had when the session began. */
  hasEndOfRib(family: Family): boolean {
    return this.#endOfRib.has(family);
  }

  #withdrawFamily(family: FamilyId, nlri: readonly Nlri[]): void {
    if (unicastFamily(family) !== undefined) this.#withdraw(nlri);
  }

  #withdraw(nlri: readonly Nlri[]): void {
    this.#counters.withdrawn += nlri.length;
    this.#remove(nlri);
  }

  #remove(nlri: readonly Nlri[]): void {
    if (this.routeCount === 0) return;
    for (const each of nlri) {
      const { said, stale } = this.#held[each.family];
      const key = this.#key(each);
      if (!said.delete(key)) stale.delete(key);
    }
  }

  /** The last prefix, where there was one. */
  #announce(nlri: readonly Nlri[], attributes: PathAttributes): Nlri | undefined {
    const count = nlri.length;
    if (count === 0) return undefined;
    this.#counters.announced += count;
    if (this.#isLoop(attributes)) {
      // An announcement replaces what the neighbour said before, also when it cannot be used (RFC 4271 §9.1.2).
      this.#counters.loops += count;
      this.#remove(nlri);
      return undefined;
    }
    if (this.#policy.kind === 'reject' || !this.#speaks(nlri[0])) {
      this.#counters.rejected += count;
      return undefined;
    }
    const shared = this.#policy.withoutAttributes === true ? NONE : withoutNlri(attributes);
    for (const prefix of nlri) {
      const { said, stale } = this.#held[prefix.family];
      const key = this.#key(prefix);
      said.set(key, { prefix, attributes: shared });
      stale.delete(key);
    }
    return nlri[count - 1];
  }

  /** What comes in a family that was not agreed on is not ours to believe (RFC 4760 §8). */
  #speaks(nlri: Nlri | undefined): boolean {
    if (nlri === undefined || this.#session === undefined) return true;
    return hasUnicast(this.#session.families, nlri.family);
  }

  #isLoop({ asPath, originatorId, clusterList }: PathAttributes): boolean {
    const session = this.#session;
    if (session === undefined) return false;
    const { localAsn, localRouterId, internal } = session;
    if (asPath?.some((segment) => segment.asns.includes(localAsn))) return true;
    if (!internal) return false;
    const isOwn = (id: { readonly bits: number }) => id.bits >>> 0 === localRouterId;
    return (originatorId !== undefined && isOwn(originatorId)) || clusterList?.some(isOwn) === true;
  }

  #checkLimit(last: Nlri): AdjRibInResult {
    const limit = this.#policy.kind === 'keep' ? this.#policy.maxPrefixes : undefined;
    if (limit === undefined || this.routeCount <= limit) return ACCEPTED;
    const { afi, safi } = familyId(last.family);
    const data = new ByteWriter(7).u16(afi).u8(safi).u32(limit).finish();
    const code = ErrorCode.cease;
    const subcode = CeaseSubcode.maximumPrefixes;
    return { kind: 'limit-exceeded', notification: { kind: 'notification', code, subcode, data } };
  }

  #markEndOfRib(message: UpdateMessage): void {
    const id = endOfRibFamily(message);
    const family = id && unicastFamily(id);
    if (family !== undefined) this.#endOfRib.add(family);
  }

  #key(nlri: Nlri): string {
    const addPath = this.#session?.addPathReceive ?? [];
    if (!hasUnicast(addPath, nlri.family)) return routeKey({ prefix: nlri }, false);
    return routeKey({ prefix: nlri, pathId: nlri.pathId ?? 0 }, true);
  }

  #clear(): void {
    for (const { said, stale } of Object.values(this.#held)) {
      said.clear();
      stale.clear();
    }
    this.#endOfRib.clear();
  }
}

function nothing(): Held {
  return { said: new Map(), stale: new Map() };
}

/** Counters at zero, for who sums them up. */
export function noCounters(): Mutable<AdjRibInCounters> {
  return { updates: 0, announced: 0, withdrawn: 0, treatedAsWithdraw: 0, loops: 0, rejected: 0 };
}

/** What is kept with each route must not hold all the others of its UPDATE; the next hop of MP_REACH_NLRI stays. */
function withoutNlri(attributes: PathAttributes): PathAttributes {
  const { mpReach, mpUnreach: _, ...rest } = attributes;
  return mpReach?.kind === 'prefixes' ? { ...rest, mpReach: { ...mpReach, nlri: [] } } : rest;
}
