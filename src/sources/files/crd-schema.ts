/**
 * The schemas and rules of deploy/crds as this program uses them. tools/crd-validators.ts makes crd-validators.mjs from the CRDs, plain
 * JavaScript so that nothing has to be compiled or stripped when an agent starts; this file gives it types.
 */

// biome-ignore lint/correctness/useImportExtensions: written by a program, and really named so
import { BGPPeer, IPClaim, IPPool, OUTLINES_JSON, RULES } from './crd-validators.mjs';

export const KINDS = ['BGPPeer', 'IPPool', 'IPClaim'] as const;
/** the kinds that may stand in files */
export type Kind = (typeof KINDS)[number];

export interface SchemaError {
  /** JSON pointer of what is wrong */
  readonly instancePath: string;
  readonly keyword: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** Fills in defaults; false leaves what is wrong in `errors`, until the next call. */
export interface Validator {
  (document: unknown): boolean;
  errors?: readonly SchemaError[] | null;
}

export interface CrdRule {
  /** of what the rule calls `self`; `*` is each item of a list */
  readonly path: readonly string[];
  readonly rule: string;
  readonly message: string;
  /** what is wrong, below `path`, such as `.address` */
  readonly fieldPath?: string;
}

export const VALIDATORS: Readonly<Record<Kind, Validator>> = { BGPPeer, IPPool, IPClaim };
export const CRD_RULES: Readonly<Record<Kind, readonly CrdRule[]>> = RULES;

/** The schemas by kind, without rules and descriptions; only messages need them. */
export function schemaOutlines(): unknown {
  return JSON.parse(OUTLINES_JSON);
}
