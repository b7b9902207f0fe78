/**
 * Claims that somebody else deleted while nodes may announce them: by hand, in most cases. The
 * object was what kept the address from others, so this process keeps it until those nodes have
 * taken up that it is gone, or are gone themselves, or `maxStale` is over. It is in memory alone:
 * another claim in its place would be in the way of a person who deletes one to write another
 * (decision 0070).
 *
 * The Services that the claim named, or that gave it back, may take the address back at once:
 * what is announced is their own. One that was free already is not kept: nodes have taken up its
 * release, or we were deleting it ourselves.
 */

import type { Timer } from 'bgp-ts';
import { type ClaimRecord, releasedBy } from '../allocator/claim-record.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import { Slices } from '../turns/slices.ts';
import type { CachedDocument } from './cached-document.ts';
import { claimRecord } from './claim-records.ts';
import type { LoopContext } from './loops.ts';
import { isAwaited, quarantine } from './quarantine.ts';
import { freedomOf, isHeldBy, type Quarantine } from './release-rules.ts';
import { ReleaseWaits } from './release-waits.ts';
import type { ServiceWorld } from './service-world.ts';

interface Kept {
  /** as it was last, in the version in which it went */
  readonly claim: ClaimRecord;
  readonly timer: Timer;
}

/** claims that are looked at with the same nodes */
const AT_A_STEP = 32;
/** a look at one node costs this part of the unit that Slices counts in */
const LOOKS_PER_UNIT = 40;

export class DeletedClaims {
  readonly #context: LoopContext;
  readonly #world: ServiceWorld;
  readonly #isOurs: (claim: ClaimRecord) => boolean;
  readonly #kept = new Map<string, Kept>();
  readonly #waits = new ReleaseWaits();
  readonly #slices = new Slices('deciding');
  readonly #ends: (() => void)[] = [];

  /** `isOurs`: we are deleting it, since its quarantine is over */
  constructor(context: LoopContext, world: ServiceWorld, isOurs: (claim: ClaimRecord) => boolean) {
    this.#context = context;
    this.#world = world;
    this.#isOurs = isOurs;
  }

  /** Before the world's own start: it frees the address with the same word. */
  start(): void {
    const { caches } = this.#context;
    this.#ends.push(
      caches.subscribe('claims', (name, now, before) => {
        if (now !== undefined) this.#letGo(name);
        else if (before !== undefined) this.#deleted(before);
      }),
      caches.subscribe('ipNodes', (name) => this.#nodeSaid(name)),
      caches.subscribe('nodes', (name, now) => {
        if (!isAwaited(now)) this.#nodeSaid(name);
      }),
    );
  }

  stop(): void {
    for (const end of this.#ends) end();
    this.#slices.stop();
    for (const { timer } of this.#kept.values()) timer.cancel();
  }

  #deleted(before: CachedDocument<IpClaim>): void {
    const record = claimRecord(before);
    if (record === undefined) return;
    const ours = this.#world.claims.at(record.address);
    // an answer to a write of ours may have said before that it is gone
    const known = ours?.uid === record.uid ? ours : record;
    if (this.#isOurs(known)) return;
    const { caches, clock, settings } = this.#context;
    const rules = this.#rules();
    if (releasedBy(known) !== undefined && freedomOf(known, rules).kind === 'free') return;
    const { releasedVersion: _, ...rest } = known;
    const claim = { ...rest, resourceVersion: String(caches.claims.resourceVersion) };
    const freedom = freedomOf(claim, rules);
    if (freedom.kind === 'free') return;
    const { name } = claim;
    this.#letGo(name);
    const timer = clock.startTimer(settings.maxStaleMs, () => this.#letGo(name));
    this.#kept.set(name, { claim, timer });
    this.#waits.set(name, freedom.by);
    this.#world.setDeleted(claim, true);
  }

  #nodeSaid(node: string): void {
    const { caches } = this.#context;
    const ipNode = caches.ipNodes.get(node);
    const hasNode = (name: string) => isAwaited(caches.nodes.get(name));
    const isHeld = (name: string) => {
      const claim = this.#kept.get(name)?.claim;
      return claim !== undefined && ipNode !== undefined && isHeldBy(claim, ipNode, hasNode);
    };
    const freed = this.#waits.take(node, isHeld);
    if (freed.length > 0) this.#slices.add(this.#lookAgain(freed));
  }

  /** Those that they were held against have answered; there may be others. Some claims at a step. */
  *#lookAgain(names: readonly string[]): Generator<number, void> {
    for (let from = 0; from < names.length; from += AT_A_STEP) {
      const rules = this.#rules();
      for (const name of names.slice(from, from + AT_A_STEP)) {
        const kept = this.#kept.get(name);
        const freedom = kept && freedomOf(kept.claim, rules);
        if (freedom?.kind === 'held') this.#waits.set(name, freedom.by);
        else this.#letGo(name);
      }
      yield Math.ceil((AT_A_STEP * rules.ipNodes.length) / LOOKS_PER_UNIT);
    }
  }

  /** A claim that is gone says no more for how long it was seen released: its timer does. */
  #rules(): Quarantine {
    return quarantine({ ...this.#context, releases: { seenForMs: () => 0 } });
  }

  #letGo(name: string): void {
    const kept = this.#kept.get(name);
    if (kept === undefined) return;
    kept.timer.cancel();
    this.#kept.delete(name);
    this.#waits.forget(name);
    this.#world.setDeleted(kept.claim, false);
  }
}
