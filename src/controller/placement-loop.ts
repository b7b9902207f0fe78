/**
 * Gives claims their place: the anycast label, or a node of its own and its label, one guarded write at a time. Whatever it does is
 * decided from the caches anew each time (scheduler/ decides), so a write that fails, a restart or a second controller cost a
 * repetition and nothing else. Not who lives (liveness-loop.ts), not which address a Service gets.
 */

import type { Clock, Random } from 'bgp-ts';
import type { Log } from '../log/log.ts';
import { claimPhase } from '../model/claim-phase.ts';
import { type IpClaim, namespaceInTurn } from '../model/ip-claim.ts';
import type { IpPool } from '../model/ip-pool.ts';
import {
  EPOCH_ANNOTATION,
  FORMER_NODES_ANNOTATION,
  POOL_LABEL,
  RELEASED_BY_ANNOTATION,
} from '../model/names.ts';
import { epochAfter } from '../scheduler/epoch.ts';
import { formerAfter } from '../scheduler/former-nodes.ts';
import { anycastWrite } from '../scheduler/mode-change.ts';
import { MOVE_RATE, MoveBudget, type MoveRate } from '../scheduler/move-rate.ts';
import { isConflict, isNotFound, type KubeApi } from '../sources/kube/api.ts';
import { convertClaimObject } from '../sources/kube/convert-documents.ts';
import { DONE, KeyQueue, type QueueOutcome } from '../sources/kube/key-queue.ts';
import { IP_CLAIMS } from '../sources/kube/resources.ts';
import { NO_RECORD } from '../sources/kube/written-fields.ts';
import { type CachedDocument, cachedDocument, knownOf } from './cached-document.ts';
import type { ControllerCaches } from './caches.ts';
import { type ControllerCounters, NO_COUNTERS } from './counters.ts';
import { aboutClaim, type EventSink } from './events.ts';
import { GiveWay, writesPerSecond } from './give-way.ts';
import { LastPools } from './last-pools.ts';
import type { LivenessView } from './liveness-watch.ts';
import { Pace } from './pace.ts';
import { PlacementEndpoints } from './placement-endpoints.ts';
import { PlacementIndex } from './placement-index.ts';
import { FormerHolders } from './placement-mode.ts';
import { Mover } from './placement-mover.ts';
import type { ClaimWrite } from './placement-next.ts';
import { PlacementNodes } from './placement-nodes.ts';
import { newlyRefused } from './placement-refusals.ts';
import { ANYCAST_PLACED, claimStatus, type PlacementVerdict } from './placement-status.ts';
import { lookAt, type PlacementSubject } from './placement-subject.ts';
import { isRefused } from './pool-register.ts';

export interface PlacementLoopOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly caches: ControllerCaches;
  readonly events: EventSink;
  readonly liveness: LivenessView;
  readonly counters?: ControllerCounters;
  readonly moveRate?: MoveRate;
  /** for how long a node that is cut off may go on announcing what it knows; absent: for ever */
  readonly maxStaleMs?: number;
  /** even out nodes that have joined later, one claim at a time, each so long after the last; absent: never */
  readonly rebalanceEveryMs?: number;
  /** addresses are being given out: what people read waits for that */
  readonly isBusy?: () => boolean;
}

/** writes at the same time */
const CONCURRENCY = 16;
/** what people read may wait for what routers need */
const STATUS_CONCURRENCY = 2;
const STATUS_DELAY_MS = 300;
const BUSY_AGAIN_MS = 1000;

export class PlacementLoop {
  readonly #options: PlacementLoopOptions;
  readonly #index = new PlacementIndex();
  readonly #endpoints = new PlacementEndpoints();
  readonly #pools = new LastPools();
  /** the answers to our writes, until the cache has caught up */
  readonly #written = new Map<string, CachedDocument<IpClaim>>();
  readonly #verdicts = new Map<string, PlacementVerdict>();
  readonly #nodes: PlacementNodes;
  readonly #mover: Mover;
  readonly #formerHolders = new FormerHolders();
  readonly #pace: Pace;
  readonly #giveWay: GiveWay;
  #queue: KeyQueue | undefined;
  #statusQueue: KeyQueue | undefined;
  #ends: readonly (() => void)[] = [];
  #rebalancedMs = 0;

