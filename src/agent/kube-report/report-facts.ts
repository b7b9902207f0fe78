/** From an agent to what its IPNode tells. Looks, decides nothing. */

import type { ClusterNode } from '../../model/cluster-node.ts';
import type { Documents } from '../../model/documents.ts';
import type { IpClaim } from '../../model/ip-claim.ts';
import { selects } from '../../model/labels.ts';
import { ANYCAST_LABEL, isNodeLabel, levelOf, type PreferenceLevel } from '../../model/names.ts';
import { versionNumber } from '../../sources/kube/object-key.ts';
import type { Announced } from '../announced.ts';
import type { Carriers } from '../carriers.ts';
import type { DesiredState } from '../desired.ts';
import { type ClaimRefusal, refusalsOf } from '../refusals.ts';
import type { AgentStatus } from '../status.ts';
import type { ReportFacts } from './ip-node-status.ts';
import type { UnsettledLevels } from './unsettled-levels.ts';
import type { Release, Releases } from './write-pace.ts';

/** What the report reads of an agent. */
export interface ReportedAgent {
  status(scope: { readonly claims: false }): AgentStatus;
  readonly decided: DesiredState;
  readonly announced: Announced;
  readonly carriers: Carriers;
  readonly documents: Documents | undefined;
  readonly clusterNode: ClusterNode | undefined;
  subscribe(onChange: () => void): () => void;
  setFenced(sinceMs: number | undefined, hasLapsed: boolean): void;
  setObjection(sentence: string | undefined): void;
  guard(check: () => void): void;
  giveBack(isGivenBack: boolean): Promise<boolean>;
}

export interface StraightRefusals {
  /** names of claims that were placed here straight and are refused: the controller waits for that answer, to ask another node */
  readonly refusedStraight: readonly string[];
}

export function reportFacts(
  agent: ReportedAgent,
  levels: UnsettledLevels,
  nowMs: number,
): (ReportFacts & StraightRefusals) | undefined {
  if (agent.documents === undefined) return undefined;
  const { joined, draining, stale, sessions } = agent.status({ claims: false });
  const { announced } = agent;
  const { released, placed } = claimSummary(agent.documents);
  const decided = refusedBy(agent.decided, agent.carriers).filter(
    // what is still out is not refused yet: the controller would take the two for a node that only one of its routers refuses
    ({ name, peer }) => peer !== undefined || !announced.levels.has(name),
  );
  const exceptional = exceptions(decided, draining !== undefined);
  const refused = exceptional.map(({ address, gate, message }) => ({ address, gate, message }));
  const refusedNames = new Set(exceptional.map(({ name }) => name));
  const { unsettled, awaited, refusedStraight } = levels.take(
    { claims: placed, announced: announced.levels, refused: refusedNames },
    nowMs,
  );
  return {
    joined: { isOpen: joined.state === 'open', sentence: joined.sentence, since: joined.since },
    ...(draining === undefined ? {} : { draining }),
    ...(stale === undefined ? {} : { stale }),
    sessions,
    announced: announced.routes,
    refused,
    refusedCount: refused.length,
    levels: unsettled,
    awaited,
    refusedStraight,
    ...(announced.observedClaims === undefined
      ? {}
      : { observedClaims: String(announced.observedClaims) }),
    released,
    moves: levels.revision,
    isCurrent: announced.isCurrent,
  };
}

/** What is worth knowing of ten thousand claims, found once per set of documents. */
interface ClaimSummary {
  /** of claims that were released and are still there */
  readonly released: Releases;
  /** all but the anycast ones; one that is on its way to a holder, or from it, is among them */
  readonly placed: readonly IpClaim[];
  /** one asks for exclusive placement itself */
  readonly hasOwnPlacement: boolean;
}

const summaries = new WeakMap<Documents, ClaimSummary>();

function claimSummary(documents: Documents): ClaimSummary {
  const known = summaries.get(documents);
  if (known !== undefined) return known;
  const released = new Map<string, Release>();
  const placed: IpClaim[] = [];
  let hasOwnPlacement = false;
  for (const { object, source, version } of documents.claims) {
    if (source !== 'api') continue;
    if (isReleased(object)) {
      released.set(`${object.name}#${numberOf(object)}`, {
        namespace: namespaceOfRelease(object),
        ...(version !== undefined && { version: versionNumber(version) }),
      });
    }
    if (isPlaced(object)) placed.push(object);
    hasOwnPlacement ||= object.placement?.mode === 'exclusive';
  }
  const made = { released, placed, hasOwnPlacement };
  summaries.set(documents, made);
  return made;
}

/** While all may still announce it the controller waits for the word of who shall hold it. */
function isPlaced({ labels }: IpClaim): boolean {
  return !(ANYCAST_LABEL in labels) || Object.keys(labels).some(isNodeLabel);
}

