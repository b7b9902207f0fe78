/** A small world for the allocator: pools and Services in a few words, and a cluster that does at once what a decision says. */

import { type Address, addressEquals, addressKey, formatAddress, parseAddress } from 'bgp-ts';
import { AddressBook } from '../../src/allocator/address-book.ts';
import { ClaimIndex } from '../../src/allocator/claim-index.ts';
import type { ClaimRecord } from '../../src/allocator/claim-record.ts';
import { leftClaim, newClaim, type Reach, updatedClaim } from '../../src/allocator/claim-writes.ts';
import { reservedAddresses } from '../../src/allocator/decide-external.ts';
import { decideService } from '../../src/allocator/decide-service.ts';
import {
  ALLOCATED_CONDITION,
  type Grant,
  type ServiceDecision,
  type World,
} from '../../src/allocator/decision.ts';
import { poolChoice } from '../../src/allocator/pool-choice.ts';
import { externalAddresses, serviceRequest } from '../../src/allocator/service-request.ts';
import { Waiting } from '../../src/allocator/waiting.ts';
import { parseAddressRange } from '../../src/model/address-range.ts';
import { formatClaimName } from '../../src/model/claim-name.ts';
import { convertClaim } from '../../src/model/convert-claim.ts';
import type { AddressRange, IpPool } from '../../src/model/ip-pool.ts';
import { DEFAULT_PLACEMENT } from '../../src/model/ip-pool.ts';
import type { Labels } from '../../src/model/labels.ts';
import { type Service, serviceKey } from '../../src/model/service.ts';

export function address(text: string): Address {
  const parsed = parseAddress(text);
  if (parsed === undefined) throw new Error(`${text} is no address`);
  return parsed;
}

function range(text: string): AddressRange {
  const parsed = parseAddressRange(text);
  if (typeof parsed === 'string') throw new Error(parsed);
  return parsed;
}

export function pool(
  name: string,
  addresses: readonly string[],
  rest: Partial<IpPool> = {},
): IpPool {
  return {
    name,
    labels: {},
    ranges: addresses.map(range),
    avoidFirstLast: false,
    autoAssign: true,
    priority: 0,
    shareAcross: [],
    allowExternalIps: false,
    ignoreExcludeLabel: false,
    placement: DEFAULT_PLACEMENT,
    advertisements: [],
    drain: { on: [], waitSeconds: 10 },
    notReady: 'keep',
    ...rest,
  };
}

let created = 0;

export function service(key: string, rest: Partial<Service> = {}): Service {
  const [namespace = '', name = ''] = key.split('/');
  created += 1;
  return {
    namespace,
    name,
    uid: `uid-${key}-${created}`,
    resourceVersion: '1',
    createdMs: created * 1000,
    labels: {},
    annotations: {},
    isBeingDeleted: false,
    isLoadBalancer: true,
    loadBalancerClass: 'herald.dev/herald',
    externalIps: [],
    families: ['ipv4'],
    familyPolicy: 'SingleStack',
    isLocal: false,
    ports: [{ protocol: 'TCP', port: 80 }],
    selector: { app: name },
    ingress: [],
    hasForeignIngress: false,
    conditions: [],
    ...rest,
  };
}

/** a Service that is no load balancer */
export function plainService(key: string, rest: Partial<Service> = {}): Service {
  const { loadBalancerClass: _, ...plain } = service(key, rest);
  return { ...plain, isLoadBalancer: false };
}

export class AllocatorWorld {
  readonly book = new AddressBook();
  readonly claims = new ClaimIndex();
  readonly waiting = new Waiting();
  readonly services = new Map<string, Service>();
  readonly namespaces = new Map<string, Labels>();
  readonly reach = new Map<string, Reach>();
  readonly refused = new Map<string, string>();
  /** Services whose namespace lists too much */
  readonly beyond = new Set<string>();
  /** claims that somebody deleted while nodes may announce them, by address */
  readonly deleted = new Map<string, ClaimRecord>();
  isDefaultClass = false;
  shareBusy: string | undefined;
  #pools: readonly IpPool[] = [];
  #version = 100;

  constructor(...pools: readonly IpPool[]) {
    this.setPools(...pools);
  }

  setPools(...pools: readonly IpPool[]): void {
    this.#pools = pools;
    this.book.setPools(pools);
  }

