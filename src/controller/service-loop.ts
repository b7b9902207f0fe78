/**
 * Gives Services their addresses: decide, write claims, and after that the Service. Claims have a queue of their own, since the route waits
 * for them; what a Service is told waits while many claims are to be written. A pass may be cut short anywhere: the next one, here or
 * in another controller, decides on what it finds.
 */

import type { Address } from 'bgp-ts';
import { type ClaimRecord, entryOf } from '../allocator/claim-record.ts';
import { leftClaim, newClaim, updatedClaim } from '../allocator/claim-writes.ts';
import { whyLeft } from '../allocator/decide-address.ts';
import { includes } from '../allocator/decide-external.ts';
import { decideService } from '../allocator/decide-service.ts';
import { type Grant, grantedAddress, type ServiceDecision } from '../allocator/decision.ts';
import { notForService } from '../allocator/pool-choice.ts';
import { externalAddresses, isLocalUntold, serviceRequest } from '../allocator/service-request.ts';
import type { Wish } from '../allocator/waiting.ts';
import { formatClaimName } from '../model/claim-name.ts';
import type { IpPool } from '../model/ip-pool.ts';
import type { Service } from '../model/service.ts';
import { isNotFound, isRefused } from '../sources/kube/api.ts';
import { DONE, KeyQueue, type QueueOutcome } from '../sources/kube/key-queue.ts';
import { splitKey } from '../sources/kube/object-key.ts';
import { inNamespace, SERVICES } from '../sources/kube/resources.ts';
import { ClaimWriter, type WriteOutcome } from './claim-writer.ts';
import { timeText } from './conditions.ts';
import type { LoopContext } from './loops.ts';
import { ServiceTeller } from './service-teller.ts';
import type { ServiceWorld } from './service-world.ts';

/** claims that are written at the same time, and Services that are */
const CLAIM_WRITES = 8;
const SERVICE_WRITES = 4;
/** while more Services wait for their claims, nobody's status is written */
const BACKLOG = 32;
/** how often a pass decides again by itself before it waits */
const ATTEMPTS = 5;
/** for the watch to bring what the API has already */
const CATCH_UP_MS = 100;
/** the first ones may be rights that come a moment later */
const FAILURES_TO_WARN = 3;
/** without a new address for so long: a burst is over */
const CALM_MS = 1500;

interface Pass {
  readonly key: string;
  readonly service: Service | undefined;
  readonly decision: ServiceDecision;
  readonly shareKey?: string;
}

export class ServiceLoop {
  readonly #context: LoopContext;
  readonly #world: ServiceWorld;
  readonly #writer: ClaimWriter;
  readonly #claims: KeyQueue;
  readonly #services: KeyQueue;
  readonly #teller: ServiceTeller;
  /** Services to be written when the claims are through */
  readonly #later = new Set<string>();
  readonly #ends: (() => void)[] = [];
  #wroteMs = Number.NEGATIVE_INFINITY;

