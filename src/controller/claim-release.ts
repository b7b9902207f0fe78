/**
 * Deletes claims that have been given back, once their quarantine is over. While the object is there nobody gets its address, whichever
 * controller runs: the quarantine needs no memory.
 */

import type { Timer } from 'bgp-ts';
import { type ClaimRecord, releasedBy } from '../allocator/claim-record.ts';
import { parseClaimName } from '../model/claim-name.ts';
import type { IpNode } from '../model/ip-node.ts';
import { DONE, KeyQueue, type QueueOutcome } from '../sources/kube/key-queue.ts';
import { ClaimWriter } from './claim-writer.ts';
import type { LoopContext } from './loops.ts';
import { isAwaited, quarantine } from './quarantine.ts';
import { freedomOf } from './release-rules.ts';
import type { ServiceWorld } from './service-world.ts';

const DELETES = 4;
/** reports of many nodes come together */
const GATHER_MS = 50;

export class ClaimRelease {
  readonly #context: LoopContext;
  readonly #world: ServiceWorld;
  readonly #writer: ClaimWriter;
  readonly #queue: KeyQueue;
  readonly #ends: (() => void)[] = [];
  #gather: Timer | undefined;

  constructor(context: LoopContext, world: ServiceWorld) {
    const { clock, random, counters } = context;
    this.#context = context;
    this.#world = world;
    this.#writer = new ClaimWriter(context.api, world);
    this.#queue = new KeyQueue({
      clock,
      random,
      concurrency: DELETES,
      work: (name) => this.#look(name),
    });
    this.#ends.push(counters.queue('claim-release', () => this.#queue.depth));
  }

  start(): void {
    const { caches } = this.#context;
    this.#ends.push(
      caches.subscribe('ipNodes', (_, now, before) => {
        if (hasMoved(now, before)) this.#allSoon();
      }),
      caches.subscribe('nodes', (_, now, before) => {
        if (isAwaited(before) && !isAwaited(now)) this.#allSoon();
      }),
    );
  }

  stop(): void {
    for (const end of this.#ends) end();
    this.#gather?.cancel();
    this.#queue.stop();
  }

  /** a claim that has perhaps been released */
  readonly due = (name: string): void => this.#queue.add(name);

  #allSoon(): void {
    this.#gather ??= this.#context.clock.startTimer(GATHER_MS, () => {
      this.#gather = undefined;
      for (const { name } of this.#world.claims.released) this.#queue.add(name);
    });
  }

  async #look(name: string): Promise<QueueOutcome> {
    const address = parseClaimName(name);
    const claim = address && this.#world.claims.at(address);
    if (claim === undefined || claim.isBeingDeleted || releasedBy(claim) === undefined) return DONE;
    const nowMs = this.#context.clock.wallTimeMs();
    const freedom = freedomOf(claim, quarantine(this.#context));
    if (freedom.kind === 'held') {
      return { kind: 'retry', afterMs: Math.max(freedom.untilMs - nowMs, 1) };
    }
    return await this.#delete(claim);
  }

  async #delete(claim: ClaimRecord): Promise<QueueOutcome> {
    const outcome = await this.#writer.delete(claim);
    if (outcome === 'again') return { kind: 'retry', afterMs: 1 };
    if (claim.pool !== undefined) this.#context.counters.released(claim.pool);
    return DONE;
  }
}

/** whether it may have let go of something, or counts differently */
function hasMoved(now: IpNode | undefined, before: IpNode | undefined): boolean {
  return (
    now?.status.observedClaims !== before?.status.observedClaims ||
    now?.status.joined?.open !== before?.status.joined?.open
  );
}
