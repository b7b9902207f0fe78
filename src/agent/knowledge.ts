/**
 * What the agent knows and where it has it from: documents, verdicts of checks, people's words, what the kernel says. It
 * remembers and makes Views of it; it decides nothing and does nothing.
 */

import type { Address } from 'bgp-ts';
import type { Verdict } from '../checks/verdict.ts';
import type { BgpPeer } from '../model/bgp-peer.ts';
import { formatClaimName } from '../model/claim-name.ts';
import { type ClusterIdentity, foreignness } from '../model/cluster-identity.ts';
import type { ClusterNode } from '../model/cluster-node.ts';
import { type Documents, NO_DOCUMENTS, type Sourced } from '../model/documents.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import { isSameLabels, type Labels } from '../model/labels.ts';
import { optional } from '../model/optional.ts';
import type { DocumentSource } from '../model/refusal.ts';
import type { Announcer } from './announcer.ts';
import {
  type ClusterContext,
  type ClusterMemory,
  clusterFacts,
  hasBeenReady,
  learnNode,
  NO_CLUSTER_MEMORY,
  restoreCluster,
} from './cluster-memory.ts';
import { departuresAfter, isAnnounced } from './departures.ts';
import type { ClaimDecision, DesiredState } from './desired.ts';
import { claimFinding, type JoinCheck, joinFinding } from './health.ts';
import { type Heard, HeardDocuments, type HeardNow } from './heard-documents.ts';
import { heldAfter, heldAsSaved, holdsToSave, type SavedHold } from './held-claims.ts';
import { isRoomy, type KeptPlaces, keptPlaces } from './kept-places.ts';
import type { PasswordFiles } from './password-files.ts';
import type { PeerPlan } from './peer-settings.ts';
import {
  documentsFrom,
  originOf,
  SAVED_VERSION,
  type SavedDrains,
  type SavedView,
  savedTimes,
  whileStopping,
  withSavedApi,
} from './saved-view.ts';
import { NO_ADDRESSES } from './service-address.ts';
import { savedPlans, standingFirst } from './standing-peers.ts';
import type {
  BindingFact,
  ClusterFacts,
  Departure,
  DiscardFacts,
  Drain,
  Finding,
  NodeIdentity,
  PasswordFact,
  ServiceFacts,
  View,
} from './view.ts';

export interface KnowledgeOptions {
  readonly node: NodeIdentity;
  readonly joinCheck: JoinCheck;
  readonly passwords: PasswordFiles;
  readonly saved: SavedView | undefined;
  /** of a saved View of which nothing else can be used */
  readonly drains?: SavedDrains;
  /** what the documents come from, for people */
  readonly source: string;
  readonly maxStaleMs: number;
  /** in simple mode, as it is now */
  readonly announcer?: () => Announcer | undefined;
  readonly sources: readonly DocumentSource[];
  /** of the cluster that is a source */
  readonly cluster: ClusterContext;
  readonly clusterIdentity?: () => ClusterIdentity | undefined;
}

export class Knowledge {
  readonly #options: KnowledgeOptions;
  readonly verdicts = new Map<string, Verdict>();
  #decided: readonly ClaimDecision[] = [];
  /** of this node, under which that was decided */
  #decidedLabels: Labels = {};
  /** of the process before this one, until the API has spoken */
  #savedHolds: readonly SavedHold[] = [];
  /** as they were decided on last, and what was saved of a source since */
  #plans: readonly PeerPlan[] = [];
  #places: KeptPlaces | undefined;
  #wasAnnounced: ReadonlySet<string> | undefined;
  readonly #heard: HeardDocuments;
  #cluster: ClusterMemory = NO_CLUSTER_MEMORY;
  #clusterFacts: ClusterFacts | undefined;
  #node: NodeIdentity;
  /** of Secrets, by peer name */
  secrets: ReadonlyMap<string, PasswordFact> = new Map();
  fencedSinceMs: number | undefined;
  /** of the Lease, while it is fenced */
  hasLapsed = true;
  serviceFacts: ServiceFacts | undefined;
  /** why the cluster does not take this machine for its node */
  objection: string | undefined;
  /** why the saved documents of the API are not used */
  foreign: string | undefined;
  #nodeDrain: Drain | undefined;
  /** never saved: the next start is not this stop */
  stopDrain: Drain | undefined;
  #claimDrains: ReadonlyMap<string, Drain> = new Map();
  departures: ReadonlyMap<string, Departure> = new Map();
  bindings: ReadonlyMap<string, BindingFact> = new Map();
  discards: DiscardFacts | undefined;
  own = NO_ADDRESSES;

