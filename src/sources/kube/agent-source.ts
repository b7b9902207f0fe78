/**
 * The cluster as a source of one agent: its own Node, the claims that concern it, pools and peers, and the keys of its sessions. Nothing
 * is told before all of them have been listed, but the Node and the claims alone where the rest takes long; from then on, what changes
 * within one turn is told once. The first of a burst is told at once, the others together, at most fifty times a second and for about a tenth of the time.
 *
 * An API that cannot be reached changes nothing. How long it has been silent is told, for `maxStale`.
 */

import type { Clock, Random, Timer } from 'bgp-ts';
import type { PasswordFact } from '../../agent/view.ts';
import type { Log } from '../../log/log.ts';
import type { BgpPeer } from '../../model/bgp-peer.ts';
import { type ClaimCore, withCore } from '../../model/claim-core.ts';
import type { ClusterNode } from '../../model/cluster-node.ts';
import { type Documents, NO_DOCUMENTS } from '../../model/documents.ts';
import type { IpClaim } from '../../model/ip-claim.ts';
import type { IpPool } from '../../model/ip-pool.ts';
import { type Labels, selects } from '../../model/labels.ts';
import { optional } from '../../model/optional.ts';
import { type PoolFacts, PoolsInForce, type PoolsNow } from '../../model/pools-in-force.ts';
import type { Converted } from '../../model/refusal.ts';
import { AgentSecrets } from './agent-secrets.ts';
import type { KubeApi, KubeObject, Resource } from './api.ts';
import { ClaimWatch } from './claim-watch.ts';
import { convertPeerObject, convertPoolObject } from './convert-documents.ts';
import { convertNode } from './convert-node.ts';
import { Informer } from './informer.ts';
import { isAlike, ObjectLedger } from './object-ledger.ts';
import { PeersInForce, type PeersNow, type PeerWord, peerWord } from './peers-in-force.ts';
import { isSamePools, poolFacts, UNKNOWN_POOL } from './pool-facts.ts';
import { BGP_PEERS, IP_POOLS, NODES } from './resources.ts';
import { isSame } from './same-documents.ts';

/** Who is told; the agent is one. */
export interface ClusterListener {
  /** in force; before the first word, those of a saved View */
  readonly documents?: Documents | undefined;
  /** as they are now; absent: nobody knows */
  readonly sessions?: readonly { readonly name: string; readonly state: string }[];
  /** by which it selects BGPPeers: its own and those of its Node; absent: the Node's alone */
  readonly nodeLabels?: Labels;
  /** its Node as it was heard last; before that, the one of a saved View */
  readonly clusterNode?: ClusterNode | undefined;
  /** `silentSince`: not all of them could be read since then, for too long */
  setDocuments(documents: Documents, source: 'api', silentSince?: Moment): void;
  setNodeFacts(node: ClusterNode | undefined): void;
  setSecrets(facts: ReadonlyMap<string, PasswordFact>): void;
  /** `isBehind`: the documents hold newer claims than this version answers for */
  setObservedClaims(resourceVersion: bigint, isBehind: boolean): void;
  setApiSilence(since: Moment | undefined): void;
}

/** on both clocks */
interface Moment {
  readonly nowMs: number;
  readonly wallMs: number;
}

export interface AgentSourceOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly nodeName: string;
  readonly agent: ClusterListener;
}

/** bookmarks come once a minute, and a watch that is silent for longer is opened again */
const SILENT_AFTER_MS = 150_000;
const LISTEN_EVERY_MS = 10_000;
/** between two tellings: a decision on a thousand claims costs little less for one new claim than for twenty */
const TOGETHER_MS = { least: 20, most: 100, share: 10 };

