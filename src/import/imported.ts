/**
 * What an import makes of another balancer's objects: documents of ours, commands for what is not in documents (annotations, Secrets), and a list of what
 * has no counterpart. Data only. A converter never drops anything silently: what it does not take over is in `gaps`.
 */

import { API_VERSION } from '../model/names.ts';
import type { Loose } from '../sources/kube/loose-fields.ts';

/** where the documents will live: passwords are in Secrets there, or in files here */
export type Destination = 'cluster' | 'files';

export interface HeraldDocument {
  readonly apiVersion: typeof API_VERSION;
  readonly kind: 'IPPool' | 'BGPPeer' | 'IPClaim';
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec: Loose;
}

export interface Imported {
  readonly documents: readonly HeraldDocument[];
  /** lines for a shell, or comments that begin with # */
  readonly commands: readonly string[];
  /** sentences, each with the object it is about in front */
  readonly gaps: readonly string[];
}

export const NOTHING: Imported = { documents: [], commands: [], gaps: [] };

export function together(parts: readonly Imported[]): Imported {
  return {
    documents: parts.flatMap(({ documents }) => documents),
    commands: parts.flatMap(({ commands }) => commands),
    gaps: parts.flatMap(({ gaps }) => gaps),
  };
}

export function documentOf(
  kind: HeraldDocument['kind'],
  name: string,
  spec: Loose,
  labels: Readonly<Record<string, string>> = {},
): HeraldDocument {
  const metadata = Object.keys(labels).length === 0 ? { name } : { name, labels };
  return { apiVersion: API_VERSION, kind, metadata, spec };
}

export const gap = (sentence: string): Imported => ({ ...NOTHING, gaps: [sentence] });

/** The password itself is never printed: where it shall be kept is. */
export function passwordField(peer: string, destination: Destination): Loose {
  return destination === 'cluster'
    ? { secret: `bgp-${peer}` }
    : { file: `/etc/herald/bgp-${peer}.password` };
}

/** for a shell */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