  constructor(options: KnowledgeOptions) {
    this.#options = options;
    this.#heard = new HeardDocuments(options);
    this.#node = options.node;
    if (!this.#hasCluster) return;
    this.#clusterFacts = clusterFacts(this.#cluster, options.cluster);
    // until somebody says otherwise: what a saved View has of exclusive claims may be another node's by now
    this.fencedSinceMs = 0;
  }

  /** undefined: nothing has been heard and nothing was saved, so there is no desired state */
  get documents(): Documents | undefined {
    return this.#heard.documents;
  }

  get #hasCluster(): boolean {
    return this.#options.sources.includes('api');
  }

  get node(): NodeIdentity {
    return this.#node;
  }

  get clusterNode(): ClusterNode | undefined {
    return this.#cluster.isGone ? undefined : this.#cluster.node;
  }

  /** Its Node may announce, by the cluster's own word; and it has been Ready since this machine came up, in this process or one before. */
  get clusterJoined(): { readonly isOpen: boolean; readonly inThisBoot: boolean } {
    const isOpen = this.#clusterFacts?.joined.isOpen === true;
    return { isOpen, inThisBoot: hasBeenReady(this.#cluster, this.#options.cluster) };
  }

  get peers(): readonly BgpPeer[] {
    return (this.documents ?? NO_DOCUMENTS).peers.map(({ object }) => object);
  }

  /** when the objects of the saved View were first seen, by `Kind/name`, and what files had in force */
  get earlier() {
    const { saved } = this.#options;
    const { peers, pools, claims } = saved?.documents ?? NO_DOCUMENTS;
    const entries = [
      ...peers.map(({ object, createdMs }) => [`BGPPeer/${object.name}`, createdMs] as const),
      ...pools.map(({ object, createdMs }) => [`IPPool/${object.name}`, createdMs] as const),
      ...claims.map(({ object, createdMs }) => [`IPClaim/${object.name}`, createdMs] as const),
    ];
    const lastGood = saved === undefined ? NO_DOCUMENTS : documentsFrom(saved, 'files');
    return { firstSeen: new Map(entries), lastGood };
  }

  /** Takes up the saved View, marked stale; drains that a person asked for stand, and their wait is long over. */
  restore(at: Heard): void {
    const { saved, passwords, drains = saved } = this.#options;
    this.#heard.restore('files', at);
    this.#takeStanding('files', at);
    this.restoreCluster(at);
    if (drains !== undefined) this.#restoreDrains(drains, at);
    passwords.refresh(this.peers);
  }

  #takeStanding(source: DocumentSource, { nowMs }: Heard): void {
    this.#plans = [...this.#plans, ...savedPlans(this.#options.saved, source, this.view(nowMs))];
  }

  #restoreDrains({ nodeDrain, claimDrains }: SavedDrains, { nowMs }: Heard): void {
    const stale = this.#heard.stale('files') ?? this.#heard.stale('api');
    const over = { sinceMs: stale?.sinceMs ?? nowMs, waitMs: 0 };
    if (nodeDrain !== undefined) this.#nodeDrain = { ...over, reason: nodeDrain };
    this.#claimDrains = new Map(claimDrains.map(([name, reason]) => [name, { ...over, reason }]));
  }