export class AgentSource {
  readonly #options: AgentSourceOptions;
  readonly #claims: ClaimWatch;
  readonly #pools: Informer<Read<IpPool>>;
  readonly #peers: Informer<Read<BgpPeer>>;
  readonly #nodes: Informer<ClusterNode>;
  readonly #secrets: AgentSecrets;
  readonly #claimLedger = new ObjectLedger<IpClaim>('IPClaim');
  readonly #poolLedger = new ObjectLedger<IpPool>('IPPool');
  readonly #peerLedger = new ObjectLedger<BgpPeer>('BGPPeer');
  /** of claims that are refused, by name */
  readonly #cores = new Map<string, ClaimCore>();
  readonly #peersInForce = new PeersInForce();
  readonly #poolsInForce = new PoolsInForce();
  /** undefined: a pool has changed since */
  #poolsNow: PoolsNow | undefined;
  #lastPools: PoolsNow | undefined;
  #told: Documents | undefined;
  /** before that */
  #toldClaims: Documents | undefined;
  #toldNode: string | undefined;
  #ownPeers: readonly BgpPeer[] = [];
  #toldObserved: { readonly version: bigint; readonly isBehind: boolean } | undefined;
  #tellTimer: Timer | undefined;
  #listenTimer: Timer | undefined;
  /** the next time that telling may take */
  #notBeforeMs = 0;