  get world(): World {
    return {
      book: this.book,
      claims: this.claims,
      pools: poolChoice(this.#pools, this.refused),
      waiting: this.waiting,
      isDefaultClass: this.isDefaultClass,
      service: (key) => this.services.get(key),
      namespaceLabels: (name) => this.namespaces.get(name),
      addressesOf: (name) => [...this.claims.ofNamespace(name)].map(({ address: own }) => own),
      listersOf: (listed) =>
        [...this.services.values()]
          .filter((each) => externalAddresses(each).some((other) => addressEquals(other, listed)))
          .map(serviceKey),
      isListBeyond: (each) => this.beyond.has(serviceKey(each)),
      deletedAt: (each) => this.deleted.get(addressKey(each)),
      waitsSince: ({ createdMs }) => createdMs,
      isShareBusy: (word) => word === this.shareBusy,
    };
  }

  reachOf = (key: string): Reach => this.reach.get(key) ?? 'some';

  put(value: Service): void {
    const key = serviceKey(value);
    this.remove(key);
    this.services.set(key, value);
    for (const each of reservedAddresses(value, this.world)) {
      this.book.take(each, { kind: 'external-ip', by: key });
    }
    for (const each of value.ingress) this.book.take(each, { kind: 'ingress', by: key });
  }

  remove(key: string): void {
    const before = this.services.get(key);
    if (before === undefined) return;
    this.services.delete(key);
    for (const each of externalAddresses(before)) {
      this.book.release(each, { kind: 'external-ip', by: key });
    }
    for (const each of before.ingress) this.book.release(each, { kind: 'ingress', by: key });
  }

  decide(key: string): ServiceDecision {
    return decideService(key, this.services.get(key), this.world);
  }

  /** puts a claim as the API would have it */
  claim(body: object): ClaimRecord {
    const record = this.#record(body);
    this.claims.put(record);
    this.book.take(record.address, { kind: 'claim', by: record.name });
    return record;
  }

  deleteClaim(text: string): void {
    const record = this.claims.at(address(text));
    if (record === undefined) throw new Error(`there is no claim of ${text}`);
    this.claims.remove(record);
    this.book.release(record.address, { kind: 'claim', by: record.name });
  }

  /** decides and carries it out, until there is nothing left to do; the addresses in its status then */
  settle(key: string): readonly string[] {
    for (let round = 0; round < 5; round += 1) {
      if (!this.#carryOut(key, this.decide(key))) break;
      if (round === 4) throw new Error(`${key} does not come to rest`);
    }
    return (this.services.get(key)?.ingress ?? []).map(formatAddress);
  }

  /** a Service that is new, or has changed */
  apply(value: Service): readonly string[] {
    const before = this.services.get(serviceKey(value));
    // the API server empties the status of what is no load balancer any more
    const isSame = before?.uid === value.uid && value.isLoadBalancer;
    const { ingress, conditions } = isSame ? before : value;
    this.put({ ...value, ingress, conditions });
    return this.settle(serviceKey(value));
  }

  delete(key: string): void {
    this.remove(key);
    this.settle(key);
  }

  claimsOf(key: string): readonly string[] {
    return this.claims.ofService(key).map(({ name }) => name);
  }

  #carryOut(key: string, decision: ServiceDecision): boolean {
    const value = this.services.get(key);
    let hasChanged = false;
    for (const grant of decision.grants) {
      if (value === undefined) throw new Error('nothing is granted to a Service that is gone');
      hasChanged = this.#grant(value, grant) || hasChanged;
    }
    hasChanged = this.#writeService(value, decision) || hasChanged;
    for (const claim of decision.leave) {
      const now = this.claims.at(claim.address);
      if (now === undefined) continue;
      this.#patch(now, leftClaim(now, key, { atText: 'now', reachOf: this.reachOf }));
      hasChanged = true;
    }
    return hasChanged;
  }

  #grant(value: Service, grant: Grant): boolean {
    const { shareKey } = serviceRequest(value);
    const common = {
      service: value,
      reachOf: this.reachOf,
      ...(shareKey !== undefined && { shareKey }),
    };
    if (grant.kind === 'create') {
      const found = this.#pools.find(({ name }) => name === grant.pool);
      if (found === undefined) throw new Error(`there is no pool ${grant.pool}`);
      if (this.claims.at(grant.address) !== undefined) throw new Error('given twice');
      this.claim(newClaim({ ...common, grant, pool: found }));
      return true;
    }
    const patch = updatedClaim({ ...common, claim: grant.claim });
    if (patch !== undefined) this.#patch(grant.claim, patch);
    return patch !== undefined;
  }

  #writeService(value: Service | undefined, decision: ServiceDecision): boolean {
    if (value === undefined) return false;
    const { add, drop } = decision.externalIps;
    const dropped = new Set(drop.map(formatAddress));
    const kept = value.externalIps.filter((text) => !dropped.has(text));
    const added = add.map(formatAddress).filter((text) => !kept.includes(text));
    const externalIps = [...kept, ...added];
    const ingress = decision.ingress ?? value.ingress;
    const { verdict } = decision;
    const conditions = verdict === undefined ? [] : [{ type: ALLOCATED_CONDITION, ...verdict }];
    const now = { ...value, externalIps, ingress, conditions };
    const text = (each: Service) =>
      JSON.stringify([
        each.externalIps,
        each.ingress.map(addressKey).toSorted(),
        each.conditions.map(({ status, reason }) => [status, reason]),
      ]);
    if (text(now) === text(value)) return false;
    this.put(now);
    return true;
  }

  #patch(claim: ClaimRecord, patch: object): void {
    const raw = JSON.parse(JSON.stringify({ metadata: {}, spec: {}, ...patch }));
    const annotations = { ...claim.annotations, ...raw.metadata.annotations };
    for (const [name, value] of Object.entries(annotations)) {
      if (value === null) delete annotations[name];
    }
    const { pool: from, services, withdrawn } = claim;
    const spec = { pool: from, services, withdrawn, ...raw.spec };
    if (spec.withdrawn === null) delete spec.withdrawn;
    this.claim({
      metadata: { name: claim.name, uid: claim.uid, labels: claim.labels, annotations },
      spec,
    });
  }

  #record(body: object): ClaimRecord {
    const raw = JSON.parse(JSON.stringify(body));
    const made = convertClaim({ ...raw, spec: raw.spec ?? {} }, 'api');
    if (!made.ok) throw new Error(made.sentence);
    this.#version += 1;
    const { object } = made;
    return {
      name: formatClaimName(object.address),
      address: object.address,
      uid: raw.metadata.uid ?? `claim-${this.#version}`,
      resourceVersion: String(this.#version),
      createdMs: this.#version,
      isBeingDeleted: false,
      labels: object.labels,
      annotations: raw.metadata.annotations ?? {},
      ...(object.pool !== undefined && { pool: object.pool }),
      services: object.services,
      ...(object.withdrawn !== undefined && { withdrawn: object.withdrawn }),
      isUnreadable: false,
    };
  }
}
