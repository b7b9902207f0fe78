/**
 * Deletes claims that have been given back, once their quarantine is over. While the object is there nobody gets its address, whichever
 * controller runs: the quarantine needs no memory.
 */

import { type ClaimRecord, isSameRelease, releasedBy } from '../allocator/claim-record.ts';
import { parseClaimName } from '../model/claim-name.ts';
import type { IpNode } from '../model/ip-node.ts';
import { DONE, KeyQueue, type QueueOutcome } from '../sources/kube/key-queue.ts';
import { namespaceOf } from '../sources/kube/namespace-turns.ts';
import { ClaimWriter } from './claim-writer.ts';
import type { LoopContext } from './loops.ts';
import { isAwaited, quarantine } from './quarantine.ts';
import { freedomOf, isHeldBy } from './release-rules.ts';
import { ReleaseWaits } from './release-waits.ts';
import type { ReleaseWatch } from './release-watch.ts';
import type { ServiceWorld } from './service-world.ts';

const DELETES = 4;

export class ClaimRelease {
  readonly #context: LoopContext;
  readonly #world: ServiceWorld;
  readonly #writer: ClaimWriter;
  readonly #queue: KeyQueue;
  readonly #ends: (() => void)[] = [];
  readonly #waits = new ReleaseWaits();
  /**
   * claims that we delete, or have deleted, until the watch says that they are gone: before our
   * answer, after it, or in its place
   */
  readonly #sent = new Map<string, { readonly claim: ClaimRecord; readonly isDone: boolean }>();
  readonly #releases: ReleaseWatch;

  constructor(context: LoopContext, world: ServiceWorld, releases: ReleaseWatch) {
    const { clock, random, counters } = context;
    this.#context = context;
    this.#world = world;
    this.#releases = releases;
    this.#writer = new ClaimWriter(context.api, world);
    this.#queue = new KeyQueue({
      clock,
      random,
      concurrency: DELETES,
      work: (name) => this.#look(name),
      inTurnOf: (name) => this.#formerNamespace(name),
    });
    this.#ends.push(counters.queue('claim-release', () => this.#queue.depth));
  }

  start(): void {
    const { caches } = this.#context;
    this.#ends.push(
      caches.subscribe('claims', (name, now) => {
        if (now === undefined) this.#sent.delete(name);
      }),
      caches.subscribe('ipNodes', (name, now, before) => {
        if (hasMoved(now, before)) this.#heard(name);
      }),
      caches.subscribe('nodes', (name, now, before) => {
        if (isAwaited(before) && !isAwaited(now)) this.#heard(name);
      }),
    );
  }

  stop(): void {
    for (const end of this.#ends) end();
    this.#queue.stop();
  }

  /** a claim that has perhaps been released */
  readonly due = (name: string): void => this.#queue.add(name);

  /** Its quarantine was over when we began to delete it, and nobody has taken it back since. */
  isOurDeletion(claim: ClaimRecord): boolean {
    const sent = this.#sent.get(claim.name);
    if (sent === undefined || sent.claim.uid !== claim.uid) return false;
    const isAsSent = sent.claim.resourceVersion === claim.resourceVersion;
    return sent.isDone || isAsSent || isSameRelease(sent.claim, claim);
  }

  readonly awaitedBy = (name: string): Iterable<string> => this.#waits.nodesOf(name);

  /** Only claims that wait for this node are looked at, and as a whole only those that wait for nobody else. */
  #heard(node: string): void {
    const { caches } = this.#context;
    const ipNode = caches.ipNodes.get(node);
    const hasNode = (name: string) => isAwaited(caches.nodes.get(name));
    const isHeld = (name: string) => {
      const claim = this.#released(name);
      return claim !== undefined && ipNode !== undefined && isHeldBy(claim, ipNode, hasNode);
    };
    for (const name of this.#waits.take(node, isHeld)) this.#queue.add(name);
  }

  #released(name: string): ClaimRecord | undefined {
    const address = parseClaimName(name);
    const claim = address && this.#world.claims.at(address);
    if (claim === undefined || claim.isBeingDeleted) return undefined;
    return releasedBy(claim) === undefined ? undefined : claim;
  }

  /** of the Service that gave it back: thousands of another one's stand in no line before it */
  #formerNamespace(name: string): string {
    const claim = this.#released(name);
    return namespaceOf((claim && releasedBy(claim)) ?? '');
  }

  async #look(name: string): Promise<QueueOutcome> {
    this.#waits.forget(name);
    const claim = this.#released(name);
    if (claim === undefined) return DONE;
    const freedom = freedomOf(claim, quarantine({ ...this.#context, releases: this.#releases }));
    if (freedom.kind === 'held') {
      this.#waits.set(name, freedom.by);
      return { kind: 'retry', afterMs: Math.max(freedom.leftMs, 1) };
    }
    return await this.#delete(claim);
  }

  async #delete(claim: ClaimRecord): Promise<QueueOutcome> {
    const { caches } = this.#context;
    this.#sent.set(claim.name, { claim, isDone: false });
    const outcome = await this.#writer.delete(claim);
    if (!caches.claims.items.has(claim.name)) this.#sent.delete(claim.name);
    else this.#sent.set(claim.name, { claim, isDone: outcome === 'done' });
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