  constructor(options: AgentSourceOptions) {
    this.#options = options;
    const { api, clock, random, log, nodeName, agent } = options;
    const onNews = () => this.#tellSoon();
    this.#claims = new ClaimWatch({ api, clock, random, log, nodeName, onNews });
    this.#pools = this.#informer(IP_POOLS, convertPoolObject, this.#poolLedger, {
      ofPool: poolFacts,
    });
    this.#peers = this.#informer(BGP_PEERS, convertPeerObject, this.#peerLedger, {
      ofPeer: peerWord,
    });
    this.#nodes = new Informer({
      api,
      clock,
      random,
      log,
      resource: NODES,
      selection: { fieldSelector: `metadata.name=${nodeName}` },
      convert: convertNode,
      onChange: onNews,
      onSynced: onNews,
    });
    const onChange = (facts: ReadonlyMap<string, PasswordFact>) => agent.setSecrets(facts);
    const isUp = (peer: string) =>
      agent.sessions?.some(({ name, state }) => name === peer && state === 'established') === true;
    this.#secrets = new AgentSecrets({ api, clock, random, isUp, onChange });
  }

  start(): void {
    this.#claims.start();
    for (const informer of this.#informers) informer.start();
    this.#listen();
  }

  stop(): void {
    this.#tellTimer?.cancel();
    this.#listenTimer?.cancel();
    this.#claims.stop();
    for (const informer of this.#informers) informer.stop();
    this.#secrets.stop();
  }

  /** everything has been listed once */
  get hasSynced(): boolean {
    return this.#claims.hasSynced && this.#informers.every(({ hasSynced }) => hasSynced);
  }

  /** of what was heard least lately */
  get lastHeardMs(): number {
    const heard = this.#informers.map(({ lastHeardMs }) => lastHeardMs);
    return Math.min(this.#claims.lastHeardMs, ...heard);
  }

  /** of the exclusive claims that are placed here; undefined: there are none */
  get placedHeardMs(): number | undefined {
    return this.#claims.placedHeardMs;
  }

  /** Somebody waits for the answer to these claims; true: what was observed does not answer for them yet, and will be looked into. */
  awaitClaims(names: readonly string[]): boolean {
    return this.#claims.await(names);
  }

  get #informers(): readonly [
    Informer<Read<IpPool>>,
    Informer<Read<BgpPeer>>,
    Informer<ClusterNode>,
  ] {
    return [this.#pools, this.#peers, this.#nodes];
  }

  #informer<T extends { readonly name: string }>(
    resource: Resource,
    convert: (object: KubeObject) => Converted<T>,
    ledger: ObjectLedger<T>,
    { ofPool, ofPeer }: FactsOf,
  ): Informer<Read<T>> {
    const { api, clock, random, log } = this.#options;
    const onNews = () => this.#tellSoon();
    return new Informer<Read<T>>({
      api,
      clock,
      random,
      log,
      resource,
      convert: (object) => {
        const converted = convert(object);
        return {
          converted,
          createdMs: createdMsOf(object),
          ...optional('facts', ofPool?.(object, converted.ok)),
          ...optional('word', ofPeer?.(object)),
        };
      },
      onChange: (name, now) => {
        if (ofPool !== undefined) this.#poolsNow = undefined;
        if (now === undefined) ledger.remove(name);
        else ledger.put(name, now.converted, now.createdMs);
        onNews();
      },
      onSynced: onNews,
    });
  }

  #tellSoon(): void {
    if (this.#tellTimer !== undefined) return;
    const { clock } = this.#options;
    const waitMs = Math.max(0, this.#notBeforeMs - clock.now());
    this.#tellTimer = clock.startTimer(waitMs, () => {
      this.#tellTimer = undefined;
      const startMs = clock.now();
      this.#tell();
      const endMs = clock.now();
      const { least, most, share } = TOGETHER_MS;
      this.#notBeforeMs = endMs + Math.min(Math.max(share * (endMs - startMs), least), most);
    });
  }

  #tell(): void {
    if (!this.hasSynced) {
      // told alone before, it is so from then on: with it what stands of the claims
      if (this.#toldNode !== undefined && this.#tellNodeAlone()) this.#tellClaims();
      this.#askForSecrets();
      return;
    }
    const { agent } = this.#options;
    this.#takeClaims();
    this.#tellNode();
    const documents = this.#documents();
    // first, so that no peer is decided on with the key that its document named before
    this.#askForSecrets(documents);
    if (!isSame(this.#told, documents)) {
      const silentSince = this.#silentSince();
      if (this.#told !== undefined) agent.setApiSilence(silentSince);
      this.#told = documents;
      agent.setDocuments(documents, 'api', silentSince);
      this.#askForSecrets(documents);
    }
    const observed = this.#claims.observe();
    const { isBehind } = this.#claims;
    if (observed === this.#toldObserved?.version && isBehind === this.#toldObserved.isBehind)
      return;
    this.#toldObserved = { version: observed, isBehind };
    agent.setObservedClaims(observed, isBehind);
  }

  /**
   * Of the peers of this node alone: a thousand agents would ask for each rack's Secrets. What is
   * in force of a saved View needs its keys as well: all of it before the first word, then what
   * cannot be read now.
   */
  #askForSecrets({ peers } = this.#told ?? NO_DOCUMENTS): void {
    const { agent, nodeName } = this.#options;
    const labels = agent.nodeLabels ?? this.#nodes.get(nodeName)?.labels;
    const names = new Set(peers.map(({ object }) => object.name));
    const carried = this.#inForce.filter(({ object }) => !names.has(object.name));
    const own = [...peers, ...carried]
      .map(({ object }) => object)
      .filter(({ nodeSelector }) => labels === undefined || selects(nodeSelector, labels));
    const before = this.#ownPeers;
    if (own.length === before.length && own.every((peer, index) => peer === before[index])) return;
    this.#ownPeers = own;
    this.#secrets.apply(own);
  }

  #takeClaims(): void {
    for (const name of this.#claims.takeChanged()) {
      const claim = this.#claims.items.get(name);
      const core = claim?.converted.ok === false ? claim.converted.core : undefined;
      if (core === undefined) this.#cores.delete(name);
      else if (!isAlike(this.#cores.get(name), core)) this.#cores.set(name, core);
      if (claim === undefined) this.#claimLedger.remove(name);
      else {
        const amended = (good: IpClaim) => withCore(good, core);
        const version = String(claim.version);
        this.#claimLedger.put(name, claim.converted, claim.createdMs, { amended, version });
      }
    }
  }

  /** a kubelet writes its Node again and again, mostly without a change that matters here: false */
  #tellNode(): boolean {
    const { agent, nodeName } = this.#options;
    const node = this.#nodes.get(nodeName);
    const text = JSON.stringify(node) ?? '';
    if (text === this.#toldNode) return false;
    this.#toldNode = text;
    agent.setNodeFacts(node);
    return true;
  }

  #documents(): Documents {
    const { peers, faults } = this.#peersNow();
    const { pools, conflicting, faults: overlaps } = this.#poolsChosen();
    const ofPools = [...this.#poolLedger.faults, ...overlaps];
    return {
      peers,
      pools,
      claims: this.#claimLedger.goods,
      faults: [...this.#claimLedger.faults, ...ofPools, ...this.#peerLedger.faults, ...faults],
      ...(conflicting.length === 0 ? {} : { conflicting }),
      ...(this.#cores.size === 0 ? {} : { cores: new Map(this.#cores) }),
    };
  }

  /** the very lists of before while the same pools are in force */
  #poolsChosen(): PoolsNow {
    if (this.#poolsNow !== undefined) return this.#poolsNow;
    const factsOf = (name: string) => this.#pools.get(name)?.facts ?? UNKNOWN_POOL;
    const next = this.#poolsInForce.choose(this.#poolLedger.goods, factsOf);
    const before = this.#lastPools;
    this.#lastPools = before !== undefined && isSamePools(before, next) ? before : next;
    this.#poolsNow = this.#lastPools;
    return this.#lastPools;
  }

  #peersNow(): PeersNow {
    const wordOf = (name: string) => this.#peers.get(name)?.word;
    return this.#peersInForce.choose(this.#peerLedger.goods, this.#inForce, wordOf);
  }

  /** peers of the API, those of a saved View among them */
  get #inForce(): Documents['peers'] {
    const { peers } = this.#options.agent.documents ?? NO_DOCUMENTS;
    return peers.filter(({ source }) => source === 'api');
  }

  #listen(): void {
    const { clock, agent } = this.#options;
    this.#listenTimer = clock.startTimer(LISTEN_EVERY_MS, () => this.#listen());
    this.#askForSecrets();
    // before the first word the saved View has its own age
    if (this.#told === undefined) {
      this.#tellNodeAlone();
      this.#tellClaims();
      return;
    }
    agent.setApiSilence(this.#silentSince());
  }

  /**
   * Another list fails, for as long as it will: what its Node says counts. Where claims cannot be
   * listed either, one that has come up anew opens nothing: what a saved View has may be elsewhere.
   */
  #tellNodeAlone(): boolean {
    const { agent, nodeName } = this.#options;
    if (!this.#nodes.hasSynced) return false;
    const node = this.#nodes.get(nodeName);
    const isOfThisBoot = node === undefined || node.bootId === agent.clusterNode?.bootId;
    return (this.#claims.hasSynced || isOfThisBoot) && this.#tellNode();
  }

  /** And what a saved View has too much is to leave all the same. */
  #tellClaims(): void {
    if (!this.#claims.hasSynced) return;
    this.#takeClaims();
    const { goods: claims, faults } = this.#claimLedger;
    const cores = this.#cores.size === 0 ? undefined : new Map(this.#cores);
    const isOfClaimsAlone = true as const;
    const documents = {
      ...NO_DOCUMENTS,
      claims,
      faults,
      ...optional('cores', cores),
      isOfClaimsAlone,
    };
    if (isSame(this.#toldClaims, documents)) return;
    this.#toldClaims = documents;
    this.#options.agent.setDocuments(documents, 'api');
  }

  /** of what was heard least lately; undefined: all of it is heard */
  #silentSince(): Moment | undefined {
    const { clock } = this.#options;
    const nowMs = this.lastHeardMs;
    const silentMs = clock.now() - nowMs;
    return silentMs > SILENT_AFTER_MS
      ? { nowMs, wallMs: clock.wallTimeMs() - silentMs }
      : undefined;
  }
}

interface Read<T> {
  readonly converted: Converted<T>;
  readonly createdMs: number;
  /** of a pool */
  readonly facts?: PoolFacts;
  /** of a BGPPeer */
  readonly word?: PeerWord;
}

/** what its status says beside its spec */
interface FactsOf {
  readonly ofPool?: (object: KubeObject, isReadable: boolean) => PoolFacts;
  readonly ofPeer?: (object: KubeObject) => PeerWord | undefined;
}

function createdMsOf({ metadata }: KubeObject): number {
  const createdMs = Date.parse(metadata.creationTimestamp ?? '');
  return Number.isNaN(createdMs) ? 0 : createdMs;
}
