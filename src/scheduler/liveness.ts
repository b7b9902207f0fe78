/**
 * Which nodes' agents live, judged from their Leases on the observer's clock alone. Pure: the time comes in. What a Lease says of time
 * was written by another clock, so only that it CHANGED counts, when we saw it, and how long it says that it lasts.
 *
 * - `alive` after two changes that we saw ourselves; before that `unproven`: it keeps what it has and gets nothing new, so a
 *   controller that has just started neither trusts a dead node nor moves anything away from a living one
 * - `silent` after the duration of its own Lease without a change, as long as its routers may still have its routes; `dead` after that.
 *   Silence counts only while somebody is heard (heard-clock.ts), and a node is silent only when the API has served another one after
 *   this one was late: an agent, or a kubelet. That our own writes are taken proves nothing about the nodes
 * - `unheard` instead, when nobody else was served; and for one further duration when more than half of at least three nodes fell silent
 *   together. A holder that is cut off has stepped down by then, so a move is safe at the router even if all of them live. Nodes that
 *   were found dead one by one before are not among those; neither are those whose Node somebody deleted
 * - `released`: the agent has emptied its Lease because it goes, at once
 */

import {
  DEFAULT_LEASE_TIMES,
  type LeaseTimes,
  leaseSeconds,
  leaseTimes,
} from '../model/lease-times.ts';
import { HeardClock } from './heard-clock.ts';

export type Life = 'alive' | 'unproven' | 'unheard' | 'silent' | 'dead' | 'released';

export interface LeaseSight {
  /** of the Lease object: one that was deleted and made anew is a new one, whatever its counters say */
  readonly uid: string;
  /** whatever changes when it is renewed */
  readonly mark: string;
  /** it has no holder: the agent has let it go */
  readonly isReleased: boolean;
  /** how long it says that it lasts; absent: as long as one may */
  readonly durationSeconds?: number;
  /** a planned restart: its routers keep its routes for so long from this sign on */
  readonly restartingMs?: number;
}

/** sights of change before a node is usable */
const PROOFS = 2;
const FEWEST_TO_BE_MANY = 3;

interface Sighting {
  uid: string | undefined;
  mark: string;
  /** by the last Lease that somebody held */
  times: LeaseTimes;
  /** 0: no restart was announced */
  restartingMs: number;
  /** on the clock that stands still while we are deaf */
  changedAt: number;
  /** the same on the clock of the longest Lease, where every stall up to 6 s counts in full */
  changedLongAt: number;
  /** when that was */
  changedMs: number;
  /** when it changed before that; absent: we have not seen that */
  changedBeforeMs?: number | undefined;
  proofs: number;
  isReleased: boolean;
  /** was found silent for too long at a time when we were not blind, and has not been heard since */
  isFoundDead: boolean;
  /** somebody deleted its Node: it is judged alone */
  isDeparted: boolean;
}

export interface Blindness {
  /** most fell silent together, and not long enough ago */
  readonly isBlind: boolean;
  /** silent for longer than usual */
  readonly late: number;
  /** those that were not known to be dead before */
  readonly of: number;
}

export class Liveness {
  readonly #nodes = new Map<string, Sighting>();
  /** how long the routers of a node may keep what it announced, after its last sign of life */
  readonly #routersMs = new Map<string, number>();
  readonly #clock: HeardClock;
  /** when an agent or a kubelet was last seen to be served by the API */
  #servedMs: number;
  /** of those that fell silent together the first has been found dead: the others are waited for no longer than one alone */
  #isWaitedOut = false;

  constructor(startMs: number) {
    this.#clock = new HeardClock(startMs);
    this.#servedMs = startMs;
  }

  /** names that have been seen, or told of */
  get names(): Iterable<string> {
    return this.#nodes.keys();
  }

  /** A sign that the API takes our own writes, e.g. a controller's Lease that changes: time counts, and nothing else follows. */
  hear(nowMs: number): void {
    this.#clock.hear(nowMs);
  }

  /** The API takes the writes of others: of an agent, or of a kubelet. */
  hearOther(nowMs: number): void {
    this.#clock.hear(nowMs);
    this.#servedMs = nowMs;
  }

  /** when the API was last seen to serve an agent or a kubelet */
  get servedMs(): number {
    return this.#servedMs;
  }