  constructor(options: PlacementLoopOptions) {
    const { caches, liveness, clock, moveRate = MOVE_RATE } = options;
    this.#options = options;
    this.#nodes = new PlacementNodes(caches, liveness, clock);
    this.#giveWay = new GiveWay(clock, options.isBusy);
    this.#pace = new Pace(clock, () => writesPerSecond(caches.nodes.items.size));
    const budget = new MoveBudget(moveRate, clock.now());
    const requeue = (name: string) => this.#queue?.add(name);
    this.#mover = new Mover({
      ...options,
      nodes: this.#nodes,
      index: this.#index,
      endpoints: this.#endpoints,
      budget,
      requeue,
    });
  }

  start(): void {
    if (this.#queue !== undefined) return;
    const { clock, random, caches, liveness, counters = NO_COUNTERS } = this.#options;
    const queue = new KeyQueue({
      clock,
      random,
      concurrency: CONCURRENCY,
      work: (key) => this.#place(key),
      inTurnOf: (key) => this.#namespaceInTurn(key),
    });
    const statusQueue = new KeyQueue({
      clock,
      random,
      concurrency: STATUS_CONCURRENCY,
      work: (key) => this.#writeStatus(key),
    });
    this.#queue = queue;
    this.#statusQueue = statusQueue;
    this.#rebalancedMs = clock.now();
    this.#endpoints.clear();
    for (const name of this.#nodes.known()) this.#endpoints.setNode(name, true);
    for (const slice of caches.endpointSlices.items.values()) {
      this.#endpoints.change(slice, undefined);
    }
    this.#ends = [
      caches.subscribe('claims', (key) => this.#noteClaim(key)),
      caches.subscribe('pools', (_key, now, before) => {
        const wasRefused = before !== undefined && isRefused(before);
        const isOther = now?.meta.generation !== before?.meta.generation;
        if (isOther || (now !== undefined && isRefused(now)) !== wasRefused) this.#lookAtAll();
      }),
      caches.subscribe('nodes', (name) => this.#noteNode(name)),
      caches.subscribe('ipNodes', (name, now, before) => {
        this.#noteNode(name);
        for (const key of newlyRefused(now, before)) {
          if (this.#index.hasPart(name, key)) this.#queue?.add(key);
        }
      }),
      caches.subscribe('endpointSlices', (_, now, before) => {
        this.#askAnew(this.#endpoints.change(now, before));
      }),
      liveness.onLook(() => this.#tick()),
      counters.queue('placement', () => queue.depth),
      counters.queue('claim-status', () => statusQueue.depth),
    ];
    this.#lookAtAll();
  }

  stop(): void {
    for (const end of this.#ends) end();
    this.#ends = [];
    this.#queue?.stop();
    this.#statusQueue?.stop();
    this.#pace.stop();
    this.#queue = undefined;
    this.#statusQueue = undefined;
  }

  #lookAtAll(): void {
    this.#nodes.forgetDemands();
    for (const key of this.#options.caches.claims.items.keys()) this.#noteClaim(key);
  }

  #noteClaim(key: string): void {
    const document = this.#known(key);
    // one that cannot be read stays where it is, and weighs there
    const claim = knownOf(document);
    this.#index.set(key, claim);
    this.#endpoints.set(key, claim);
    if (document === undefined) this.#forget(key);
    else this.#queue?.add(key);
  }

  #forget(key: string): void {
    this.#mover.forget(key);
    this.#formerHolders.forget(key);
    this.#verdicts.delete(key);
  }

  #noteNode(name: string): void {
    this.#askAnew(this.#endpoints.setNode(name, this.#nodes.isThere(name)));
    if (this.#nodes.look(name)) this.#nodesChanged([name]);
    else for (const key of this.#mover.waitingFor(name)) this.#queue?.add(key);
  }

  /** Other nodes can serve these claims now. */
  #askAnew(keys: readonly string[]): void {
    for (const key of keys) {
      this.#mover.askAnew(key);
      this.#queue?.add(key);
    }
  }

  #nodesChanged(names: readonly string[]): void {
    if (names.length === 0) return;
    for (const name of names) for (const key of this.#index.claimsOf(name)) this.#queue?.add(key);
    for (const key of this.#mover.unsettled()) this.#queue?.add(key);
  }

  #tick(): void {
    this.#nodesChanged(this.#nodes.lookAtAll());
    this.#mover.takeTurns();
    const { rebalanceEveryMs, clock } = this.#options;
    if (rebalanceEveryMs === undefined) return;
    if (clock.now() - this.#rebalancedMs < rebalanceEveryMs) return;
    this.#rebalancedMs = clock.now();
    const moved = this.#mover.rebalance(this.#subjects());
    if (moved !== undefined) this.#queue?.add(moved);
  }

  *#subjects(): Iterable<PlacementSubject> {
    for (const key of this.#options.caches.claims.items.keys()) {
      const subject = this.#subject(key);
      if (subject !== undefined) yield subject;
    }
  }

  #subject(key: string): PlacementSubject | undefined {
    const document = this.#known(key);
    if (document === undefined || isLeftAlone(document)) return undefined;
    const looked = lookAt(document, (claim) => this.#poolOf(claim));
    return looked.kind === 'subject' ? looked.subject : undefined;
  }

  #poolOf(claim: IpClaim): IpPool | undefined {
    return this.#pools.of(claim, this.#options.caches.pools.items.values());
  }

  /** the newer one of what the cache has and what the API has answered us */
  #known(key: string): CachedDocument<IpClaim> | undefined {
    const cached = this.#options.caches.claims.get(key);
    const written = this.#written.get(key);
    if (written === undefined) return cached;
    const { claims } = this.#options.caches;
    const isPast = claims.resourceVersion >= BigInt(written.meta.resourceVersion);
    const isOther = cached !== undefined && cached.meta.uid !== written.meta.uid;
    if (!isPast && !isOther) return written;
    this.#written.delete(key);
    return cached;
  }

  /** Claims made by hand, and those that cannot be read, have one turn (docs/decisions/0060). */
  #namespaceInTurn(key: string): string {
    const claim = knownOf(this.#known(key));
    return (claim && namespaceInTurn(claim)) ?? '';
  }

  async #place(key: string): Promise<QueueOutcome> {
    const document = this.#known(key);
    if (document === undefined || isLeftAlone(document)) {
      this.#mover.rest(key);
      return DONE;
    }
    const looked = lookAt(document, (claim) => this.#poolOf(claim));
    if (looked.kind !== 'subject') {
      this.#mover.rest(key);
      this.#judge(document, looked.verdict);
      return DONE;
    }
    const { subject } = looked;
    if (subject.placement.mode === 'anycast') return await this.#placeAnycast(subject);
    this.#formerHolders.forget(key);
    const next = this.#mover.next(subject);
    if (next.verdict !== undefined) this.#judge(document, next.verdict);
    if (next.kind === 'rest') return next.again;
    return await this.#write(subject, next.write);
  }

  async #placeAnycast(subject: PlacementSubject): Promise<QueueOutcome> {
    const { claim, meta } = subject;
    this.#mover.forget(subject.name);
    const leftMs = this.#formerHolders.leftMs(subject, this.#options.clock.now());
    if (leftMs > 0) return { kind: 'retry', afterMs: leftMs };
    const write = anycastWrite(claim.labels, claim.node);
    if (write === undefined) {
      this.#judge({ meta }, ANYCAST_PLACED);
      return DONE;
    }
    return await this.#write(subject, write);
  }

  async #write(subject: PlacementSubject, write: ClaimWrite): Promise<QueueOutcome> {
    const { api, clock, counters = NO_COUNTERS } = this.#options;
    const { name, meta } = subject;
    const { uid, resourceVersion } = meta;
    const former = formerAfter(meta, write.labels, (node) =>
      this.#nodes.hasLetGo(node, BigInt(resourceVersion)),
    );
    const epoch = epochAfter(meta, write.labels, clock.wallTimeMs());
    const annotations = {
      ...(former !== undefined && { [FORMER_NODES_ANNOTATION]: former }),
      ...(epoch !== undefined && { [EPOCH_ANNOTATION]: epoch }),
    };
    const body = {
      metadata: {
        uid,
        resourceVersion,
        labels: write.labels,
        ...(meta.isOnlyOurs && { managedFields: NO_RECORD }),
        ...(Object.keys(annotations).length > 0 && { annotations }),
      },
      ...(write.node !== undefined && { spec: { node: write.node } }),
    };
    try {
      const object = await api.patch(IP_CLAIMS, name, { kind: 'merge', body });
      const document = cachedDocument(object, convertClaimObject(object));
      this.#written.set(name, document);
      this.#mover.wrote(subject, write, BigInt(document.meta.resourceVersion));
      this.#noteClaim(name);
      return DONE;
    } catch (error) {
      this.#noteClaim(name);
      if (isNotFound(error)) return DONE;
      if (isConflict(error)) counters.conflict('placement');
      throw error;
    }
  }

  /** A claim that was placed once keeps that status when its nodes or its pool go: agents keep announcing what they have. */
  #judge({ meta }: Pick<CachedDocument<IpClaim>, 'meta'>, verdict: PlacementVerdict): void {
    const isPlaced = this.#wasPlaced(meta);
    if (isPlaced && verdict.phase !== 'Placed' && verdict.reason !== 'Invalid') return;
    this.#verdicts.set(meta.name, verdict);
    const { clock } = this.#options;
    if (claimStatus(meta, verdict, clock.wallTimeMs()) === undefined) return;
    this.#statusQueue?.add(meta.name, STATUS_DELAY_MS);
  }

  /** A label that a person has put on a claim is no place: one of ours names its pool, or was well before. */
  #wasPlaced({ name, status, labels }: CachedDocument<IpClaim>['meta']): boolean {
    const isOurs = POOL_LABEL in labels || this.#verdicts.get(name) === ANYCAST_PLACED;
    return claimPhase(status['phase'], isOurs ? labels : {}) === 'Placed';
  }

  async #writeStatus(key: string): Promise<QueueOutcome> {
    if (this.#dueStatus(key)?.verdict === ANYCAST_PLACED) {
      if (this.#giveWay.mustWait()) return { kind: 'retry', afterMs: BUSY_AGAIN_MS };
      await this.#pace.take();
      if (this.#statusQueue === undefined) return DONE;
    }
    const due = this.#dueStatus(key);
    if (due === undefined) return DONE;
    const { api, counters = NO_COUNTERS } = this.#options;
    const { verdict, status, meta, claim } = due;
    const { uid, resourceVersion } = meta;
    const body = { metadata: { uid, resourceVersion }, status };
    try {
      await api.patch(IP_CLAIMS, key, { kind: 'merge', body }, { subresource: 'status' });
    } catch (error) {
      if (isNotFound(error)) return DONE;
      throw error;
    }
    if (verdict.phase === 'Refused') {
      const { reason, message } = verdict;
      counters.refused(reason);
      const about = aboutClaim(meta, claim);
      this.#options.events.record({ ...about, type: 'Warning', reason, message });
    }
    return DONE;
  }

  /** what is to be written about a claim; undefined: it says so already, or is none of ours */
  #dueStatus(key: string) {
    const document = this.#known(key);
    const verdict = this.#verdicts.get(key);
    if (document === undefined || verdict === undefined || isLeftAlone(document)) return undefined;
    const { meta } = document;
    const status = claimStatus(meta, verdict, this.#options.clock.wallTimeMs());
    return status && { verdict, status, meta, claim: knownOf(document) };
  }
}

/** It goes, or its address is quarantined: who has a label on it must keep it until it has answered. */
function isLeftAlone({ meta }: CachedDocument<IpClaim>): boolean {
  return meta.isBeingDeleted || meta.annotations[RELEASED_BY_ANNOTATION] !== undefined;
}
