/**
 * What a person took away drains: when the documents change and a claim that was announced is not announced any more because
 * of them (removed, moved to another node, out of its pool), its last form is kept as a departure for the pool's wait and
 * goes out with GRACEFUL_SHUTDOWN meanwhile. Pure.
 *
 * A claim that is announced again, in whatever form, is no departure; and a gate that closes by fact withdraws a departure
 * as it does everything else.
 *
 * An exclusive claim of the API whose pool advertises on other nodes alone from now on is held (held-claims.ts).
 */

import type { Documents, Sourced } from '../model/documents.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import type { Labels } from '../model/labels.ts';
import { type ClaimDecision, type DesiredState, desired } from './desired.ts';
import { drainWaitMs } from './drain-gate.ts';
import { heldDeparture, heldForm, isToBeMoved } from './held-claims.ts';
import type { Departure, View } from './view.ts';

/**
 * `before` is what ran under the old documents and `formerLabels` of this node, `after` what the new ones ask for under the facts of `view` and
 * without departures; the answer is beside those that the View has.
 */
export function nextDepartures(
  before: Pick<DesiredState, 'claims'>,
  after: DesiredState,
  formerLabels: Labels,
  view: View,
): ReadonlyMap<string, Departure> {
  const next = new Map<string, Departure>();
  const now = new Map(after.claims.map((decision) => [nameOf(decision), decision]));
  for (const decision of before.claims) {
    const name = nameOf(decision);
    const { subject } = decision;
    if (subject.departure !== undefined || subject.pool === undefined) continue;
    const successor = now.get(name);
    const held =
      successor && heldDeparture(successor.subject, heldForm(subject, formerLabels), view);
    if (held !== undefined) next.set(name, held);
    if (held !== undefined || !isAnnounced(decision)) continue;
    if (successor !== undefined && !isTakenAway(successor)) continue;
    if (leavesAtOnce(subject, successor)) continue;
    const { claim, pool } = subject;
    next.set(name, { claim, pool, sinceMs: view.nowMs, reason: departureReason(successor) });
  }
  return next;
}

/**
 * What the controller takes away has nothing behind it any more (its Service is gone, its endpoints are), or stands on another node
 * already: whoever still comes here is better off elsewhere, and a freed address must not be announced for a wait.
 */
function leavesAtOnce(
  { claim, level, pool }: ClaimDecision['subject'],
  successor: ClaimDecision | undefined,
): boolean {
  if (claim.source !== 'api') return false;
  if (level !== undefined || isWithdrawnByApi(successor?.subject.claim)) return true;
  // its holder announces it already, and what becomes of it later is not seen here any more
  const { mode } = claim.object.placement ?? {};
  return successor === undefined && (mode ?? pool?.placement.mode) === 'exclusive';
}

function isWithdrawnByApi(claim: Sourced<IpClaim> | undefined): boolean {
  return claim?.source === 'api' && claim.object.withdrawn !== undefined;
}

/**
 * The departures that a change of the documents causes; `view` has the new ones. Where only claims have changed, only those are
 * looked at: with ten thousand of them, one edit must not cost a decision on all.
 */
export function departuresAfter(
  before: Documents,
  { running, formerLabels }: { readonly running: DesiredState; readonly formerLabels: Labels },
  view: View,
): ReadonlyMap<string, Departure> {
  const plain = { ...view, departures: new Map<string, Departure>() };
  const { peers, pools, claims } = view.documents;
  if (!isSame(before.peers, peers) || !isSame(before.pools, pools)) {
    return nextDepartures(running, desired(plain), formerLabels, view);
  }
  const touched = touchedNames(before.claims, claims);
  if (touched.size === 0) return new Map();
  const of = { ...running, claims: running.claims.filter((one) => touched.has(nameOf(one))) };
  const documents = {
    ...view.documents,
    claims: claims.filter(({ object }) => touched.has(object.name)),
  };
  return nextDepartures(of, desired({ ...plain, documents }), formerLabels, view);
}

/** Names of claims that are not as they were. The lists are alike but for a few: both ends are passed over first. */
function touchedNames(
  before: readonly Sourced<IpClaim>[],
  after: readonly Sourced<IpClaim>[],
): ReadonlySet<string> {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start]?.object === after[start]?.object) start += 1;
  let end = 0;
  while (end < shorter - start && before.at(-1 - end)?.object === after.at(-1 - end)?.object)
    end += 1;
  const unchanged = new Set(after.slice(start, after.length - end).map(({ object }) => object));
  const gone = before
    .slice(start, before.length - end)
    .filter(({ object }) => !unchanged.has(object));
  return new Set(gone.map(({ object }) => object.name));
}

