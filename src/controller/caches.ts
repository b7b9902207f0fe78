/**
 * What the controller knows of the cluster: one informer per kind, shared by all its loops. Not a place for decisions: listeners
 * only put keys into their queues. A listener that joins late is told nothing of what is there already; it reads `items`.
 */

import type { Clock, Random } from 'bgp-ts';
import type { Log } from '../log/log.ts';
import type { BgpPeer } from '../model/bgp-peer.ts';
import type { ClusterNode } from '../model/cluster-node.ts';
import type { EndpointSlice } from '../model/endpoint-slice.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import type { IpNode } from '../model/ip-node.ts';
import type { IpPool } from '../model/ip-pool.ts';
import type { Labels } from '../model/labels.ts';
import type { Service } from '../model/service.ts';
import type { KubeApi, KubeObject, Resource, Selection } from '../sources/kube/api.ts';
import {
  convertClaimObject,
  convertPeerObject,
  convertPoolObject,
} from '../sources/kube/convert-documents.ts';
import { convertEndpointSlice } from '../sources/kube/convert-endpoint-slice.ts';
import { convertIpNode } from '../sources/kube/convert-ip-node.ts';
import { convertLease, type Lease } from '../sources/kube/convert-lease.ts';
import { convertNode } from '../sources/kube/convert-node.ts';
import { Informer } from '../sources/kube/informer.ts';
import {
  BGP_PEERS,
  ENDPOINT_SLICES,
  IP_CLAIMS,
  IP_NODES,
  IP_POOLS,
  LEASES,
  NAMESPACES,
  NODES,
  SERVICES,
} from '../sources/kube/resources.ts';
import { type CachedDocument, cachedDocument } from './cached-document.ts';
import { convertCachedService } from './cached-service.ts';

export interface CachedNamespace {
  readonly name: string;
  readonly labels: Labels;
  readonly isBeingDeleted: boolean;
}

/** What each cache holds, by the key of its object: `namespace/name`, or `name` where there are no namespaces. Leases: `namespace/name`. */
export interface CacheEntries {
  readonly services: Service;
  readonly namespaces: CachedNamespace;
  readonly endpointSlices: EndpointSlice;
  readonly nodes: ClusterNode;
  readonly ipNodes: IpNode;
  readonly leases: Lease;
  readonly claims: CachedDocument<IpClaim>;
  readonly pools: CachedDocument<IpPool>;
  readonly peers: CachedDocument<BgpPeer>;
}

export type CacheKind = keyof CacheEntries;

/** What a loop may do with a cache. */
export interface Cache<T> {
  readonly items: ReadonlyMap<string, T>;
  get(key: string): T | undefined;
  readonly hasSynced: boolean;
  /** up to which the cache has seen everything; 0n before the first list */
  readonly resourceVersion: bigint;
  /** monotonic time of the last word from the server, bookmarks included; -Infinity before the first */
  readonly lastHeardMs: number;
  /** true when everything up to that version is in the cache; false when the signal or a stop came first */
  waitFor(resourceVersion: bigint, signal?: AbortSignal): Promise<boolean>;
}

export type CacheListener<T> = (key: string, now: T | undefined, before: T | undefined) => void;

export interface CacheSources {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

type Caches = { readonly [K in CacheKind]: KindCache<CacheEntries[K]> };

export class ControllerCaches {
  readonly #caches: Caches;
  readonly #onSynced = new Set<() => void>();
  #isRunning = false;

  constructor(sources: CacheSources) {
    const cache = <T>(
      resource: Resource,
      convert: (object: KubeObject) => T | undefined,
      selection: Selection = {},
    ) =>
      new KindCache({ ...sources, resource, convert, selection, pageSize: PAGE }, () =>
        this.#synced(),
      );
    this.#caches = {
      services: cache(SERVICES, convertCachedService),
      namespaces: cache(NAMESPACES, convertNamespace),
      endpointSlices: cache(ENDPOINT_SLICES, convertEndpointSlice, OF_SERVICES),
      nodes: cache(NODES, convertNode),
      ipNodes: cache(IP_NODES, convertIpNode),
      leases: cache(LEASES, convertLease),
      claims: cache(IP_CLAIMS, (object) => cachedDocument(object, convertClaimObject(object))),
      pools: cache(IP_POOLS, (object) => cachedDocument(object, convertPoolObject(object))),
      peers: cache(BGP_PEERS, (object) => cachedDocument(object, convertPeerObject(object))),
    };
  }

