/**
 * Holds back the announcement of an address whose endpoints come and go: each turn is a withdrawal and an announcement by every node to every
 * router, and a probe that one tenant has set too tightly would drive them all. A withdrawal never waits, nor does what comes after the first one.
 *
 * Of an address that several Services share each has its own count: a withdrawal is that of those that were behind it last, and it is announced as soon as
 * one of those that are behind it may be. Otherwise one tenant's pod would keep the Service of another away.
 *
 * In the memory of the leader: another one begins anew, and may announce once sooner.
 */

import type { Clock } from 'bgp-ts';
import { type ClaimRecord, isOurReason } from '../allocator/claim-record.ts';
import type { Damping, GuardedPatch, ReachOf } from '../allocator/claim-writes.ts';
import { serviceKey } from '../model/service.ts';
import { timeText } from './conditions.ts';

/** an address that was announced for so long is calm again */
const CALM_MS = 60_000;
/** after the second withdrawal, and the longest; each one doubles it */
const HOLD_MS = { first: 10_000, longest: 60_000 };

/** of one Service */
interface Flaps {
  /** withdrawals, none of which came after a calm time */
  readonly count: number;
  /** not announced before, by the monotonic clock */
  readonly untilMs: number;
  /** when it was announced again; undefined: not yet */
  readonly announcedMs?: number;
}

interface Memory {
  readonly uid: string;
  /** Services that were behind it when it was last looked at and announced */
  behind: readonly string[];
  readonly flaps: Map<string, Flaps>;
}

export class FlapDamping {
  readonly #clock: Clock;
  readonly #reachOf: ReachOf;
  /** of claims that several Services share, and of those that were withdrawn not long ago */
  readonly #memories = new Map<string, Memory>();
  #sweptMs = 0;

  constructor(clock: Clock, reachOf: ReachOf) {
    this.#clock = clock;
    this.#reachOf = reachOf;
  }

  /** what is to be known before it is written */
  of(claim: ClaimRecord): Damping {
    this.#note(claim);
    const count = Math.min(...this.#lastBehind(claim).map((key) => this.#nextCount(claim, key)));
    const holdMs = holdMsOf(count);
    return {
      isHeld: this.heldMs(claim) > 0,
      ...(holdMs > 0 && {
        flaps: { count, until: timeText(this.#clock.wallTimeMs() + holdMs) },
      }),
    };
  }

  /** for how long it is not announced although somebody is behind it */
  heldMs(claim: ClaimRecord): number {
    if (!isOurReason(claim.withdrawn?.reason, 'noEndpoints')) return 0;
    const flaps = this.#of(claim)?.flaps;
    const nowMs = this.#clock.now();
    const heldMs = this.#behind(claim).map((key) => (flaps?.get(key)?.untilMs ?? 0) - nowMs);
    return heldMs.length === 0 ? 0 : Math.max(0, Math.min(...heldMs));
  }

  /** It was written: `claim` is how it stood before. */
  wrote(claim: ClaimRecord, { spec: { withdrawn } }: GuardedPatch): void {
    const nowMs = this.#clock.now();
    const wasOut = claim.withdrawn !== undefined;
    const isOut = isOurReason(withdrawn?.reason, 'noEndpoints');
    if (!wasOut && isOut) {
      const { flaps } = this.#memory(claim);
      for (const key of this.#lastBehind(claim)) {
        const count = this.#nextCount(claim, key);
        flaps.set(key, { count, untilMs: nowMs + holdMsOf(count) });
      }
      this.#sweep(nowMs);
    } else if (wasOut && withdrawn === null) {
      const memory = this.#of(claim);
      if (memory !== undefined) this.#standBehind(memory, [], this.#behind(claim));
    }
  }

  /** Whoever comes to stand behind an address that is announced is announced from now on. */
  #note(claim: ClaimRecord): void {
    if (claim.withdrawn !== undefined) return;
    const known = this.#of(claim);
    if (known === undefined && claim.services.length < 2) return;
    const behind = this.#behind(claim);
    if (behind.length === 0) return;
    const memory = known ?? this.#memory(claim);
    this.#standBehind(memory, memory.behind, behind);
  }

  #standBehind(memory: Memory, before: readonly string[], behind: readonly string[]): void {
    for (const key of behind) {
      const flaps = memory.flaps.get(key);
      const isNew = flaps !== undefined && !before.includes(key);
      if (isNew) memory.flaps.set(key, { ...flaps, announcedMs: this.#clock.now() });
    }
    memory.behind = behind;
  }

  /** its Services that have an endpoint, or may have one */
  #behind({ services, address }: ClaimRecord): readonly string[] {
    return services.map(serviceKey).filter((key) => this.#reachOf(key, address.family) !== 'none');
  }

  /** whose withdrawal it is, if it is withdrawn now */
  #lastBehind(claim: ClaimRecord): readonly string[] {
    const all = claim.services.map(serviceKey);
    const { behind = [] } = this.#of(claim) ?? {};
    const last = all.filter((key) => behind.includes(key));
    return last.length > 0 ? last : all;
  }

  #of({ name, uid }: ClaimRecord): Memory | undefined {
    const memory = this.#memories.get(name);
    return memory?.uid === uid ? memory : undefined;
  }

  #memory(claim: ClaimRecord): Memory {
    const { name, uid } = claim;
    const memory = this.#of(claim) ?? { uid, behind: [], flaps: new Map() };
    this.#memories.set(name, memory);
    return memory;
  }

  #nextCount(claim: ClaimRecord, key: string): number {
    const flaps = this.#of(claim)?.flaps.get(key);
    return flaps === undefined || this.#isCalm(flaps) ? 1 : flaps.count + 1;
  }

  #isCalm({ announcedMs }: Flaps): boolean {
    return announcedMs !== undefined && this.#clock.now() - announcedMs >= CALM_MS;
  }

  /** a claim that has gone is found here for a while, and is of no use */
  #sweep(nowMs: number): void {
    if (nowMs - this.#sweptMs < CALM_MS) return;
    this.#sweptMs = nowMs;
    for (const [name, { flaps }] of this.#memories) {
      for (const [key, each] of flaps) {
        const isOver = each.announcedMs === undefined && nowMs - each.untilMs >= CALM_MS;
        if (isOver || this.#isCalm(each)) flaps.delete(key);
      }
      // who stands behind one that is shared is noted again when it is looked at
      if (flaps.size === 0) this.#memories.delete(name);
    }
  }
}

function holdMsOf(count: number): number {
  if (count < 2) return 0;
  return Math.min(HOLD_MS.first * 2 ** (count - 2), HOLD_MS.longest);
}
