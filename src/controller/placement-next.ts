/** What is to be done next with one claim, as it is handed from who decides (placement-mover.ts) to who writes (placement-loop.ts). */

import type { QueueOutcome } from '../sources/kube/key-queue.ts';
import type { PlacementVerdict } from './placement-status.ts';

/** What is to be written into a claim. */
export interface ClaimWrite {
  /** spec.node; null takes it away, absent leaves it */
  readonly node?: string | null;
  readonly labels: Readonly<Record<string, string | null>>;
  readonly sentence: string;
}

export type Next = { readonly verdict?: PlacementVerdict } & (
  | { readonly kind: 'rest'; readonly again: QueueOutcome }
  | { readonly kind: 'write'; readonly write: ClaimWrite }
);
