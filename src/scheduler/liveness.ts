/**
 * Which nodes' agents live, judged from their Leases on the observer's clock alone. Pure: the time comes in. What a Lease says of time
 * was written by another clock, so only that it CHANGED counts, and when we saw it.
 *
 * - `alive` after two changes that we saw ourselves; before that `unproven`: it keeps what it has and gets nothing new, so a
 *   controller that has just started neither trusts a dead node nor moves anything away from a living one
 * - `dead` after `reassignMs` of silence. Silence counts only while somebody is heard: a stall in which no Lease at all changes
 *   (etcd frozen, our watch cut, this process stopped) is our own deafness and is not held against anyone
 * - `unheard` instead of dead when more than half of at least three nodes fell silent together: then we are blind, and nothing moves.
 *   Nodes that were found dead one by one before are not among those; neither are those whose Node somebody deleted
 * - `released`: the agent has emptied its Lease because it goes, at once
 */

export type Life = 'alive' | 'unproven' | 'unheard' | 'dead' | 'released';

export interface LeaseSight {
  /** of the Lease object: one that was deleted and made anew is a new one, whatever its counters say */
  readonly uid: string;
  /** whatever changes when it is renewed */
  readonly mark: string;
  /** it has no holder: the agent has let it go */
  readonly isReleased: boolean;
}

export interface LivenessLimits {
  /** silent for so long = dead */
  readonly reassignMs: number;
  /** silent for longer than a renewal may take: counts towards blindness */
  readonly lateMs: number;
  /** no Lease at all has changed for longer: this time is not held against anyone */
  readonly deafMs: number;
}

/** for Leases that are renewed every 5 s */
export const LIVENESS_LIMITS: LivenessLimits = { reassignMs: 15_000, lateMs: 7_500, deafMs: 6_000 };
/** sights of change before a node is usable */
const PROOFS = 2;
const FEWEST_TO_BE_BLIND = 3;

interface Sighting {
  uid: string | undefined;
  mark: string;
  /** on the clock that stands still while we are deaf */
  changedAt: number;
  proofs: number;
  isReleased: boolean;
  /** was found dead at a time when we were not blind, and has not been heard since */
  isFoundDead: boolean;
  /** somebody deleted its Node: it is judged alone */
  isDeparted: boolean;
}

export interface Blindness {
  readonly isBlind: boolean;
  /** silent for longer than usual */
  readonly late: number;
  /** those that were not known to be dead before */
  readonly of: number;
}

export class Liveness {
  readonly #limits: LivenessLimits;
  readonly #nodes = new Map<string, Sighting>();
  /** time during which somebody was heard, up to `#heardMs` */
  #hearing = 0;
  #heardMs: number;

  constructor(startMs: number, limits: LivenessLimits = LIVENESS_LIMITS) {
    this.#limits = limits;
    this.#heardMs = startMs;
  }

  /** names that have been seen, or told of */
  get names(): Iterable<string> {
    return this.#nodes.keys();
  }

  /** A sign that the API takes writes, e.g. another Lease that changes: time counts again. */
  hear(nowMs: number): void {
    this.#hearing = this.#clock(nowMs);
    this.#heardMs = nowMs;
  }

  /**
   * A Lease as it is now. `isFirstLook`: it comes from a list of everything, so that it is there proves nothing.
   */
  see(name: string, lease: LeaseSight, nowMs: number, isFirstLook = false): void {
    const known = this.#nodes.get(name);
    if (known === undefined) {
      if (!isFirstLook) this.hear(nowMs);
      const proofs = isFirstLook ? 0 : 1;
      this.#nodes.set(name, this.#sighting(lease, nowMs, proofs));
      return;
    }
    if (known.uid === lease.uid && known.mark === lease.mark) return;
    this.hear(nowMs);
    const wasSilent = this.#silence(known, nowMs) >= this.#limits.reassignMs;
    known.proofs = wasSilent || known.isReleased ? 1 : Math.min(known.proofs + 1, PROOFS);
    known.uid = lease.uid;
    known.mark = lease.mark;
    known.changedAt = this.#clock(nowMs);
    known.isReleased = lease.isReleased;
    known.isFoundDead = false;
  }

  /** Its Lease is gone. A living agent makes a new one before its time is over. */
  lose(name: string): void {
    const known = this.#nodes.get(name);
    if (known !== undefined) known.uid = undefined;
  }

  /**
   * Another controller has found it dead: that it is silent now says nothing about our own eyes. Of one that we have just heard that word
   * is old.
   */
  knowDead(name: string, nowMs: number): void {
    const known = this.#nodes.get(name);
    if (known === undefined) return;
    const isSilent = this.#silence(known, nowMs) > this.#limits.lateMs;
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
    if (node !== undefined && this.#silence(node, nowMs) < this.#limits.reassignMs) return false;
    this.#nodes.delete(name);
    return true;
  }

  /** Who has died since the last look is noted, unless we are blind. */
  look(nowMs: number): Blindness {
    const blindness = this.#blindness(nowMs);
    if (blindness.isBlind) return blindness;
    for (const node of this.#nodes.values()) {
      if (this.#silence(node, nowMs) >= this.#limits.reassignMs) node.isFoundDead = true;
    }
    return blindness;
  }

  /** As of the last look, except for those who speak. */
  lifeOf(name: string, nowMs: number): Life {
    const node = this.#nodes.get(name);
    const { reassignMs } = this.#limits;
    // whoever has had no Lease for so long has no agent that would take a claim
    if (node === undefined) return this.#clock(nowMs) < reassignMs ? 'unproven' : 'dead';
    if (node.isReleased) return 'released';
    if (this.#silence(node, nowMs) >= reassignMs) {
      return node.isFoundDead || node.isDeparted ? 'dead' : 'unheard';
    }
    return node.proofs >= PROOFS ? 'alive' : 'unproven';
  }

  /** We have just begun to look, and know of nodes that may yet prove to live: whoever was first would be given everything. */
  isLearning(nowMs: number): boolean {
    if (this.#clock(nowMs) >= this.#limits.reassignMs) return false;
    for (const node of this.#nodes.values()) {
      if (node.isReleased || node.isFoundDead || node.isDeparted) continue;
      if (node.proofs >= PROOFS) continue;
      if (this.#silence(node, nowMs) <= this.#limits.lateMs) return true;
    }
    return false;
  }

  /** milliseconds for which it has been silent, as far as they count */
  silenceMs(name: string, nowMs: number): number | undefined {
    const node = this.#nodes.get(name);
    return node === undefined ? undefined : this.#silence(node, nowMs);
  }

  #blindness(nowMs: number): Blindness {
    let of = 0;
    let late = 0;
    for (const node of this.#nodes.values()) {
      if (node.isReleased || node.isFoundDead || node.isDeparted) continue;
      of += 1;
      if (this.#silence(node, nowMs) > this.#limits.lateMs) late += 1;
    }
    return { isBlind: of >= FEWEST_TO_BE_BLIND && late * 2 > of, late, of };
  }

  #silence(node: Sighting, nowMs: number): number {
    return this.#clock(nowMs) - node.changedAt;
  }

  /** stands still, in hindsight, where nobody was heard for too long */
  #clock(nowMs: number): number {
    const gap = nowMs - this.#heardMs;
    return this.#hearing + (gap <= this.#limits.deafMs ? gap : 0);
  }

  #sighting(lease: LeaseSight, nowMs: number, proofs: number): Sighting {
    const { uid, mark, isReleased } = lease;
    const changedAt = this.#clock(nowMs);
    return { uid, mark, changedAt, proofs, isReleased, isFoundDead: false, isDeparted: false };
  }
}
