/**
 * Claims that somebody else deleted while nodes may announce them: by hand, in most cases. The
 * object was what kept the address from others, so this process keeps it until those nodes have
 * taken up that it is gone, or are gone themselves, or `maxStale` is over. It is in memory alone:
 * another claim in its place would be in the way of a person who deletes one to write another
 * (decision 0070).
 *
 * A claim with Services is not waited for: they make another at once. Nor is one that was free
 * already, as those are that we delete.
 */

import type { Timer } from 'bgp-ts';
import { type ClaimRecord, releasedBy } from '../allocator/claim-record.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import type { CachedDocument } from './cached-document.ts';
import { claimRecord } from './claim-records.ts';
import type { LoopContext } from './loops.ts';
import { isAwaited, quarantine } from './quarantine.ts';
import { freedomOf, isHeldBy } from './release-rules.ts';
import { ReleaseWaits } from './release-waits.ts';
import type { ReleaseWatch } from './release-watch.ts';
import type { ServiceWorld } from './service-world.ts';

interface Kept {
  /** as it was last, in the version in which it went */
  readonly claim: ClaimRecord;
  readonly timer: Timer;
}

export class DeletedClaims {
  readonly #context: LoopContext;
  readonly #world: ServiceWorld;
  readonly #releases: ReleaseWatch;
  readonly #kept = new Map<string, Kept>();
  readonly #waits = new ReleaseWaits();
  readonly #ends: (() => void)[] = [];

  constructor(context: LoopContext, world: ServiceWorld, releases: ReleaseWatch) {
    this.#context = context;
    this.#world = world;
    this.#releases = releases;
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
    for (const { timer } of this.#kept.values()) timer.cancel();
  }

  #deleted(before: CachedDocument<IpClaim>): void {
    const record = claimRecord(before);
    const known = record && this.#world.claims.at(record.address);
    if (known === undefined || known.uid !== record?.uid || known.services.length > 0) return;
    const { caches, clock, settings } = this.#context;
    const rules = quarantine({ ...this.#context, releases: this.#releases });
    if (releasedBy(known) !== undefined && freedomOf(known, rules).kind === 'free') return;
    const { releasedVersion: _, ...rest } = known;
    const claim = { ...rest, resourceVersion: String(caches.claims.resourceVersion) };
    const freedom = freedomOf(claim, { ...rules, seenForMs: () => 0 });
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
    for (const name of this.#waits.take(node, isHeld)) this.#letGo(name);
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
