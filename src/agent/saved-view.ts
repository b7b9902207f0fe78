/**
 * The last View on disk: documents, the drains that a person asked for, and the identifier we go by. Never a secret: a
 * password is only where its file is. A restart reads it before its source has answered, and in place of documents that
 * cannot be read any more; what the source says replaces it.
 *
 * Pure: text in, text out. It is our own file, but a disk may be full and a version old: where anything is not exactly right (saved-view-shape.ts)
 * nothing of it counts but what a person has said: a node that is drained stays drained.
 */

import { isDeepStrictEqual } from 'node:util';
import { type ClaimCore, withCore } from '../model/claim-core.ts';
import type { SavedOrigin } from '../model/cluster-identity.ts';
import type { Documents, Sourced } from '../model/documents.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import type { IpPool } from '../model/ip-pool.ts';
import { optional } from '../model/optional.ts';
import type { DocumentSource } from '../model/refusal.ts';
import type { SavedCluster } from './cluster-memory.ts';
import type { SavedHold } from './held-claims.ts';
import type { SavedLoss } from './kept-routes.ts';
import { savedDrainsIn, savedViewFault } from './saved-view-shape.ts';

export interface SavedView {
  readonly version: typeof SAVED_VERSION;
  /** wall clock; when the source that is silent longest was heard */
  readonly savedAtMs: number;
  /** of each of several sources; absent (0.1 does not know it): all are of `savedAtMs` */
  readonly heardAtMs?: HeardTimes;
  readonly routerId: number;
  readonly documents: Carried;
  readonly nodeDrain?: string;
  /** what the cluster said of this machine's Node */
  readonly cluster?: SavedCluster;
  /** which cluster the documents of the API are of (cluster-identity.ts); absent where 0.1 saved it, or no cluster is a source */
  readonly clusterMarks?: readonly string[];
  /**
   * the controller has read that nothing is announced here: others may have the addresses of the
   * API's claims by now
   */
  readonly isGivenBack?: true;
  /** routers that may have our routes, and that no session leads to */
  readonly lost?: readonly SavedLoss[];
  /** claims of the API that are held, and how they were announced before (0.1 does not know it) */
  readonly held?: readonly SavedHold[];
  /** claim name and reason */
  readonly claimDrains: readonly (readonly [string, string])[];
}

export const SAVED_VERSION = 1;

/** wall clock */
export type HeardTimes = { readonly [source in DocumentSource]?: number };

export function savedTimes(heard: HeardTimes): Pick<SavedView, 'savedAtMs' | 'heardAtMs'> {
  const times = Object.values(heard);
  const savedAtMs = Math.min(...times);
  return times.length > 1 ? { savedAtMs, heardAtMs: heard } : { savedAtMs };
}

export function heardAtMs(saved: SavedView, source: DocumentSource): number {
  return saved.heardAtMs?.[source] ?? saved.savedAtMs;
}

/** What a person has said. It holds whatever becomes of the rest. */
export type SavedDrains = Pick<SavedView, 'nodeDrain' | 'claimDrains'>;

/** claims per piece: some milliseconds of work */
const PIECE = 500;
const DOCUMENTS = ',"documents":';

export function formatSavedView(saved: SavedView): string {
  return [...savedViewPieces(saved)].join('');
}

/** The text in pieces, so that whoever writes it can let others have a turn in between. */
export function* savedViewPieces({ documents, ...rest }: SavedView): Generator<string> {
  const { claims, ...others } = documents;
  const open = (value: object) => JSON.stringify(value).slice(0, -1);
  yield `${open(rest)}${DOCUMENTS}${open(others)},"claims":[`;
  for (let start = 0; start < claims.length; start += PIECE) {
    const piece = JSON.stringify(claims.slice(start, start + PIECE)).slice(1, -1);
    yield start === 0 ? piece : `,${piece}`;
  }
  yield ']}}\n';
}

export type ParsedView =
  | { readonly ok: true; readonly saved: SavedView }
  | { readonly ok: false; readonly sentence: string; readonly drains?: SavedDrains };

