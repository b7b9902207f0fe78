/**
 * What the agent knows and where it has it from: documents, verdicts of checks, people's words, what the kernel says. It
 * remembers and makes Views of it; it decides nothing and does nothing.
 */

import type { Address } from 'bgp-ts';
import type { Verdict } from '../checks/verdict.ts';
import type { BgpPeer } from '../model/bgp-peer.ts';
import { formatClaimName } from '../model/claim-name.ts';
import { type Documents, NO_DOCUMENTS } from '../model/documents.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import { departuresAfter, isAnnounced } from './departures.ts';
import type { DesiredState } from './desired.ts';
import { claimFinding, type JoinCheck, joinFinding } from './health.ts';
import type { PasswordFiles } from './password-files.ts';
import {
  type Carried,
  carriedOver,
  SAVED_VERSION,
  type SavedView,
  withCarried,
} from './saved-view.ts';
import type {
  BindingFact,
  Departure,
  Drain,
  Finding,
  NodeIdentity,
  StaleFact,
  View,
} from './view.ts';

export interface KnowledgeOptions {
  readonly node: NodeIdentity;
  readonly joinCheck: JoinCheck;
  readonly passwords: PasswordFiles;
  readonly saved: SavedView | undefined;
  /** what the documents come from, for people */
  readonly source: string;
  readonly maxStaleMs: number;
}

export class Knowledge {
  readonly #options: KnowledgeOptions;
  readonly verdicts = new Map<string, Verdict>();
  /** by claim name, after the last decision */
  #wasAnnounced: ReadonlySet<string> = new Set();
  #documents: Documents | undefined;
  #carried: Carried;
  #stale: StaleFact | undefined;
  #nodeDrain: Drain | undefined;
  /** never saved: the next start is not this stop */
  stopDrain: Drain | undefined;
  #claimDrains: ReadonlyMap<string, Drain> = new Map();
  departures: ReadonlyMap<string, Departure> = new Map();
  bindings: ReadonlyMap<string, BindingFact> = new Map();
  ownAddresses: ReadonlyMap<string, string> = new Map();

  constructor(options: KnowledgeOptions) {
    this.#options = options;
    this.#carried = options.saved?.documents ?? NO_DOCUMENTS;
  }

  /** undefined: nothing has been heard and nothing was saved, so there is no desired state */
  get documents(): Documents | undefined {
    return this.#documents;
  }

  get peers(): readonly BgpPeer[] {
    return (this.#documents ?? NO_DOCUMENTS).peers.map(({ object }) => object);
  }

  get firstSeen(): ReadonlyMap<string, number> {
    const { peers = [], pools = [], claims = [] } = this.#options.saved?.documents ?? {};
    const entries = [
      ...peers.map(({ object, createdMs }) => [`BGPPeer/${object.name}`, createdMs] as const),
      ...pools.map(({ object, createdMs }) => [`IPPool/${object.name}`, createdMs] as const),
      ...claims.map(({ object, createdMs }) => [`IPClaim/${object.name}`, createdMs] as const),
    ];
    return new Map(entries);
  }

  /** Takes up the saved View, marked stale; drains that a person asked for stand, and their wait is long over. */
  restore(nowMs: number, wallMs: number): void {
    const { saved, passwords } = this.#options;
    if (saved === undefined) return;
    // a wall clock that was set back makes it no younger than now
    const sinceMs = nowMs - Math.max(0, wallMs - saved.savedAtMs);
    this.#becomeStale(sinceMs, saved.savedAtMs);
    this.#documents = { ...saved.documents, faults: [] };
    const over = { sinceMs, waitMs: 0 };
    if (saved.nodeDrain !== undefined) this.#nodeDrain = { ...over, reason: saved.nodeDrain };
    this.#claimDrains = new Map(
      saved.claimDrains.map(([name, reason]) => [name, { ...over, reason }]),
    );
    passwords.refresh(this.peers);
  }

  #becomeStale(sinceMs: number, sinceWallMs: number): void {
    const { source, maxStaleMs } = this.#options;
    const when = new Date(sinceWallMs).toISOString();
    const sentence = `the documents are those of ${when}; ${source} could not be read since`;
    this.#stale = { sinceMs, untilMs: sinceMs + maxStaleMs, sentence };
  }

  /** The source has spoken. What people took away departs; `running` is what was decided last. */
  learn(documents: Documents, running: DesiredState, nowMs: number, wallMs: number): void {
    const { passwords } = this.#options;
    if (documents.isUnread === true && this.#documents !== undefined) {
      // a source that cannot be read says nothing about what it would have said
      this.#documents = { ...this.#documents, faults: documents.faults };
      if (this.#stale === undefined) this.#becomeStale(nowMs, wallMs);
      return;
    }
    const before = this.#documents;
    this.#carried = carriedOver(documents, this.#carried);
    this.#documents = withCarried(documents, this.#carried);
    this.#stale = undefined;
    passwords.refresh(this.peers);
    const gone = departuresAfter(before ?? NO_DOCUMENTS, running, this.view(nowMs));
    if (gone.size > 0) this.departures = new Map([...this.departures, ...gone]);
  }

  /**
   * Which claims are announced, as it was decided: a check that is added to one of them must not close it before it has
   * failed. What is not announced has to pass first, however well it was when it was here last.
   */
  rememberAnnounced({ claims }: DesiredState): void {
    this.#wasAnnounced = new Set(
      claims.filter(isAnnounced).map(({ subject }) => subject.claim.object.name),
    );
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
    return this.#documents?.claims.find(({ object }) => object.name === name)?.object;
  }

  view(nowMs: number): View {
    const { node, joinCheck, passwords } = this.#options;
    return {
      nowMs,
      node,
      documents: this.#documents ?? NO_DOCUMENTS,
      joined: joinFinding(joinCheck, this.verdicts),
      health: this.#health(),
      bindings: this.bindings,
      ownAddresses: this.ownAddresses,
      passwords: passwords.facts,
      ...(this.#nodeDrain === undefined ? {} : { nodeDrain: this.#nodeDrain }),
      ...(this.stopDrain === undefined ? {} : { stopDrain: this.stopDrain }),
      claimDrains: this.#claimDrains,
      departures: this.departures,
      ...(this.#stale === undefined ? {} : { stale: this.#stale }),
    };
  }

  #health(): ReadonlyMap<string, Finding> {
    const claims = (this.#documents ?? NO_DOCUMENTS).claims.map(({ object }) => object);
    const leaving = [...this.departures.values()].map(({ claim }) => claim.object);
    const asked = [...claims, ...leaving].filter(({ checks }) => checks.length > 0);
    return new Map(asked.map((claim) => [claim.name, this.#healthOf(claim)]));
  }

  #healthOf(claim: IpClaim): Finding {
    return claimFinding(claim, this.verdicts, this.#wasAnnounced.has(claim.name));
  }

  /** undefined while there is nothing worth saving */
  toSave(wallMs: number): SavedView | undefined {
    if (this.#documents === undefined) return undefined;
    // what people say while the source is silent is kept; the documents are no younger for it
    const savedAtMs = this.#stale === undefined ? wallMs : this.#options.saved?.savedAtMs;
    const { peers, pools, claims } = this.#documents;
    return {
      version: SAVED_VERSION,
      savedAtMs: savedAtMs ?? wallMs,
      routerId: this.#options.node.routerId,
      documents: { peers, pools, claims },
      ...(this.#nodeDrain === undefined ? {} : { nodeDrain: this.#nodeDrain.reason }),
      claimDrains: [...this.#claimDrains].map(([name, { reason }]) => [name, reason] as const),
    };
  }
}
