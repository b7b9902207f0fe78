/**
 * The last View on disk: documents, the drains that a person asked for, and the identifier we go by. Never a secret: a
 * password is only where its file is. A restart reads it before its source has answered, and in place of documents that
 * cannot be read any more; what the source says replaces it.
 *
 * Pure: text in, text out. It is our own file, but a disk may be full and a version old: whatever is not exactly right counts
 * as no saved View at all.
 */

import type { Documents, Sourced } from '../model/documents.ts';
import { optional } from '../model/optional.ts';
import type { DocumentSource } from '../model/refusal.ts';
import type { SavedCluster } from './cluster-memory.ts';

export interface SavedView {
  readonly version: typeof SAVED_VERSION;
  /** wall clock; how stale it is when it is read */
  readonly savedAtMs: number;
  readonly routerId: number;
  readonly documents: Omit<Documents, 'faults' | 'isUnread'>;
  readonly nodeDrain?: string;
  /** what the cluster said of this machine's Node */
  readonly cluster?: SavedCluster;
  /** claim name and reason */
  readonly claimDrains: readonly (readonly [string, string])[];
}

export const SAVED_VERSION = 1;

/** claims per piece: some milliseconds of work */
const PIECE = 500;

export function formatSavedView(saved: SavedView): string {
  return [...savedViewPieces(saved)].join('');
}

/** The text in pieces, so that whoever writes it can let others have a turn in between. */
export function* savedViewPieces({ documents, ...rest }: SavedView): Generator<string> {
  const { claims, ...others } = documents;
  const open = (value: object) => JSON.stringify(value).slice(0, -1);
  yield `${open(rest)},"documents":${open(others)},"claims":[`;
  for (let start = 0; start < claims.length; start += PIECE) {
    const piece = JSON.stringify(claims.slice(start, start + PIECE)).slice(1, -1);
    yield start === 0 ? piece : `,${piece}`;
  }
  yield ']}}\n';
}

export function parseSavedView(text: string): SavedView | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  return isSavedView(value) ? value : undefined;
}

/** Our own writer made the rest; the version stands for its shape. */
function isSavedView(value: unknown): value is SavedView {
  if (typeof value !== 'object' || value === null) return false;
  const { version, savedAtMs, routerId, documents, claimDrains } = value as Partial<SavedView>;
  return (
    version === SAVED_VERSION &&
    typeof savedAtMs === 'number' &&
    typeof routerId === 'number' &&
    Array.isArray(claimDrains) &&
    [documents?.peers, documents?.pools, documents?.claims].every(Array.isArray)
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

/** Objects of a saved View that the source has not shown since: they stand in for what it cannot read. */
export type Carried = Omit<Documents, 'faults' | 'isUnread'>;

/** What an agent that stops still hears: where the claims stand that it has, and which of them are gone. All else is as it was: nothing new begins. */
export function whileStopping({ claims }: Documents, before: Carried): Documents {
  const known = new Set(before.claims.map(({ object }) => object.name));
  return { ...before, claims: claims.filter(({ object }) => known.has(object.name)), faults: [] };
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
  return {
    peers: lost('BGPPeer', documents.peers, carried.peers),
    pools: lost('IPPool', documents.pools, carried.pools),
    claims: lost('IPClaim', documents.claims, carried.claims),
  };
}

export function withCarried(documents: Documents, carried: Carried): Documents {
  return {
    peers: joined(documents.peers, carried.peers),
    pools: joined(documents.pools, carried.pools),
    claims: joined(documents.claims, carried.claims),
    faults: documents.faults,
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
