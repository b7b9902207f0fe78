/** Types of what tools/crd-validators.ts makes from deploy/crds; crd-schema.ts says what each is. */

import type { CrdRule, Kind, Validator } from './crd-schema.ts';

export const BGPPeer: Validator;
export const IPPool: Validator;
export const IPClaim: Validator;
export const RULES: Readonly<Record<Kind, readonly CrdRule[]>>;
export const OUTLINES_JSON: string;