  /**
   * Takes up what was saved of the API, once it is known which cluster that is. Until then, and where it was saved of another cluster, nothing of it
   * counts: neither its documents, nor the last good form of an object that cannot be read, nor what that cluster said of its Node.
   */
  restoreCluster(at: Heard): void {
    const { saved, passwords, cluster, clusterIdentity } = this.#options;
    if (saved === undefined || !this.#heard.isUnheard('api')) return;
    const now = clusterIdentity?.();
    if (clusterIdentity !== undefined && now === undefined) return;
    this.foreign = now === undefined ? undefined : foreignness(originOf(saved), now);
    if (this.foreign !== undefined) return;
    this.#heard.restore('api', at);
    if (saved.cluster !== undefined) {
      this.#remember(restoreCluster(saved.cluster, cluster, at.nowMs));
    }
    this.#takeStanding('api', at);
    this.#savedHolds = saved.held ?? [];
    this.#holdAsSaved(at);
    passwords.refresh(this.peers);
  }

  /** A source has spoken. What people took away departs; `running` is what was decided last. */
  learn(source: DocumentSource, documents: Documents, running: DesiredState, at: HeardNow): void {
    const before = this.documents ?? NO_DOCUMENTS;
    this.#heard.learn(source, documents, at);
    const isWhole = documents.isOfClaimsAlone !== true;
    if (source === 'api' && isWhole) this.foreign = undefined;
    if (documents.isUnread === true) return;
    this.#options.passwords.refresh(this.peers);
    const last = { running, formerLabels: this.#decidedLabels };
    this.#depart(departuresAfter(before, last, this.view(at.nowMs)));
    if (source !== 'api' || !isWhole) return;
    this.#holdAsSaved(at);
    this.#savedHolds = [];
  }

  /** what was given back, too: where the label is still here, nobody else has it */
  #holdAsSaved({ nowMs }: Heard): void {
    if (this.#savedHolds.length > 0) this.#depart(heldAsSaved(this.#savedHolds, this.view(nowMs)));
  }

  #depart(departures: ReadonlyMap<string, Departure>): void {
    if (departures.size > 0) this.departures = new Map([...this.departures, ...departures]);
  }

  /** As `learn`, of an agent that stops: an exclusive claim steps down here before another node steps up, and its controller waits for that. */
  learnAtLast(source: DocumentSource, heard: Documents, running: DesiredState, at: HeardNow): void {
    const { documents } = this;
    if (documents === undefined || heard.isUnread === true) return;
    this.learn(source, whileStopping(heard, documentsFrom({ documents }, source)), running, at);
  }

  /** The API has not been heard since then; undefined: it is heard. True when that is news. */
  setSilence(since: Heard | undefined): boolean {
    const before = this.#heard.stale('api');
    if (since === undefined) this.#heard.isHeard('api');
    else this.#heard.fallSilent('api', since);
    return this.#heard.stale('api') !== before;
  }

  /** undefined: the API says that there is no such Node */
  learnNode(node: ClusterNode | undefined, nowMs: number): void {
    const isAnnouncing = this.#decided.some(isAnnounced);
    const moment = { nowMs, isAnnouncing };
    const { labels } = this.#node;
    this.#remember(learnNode(this.#cluster, node, this.#options.cluster, moment));
    if (isSameLabels(labels, this.#node.labels)) return;
    this.#depart(heldAfter(this.#decided, this.#decidedLabels, this.view(nowMs)));
  }

  #remember(memory: ClusterMemory): void {
    const { node, cluster } = this.#options;
    this.#cluster = memory;
    this.#clusterFacts = clusterFacts(memory, cluster);
    this.#node = { ...node, labels: { ...node.labels, ...memory.node?.labels } };
  }

  /**
   * Which claims are announced, as it was decided: a check that is added to one of them must not close it before it has
   * failed. What is not announced has to pass first, however well it was when it was here last.
   */
  rememberAnnounced({ claims, plans }: DesiredState): void {
    this.#decided = claims;
    this.#decidedLabels = this.#node.labels;
    this.#plans = plans;
    this.#wasAnnounced = undefined;
    this.#places = undefined;
  }

  /** worked out once for a decision, and only where not all claims have room */
  #keptPlaces(): KeptPlaces | undefined {
    if (isRoomy(this.documents ?? NO_DOCUMENTS, this)) return undefined;
    this.#places ??= keptPlaces({ claims: this.#decided, plans: this.#plans });
    return this.#places;
  }

  /** by claim name, after the last decision; worked out when somebody asks, since most claims have nothing to check */
  get announced(): ReadonlySet<string> {
    this.#wasAnnounced ??= new Set(
      this.#decided.filter(isAnnounced).map(({ subject }) => subject.claim.object.name),
    );
    return this.#wasAnnounced;
  }

  /** true where that is news */
  setFence(sinceMs: number | undefined, hasLapsed: boolean): boolean {
    if (this.fencedSinceMs === sinceMs && this.hasLapsed === hasLapsed) return false;
    this.fencedSinceMs = sinceMs;
    this.hasLapsed = hasLapsed;
    return true;
  }

