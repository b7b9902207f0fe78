/**
 * Gives Services their addresses: decide, write claims, and after that the Service. Claims have a queue of their own, since the route waits
 * for them; what a Service is told waits while many claims are to be written. A pass may be cut short anywhere: the next one, here or
 * in another controller, decides on what it finds.
 */

import type { Address, Family } from 'bgp-ts';
import { type ClaimRecord, entryOf } from '../allocator/claim-record.ts';
import { type GuardedPatch, leftClaim, newClaim, updatedClaim } from '../allocator/claim-writes.ts';
import { whyLeft } from '../allocator/decide-address.ts';
import { includes, isTakenBack } from '../allocator/decide-external.ts';
import { caseOf, decideService } from '../allocator/decide-service.ts';
import { type Grant, grantedAddress, type ServiceDecision } from '../allocator/decision.ts';
import { notForService } from '../allocator/pool-choice.ts';
import { serviceRequest } from '../allocator/service-request.ts';
import type { Wish } from '../allocator/waiting.ts';
import { formatClaimName } from '../model/claim-name.ts';
import type { IpPool } from '../model/ip-pool.ts';
import { type Service, serviceKey } from '../model/service.ts';
import { ApiError, isNotFound, isRefused } from '../sources/kube/api.ts';
import { BACK_OFF } from '../sources/kube/back-off.ts';
import { DONE, KeyQueue, type QueueOutcome } from '../sources/kube/key-queue.ts';
import { splitKey } from '../sources/kube/object-key.ts';
import { inNamespace, SERVICES } from '../sources/kube/resources.ts';
import { ClaimWriter, type WriteOutcome } from './claim-writer.ts';
import { timeText } from './conditions.ts';
import { FlapDamping } from './flap-damping.ts';
import { eachOf, isToldOf, writtenInTurn, writtenTogether } from './grant-writes.ts';
import { LaterKeys } from './later-keys.ts';
import type { LoopContext } from './loops.ts';
import { ServiceTeller } from './service-teller.ts';
import { ServiceWords } from './service-words.ts';
import type { ServiceWorld } from './service-world.ts';

