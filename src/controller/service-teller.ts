/** Tells a Service what was decided: external IPs, status, condition, events. One thing at a time, each guarded by the version looked at. */

import type { Address } from 'bgp-ts';
import { AddressSet, unique } from '../allocator/address-set.ts';
import {
  ALLOCATED_CONDITION,
  grantedAddress,
  type ServiceDecision,
} from '../allocator/decision.ts';
import { type Service, serviceKey } from '../model/service.ts';
import {
  ApiError,
  isConflict,
  isNotFound,
  isRefused,
  type KubeObject,
} from '../sources/kube/api.ts';
import { convertService } from '../sources/kube/convert-service.ts';
import { inNamespace, SERVICES } from '../sources/kube/resources.ts';
import { serviceRef } from './events.ts';
import type { LoopContext } from './loops.ts';
import { EXHAUSTED_CONDITION } from './pool-conditions.ts';
import type { ServiceWorld } from './service-world.ts';
import { externalIpsPatch, sameAddresses, statusPatch, withoutIngress } from './service-writes.ts';

/** a Service is told of refused writes so often at the most */
const TELL_AGAIN_MS = 5 * 60_000;

export class ServiceTeller {
  readonly #context: LoopContext;
  readonly #world: Pick<ServiceWorld, 'wrote'>;
  /** what has been warned of; a Service that is told the same again is not told */
  readonly #warned = new Map<string, string>();
  /** when it was last told of what the API server refuses */
  readonly #refused = new Map<string, number>();

  constructor(context: LoopContext, world: Pick<ServiceWorld, 'wrote'>) {
    this.#context = context;
    this.#world = world;
  }

  /** there is no such Service any more */
  forget(key: string): void {
    this.#warned.delete(key);
    this.#refused.delete(key);
  }

  hasNews(service: Service, decision: ServiceDecision): boolean {
    return (
      externalIpsPatch(service, decision) !== undefined ||
      statusPatch(service, decision, this.#context.clock.wallTimeMs()) !== undefined ||
      this.#warned.get(serviceKey(service)) !== wordsOf(service, decision)
    );
  }

  /** It has what it shall have, before and after: only words about it change. */
  isOnlyWords(service: Service, decision: ServiceDecision): boolean {
    const before = service.conditions.find(({ type }) => type === ALLOCATED_CONDITION);
    const isServed = before?.status === 'True' && decision.verdict?.status === 'True';
    const { ingress } = decision;
    const isSame = ingress === undefined || sameAddresses(ingress, service.ingress);
    return isServed && isSame && externalIpsPatch(service, decision) === undefined;
  }

  /** `again`: the Service is a newer one than we know */
  async tell(service: Service, decision: ServiceDecision): Promise<'done' | 'again'> {
    this.#warn(service, decision);
    const spec = externalIpsPatch(service, decision);
    let current = service;
    if (spec !== undefined) {
      const written = await this.#patch(service, spec, undefined);
      if (typeof written === 'string') return written;
      current = written;
    }
    const told = await this.#tellStatus(current, decision);
    if (told === 'done' && decision.verdict?.status === 'True') {
      this.#refused.delete(serviceKey(service));
    }
    return told;
  }

  /**
   * The API server refuses what was decided. Its words go into the condition of a Service that has not got what it shall have, and are brought up
   * to date now and then; where the condition speaks of something else, or cannot be written, an event has them.
   */
  async refused(service: Service, decision: ServiceDecision, { message }: Error): Promise<void> {
    const key = serviceKey(service);
    const nowMs = this.#context.clock.now();
    // a policy may find other words each time, and what we write is news that has us try again at once
    if (nowMs - (this.#refused.get(key) ?? Number.NEGATIVE_INFINITY) < TELL_AGAIN_MS) return;
    this.#refused.set(key, nowMs);
    const reason = 'WriteRefused';
    const words = `the API server refuses what Herald writes for this Service: ${message}`;
    if (decision.verdict !== undefined && isLacking(service, decision)) {
      const { ingress: _, ...rest } = decision;
      const verdict = { status: 'False', reason, message: words } as const;
      const ingress = settledIngress(service, decision);
      try {
        const written = await this.#tellStatus(service, { ...rest, ...ingress, verdict });
        if (written === 'again') this.#refused.delete(key);
        return;
      } catch (error) {
        if (!isRefused(error)) {
          this.#refused.delete(key);
          throw error;
        }
      }
    }
    this.#record(service, { type: 'Warning', reason, message: words });
  }

  /**
   * Takes one address out of the status, whatever else changes in the Service meanwhile: an owner that edits it without a pause would otherwise keep it
   * for as long as it goes on. Only the entry that has this very address goes. `again`: the status was written at the same time.
   */
  async takeOut(
    service: Service,
    decision: ServiceDecision,
    address: Address,
  ): Promise<'done' | 'again'> {
    this.#warn(service, decision);
    const { namespace, name, uid } = service;
    const { api } = this.#context;
    const resource = inNamespace(SERVICES, namespace);
    try {
      const body = withoutIngress(await api.get(resource, name), uid, address);
      if (body === undefined) return 'done';
      const patch = { kind: 'json', body } as const;
      this.#wrote(await api.patch(resource, name, patch, { subresource: 'status' }));
      return 'done';
    } catch (error) {
      if (isNotFound(error)) return 'done';
      if (!isConflict(error) && !isFailedTest(error)) throw error;
      this.#context.counters.conflict('service-status');
      return 'again';
    }
  }

  async #tellStatus(service: Service, decision: ServiceDecision): Promise<'done' | 'again'> {
    const status = statusPatch(service, decision, this.#context.clock.wallTimeMs());
    if (status === undefined) return 'done';
    const written = await this.#patch(service, status, 'status');
    if (typeof written === 'string') return written;
    this.#announce(service, decision);
    return 'done';
  }

  async #patch(
    { namespace, name }: Service,
    body: object,
    subresource: 'status' | undefined,
  ): Promise<Service | 'done' | 'again'> {
    const { api, counters } = this.#context;
    const kind = subresource === undefined ? 'merge' : 'strategic';
    const resource = inNamespace(SERVICES, namespace);
    try {
      const options = subresource === undefined ? {} : { subresource };
      return this.#wrote(await api.patch(resource, name, { kind, body }, options));
    } catch (error) {
      if (isNotFound(error)) return 'done';
      if (!isConflict(error)) throw error;
      counters.conflict('service-status');
      return 'again';
    }
  }

  #wrote(object: KubeObject): Service | 'again' {
    const service = convertService(object);
    if (service === undefined) return 'again';
    this.#world.wrote(service);
    return service;
  }

  #warn(service: Service, decision: ServiceDecision): void {
    const key = serviceKey(service);
    const words = wordsOf(service, decision);
    if (this.#warned.get(key) === words) return;
    if (words === undefined) this.#warned.delete(key);
    else this.#warned.set(key, words);
    for (const message of decision.warnings) {
      const reason = message.startsWith('the annotation ') ? 'AnnotationIgnored' : 'NotAnnounced';
      this.#record(service, { type: 'Warning', reason, message });
    }
  }

  /** the condition has changed: so say it where people look */
  #announce(service: Service, decision: ServiceDecision): void {
    const { verdict } = decision;
    if (verdict === undefined) return;
    const before = service.conditions.find(({ type }) => type === ALLOCATED_CONDITION);
    const isNews = before?.status !== verdict.status || before.reason !== verdict.reason;
    if (verdict.status === 'True' && verdict.reason === 'Allocated') {
      if (isNews) this.#record(service, { type: 'Normal', ...verdict });
      return;
    }
    if (verdict.status === 'False' && isNews) this.#context.counters.refused(verdict.reason);
    const message = `${verdict.message}${this.#since(decision)}`;
    this.#record(service, { type: 'Warning', reason: verdict.reason, message });
  }

