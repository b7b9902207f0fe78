/**
 * What the condition `herald.dev/Advertised` of each Service is made of, kept up to date by changes: which claims a Service has, which
 * nodes refuse which address, what each pool reaches. A change of a node costs what it changes, not a look at every claim: a node
 * that merely counts its routes anew costs nothing, and a pool whose reach is as before leaves its Services alone.
 *
 * No I/O. It tells which Services to look at again through `onDirty`.
 */

import { formatAddress, parseAddress } from 'bgp-ts';
import type { ClaimCore } from '../model/claim-core.ts';
import { formatClaimName } from '../model/claim-name.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import type { IpNode, IpNodeRefusal } from '../model/ip-node.ts';
import type { IpPool, Placement } from '../model/ip-pool.ts';
import { type Service, serviceKey } from '../model/service.ts';
import {
  type AdvertisedClaim,
  advertisedCondition,
  claimVerdict,
  unreadVerdict,
} from './advertised.ts';
import { knownOf } from './cached-document.ts';
import type { ControllerCaches } from './caches.ts';
import type { WantedCondition } from './conditions.ts';
import { LastPools } from './last-pools.ts';
import {
  type NodeView,
  nodeView,
  type Reach,
  reachOf,
  reachSignature,
  viewSignature,
} from './reach.ts';

type ReadCaches = Pick<
  ControllerCaches,
  'services' | 'nodes' | 'ipNodes' | 'claims' | 'pools' | 'peers'
>;

interface Scope {
  readonly reach: Reach;
  readonly signature: string;
  /** Services whose verdict was made with it */
  readonly services: Set<string>;
}

export class AdvertisedIndex {
  readonly #caches: ReadCaches;
  readonly #onDirty: (service: string) => void;
  readonly #views = new Map<string, { readonly view: NodeView; readonly signature: string }>();
  /** by address as it is written, then by node */
  readonly #refusers = new Map<string, Map<string, IpNodeRefusal>>();
  readonly #claimsOf = new Map<string, Set<string>>();
  readonly #pools: LastPools;
  #scopes = new Map<string, Scope>();
  #isReachStale = false;

  constructor(caches: ReadCaches, onDirty: (service: string) => void, pools = new LastPools()) {
    this.#pools = pools;
    this.#caches = caches;
    this.#onDirty = onDirty;
    for (const claim of caches.claims.items.values()) {
      const known = knownOf(claim);
      if (known !== undefined) this.#link(known);
    }
    for (const [name, ipNode] of caches.ipNodes.items) this.ipNodeChanged(name, ipNode, undefined);
  }

  /** Services that have a claim, or had one */
  get services(): Iterable<string> {
    return this.#claimsOf.keys();
  }

  claimChanged(now: ClaimCore | undefined, before: ClaimCore | undefined): void {
    const touched = new Set([...servicesOf(before), ...servicesOf(now)]);
    const name = (now ?? before)?.name;
    for (const service of servicesOf(before)) {
      const claims = this.#claimsOf.get(service);
      if (name !== undefined) claims?.delete(name);
      if (claims?.size === 0) this.#claimsOf.delete(service);
    }
    if (now !== undefined) this.#link(now);
    for (const service of touched) this.#onDirty(service);
  }

  ipNodeChanged(name: string, now: IpNode | undefined, before: IpNode | undefined): void {
    this.nodeChanged(name);
    if (now?.status.refused === before?.status.refused) return;
    const old = new Map(before?.status.refused?.map((each) => [each.address, each]));
    for (const refusal of now?.status.refused ?? []) {
      const same = old.get(refusal.address);
      old.delete(refusal.address);
      if (same?.gate !== refusal.gate || same.message !== refusal.message) {
        this.#refuse(name, refusal);
      }
    }
    for (const address of old.keys()) this.#accept(name, address);
  }