function isSame<T>(a: readonly Sourced<T>[], b: readonly Sourced<T>[]): boolean {
  return a.length === b.length && a.every(({ object }, index) => object === b[index]?.object);
}

/**
 * Departures whose wait is over, whose claim is wanted here again, or was withdrawn meanwhile, are
 * dropped; those of claims that have left the documents since and that one node alone announces by
 * now; and those that are held where nobody is to move them any more.
 */
export function liveDepartures(view: View): ReadonlyMap<string, Departure> {
  if (view.departures.size === 0) return view.departures;
  const withdrawn = new Set(
    view.documents.claims.filter(isWithdrawnByApi).map(({ object }) => object.name),
  );
  const anew = decidedAnew(view);
  const elsewhere = exclusiveElsewhere(view, anew);
  const live = [...view.departures].flatMap(([name, departure]) => {
    const { sinceMs, pool, held } = departure;
    const decision = anew.get(name);
    if (held !== undefined) {
      const isHeld = decision !== undefined && isToBeMoved(decision.subject, view.node.labels);
      return isHeld ? [[name, departure] as const] : [];
    }
    const isOver = view.nowMs >= sinceMs + drainWaitMs(pool, undefined);
    const isAskedAnew = decision !== undefined && isAskedFor(decision);
    if (isOver || isAskedAnew || withdrawn.has(name) || elsewhere.has(name)) return [];
    return [[name, withMode(departure, decision)] as const];
  });
  const isSame = live.every(([name, departure]) => view.departures.get(name) === departure);
  return isSame && live.length === view.departures.size ? view.departures : new Map(live);
}

/** A claim may ask for one node alone while it leaves; once it has left, no document says so. */
function withMode(departure: Departure, decision: ClaimDecision | undefined): Departure {
  const claim = decision?.subject.claim;
  const { mode } = (departure.later ?? departure.claim).object.placement ?? {};
  if (claim === undefined || claim.object.placement?.mode === mode) return departure;
  return { ...departure, later: claim };
}

/**
 * Of those that all announced when they began to leave, and that have left the documents since: to
 * a router that ignores GRACEFUL_SHUTDOWN such a path is as good as the holder's.
 */
function exclusiveElsewhere(
  view: View,
  anew: ReadonlyMap<string, ClaimDecision>,
): ReadonlySet<string> {
  const gone = [...view.departures.values()].filter(
    ({ claim, held }) => held === undefined && !anew.has(claim.object.name),
  );
  const decided = decidedOn(
    gone.map(({ claim, later = claim }) => later),
    view,
  );
  const left = [...decided].filter(([, { subject }]) => leavesAtOnce(subject, undefined));
  return new Set(left.map(([name]) => name));
}

function nameOf({ subject }: ClaimDecision): string {
  return subject.claim.object.name;
}

export function isAnnounced({ peers }: ClaimDecision): boolean {
  return peers.some(({ route }) => route !== undefined);
}

/** closed by the documents themselves, not by a fact */
export function isTakenAway({ gates, peers }: ClaimDecision): boolean {
  if (gates.assigned.state === 'closed' || gates.pooled.state === 'closed') return true;
  return peers.length > 0 && peers.every(({ allowed }) => allowed.state === 'closed');
}

function departureReason(successor: ClaimDecision | undefined): string {
  if (successor === undefined) return 'its document was removed';
  const { assigned, pooled } = successor.gates;
  if (assigned.state === 'closed') return assigned.sentence;
  if (pooled.state === 'closed') return pooled.sentence;
  return successor.peers.find(({ allowed }) => allowed.state === 'closed')?.allowed.sentence ?? '';
}

/** What the documents say of departing claims by now, by their names. One decision on all of them. */
function decidedAnew(view: View): ReadonlyMap<string, ClaimDecision> {
  const claims = view.documents.claims.filter(({ object }) => view.departures.has(object.name));
  return decidedOn(claims, view);
}

function decidedOn(
  claims: readonly Sourced<IpClaim>[],
  view: View,
): ReadonlyMap<string, ClaimDecision> {
  if (claims.length === 0) return new Map();
  const documents = { ...view.documents, claims };
  const decided = desired({ ...view, documents, departures: new Map() });
  return new Map(decided.claims.map((decision) => [nameOf(decision), decision]));
}

/** the documents ask for it here again, whatever the facts say; whether there is room for it beside the others is another question */
function isAskedFor(decision: ClaimDecision): boolean {
  const { gates, peers } = decision;
  return !isTakenAway({
    ...decision,
    gates,
    peers: peers.filter(({ allowed }) => allowed.isLimit !== true),
  });
}