/** claims that are written at the same time, and Services that are */
const CLAIM_WRITES = 8;
const SERVICE_WRITES = 4;
/** while more Services of its namespace wait for their claims, and more in all, no status is written there */
const BACKLOG = 32;
/** how often a pass decides again by itself before it waits */
const ATTEMPTS = 5;
/** for the watch to bring what the API has already */
const CATCH_UP_MS = 100;
/** many that fail one after the other wake the rest of their namespace together */
const WAKE_MS = 1000;
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
  readonly #words: ServiceWords;
  readonly #teller: ServiceTeller;
  /** Services to be written when the claims of their namespace are through */
  readonly #later = new LaterKeys();
  readonly #ends: (() => void)[] = [];
  readonly #damping: FlapDamping;
  /** when a write for this Service was refused, and of which family it was, until all that it shall have is written */
  readonly #refused = new Map<string, { readonly atMs: number; readonly family?: Family }>();
  #wroteMs = Number.NEGATIVE_INFINITY;

  constructor(context: LoopContext, world: ServiceWorld) {
    const { clock, random, counters } = context;
    this.#context = context;
    this.#world = world;
    this.#writer = new ClaimWriter(context.api, world);
    this.#teller = new ServiceTeller(context, world);
    this.#damping = new FlapDamping(clock, world.reachOf);
    const onFailure = (key: string, error: Error, failures: number) =>
      this.#failed(key, error, failures);
    this.#claims = new KeyQueue({
      clock,
      random,
      concurrency: CLAIM_WRITES,
      work: (key) => this.#orSay(key, this.#workOnClaims(key)),
      onFailure,
    });
    const work = (key: string) => this.#orSay(key, this.#workOnService(key));
    this.#services = new KeyQueue({ clock, random, concurrency: SERVICE_WRITES, work, onFailure });
    this.#words = new ServiceWords(context, { work, onFailure });
    this.#ends.push(
      counters.queue('service-claims', () => this.#claims.depth),
      counters.queue('service-status', () => this.#services.depth + this.#later.size),
    );
  }

  /** this Service is to be looked at */
  readonly due = (key: string, delayMs = 0): void => this.#claims.add(key, delayMs);

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
    this.#words.stop();
  }

  async #workOnClaims(key: string): Promise<QueueOutcome> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      if (this.#world.untilKnown !== undefined) await this.#known();
      const pass = this.#decide(key);
      const granted = await this.#orLeave(pass, this.#carryOut(pass));
      if (granted === 'again') {
        this.#context.counters.conflict('service');
        continue;
      }
      this.#world.letGo(key);
      const outcome = await this.#leave(pass);
      if (pass.decision.problems.length === 0) this.#refused.delete(key);
      this.#tellSoon(pass);
      this.#whenHeld(key);
      return outcome;
    }
    return { kind: 'retry' };
  }

  /** Nobody is given what is about to be reserved. */
  async #known(): Promise<void> {
    while (this.#world.untilKnown !== undefined) await this.#world.untilKnown;
  }

  /** What a Service gives up leaves, whatever it cannot have: a write that is refused for good must not keep a route. */
  async #orLeave(pass: Pass, granted: Promise<WriteOutcome>): Promise<WriteOutcome> {
    try {
      return await granted;
    } catch (error) {
      if (error instanceof ApiError) await this.#leave(pass);
      throw error;
    }
  }

  /** Without a pause between the decision and the hold on what was decided, nobody else decides on the same address. */
  #decide(key: string): Pass {
    const before = this.#world.letGo(key);
    const service = this.#world.service(key);
    const decision = decideService(key, service, this.#world.world);
    const createdMs = service && this.#world.world.waitsSince(service);
    this.#world.wait(key, createdMs === undefined ? undefined : wishOf(key, createdMs, decision));
    const request = service && serviceRequest(service);
    const shareKey = request?.shareKey;
    const created = decision.grants.filter(isCreate).map(grantedAddress);
    this.#world.hold(key, created, request);
    this.#wakeAtLimit(key, before, created);
    return { key, service, decision, ...(shareKey !== undefined && { shareKey }) };
  }

  /**
   * What was held for a Service and has become no claim is no longer counted: others of its namespace that wait for `maxAddresses` may have it.
   * One that was refused itself is not woken before its longest pause is over: two that wake each other would ask the API without one.
   */
  #wakeAtLimit(key: string, before: readonly Address[], still: readonly Address[]): void {
    const claimed = this.#world.claims.ofService(key).map(({ address }) => address);
    if (before.every((address) => includes([...still, ...claimed], address))) return;
    const { namespace = '' } = splitKey(key);
    const nowMs = this.#context.clock.now();
    for (const other of this.#world.waiting.forLimit(namespace)) {
      if (other === key || this.#claims.failuresOf(other) > 0) continue;
      const refusedMs = this.#refused.get(other)?.atMs ?? Number.NEGATIVE_INFINITY;
      this.#claims.add(other, Math.max(WAKE_MS, refusedMs + BACK_OFF.longestMs - nowMs));
    }
  }

  async #carryOut({ service, decision, shareKey }: Pass): Promise<WriteOutcome> {
    if (service === undefined || decision.grants.length === 0) return 'done';
    const word = shareKey === undefined ? {} : { shareKey };
    const write = (grant: Grant) => this.#grant(grant, service, word);
    if (service.familyPolicy !== 'RequireDualStack') {
      return await writtenTogether(decision.grants, write);
    }
    // first what was refused before: nothing is announced for one family while the other one cannot be had
    return await writtenInTurn(service, this.#refusedFirst(service, decision.grants), write);
  }

  #refusedFirst(service: Service, grants: readonly Grant[]): readonly Grant[] {
    const family = this.#refused.get(serviceKey(service))?.family;
    const isLater = (grant: Grant) => grantedAddress(grant).family !== family;
    return grants.toSorted((a, b) => Number(isLater(a)) - Number(isLater(b)));
  }

  async #grant(
    grant: Grant,
    service: Service,
    word: { readonly shareKey?: string },
  ): Promise<WriteOutcome> {
    const { reachOf, pools } = this.#world;
    if (grant.kind !== 'create') {
      const heir = this.#heirOf(grant.claim, service);
      const { claim } = grant;
      const damping = this.#damping.of(claim);
      const find = this.#world.service;
      const body = updatedClaim({ claim, service, ...word, heir, find, reachOf, damping });
      return body === undefined ? 'done' : await this.#patch(claim, body);
    }
    const pool = pools.byName.get(grant.pool);
    if (pool === undefined) return 'again';
    const body = newClaim({ grant, service, pool, ...word, reachOf });
    const outcome = await this.#writer.create(formatClaimName(grant.address), body);
    this.#wroteMs = this.#context.clock.now();
    if (outcome === 'done') this.#context.counters.allocated(pool.name);
    return outcome;
  }

  async #patch(claim: ClaimRecord, body: GuardedPatch): Promise<WriteOutcome> {
    const outcome = await this.#writer.patch(claim, body);
    if (outcome === 'done') this.#damping.wrote(claim, body);
    return outcome;
  }

  /** What is held back is looked at when it may be announced. */
  #whenHeld(key: string): void {
    const heldMs = this.#world.claims.ofService(key).map((claim) => this.#damping.heldMs(claim));
    const nextMs = Math.min(...heldMs.filter((ms) => ms > 0));
    if (Number.isFinite(nextMs)) this.#claims.add(key, nextMs);
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

  /**
   * Claims are left when neither the Service's status nor its spec names their address any more. Who breaks the rules of sharing is not asked: its status
   * loses the address here and now, also while somebody deletes or edits the Service (docs/decisions/0034).
   */
  async #leave(pass: Pass): Promise<QueueOutcome> {
    return await eachOf(pass.decision.leave, (claim) => this.#leaveOne(pass, claim));
  }

  async #leaveOne(pass: Pass, claim: ClaimRecord): Promise<QueueOutcome> {
    const { key, service } = pass;
    const now = this.#world.claims.at(claim.address);
    if (now === undefined || now.uid !== claim.uid) return DONE;
    const untold = await this.#untold(pass, now);
    if (untold === 'again') return { kind: 'retry', afterMs: CATCH_UP_MS };
    if (untold === 'no') return DONE;
    if (!(await this.#isGone(key, service, now))) return { kind: 'retry', afterMs: CATCH_UP_MS };
    const atText = timeText(this.#context.clock.wallTimeMs());
    const damping = this.#damping.of(now);
    const body = leftClaim(now, key, { atText, reachOf: this.#world.reachOf, damping });
    return (await this.#patch(now, body)) === 'again' ? { kind: 'retry', afterMs: 1 } : DONE;
  }

  /** Whether the Service does not speak of the address any more. Who has to leave is made not to. */
  async #untold(
    { key, service, decision }: Pass,
    claim: ClaimRecord,
  ): Promise<'yes' | 'no' | 'again'> {
    if (service === undefined) return 'yes';
    const each = caseOf(key, service, this.#world.world);
    const isEvicted = whyLeft(each, claim) !== undefined;
    if (!isEvicted || !includes(service.ingress, claim.address)) {
      return isToldOf(service, claim, isEvicted || isTakenBack(each, claim)) ? 'no' : 'yes';
    }
    const taken = await this.#teller.takeOut(service, decision, claim.address);
    return taken === 'again' ? 'again' : 'yes';
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
    if (service !== undefined && this.#teller.hasNews(service, decision)) {
      (this.#teller.isOnlyWords(service, decision) ? this.#words : this.#later).add(key);
    }
    if (this.#claims.depth <= BACKLOG) {
      for (const each of this.#later.takeAll()) this.#services.add(each);
      return;
    }
    // a tenant with thousands of Services holds up its own only
    const { namespace = '' } = splitKey(key);
    if (this.#claims.depthOf(namespace) > BACKLOG) return;
    for (const each of this.#later.takeOf(namespace)) this.#services.add(each);
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
    this.#wakeAtLimit(key, this.#world.letGo(key), []);
    const decision = decideService(key, service, this.#world.world);
    const [missing] = this.#refusedFirst(service, decision.grants.filter(isCreate));
    const family = missing && grantedAddress(missing).family;
    const atMs = this.#context.clock.now();
    this.#refused.set(key, { atMs, ...(family !== undefined && { family }) });
    if (missing !== undefined && service.familyPolicy === 'RequireDualStack') {
      await this.#giveBack(service, decision);
    }
    await this.#teller.refused(service, decision, error);
  }

  /** Who requires both families and cannot have both has none: what nobody has been told of is not announced either. */
  async #giveBack(service: Service, { grants }: ServiceDecision): Promise<void> {
    const key = serviceKey(service);
    for (const grant of grants) {
      if (grant.kind !== 'keep' || isToldOf(service, grant.claim, false)) continue;
      const atText = timeText(this.#context.clock.wallTimeMs());
      const body = leftClaim(grant.claim, key, { atText, reachOf: this.#world.reachOf });
      await this.#writer.patch(grant.claim, body);
    }
  }

  #failed(key: string, error: Error, failures: number): void {
    const { log } = this.#context;
    const fields = { service: key, problem: error.message };
    if (isRefused(error) && failures >= FAILURES_TO_WARN) {
      log.warn('service.retry', fields, 'the API server refuses a write, which is tried again');
    } else log.debug('service.retry', fields, 'a write failed and is tried again');
  }
}

function isCreate({ kind }: Grant): boolean {
  return kind === 'create';
}

function wishOf(key: string, createdMs: number, { problems }: ServiceDecision): Wish | undefined {
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