  /** since when the pools that it waits for are full, where their status says so */
  #since({ problems }: ServiceDecision): string {
    for (const { pool } of problems.flatMap(({ pools = [] }) => pools)) {
      const conditions = this.#context.caches.pools.get(pool)?.meta.conditions ?? [];
      const full = conditions.find(({ type }) => type === EXHAUSTED_CONDITION);
      if (full?.status === 'True') return `; ${pool} is full since ${full.lastTransitionTime}`;
    }
    return '';
  }

  #record(
    service: Service,
    event: {
      readonly type: 'Normal' | 'Warning';
      readonly reason: string;
      readonly message: string;
    },
  ): void {
    const { type, reason, message } = event;
    this.#context.events.record({ object: serviceRef(service), type, reason, message });
  }
}

/** the server says so of a JSON patch whose test does not hold */
function isFailedTest(error: unknown): boolean {
  return error instanceof ApiError && error.status === 422;
}

/** What is claimed for it is announced, so it is told as well, beside what stands; not where it requires both families. */
function settledIngress(
  service: Service,
  { ingress, grants }: ServiceDecision,
): Pick<ServiceDecision, 'ingress'> {
  if (ingress === undefined || service.familyPolicy === 'RequireDualStack') return {};
  const missing = new AddressSet(grants.filter(({ kind }) => kind !== 'keep').map(grantedAddress));
  const settled = ingress.filter((address) => !missing.has(address));
  return { ingress: unique([...service.ingress, ...settled]) };
}

/** a claim, or an external IP, that it shall have is not written */
function isLacking(service: Service, decision: ServiceDecision): boolean {
  const isUnclaimed = decision.grants.some(({ kind }) => kind !== 'keep');
  return isUnclaimed || externalIpsPatch(service, decision) !== undefined;
}

function wordsOf({ uid }: Service, { warnings }: ServiceDecision): string | undefined {
  return warnings.length === 0 ? undefined : [uid, ...warnings].join('\n');
}