interface Refused {
  readonly by: string;
  readonly claims: readonly ClaimRefusal[];
}

const refusals = new WeakMap<DesiredState, Refused>();

function refusedBy(decided: DesiredState, carriers: Carriers): readonly ClaimRefusal[] {
  const known = refusals.get(decided);
  const { signature: by } = carriers;
  if (known?.by === by) return known.claims;
  const claims = refusalsOf(decided, carriers);
  refusals.set(decided, { by, claims });
  return claims;
}

const numbers = new WeakMap<IpClaim, number>();
let lastNumber = 0;

/** An address may be released, taken and released again between two writes: these are two releases, and each wants its answer. */
function numberOf(claim: IpClaim): number {
  const number = numbers.get(claim) ?? ++lastNumber;
  numbers.set(claim, number);
  return number;
}

/** its last Service has left it; who withdraws for another reason leaves them in */
function isReleased({ withdrawn, services }: IpClaim): boolean {
  return withdrawn !== undefined && services.length === 0;
}

/**
 * Whose it was. The controller says so (claim-writes.ts), but where a person has withdrawn it
 * before: then it was nobody's.
 */
function namespaceOfRelease({ withdrawn }: IpClaim): string {
  return /^Released: Service ([^/ ]+)\//.exec(withdrawn?.reason ?? '')?.[1] ?? '';
}

/** refusals that have room in any case (ip-node-status.ts), in two halves */
const HALF = 50;

/**
 * What a person would look for. Not: claims of other nodes, what the node as a whole says already, and peers that were never meant to
 * have a claim. There may be more than have room: last come those that are not served here, of which there are as many as there
 * are Local Services (`cutShortOf` rests on that), and among equals first those for which another node can be found. Exclusive ones that are not served here have half of
 * the room beside all others: the controller moves what is listed. Among equals namespaces come in turn, or one of them hides what others wait for. Whether any node can
 * serve a claim is not known here: one whose Services have no endpoint at all is withdrawn, and not among them, but for Local Services, which are never withdrawn for that.
 */
function exceptions(
  refusals: readonly ClaimRefusal[],
  isDraining: boolean,
): readonly ClaimRefusal[] {
  const worthKnowing = refusals.filter(({ gate, peer, isLimit }) => {
    if (gate === 'joined' || gate === 'assigned') return false;
    if (gate === 'not-draining' && isDraining) return false;
    return peer === undefined || isLimit === true;
  });
  const ofRank = (wanted: number) => inTurn(worthKnowing.filter((each) => rank(each) === wanted));
  const first = [...ofRank(0), ...ofRank(1)];
  const placed = ofRank(2);
  const second = [...first.slice(HALF), ...placed.slice(HALF), ...ofRank(3)];
  return [...first.slice(0, HALF), ...placed.slice(0, HALF), ...second];
}

/** The first of each namespace, then the second of each. */
function inTurn(refusals: readonly ClaimRefusal[]): readonly ClaimRefusal[] {
  const rounds: ClaimRefusal[][] = [];
  const counts = new Map<string, number>();
  for (const refusal of refusals) {
    const round = counts.get(refusal.namespace) ?? 0;
    counts.set(refusal.namespace, round + 1);
    const before = rounds[round];
    if (before === undefined) rounds.push([refusal]);
    else before.push(refusal);
  }
  return rounds.flat();
}

function rank({ gate, isPlaced }: ClaimRefusal): number {
  return (gate === 'healthy' ? 2 : 0) + (isPlaced === true ? 0 : 1);
}

/** Where this node stands with the exclusive claims of the API, by their labels. */
export function ownLevels(
  documents: Documents | undefined,
  node: string,
): ReadonlyMap<string, PreferenceLevel> {
  const levels = new Map<string, PreferenceLevel>();
  const claims = documents === undefined ? [] : claimSummary(documents).placed;
  for (const { name, labels } of claims) {
    const level = levelOf(labels, node);
    if (level !== undefined) levels.set(name, level);
  }
  return levels;
}

/** An exclusive claim is here, or a pool may place one here. */
export function needsLease(
  documents: Documents | undefined,
  node: ClusterNode | undefined,
): boolean {
  if (documents === undefined || node === undefined) return false;
  const { pools, formerPools = [] } = documents;
  // an address in use outlives its pool, and its holder may die then, too
  const mayComeFrom = [...pools, ...formerPools].some(
    ({ object: { placement, hasExclusiveClaims }, source }) =>
      source === 'api' &&
      (hasExclusiveClaims === true ||
        (placement.mode === 'exclusive' && selects(placement.nodeSelector, node.labels))),
  );
  if (mayComeFrom || claimSummary(documents).hasOwnPlacement) return true;
  return ownLevels(documents, node.name).size > 0;
}