  constructor(context: LoopContext, world: ServiceWorld) {
    const { clock, random, counters } = context;
    this.#context = context;
    this.#world = world;
    this.#writer = new ClaimWriter(context.api, world);
    this.#teller = new ServiceTeller(context, world);
    const onFailure = (key: string, error: Error, failures: number) =>
      this.#failed(key, error, failures);
    this.#claims = new KeyQueue({
      clock,
      random,
      concurrency: CLAIM_WRITES,
      work: (key) => this.#orSay(key, this.#workOnClaims(key)),
      onFailure,
    });
    this.#services = new KeyQueue({
      clock,
      random,
      concurrency: SERVICE_WRITES,
      work: (key) => this.#orSay(key, this.#workOnService(key)),
      onFailure,
    });
    this.#ends.push(
      counters.queue('service-claims', () => this.#claims.depth),
      counters.queue('service-status', () => this.#services.depth + this.#later.size),
    );
  }

  /** this Service is to be looked at */
  readonly due = (key: string): void => this.#claims.add(key);

  /** addresses are being given out, or were a moment ago: between two Services of a burst there may be nothing to do */
  get isBusy(): boolean {
    if (this.#claims.depth + this.#services.depth + this.#later.size > 0) return true;
    return this.#context.clock.now() - this.#wroteMs < CALM_MS;
  }

  stop(): void {
    for (const end of this.#ends) end();
    this.#later.clear();
    this.#claims.stop();
    this.#services.stop();
  }

  async #workOnClaims(key: string): Promise<QueueOutcome> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const pass = this.#decide(key);
      if ((await this.#carryOut(pass)) === 'again') {
        this.#context.counters.conflict('service');
        continue;
      }
      this.#world.letGo(key);
      const outcome = await this.#leave(pass);
      this.#tellSoon(pass);
      return outcome;
    }
    return { kind: 'retry' };
  }

  /** Without a pause between the decision and the hold on what was decided, nobody else decides on the same address. */
  #decide(key: string): Pass {
    this.#world.letGo(key);
    const service = this.#world.service(key);
    if (service === undefined) this.#world.departed(key);
    const decision = decideService(key, service, this.#world.world);
    this.#world.wait(key, service && wishOf(key, service, decision));
    const shareKey = service && serviceRequest(service).shareKey;
    const created = decision.grants.filter(({ kind }) => kind === 'create').map(grantedAddress);
    this.#world.hold(key, created, shareKey);
    return { key, service, decision, ...(shareKey !== undefined && { shareKey }) };
  }

  async #carryOut({ service, decision, shareKey }: Pass): Promise<WriteOutcome> {
    if (service === undefined || decision.grants.length === 0) return 'done';
    const word = shareKey === undefined ? {} : { shareKey };
    const writes = decision.grants.map((grant) => this.#grant(grant, service, word));
    const outcomes = await Promise.allSettled(writes);
    let isAgain = false;
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') throw outcome.reason;
      isAgain ||= outcome.value === 'again';
    }
    return isAgain ? 'again' : 'done';
  }

  async #grant(
    grant: Grant,
    service: Service,
    word: { readonly shareKey?: string },
  ): Promise<WriteOutcome> {
    const { reachOf, pools } = this.#world;
    if (grant.kind !== 'create') {
      const heir = this.#heirOf(grant.claim, service);
      const body = updatedClaim({ claim: grant.claim, service, ...word, heir, reachOf });
      return body === undefined ? 'done' : await this.#writer.patch(grant.claim, body);
    }
    const pool = pools.byName.get(grant.pool);
    if (pool === undefined) return 'again';
    const body = newClaim({ grant, service, pool, ...word, reachOf });
    const outcome = await this.#writer.create(formatClaimName(grant.address), body);
    this.#wroteMs = this.#context.clock.now();
    if (outcome === 'done') this.#context.counters.allocated(pool.name);
    return outcome;
  }

  /** A pool that was renamed or split: its claims go over to the one that has their address now, if that is for their Service. */
  #heirOf({ pool, address }: ClaimRecord, service: Service): IpPool | undefined {
    const { pools, book, world } = this.#world;
    const isThere = pool === undefined || pools.byName.has(pool) || pools.refused.has(pool);
    if (isThere) return undefined;
    const heir = book.poolOf(address);
    if (heir === undefined) return undefined;
    const labels = world.namespaceLabels(service.namespace);
    return notForService(heir, service, labels) === undefined ? heir : undefined;
  }

  /** Claims are left when neither the Service's status nor its spec names their address any more. */
  async #leave({ key, service, decision }: Pass): Promise<QueueOutcome> {
    for (const claim of decision.leave) {
      const now = this.#world.claims.at(claim.address);
      if (now === undefined || now.uid !== claim.uid) continue;
      if (service !== undefined && isToldOf(service, now, this.#isEvicted(key, service, now)))
        continue;
      if (!(await this.#isGone(key, service, now))) return { kind: 'retry', afterMs: CATCH_UP_MS };
      const atText = timeText(this.#context.clock.wallTimeMs());
      const body = leftClaim(now, key, { atText, reachOf: this.#world.reachOf });
      if ((await this.#writer.patch(now, body)) === 'again') return { kind: 'retry', afterMs: 1 };
    }
    return DONE;
  }

  #isEvicted(key: string, service: Service, claim: ClaimRecord): boolean {
    const { world } = this.#world;
    return whyLeft({ key, service, request: serviceRequest(service), world }, claim) !== undefined;
  }

  /**
   * A claim is taken from a Service that is there because it no longer wants it, and from one that is not because it is gone. That it is
   * gone we must have seen, or be told by the API: a claim may be heard of sooner than its Service.
   */
  async #isGone(key: string, service: Service | undefined, claim: ClaimRecord): Promise<boolean> {
    if (service !== undefined && entryOf(claim, service) !== undefined) return true;
    const uids = claim.services
      .filter(({ namespace, name }) => `${namespace}/${name}` === key)
      .map(({ uid }) => uid);
    if (uids.every((uid) => this.#world.gone.has(uid))) return true;
    const found = await this.#uidOf(key);
    if (found !== undefined && uids.some((uid) => uid === undefined || uid === found)) return false;
    for (const uid of uids) if (uid !== undefined) this.#world.gone.add(uid);
    return true;
  }

  async #uidOf(key: string): Promise<string | undefined> {
    const { namespace = '', name } = splitKey(key);
    try {
      return (await this.#context.api.get(inNamespace(SERVICES, namespace), name)).metadata.uid;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return undefined;
    }
  }

  #tellSoon({ key, service, decision }: Pass): void {
    if (service === undefined) this.#teller.forget(key);
    if (service !== undefined && this.#teller.hasNews(service, decision)) this.#later.add(key);
    if (this.#claims.depth > BACKLOG) return;
    for (const each of this.#later) this.#services.add(each);
    this.#later.clear();
  }

  async #workOnService(key: string): Promise<QueueOutcome> {
    const service = this.#world.service(key);
    if (service === undefined) return DONE;
    const decision = decideService(key, service, this.#world.world);
    // its claims have changed since: they come first
    if (decision.grants.some(({ kind }) => kind !== 'keep')) {
      this.#claims.add(key);
      return DONE;
    }
    const outcome = await this.#teller.tell(service, decision);
    // what it gives up is left when the watch shows that the Service says so
    return outcome === 'again' ? { kind: 'retry', afterMs: CATCH_UP_MS } : DONE;
  }

  async #orSay(key: string, work: Promise<QueueOutcome>): Promise<QueueOutcome> {
    try {
      return await work;
    } catch (error) {
      if (isRefused(error)) await this.#sayRefused(key, error);
      // it is tried again all the same: nobody tells us when a policy or a right has changed
      throw error;
    }
  }

  async #sayRefused(key: string, error: Error): Promise<void> {
    const service = this.#world.service(key);
    if (service === undefined) return;
    // what was held for it is not its own: a pool that has no other would seem to be full
    this.#world.letGo(key);
    const decision = decideService(key, service, this.#world.world);
    await this.#teller.refused(service, decision, error);
  }

  #failed(key: string, error: Error, failures: number): void {
    const { log } = this.#context;
    const fields = { service: key, problem: error.message };
    if (isRefused(error) && failures >= FAILURES_TO_WARN) {
      log.warn('service.retry', fields, 'the API server refuses a write, which is tried again');
    } else log.debug('service.retry', fields, 'a write failed and is tried again');
  }
}

/** `isEvicted`: a user's own list of external IPs does not keep it in a claim whose rules it breaks */
function isToldOf(service: Service, claim: ClaimRecord, isEvicted: boolean): boolean {
  if (entryOf(claim, service) === undefined) return false;
  const { address } = claim;
  if (includes(service.ingress, address)) return true;
  if (isEvicted || isLocalUntold(service)) return false;
  return includes(externalAddresses(service), address);
}

function wishOf(
  key: string,
  { createdMs }: Service,
  { problems }: ServiceDecision,
): Wish | undefined {
  if (problems.length === 0) return undefined;
  const addresses: Address[] = problems.flatMap(({ address }) => address ?? []);
  const shareKey = problems.find((problem) => problem.shareKey !== undefined)?.shareKey;
  const limitOf = problems.find((problem) => problem.limitOf !== undefined)?.limitOf;
  return {
    key,
    createdMs,
    pools: problems.flatMap(({ pools }) => pools ?? []),
    addresses,
    ...(shareKey !== undefined && { shareKey }),
    ...(limitOf !== undefined && { limitOf }),
  };
}