  get services(): Cache<Service> {
    return this.#caches.services.informer;
  }
  get namespaces(): Cache<CachedNamespace> {
    return this.#caches.namespaces.informer;
  }
  get endpointSlices(): Cache<EndpointSlice> {
    return this.#caches.endpointSlices.informer;
  }
  get nodes(): Cache<ClusterNode> {
    return this.#caches.nodes.informer;
  }
  get ipNodes(): Cache<IpNode> {
    return this.#caches.ipNodes.informer;
  }
  get leases(): Cache<Lease> {
    return this.#caches.leases.informer;
  }
  get claims(): Cache<CachedDocument<IpClaim>> {
    return this.#caches.claims.informer;
  }
  get pools(): Cache<CachedDocument<IpPool>> {
    return this.#caches.pools.informer;
  }
  get peers(): Cache<CachedDocument<BgpPeer>> {
    return this.#caches.peers.informer;
  }

  /** all of them have listed once: before that nothing may be concluded from what is missing */
  get hasSynced(): boolean {
    return this.unsynced.length === 0;
  }

  /** the kinds that have not been listed yet, for people */
  get unsynced(): readonly CacheKind[] {
    return KINDS.filter((kind) => !this.#caches[kind].informer.hasSynced);
  }

  /** Calls back on every change from now on, the first list included; returns how to end that. */
  subscribe<K extends CacheKind>(kind: K, listener: CacheListener<CacheEntries[K]>): () => void {
    const caches: Caches = this.#caches;
    return caches[kind].subscribe(listener);
  }

  /** Calls back once when all have listed: at once where they have. */
  whenSynced(callback: () => void): void {
    if (this.hasSynced) callback();
    else this.#onSynced.add(callback);
  }

  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    for (const kind of KINDS) this.#caches[kind].informer.start();
  }

  stop(): void {
    this.#isRunning = false;
    this.#onSynced.clear();
    for (const kind of KINDS) this.#caches[kind].informer.stop();
  }

  #synced(): void {
    if (!this.hasSynced) return;
    const waiting = [...this.#onSynced];
    this.#onSynced.clear();
    for (const callback of waiting) callback();
  }
}

const KINDS: readonly CacheKind[] = [
  'services',
  'namespaces',
  'endpointSlices',
  'nodes',
  'ipNodes',
  'leases',
  'claims',
  'pools',
  'peers',
];

/** slices that belong to no Service tell us nothing */
const OF_SERVICES: Selection = { labelSelector: 'kubernetes.io/service-name' };

/** a list as a whole would be in memory three times over: as bytes, as text, as objects */
const PAGE = 500;

interface KindSources<T> extends CacheSources {
  readonly resource: Resource;
  readonly selection: Selection;
  readonly convert: (object: KubeObject) => T | undefined;
  readonly pageSize: number;
}

class KindCache<T> {
  readonly informer: Informer<T>;
  readonly #listeners = new Set<CacheListener<T>>();

  constructor(sources: KindSources<T>, onSynced: () => void) {
    this.informer = new Informer<T>({
      ...sources,
      onChange: (key, now, before) => {
        for (const listener of this.#listeners) listener(key, now, before);
      },
      onSynced,
    });
  }

  subscribe(listener: CacheListener<T>): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}

function convertNamespace({ metadata }: KubeObject): CachedNamespace {
  return {
    name: metadata.name,
    labels: metadata.labels ?? {},
    isBeingDeleted: metadata.deletionTimestamp !== undefined,
  };
}