  /**
   * A Lease as it is now. `isFirstLook`: it comes from a list of everything, so that it is there proves nothing.
   */
  see(name: string, lease: LeaseSight, nowMs: number, isFirstLook = false): void {
    const known = this.#nodes.get(name);
    if (known === undefined) {
      if (!isFirstLook) this.hearOther(nowMs);
      const proofs = isFirstLook ? 0 : 1;
      this.#nodes.set(name, this.#sighting(lease, nowMs, proofs));
      return;
    }
    if (known.uid === lease.uid && known.mark === lease.mark) return;
    this.hearOther(nowMs);
    const wasSilent = this.#silence(known, nowMs) >= known.times.durationMs;
    known.proofs = wasSilent || known.isReleased ? 1 : Math.min(known.proofs + 1, PROOFS);
    known.uid = lease.uid;
    known.mark = lease.mark;
    // one that was given back says one second, which is no promise
    if (!lease.isReleased) known.times = leaseTimes(leaseSeconds(lease.durationSeconds));
    known.changedAt = this.#clock.at(known.times, nowMs);
    known.changedLongAt = this.#clock.at(DEFAULT_LEASE_TIMES, nowMs);
    // its last word before a planned restart is no renewal: nothing of it hears since
    known.changedBeforeMs = known.restartingMs > 0 ? undefined : known.changedMs;
    known.changedMs = nowMs;
    known.restartingMs = lease.restartingMs ?? 0;
    known.isReleased = lease.isReleased;
    known.isFoundDead = false;
  }

  /** Its Lease is gone. A living agent makes a new one before its time is over. */
  lose(name: string): void {
    const known = this.#nodes.get(name);
    if (known !== undefined) known.uid = undefined;
  }

  /** How long its routers may keep its routes after the last sign of life; Infinity: for ever, as far as anybody knows. */
  setRouters(name: string, keepMs: number): void {
    this.#routersMs.set(name, keepMs);
  }

  /**
   * Another controller has found it dead: that it is silent now says nothing about our own eyes. Of one that we have just heard that word
   * is old.
   */
  knowDead(name: string, nowMs: number): void {
    const known = this.#nodes.get(name);
    if (known === undefined) return;
    const isSilent = this.#silence(known, nowMs) > known.times.lateMs;
    if (known.proofs === 0 || isSilent) known.isFoundDead = true;
  }

  /** Whether its Node has been deleted: a person knows better than we what became of it. */
  setDeparted(name: string, isDeparted: boolean): void {
    const known = this.#nodes.get(name);
    if (known !== undefined) known.isDeparted = isDeparted;
  }