  drainNode(drain: Drain | undefined): void {
    this.#nodeDrain = drain;
  }

  get nodeDrain(): Drain | undefined {
    return this.#nodeDrain;
  }

  isDrained(name: string): boolean {
    return this.#claimDrains.has(name);
  }

  drainClaim(name: string, drain: Drain | undefined): void {
    const others = [...this.#claimDrains].filter(([known]) => known !== name);
    this.#claimDrains = new Map(drain === undefined ? others : [...others, [name, drain]]);
  }

  claimAt(address: Address): IpClaim | undefined {
    const name = formatClaimName(address);
    return this.documents?.claims.find(({ object }) => object.name === name)?.object;
  }

  view(nowMs: number): View {
    const { joinCheck } = this.#options;
    return {
      nowMs,
      node: this.#node,
      documents: this.documents ?? NO_DOCUMENTS,
      joined: joinFinding(joinCheck, this.verdicts),
      health: this.#health(),
      bindings: this.bindings,
      ...this.own,
      passwords: this.#passwordFacts(),
      standing: this.#plans,
      claimDrains: this.#claimDrains,
      departures: this.departures,
      ...optional('nodeDrain', this.#nodeDrain),
      ...optional('stopDrain', this.stopDrain),
      ...optional('stale', this.#heard.stale('files')),
      ...optional('staleApi', this.#heard.stale('api')),
      ...optional('cluster', this.#clusterView()),
      ...optional('fencedSinceMs', this.fencedSinceMs),
      ...optional('announcer', this.#options.announcer?.()),
      ...optional('discards', this.discards),
      ...optional('kept', this.#keptPlaces()),
      hasLapsed: this.hasLapsed,
      ...optional('serviceFacts', this.serviceFacts),
    };
  }

  #clusterView(): ClusterFacts | undefined {
    const facts = this.#clusterFacts;
    const announcer = this.#options.announcer?.();
    const refusal = announcer?.kind === 'refused' ? announcer.sentence : undefined;
    const sentence = this.objection ?? refusal;
    if (facts === undefined || sentence === undefined) return facts;
    return { ...facts, joined: { isOpen: false, sentence } };
  }

  #passwordFacts(): ReadonlyMap<string, PasswordFact> {
    const { facts } = this.#options.passwords;
    // a file's peer of the same name wins
    return this.secrets.size === 0 ? facts : new Map([...this.secrets, ...facts]);
  }

  #health(): ReadonlyMap<string, Finding> {
    const found = new Map<string, Finding>();
    const look = ({ object }: Sourced<IpClaim>) => {
      if (object.checks.length > 0) found.set(object.name, this.#healthOf(object));
    };
    for (const claim of this.documents?.claims ?? []) look(claim);
    for (const { claim, held } of this.departures.values()) if (held === undefined) look(claim);
    return found;
  }

  #healthOf(claim: IpClaim): Finding {
    return claimFinding(claim, this.verdicts, this.announced.has(claim.name));
  }

  /** undefined while there is nothing worth saving */
  toSave(wallMs: number): SavedView | undefined {
    const { documents } = this;
    if (documents === undefined) return undefined;
    const { saved, node: self } = this.#options;
    const now = {
      version: SAVED_VERSION,
      // what people say while a source is silent is kept; the documents are no younger for it
      ...savedTimes(this.#heard.heardAtMs(wallMs)),
      routerId: self.routerId,
      ...optional('nodeDrain', this.#nodeDrain?.reason),
      claimDrains: [...this.#claimDrains].map(([name, { reason }]) => [name, reason] as const),
    } as const;
    const { pools, claims, formerPools } = documents;
    const peers = standingFirst(documents.peers, this.#plans);
    // not all that is on disk of the API is in force yet: it stays there
    if (saved !== undefined && this.#heard.isKeptAsSaved('api'))
      return withSavedApi(now, { ...documents, peers }, saved);
    const { node, isGone, readyBoot } = this.#cluster;
    const last = isGone ? undefined : node;
    return {
      ...now,
      documents: { peers, pools, claims, ...optional('formerPools', formerPools) },
      ...optional('cluster', last && { node: last, ...optional('readyBoot', readyBoot) }),
      ...optional('clusterMarks', this.#options.clusterIdentity?.()?.marks),
      ...optional('held', holdsToSave(this.departures)),
    };
  }
}
