/**
 * Remembers decisions: with ten thousand claims, a change of one must not cost what deciding on all does. A decision counts again for the
 * same claim, or the same departure of one, while everything is the same that concerns all claims (the context) and what kube-proxy says of
 * this one, and until the moment at which it changes by time alone. Whatever a decision can change by besides (checks, interfaces) is not
 * remembered at all, so that there is nothing to forget. Time only goes forward: what is over stays over.
 */

import type { Route } from 'bgp-ts';
import type { Sourced } from '../model/documents.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import type { IpPool } from '../model/ip-pool.ts';
import type { Aggregate } from './aggregates.ts';
import type { ClaimDecision } from './desired.ts';
import type { TimedGate } from './drain-gate.ts';
import type { Gate } from './gate.ts';
import { type JoinedGates, joinedGates } from './joined-gate.ts';
import { areInSeveralAses, type PeerPlan } from './peer-settings.ts';
import type { Departure, View } from './view.ts';

/** What concerns every claim. One object while it is the same. */
export interface DecisionContext {
  readonly plans: readonly PeerPlan[];
  readonly joined: JoinedGates;
  /** compared one by one, each by identity */
  readonly facts: readonly unknown[];
  /** pools and former pools: a source makes new lists of the same objects */
  readonly pools: readonly (readonly IpPool[])[];
}

/** What a decision does to one peer beside being told. */
export interface PeerStep {
  readonly takesPlace: boolean;
  /** the peer had no room: another time it may */
  readonly isFull: boolean;
  /** its own, or that of `aggregate` */
  readonly route?: Route;
  /** which takes the place, however many claims are inside */
  readonly aggregate?: Aggregate;
  readonly isDraining?: boolean;
  /** what this machine is to discard for it */
  readonly wish?: Aggregate;
}

export interface RememberedDecision {
  readonly decision: ClaimDecision;
  /** one per plan */
  readonly steps: readonly PeerStep[];
  /** under which it counts again; absent: it does not */
  readonly context?: DecisionContext;
}

interface Asked {
  readonly claim: Sourced<IpClaim>;
  /** of this claim, which stands in for it */
  readonly departure: Departure | undefined;
}

/** what is looked at in part is no hint for the next look at all */
const SMALL = 100;

export class DecisionMemo {
  readonly #memos = new WeakMap<Sourced<IpClaim>, RememberedDecision>();
  /** a departure is of one claim; what is decided on that claim otherwise is another question */
  readonly #departing = new WeakMap<Departure, RememberedDecision>();
  #context: DecisionContext | undefined;
  /** the last round in its order, in which the next one mostly finds everything: a lookup by identity costs far more */
  #round: readonly RememberedDecision[] = [];
  #at = 0;

  context(view: View, plans: readonly PeerPlan[]): DecisionContext {
    const joined = joinedGates(view);
    const { documents, node, nodeDrain, stopDrain, claimDrains, cluster } = view;
    const own = [view.ownAddresses, view.hostAddresses, cluster?.addresses.join(' ')];
    const isFenced = view.fencedSinceMs !== undefined && `fenced ${view.hasLapsed}`;
    const drains = [nodeDrain, stopDrain, claimDrains, cluster?.drains];
    const ages = [view.stale, view.staleApi];
    const { pools, formerPools = [] } = documents;
    const ours = [isFenced, view.announcer, view.discards, areInSeveralAses(view)];
    const facts = [node, ...own, ...drains, ...ages, ...ours];
    const lists = [pools, formerPools].map((list) => list.map(({ object }) => object));
    const made = { plans, joined, facts, pools: lists };
    const known = this.#context;
    if (known !== undefined && isSameContext(known, made)) return known;
    this.#context = made;
    return made;
  }

  /** `healthy` is the gate as it would be now */
  recall(
    { claim, departure }: Asked,
    context: DecisionContext,
    { healthy, nowMs }: { readonly healthy: TimedGate; readonly nowMs: number },
  ): RememberedDecision | undefined {
    const memo =
      departure === undefined
        ? (this.#hinted(claim) ?? this.#memos.get(claim))
        : this.#departing.get(departure);
    if (memo?.context !== context || healthy.wakeAtMs !== undefined) return undefined;
    const { gates, subject } = memo.decision;
    // the claim may have changed since under the same departure
    if (departure?.held !== undefined && subject.claim !== claim) return undefined;
    if (gates.healthy !== healthy.gate) return undefined;
    return gates.wakeAtMs === undefined || nowMs < gates.wakeAtMs ? memo : undefined;
  }

  remember(context: DecisionContext, made: RememberedDecision): RememberedDecision {
    const { claim, departure } = made.decision.subject;
    const { checks, bind } = claim.object;
    if (checks.length > 0 || bind !== undefined) return made;
    const { decision, steps } = made;
    const memo = { decision, steps, context };
    if (departure === undefined) this.#memos.set(claim, memo);
    else this.#departing.set(departure, memo);
    return memo;
  }

  /** `round`: all decisions, in their order */
  endRound(round: readonly RememberedDecision[]): void {
    this.#at = 0;
    if (round.length >= SMALL) this.#round = round;
  }

  /** where the last round had it, or one further for each that is gone */
  #hinted(claim: Sourced<IpClaim>): RememberedDecision | undefined {
    for (let at = this.#at; at <= this.#at + 1; at += 1) {
      const known = this.#round[at];
      const subject = known?.decision.subject;
      if (subject?.claim !== claim || subject.departure !== undefined) continue;
      this.#at = at + 1;
      return known;
    }
    return undefined;
  }
}

function isSameList<T>(a: readonly T[], b: readonly T[] | undefined): boolean {
  return a.length === b?.length && a.every((one, index) => one === b[index]);
}

function isSameContext(a: DecisionContext, b: DecisionContext): boolean {
  return (
    a.pools.every((list, index) => isSameList(list, b.pools[index])) &&
    a.facts.every((fact, index) => fact === b.facts[index]) &&
    a.plans.length === b.plans.length &&
    a.plans.every((plan, index) => isSamePlan(plan, b.plans[index])) &&
    isSameGate(a.joined.files, b.joined.files) &&
    isSameGate(a.joined.api, b.joined.api) &&
    isSameGate(a.joined.strict, b.joined.strict)
  );
}

/** as far as claims are concerned */
function isSamePlan(a: PeerPlan, b: PeerPlan | undefined): boolean {
  if (b === undefined || a.peer !== b.peer || a.kind !== b.kind) return false;
  return a.kind !== 'refused' || b.kind !== 'refused' || a.sentence === b.sentence;
}

function isSameGate(a: Gate, b: Gate): boolean {
  const isAlike = a.state === b.state && a.isUnknown === b.isUnknown;
  return isAlike && a.sentence === b.sentence && a.remedy === b.remedy;
}
