/**
 * One piece of a file → the documents in it (a `kind: List` has several), each either an object or the reason why it is refused.
 * Nothing in here throws for what a user wrote. The order is that of the API server: shape with defaults, rules, then what only
 * the converters of src/model can tell.
 */

import { CORE_SCHEMA, load, mergeTag, YAMLException } from 'js-yaml';
import type { BgpPeer } from '../../model/bgp-peer.ts';
import { meantClaimName } from '../../model/claim-name.ts';
import { convertClaim } from '../../model/convert-claim.ts';
import { convertPeer } from '../../model/convert-peer.ts';
import { convertPool } from '../../model/convert-pool.ts';
import type { IpClaim } from '../../model/ip-claim.ts';
import type { IpPool } from '../../model/ip-pool.ts';
import { nearest } from '../../model/nearest.ts';
import type { Converted, DocumentPath } from '../../model/refusal.ts';
import { type BrokenRule, brokenRule } from './cel-rules.ts';
import { KINDS, type Kind, VALIDATORS } from './crd-schema.ts';
import { type Complaint, complaint, formatPath, shown } from './schema-sentence.ts';

export type HeraldObject =
  | { readonly kind: 'BGPPeer'; readonly object: BgpPeer }
  | { readonly kind: 'IPPool'; readonly object: IpPool }
  | { readonly kind: 'IPClaim'; readonly object: IpClaim };

export type DocumentResult = GoodDocument | BadDocument;

export interface GoodDocument {
  readonly ok: true;
  /** `IPClaim/192.0.2.7` */
  readonly subject: string;
  readonly content: HeraldObject;
}

export interface BadDocument {
  readonly ok: false;
  /** absent where kind or name could not be read */
  readonly subject?: string;
  readonly sentence: string;
  /** line within the piece, from 0, where the parser knows it */
  readonly line?: number;
  /** what is wrong, for finding its line */
  readonly path: DocumentPath;
}

type Json = Readonly<Record<string, unknown>>;

const API_VERSION = 'herald.dev/v1alpha1';
const SCHEMA = CORE_SCHEMA.withTags(mergeTag);
/** a List of ten thousand claims has fewer */
const MAX_NODES = 200_000;
/** of one file */
export const MAX_DOCUMENTS = 100_000;
export const TOO_MANY = 'a file has at most 100,000 documents; split it';

export function readPiece(text: string): readonly DocumentResult[] {
  let document: unknown;
  try {
    document = load(text, { schema: SCHEMA });
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const line = error.mark?.line;
    const sentence = `this is not YAML that can be read: ${error.reason}`;
    return [{ ok: false, sentence, path: [], ...(line !== undefined && { line }) }];
  }
  if (text.includes('&') && isTooLarge(document)) {
    return [bad([], 'its anchors and aliases (& and *) stand for too much; write it out')];
  }
  if (!isRecord(document)) {
    const what = document === null ? 'nothing' : shown(document);
    return [
      bad([], `a document must be a mapping with apiVersion, kind and metadata, not ${what}`),
    ];
  }
  return document['kind'] === 'List' ? readList(document) : [readDocument(document, [])];
}

/** A few aliases of aliases, or one of itself, are small to parse and without end for whoever walks through them. */
function isTooLarge(document: unknown): boolean {
  const left: unknown[] = [document];
  for (let count = 0; left.length > 0; count += 1) {
    if (count + left.length > MAX_NODES) return true;
    const value = left.pop();
    if (typeof value !== 'object' || value === null) continue;
    for (const each of Object.values(value)) left.push(each);
  }
  return false;
}

function readList(list: Json): readonly DocumentResult[] {
  const items = list['items'];
  if (!Array.isArray(items)) return [bad(['items'], 'a List needs items, a list of documents')];
  if (items.length > MAX_DOCUMENTS) return [bad(['items'], TOO_MANY)];
  return items.map((item, index) => {
    if (isRecord(item)) return readDocument(item, ['items', index]);
    return bad(['items', index], `items[${index}] must be a document, not ${shown(item)}`);
  });
}