  /** its Node or its IPNode is another one by now */
  nodeChanged(name: string): void {
    const ipNode = this.#caches.ipNodes.get(name);
    const before = this.#views.get(name);
    if (ipNode === undefined) {
      this.#views.delete(name);
      if (before !== undefined) this.#isReachStale = true;
      return;
    }
    const view = nodeView(ipNode, this.#caches.nodes.get(name));
    const signature = viewSignature(view);
    if (before?.signature === signature) return;
    this.#views.set(name, { view, signature });
    this.#isReachStale = true;
  }

  /** a pool or a peer is another one by now */
  documentsChanged(): void {
    this.#isReachStale = true;
  }

  /** Works out again what pools reach, where that may have changed; tells of the Services that it changes something for. */
  refresh(): void {
    if (!this.#isReachStale) return;
    this.#isReachStale = false;
    const before = this.#scopes;
    this.#scopes = new Map();
    for (const service of this.#claimsOf.keys()) this.#follow(service, before);
  }

  /** Undefined: it has no claim, so there is nothing to say. */
  conditionOf(key: string): WantedCondition | undefined {
    const service = this.#caches.services.get(key);
    const names = this.#claimsOf.get(key);
    if (service === undefined || names === undefined) return undefined;
    const verdicts = [...names].sort().flatMap((name) => {
      const claim = this.#caches.claims.get(name);
      const known = knownOf(claim);
      if (claim === undefined || known === undefined || !isFor(known, service)) return [];
      if (!claim.ok) return [unreadVerdict(known, claim.sentence)];
      return [claimVerdict(this.#advertised(claim.object, key))];
    });
    return advertisedCondition(verdicts);
  }

  /** Dirty where one of its claims stands in a scope that is not as it was. */
  #follow(service: string, before: ReadonlyMap<string, Scope>): void {
    for (const name of this.#claimsOf.get(service) ?? []) {
      const claim = this.#caches.claims.get(name);
      if (claim?.ok !== true) continue;
      const key = this.#scopeKey(claim.object);
      const now = key === undefined ? undefined : this.#scope(key, claim.object);
      now?.services.add(service);
      const old = key === undefined ? undefined : before.get(key);
      if (old === undefined || old.signature !== now?.signature || !old.services.has(service)) {
        this.#onDirty(service);
      }
    }
  }

  #advertised(claim: IpClaim, service: string): AdvertisedClaim {
    const key = this.#scopeKey(claim);
    const scope = key === undefined ? undefined : this.#scope(key, claim);
    scope?.services.add(service);
    return {
      claim,
      isExclusive: this.#placementOf(claim)?.mode === 'exclusive',
      reach: scope?.reach,
      refusers: this.#refusers.get(formatAddress(claim.address)) ?? NOBODY,
    };
  }

  #scopeKey(claim: IpClaim): string | undefined {
    const pool = this.#poolOf(claim);
    if (pool === undefined) return undefined;
    const own = claim.placement === undefined ? '' : JSON.stringify(claim.placement);
    // of a pool that nobody knew, each claim says itself how it is placed
    return `${pool.name} ${pool.placement.mode} ${claim.address.family} ${own}`;
  }

  #scope(key: string, claim: IpClaim): Scope | undefined {
    const known = this.#scopes.get(key);
    if (known !== undefined) return known;
    const pool = this.#poolOf(claim);
    const placement = this.#placementOf(claim);
    if (pool === undefined || placement === undefined) return undefined;
    const scope = { pool, placement, family: claim.address.family, isOfService: true };
    const views = [...this.#views.values()].map(({ view }) => view);
    const peers = [...this.#caches.peers.items.values()].flatMap((peer) =>
      peer.ok ? [peer.object] : [],
    );
    const reach = reachOf(scope, views, peers);
    const made = {
      reach,
      signature: `${placement.mode} ${reachSignature(reach)}`,
      services: new Set<string>(),
    };
    this.#scopes.set(key, made);
    return made;
  }

  #placementOf(claim: IpClaim): Placement | undefined {
    const pool = this.#poolOf(claim);
    return pool && { ...pool.placement, ...claim.placement };
  }

  #poolOf(claim: IpClaim): IpPool | undefined {
    const { pools } = this.#caches;
    const named = claim.pool === undefined ? undefined : pools.get(claim.pool);
    return this.#pools.of(claim, named === undefined ? pools.items.values() : [named]);
  }

  #link(claim: ClaimCore): void {
    for (const service of servicesOf(claim)) {
      const claims = this.#claimsOf.get(service);
      if (claims === undefined) this.#claimsOf.set(service, new Set([claim.name]));
      else claims.add(claim.name);
    }
  }

  #refuse(node: string, refusal: IpNodeRefusal): void {
    const nodes = this.#refusers.get(refusal.address);
    if (nodes === undefined) this.#refusers.set(refusal.address, new Map([[node, refusal]]));
    else nodes.set(node, refusal);
    this.#touch(refusal.address);
  }

  #accept(node: string, address: string): void {
    const nodes = this.#refusers.get(address);
    nodes?.delete(node);
    if (nodes?.size === 0) this.#refusers.delete(address);
    this.#touch(address);
  }

  #touch(address: string): void {
    const parsed = parseAddress(address);
    const claim = parsed && this.#caches.claims.get(formatClaimName(parsed));
    if (claim?.ok !== true) return;
    for (const service of servicesOf(claim.object)) this.#onDirty(service);
  }
}

const NOBODY: ReadonlyMap<string, IpNodeRefusal> = new Map();

function servicesOf(claim: ClaimCore | undefined): readonly string[] {
  return claim === undefined ? [] : claim.services.map(serviceKey);
}

/** not for another Service of the same name that is gone */
function isFor(claim: ClaimCore, { namespace, name, uid }: Service): boolean {
  return claim.services.some(
    (each) => each.namespace === namespace && each.name === name && (each.uid ?? uid) === uid,
  );
}