  /**
   * Neither its Lease nor its Node is there any more. Until it has been silent for long enough it may still announce what it had, and make
   * itself a new Lease; after that it is as one that we never heard of. True: it is forgotten.
   */
  forget(name: string, nowMs: number): boolean {
    const node = this.#nodes.get(name);
    if (node !== undefined && this.#leftMs(name, node, nowMs) > 0) return false;
    this.#nodes.delete(name);
    this.#routersMs.delete(name);
    return true;
  }

  /** Who has died since the last look is noted, unless we are blind. */
  look(nowMs: number): Blindness {
    const { of, late } = this.#count(nowMs);
    const areMany = of >= FEWEST_TO_BE_MANY && late * 2 > of;
    if (!areMany) this.#isWaitedOut = false;
    else
      this.#isWaitedOut ||= [...this.#nodes.values()].some((node) => this.#isDue(node, nowMs, 2));
    const isBlind = areMany && !this.#isWaitedOut;
    if (isBlind) return { isBlind, late, of };
    for (const node of this.#nodes.values()) {
      if (this.#isDue(node, nowMs, 1)) node.isFoundDead = true;
    }
    return { isBlind, late, of };
  }

  /** As of the last look, except for those who speak. */
  lifeOf(name: string, nowMs: number): Life {
    const node = this.#nodes.get(name);
    if (node === undefined) {
      const lookedMs = this.#clock.at(DEFAULT_LEASE_TIMES, nowMs);
      // whoever has had no Lease for so long has no agent that would take a claim
      return lookedMs < DEFAULT_LEASE_TIMES.durationMs ? 'unproven' : 'dead';
    }
    if (node.isReleased) return 'released';
    const silenceMs = this.#silence(node, nowMs);
    if (silenceMs >= node.times.durationMs) {
      if (!node.isFoundDead && !node.isDeparted) return 'unheard';
      return this.#leftMs(name, node, nowMs) > 0 ? 'silent' : 'dead';
    }
    return node.proofs >= PROOFS ? 'alive' : 'unproven';
  }

  /**
   * Its Lease has been seen to change twice since. That it is `alive` after some time proves no
   * renewal, since that time stands still while nobody is heard; nor does one change: a watch that
   * was away for some time brings one of before.
   */
  hasRenewedTwice(name: string, sinceMs: number): boolean {
    const beforeMs = this.#nodes.get(name)?.changedBeforeMs ?? Number.NEGATIVE_INFINITY;
    return beforeMs > sinceMs && !this.isRestarting(name);
  }

  /** Its agent has said that it is away for a planned restart, and has not renewed since: it does not hear. */
  isRestarting(name: string): boolean {
    return (this.#nodes.get(name)?.restartingMs ?? 0) > 0;
  }

  /** We have just begun to look, and know of nodes that may yet prove to live: whoever was first would be given everything. */
  isLearning(nowMs: number): boolean {
    if (this.#clock.at(DEFAULT_LEASE_TIMES, nowMs) >= DEFAULT_LEASE_TIMES.durationMs) return false;
    for (const node of this.#nodes.values()) {
      if (node.isReleased || node.isFoundDead || node.isDeparted) continue;
      if (node.proofs >= PROOFS) continue;
      if (this.#silence(node, nowMs) <= node.times.lateMs) return true;
    }
    return false;
  }

  /** milliseconds until a node may have been silent for long enough; Infinity: none is */
  untilNextMs(nowMs: number): number {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const [name, node] of this.#nodes) {
      if (node.isReleased) continue;
      const { durationMs } = node.times;
      const silenceMs = this.#silence(node, nowMs);
      const givenAwayMs = this.#leftMs(name, node, nowMs);
      for (const leftMs of [durationMs - silenceMs, 2 * durationMs - silenceMs, givenAwayMs]) {
        if (leftMs > 0) nextMs = Math.min(nextMs, leftMs);
      }
    }
    return nextMs;
  }

  #count(nowMs: number): { readonly of: number; readonly late: number } {
    let of = 0;
    let late = 0;
    for (const node of this.#nodes.values()) {
      if (node.isReleased || node.isFoundDead || node.isDeparted) continue;
      of += 1;
      if (this.#silence(node, nowMs) > node.times.lateMs) late += 1;
    }
    return { of, late };
  }

  /** silent for so many durations, while the API served another */
  #isDue(node: Sighting, nowMs: number, durations: number): boolean {
    const { durationMs, lateMs } = node.times;
    const isServed = this.#servedMs - node.changedMs >= lateMs;
    return isServed && this.#silence(node, nowMs) >= durations * durationMs;
  }

  /**
   * After so much more silence another may have its claims: the node has stepped down, and if it is dead its routers have forgotten it. Their timers do
   * not stand still: where others renew more seldom than this node, most of the time would not count by its own clock. On the other clock a stall
   * counts that may have hidden its last renewals, so that it may have died at the end of one.
   */
  #leftMs(name: string, node: Sighting, nowMs: number): number {
    const { times, isDeparted, restartingMs, changedLongAt } = node;
    const { durationMs, lastSignMs } = times;
    const silenceMs = this.#silence(node, nowMs);
    const leaseMs = durationMs - silenceMs;
    const keepMs = this.#routersMs.get(name) ?? 0;
    // nobody waits for ever for a machine that a person has taken away
    if (isDeparted && !Number.isFinite(keepMs)) return leaseMs;
    const forgottenMs = (lateMs: number) =>
      Math.max(restartingMs, keepMs === 0 ? 0 : keepMs + lateMs);
    const longMs = this.#clock.at(DEFAULT_LEASE_TIMES, nowMs) - changedLongAt;
    const own = forgottenMs(lastSignMs) - silenceMs;
    const long = forgottenMs(lastSignMs + DEFAULT_LEASE_TIMES.deafMs) - longMs;
    return Math.max(leaseMs, Math.min(own, long));
  }

  #silence(node: Sighting, nowMs: number): number {
    return this.#clock.at(node.times, nowMs) - node.changedAt;
  }

  #sighting(lease: LeaseSight, nowMs: number, proofs: number): Sighting {
    const { uid, mark, isReleased, durationSeconds, restartingMs = 0 } = lease;
    const times = isReleased ? DEFAULT_LEASE_TIMES : leaseTimes(leaseSeconds(durationSeconds));
    const changedAt = this.#clock.at(times, nowMs);
    const changedLongAt = this.#clock.at(DEFAULT_LEASE_TIMES, nowMs);
    const changed = { changedAt, changedLongAt, changedMs: nowMs };
    const doubts = { isReleased, isFoundDead: false, isDeparted: false };
    return { uid, mark, times, restartingMs, ...changed, proofs, ...doubts };
  }
}