function readDocument(document: Json, base: DocumentPath): DocumentResult {
  const kind = KINDS.find((each) => each === document['kind']);
  const complaintAboutKind = kindComplaint(document, kind);
  const subject = kind === undefined ? undefined : subjectOf(kind, document);
  if (kind === undefined || complaintAboutKind !== undefined) {
    const { path, sentence } = complaintAboutKind ?? NO_KIND;
    return bad([...base, ...path], sentence, subject);
  }
  const verdict = validate(kind, document);
  if (!verdict.ok) return bad([...base, ...verdict.path], verdict.sentence, subject);
  return { ok: true, subject: `${kind}/${verdict.object.object.name}`, content: verdict.object };
}

const NO_KIND: Complaint = {
  path: [],
  sentence: `kind is missing; it is one of ${KINDS.join(', ')}`,
};

function kindComplaint(document: Json, known: Kind | undefined): Complaint | undefined {
  const { kind, apiVersion } = document;
  if (kind === undefined || kind === null) return NO_KIND;
  if (kind === 'IPNode') {
    const why = "IPNode is written by the agent and cannot stand in files; this node's";
    return { path: ['kind'], sentence: `${why} state is shown by 'herald status'` };
  }
  if (known === undefined) {
    const guess = nearest(String(kind), KINDS);
    const hint =
      guess === undefined ? `the kinds are ${KINDS.join(', ')}` : `did you mean '${guess}'?`;
    return { path: ['kind'], sentence: `kind '${String(kind)}' is not known; ${hint}` };
  }
  if (apiVersion === API_VERSION) return undefined;
  const what = apiVersion === undefined ? 'is missing' : `'${String(apiVersion)}' is not known`;
  return { path: ['apiVersion'], sentence: `apiVersion ${what}; write ${API_VERSION}` };
}

function subjectOf(kind: Kind, document: Json): string | undefined {
  const metadata = document['metadata'];
  const name = isRecord(metadata) ? metadata['name'] : undefined;
  return typeof name === 'string' && name !== '' ? `${kind}/${name}` : undefined;
}

function validate(kind: Kind, document: Json): Converted<HeraldObject> {
  // the API server drops what a user writes there
  const { status: _status, ...rest } = document;
  const misnamed = kind === 'IPClaim' ? nameComplaint(rest) : undefined;
  if (misnamed !== undefined) return { ok: false, ...misnamed };
  const validator = VALIDATORS[kind];
  if (!validator(rest)) return { ok: false, ...complaint(kind, rest, validator.errors ?? []) };
  const broken = brokenRule(kind, rest);
  if (broken !== undefined) {
    return { ok: false, path: broken.path, sentence: ruleSentence(broken, rest) };
  }
  return convert(kind, rest);
}

/** the schema could only say which characters a name may have */
function nameComplaint({ metadata }: Json): Complaint | undefined {
  const name = isRecord(metadata) ? metadata['name'] : undefined;
  const meant = typeof name === 'string' ? meantClaimName(name) : undefined;
  if (meant === undefined || meant === name) return undefined;
  const sentence = `metadata.name must be the address in its one spelling: write the name as ${meant}, not ${shown(name)}`;
  return { path: ['metadata', 'name'], sentence };
}

function ruleSentence({ self, path, message }: BrokenRule, document: Json): string {
  const text = message.replace(/\.$/, '');
  if (!text.startsWith('must ')) return self.length === 0 ? text : `${formatPath(self)}: ${text}`;
  const value = path.reduce<unknown>(
    (at, step) => (isIndexable(at) ? at[step] : undefined),
    document,
  );
  const written = typeof value === 'string' ? ` '${value}'` : '';
  return `${formatPath(path)}${written} ${text}`;
}

function convert(kind: Kind, document: Json): Converted<HeraldObject> {
  switch (kind) {
    case 'BGPPeer':
      return tagged(kind, convertPeer(document, 'files'));
    case 'IPPool':
      return tagged(kind, convertPool(document));
    case 'IPClaim':
      return tagged(kind, convertClaim(document, 'files'));
  }
}

function tagged<K extends Kind, T>(
  kind: K,
  result: Converted<T>,
): Converted<{ readonly kind: K; readonly object: T }> {
  if (result.ok) return { ok: true, object: { kind, object: result.object } };
  return { ...result, sentence: `${formatPath(result.path)}: ${result.sentence}` };
}

function bad(path: DocumentPath, sentence: string, subject?: string): BadDocument {
  return { ok: false, path, sentence, ...(subject !== undefined && { subject }) };
}

function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isIndexable(value: unknown): value is Readonly<Record<string | number, unknown>> {
  return typeof value === 'object' && value !== null;
}
