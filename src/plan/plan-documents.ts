/**
 * Documents as they are, and as they would be after a change. Pure. A document of the change takes the place of the one with its kind and name, or is a new one; what
 * `--delete` names is gone.
 */

import { parseObjects } from '../import/foreign-objects.ts';
import type { Documents, Sourced } from '../model/documents.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import type { IpPool } from '../model/ip-pool.ts';
import { ANYCAST_LABEL } from '../model/names.ts';
import { poolHolds } from '../model/pool-addresses.ts';
import type { DocumentSource } from '../model/refusal.ts';
import { type HeraldObject, readPiece } from '../sources/files/read-document.ts';
import { filledText, type Loose, part } from '../sources/kube/loose-fields.ts';

export interface Change {
  readonly put: readonly HeraldObject[];
  /** `BGPPeer/tor-a` */
  readonly remove: readonly string[];
}

export type ReadChange =
  | { readonly ok: true; readonly put: readonly HeraldObject[] }
  | { readonly ok: false; readonly sentences: readonly string[] };

/** Goes by the schema and the rules of the API server; a document that it would refuse makes the whole change void. */
export function readChange(text: string, source: DocumentSource): ReadChange {
  const read = parseObjects(text);
  if (!read.ok) return { ok: false, sentences: [read.sentence] };
  const results = read.objects.flatMap((object) => readOne(object, source));
  const sentences = results.flatMap((each) => ('sentence' in each ? [each.sentence] : []));
  if (sentences.length > 0) return { ok: false, sentences };
  return { ok: true, put: results.flatMap((each) => ('content' in each ? [each.content] : [])) };
}

type ReadOne = { readonly content: HeraldObject } | { readonly sentence: string };

function readOne(object: Loose, source: DocumentSource): readonly ReadOne[] {
  const spec = part(object, 'spec');
  const secret = source === 'api' ? filledText(part(spec, 'password'), 'secret') : undefined;
  // the reader is that of files, where a password is in a file
  const told =
    secret === undefined ? object : { ...object, spec: { ...spec, password: { file: '/secret' } } };
  return readPiece(JSON.stringify(told)).map((result): ReadOne => {
    if (!result.ok) {
      const about = result.subject === undefined ? '' : `${result.subject}: `;
      return { sentence: `${about}${result.sentence}` };
    }
    const { content } = result;
    if (secret === undefined || content.kind !== 'BGPPeer') return { content };
    const password = { kind: 'secret', name: secret } as const;
    return { content: { kind: 'BGPPeer', object: { ...content.object, password } } };
  });
}

export function changed(
  before: Documents,
  { put, remove }: Change,
  source: DocumentSource,
): Documents {
  const gone = new Set(remove);
  const pools = replaced(
    before.pools,
    put.flatMap((each) => (each.kind === 'IPPool' ? [each.object] : [])),
    { kind: 'IPPool', gone, source },
  );
  const claims = put
    .flatMap((each) => (each.kind === 'IPClaim' ? [each.object] : []))
    .map((claim) => placed(claim, before, pools));
  return {
    ...before,
    pools,
    peers: replaced(
      before.peers,
      put.flatMap((each) => (each.kind === 'BGPPeer' ? [each.object] : [])),
      { kind: 'BGPPeer', gone, source },
    ),
    claims: replaced(before.claims, claims, { kind: 'IPClaim', gone, source }),
  };
}

interface Replacing {
  readonly kind: string;
  readonly gone: ReadonlySet<string>;
  readonly source: DocumentSource;
}

function replaced<T extends { readonly name: string }>(
  before: readonly Sourced<T>[],
  put: readonly T[],
  { kind, gone, source }: Replacing,
): readonly Sourced<T>[] {
  const later = new Map(put.map((object) => [object.name, object]));
  const kept = before
    .filter(({ object }) => !gone.has(`${kind}/${object.name}`))
    .map((each) => {
      const now = later.get(each.object.name);
      return now === undefined ? each : { ...each, object: now };
    });
  const known = new Set(before.map(({ object }) => object.name));
  const fresh = put
    .filter(({ name }) => !known.has(name))
    .map((object): Sourced<T> => ({ object, origin: 'the change', createdMs: Infinity, source }));
  return [...kept, ...fresh];
}

/** The controller's labels say where a claim is; a person does not write them. */
function placed(claim: IpClaim, { claims }: Documents, pools: readonly Sourced<IpPool>[]): IpClaim {
  const before = claims.find(({ object }) => object.name === claim.name)?.object;
  if (before !== undefined) return { ...claim, labels: { ...before.labels, ...claim.labels } };
  const pool = pools.find(({ object }) => poolHolds(object, claim.address))?.object;
  const mode = claim.placement?.mode ?? pool?.placement.mode ?? 'anycast';
  if (mode === 'exclusive') return claim;
  return { ...claim, labels: { ...claim.labels, [ANYCAST_LABEL]: '' } };
}