export function parseSavedView(text: string): ParsedView {
  const value = parsed(text);
  // drains stand in front of the documents (savedViewPieces): a text that ends too soon mostly has them
  if (value === undefined) return refused('it is no JSON, or cut off', parsed(headOf(text)));
  if (!isOfVersion(value)) return refused('another version of Herald wrote it', value);
  const fault = savedViewFault(value);
  return fault === undefined ? { ok: true, saved: value } : refused(fault, value);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** What is in front of the documents; inside a JSON text no quotation mark stands alone, so nothing else reads like this. */
function headOf(text: string): string {
  return `${text.split(DOCUMENTS, 1)[0] ?? ''}}`;
}

/** A node that somebody drains must not announce because something else in the file is wrong. */
function refused(sentence: string, value: unknown): ParsedView {
  return { ok: false, sentence, ...optional('drains', savedDrainsIn(value)) };
}

/** the rest is looked at afterwards */
function isOfVersion(value: unknown): value is SavedView {
  return (
    typeof value === 'object' &&
    value !== null &&
    (value as Partial<SavedView>).version === SAVED_VERSION
  );
}

/** The half of it that came from one source. */
export function documentsFrom(
  { documents }: Pick<SavedView, 'documents'>,
  source: DocumentSource,
): Carried {
  const isFrom = (one: Sourced<unknown>) => (one.source ?? 'files') === source;
  return {
    peers: documents.peers.filter(isFrom),
    pools: documents.pools.filter(isFrom),
    claims: documents.claims.filter(isFrom),
    ...optional('formerPools', source === 'api' ? documents.formerPools : undefined),
  };
}

/** Which cluster its documents of the API are of. */
export function originOf(saved: SavedView): SavedOrigin {
  const { clusterMarks, cluster } = saved;
  const nodeUid = cluster?.node.uid;
  const savedAtMs = heardAtMs(saved, 'api');
  return { ...optional('marks', clusterMarks), ...optional('nodeUid', nodeUid), savedAtMs };
}

/** A View of what is in force, with the half of the API as it was saved before. */
export function withSavedApi(
  now: Omit<SavedView, 'documents' | 'cluster' | 'clusterMarks'>,
  inForce: Documents,
  saved: SavedView,
): SavedView {
  const { peers, pools, claims } = documentsFrom({ documents: inForce }, 'files');
  const half = documentsFrom(saved, 'api');
  const documents = {
    peers: [...peers, ...half.peers],
    pools: [...pools, ...half.pools],
    claims: [...claims, ...half.claims],
    ...optional('formerPools', half.formerPools),
  };
  return {
    ...now,
    ...savedTimes({ ...now.heardAtMs, api: heardAtMs(saved, 'api') }),
    documents,
    ...optional('cluster', saved.cluster),
    ...optional('clusterMarks', saved.clusterMarks),
    ...optional('isGivenBack', saved.isGivenBack),
    ...optional('held', saved.held),
  };
}

/** Objects of a saved View that the source has not shown since: they stand in for what it cannot read. */
export type Carried = Pick<Documents, 'peers' | 'pools' | 'claims' | 'formerPools'>;

/** What an agent that stops still hears: where the claims stand that it has, and which of them are gone. All else is as it was: nothing new begins. */
export function whileStopping({ claims }: Documents, before: Carried): Documents {
  const known = new Set(before.claims.map(({ object }) => object.name));
  return { ...before, claims: claims.filter(({ object }) => known.has(object.name)), faults: [] };
}

/**
 * Claims of a saved View where the API has told of its IPClaims and of nothing else: what is gone, withdrawn or another node's by now is so here, and
 * what stands is for the Services of now. How they are announced stays as it was saved, and none is new: that takes the pools and BGPPeers of now.
 */
export function asClaimsStand(
  saved: readonly Sourced<IpClaim>[],
  { claims, cores = new Map(), faults }: Documents,
): readonly Sourced<IpClaim>[] {
  const unread = new Set(faults.flatMap(({ subject }) => subject ?? []));
  const now = new Map(claims.map((claim) => [claim.object.name, claim]));
  return saved.flatMap((claim) => {
    const { name } = claim.object;
    const present = now.get(name);
    // made anew under the same name: nobody knows how that one is announced
    if (present !== undefined && present.createdMs !== claim.createdMs) return [];
    const core = cores.get(name) ?? present?.object;
    if (core !== undefined) return asItStands(claim, core);
    return unread.has(`IPClaim/${name}`) ? claim : [];
  });
}

/** the very same where nothing has changed */
function asItStands(claim: Sourced<IpClaim>, now: ClaimCore): Sourced<IpClaim> {
  const standing = ({ labels, services, node, epoch, withdrawn }: ClaimCore) => ({
    labels,
    services,
    ...optional('node', node),
    ...optional('epoch', epoch),
    ...optional('withdrawn', withdrawn),
  });
  if (isDeepStrictEqual(standing(claim.object), standing(now))) return claim;
  const { node: _, epoch: __, withdrawn: ___, ...rest } = claim.object;
  return { ...claim, object: { ...rest, ...standing(now) } };
}

/**
 * Documents that were good when they were saved and cannot be read now keep their last good form, as they would have without
 * the restart. A fault that names its object stands for that one, a fault that does not for all of its file. What is not
 * needed now is not carried any further: once the source has shown an object, its word counts.
 */
export function carriedOver(documents: Documents, carried: Carried): Carried {
  const named = new Set(documents.faults.flatMap(({ subject }) => subject ?? []));
  const files = documents.faults.flatMap(({ subject, file }) =>
    subject === undefined ? file : [],
  );
  const unread = unreadFiles(files);
  const lost = <T extends { readonly name: string }>(
    kind: string,
    now: readonly Sourced<T>[],
    before: readonly Sourced<T>[],
  ): readonly Sourced<T>[] => {
    const names = new Set(now.map(({ object }) => object.name));
    return before.filter(
      ({ object, origin }) =>
        !names.has(object.name) && (named.has(`${kind}/${object.name}`) || unread(origin)),
    );
  };
  // saved before anybody looked whether it overlaps another one: 0.1 did not
  const refused = new Set(documents.conflicting?.map(({ object }) => addressesOf(object)));
  const pools = carried.pools.filter(({ object }) => !refused.has(addressesOf(object)));
  return {
    peers: lost('BGPPeer', documents.peers, carried.peers),
    pools: lost('IPPool', documents.pools, pools),
    claims: lost('IPClaim', documents.claims, carried.claims).map((claim) =>
      amended(claim, documents.cores),
    ),
  };
}

/**
 * Whether it is withdrawn, and who holds it, is known although the rest of it cannot be read. Since
 * which version is not: that of the saved form would answer for a release that came after it.
 */
function amended(saved: Sourced<IpClaim>, cores: Documents['cores']): Sourced<IpClaim> {
  const { version: _, ...claim } = saved;
  const core = cores?.get(claim.object.name);
  return core === undefined ? claim : { ...claim, object: withCore(claim.object, core) };
}

function addressesOf({ name, ranges }: IpPool): string {
  return JSON.stringify([name, ranges.map(({ text }) => text)]);
}

export function withCarried(documents: Documents, carried: Carried): Documents {
  return {
    peers: joined(documents.peers, carried.peers),
    pools: joined(documents.pools, carried.pools),
    claims: joined(documents.claims, carried.claims),
    faults: documents.faults,
    ...optional('conflicting', documents.conflicting),
  };
}

function joined<T>(now: readonly T[], carried: readonly T[]): readonly T[] {
  return carried.length === 0 ? now : [...now, ...carried];
}

/** Whether an origin is in one of these files: faults name the whole path, origins the file within the source. */
function unreadFiles(files: readonly string[]): (origin: string) => boolean {
  const whole = new Set(files);
  const ends = new Set(files.flatMap(endsOf));
  return (origin) => {
    const [name = ''] = origin.split(':');
    return whole.has(name) || ends.has(name);
  };
}

/** what may stand behind a slash: `b/c` and `c` of `/a/b/c` down to its last part */
function endsOf(path: string): readonly string[] {
  const parts = path.split('/');
  return parts.slice(1).map((_, index) => parts.slice(index + 1).join('/'));
}
