/**
 * What the controller's loops count as it happens. The words are few and fixed, since each becomes a label of a metric; what can be
 * read from the caches (how full a pool is, who waits) is counted there when somebody asks. telemetry/controller-metrics.ts is the
 * real one.
 */

export interface ControllerCounters {
  /** an address was given out of this pool */
  allocated(pool: string): void;
  /** a claim was deleted, its address is free */
  released(pool: string): void;
  /** a Service, or a claim, was refused: the condition's reason */
  refused(reason: string): void;
  /** an exclusive claim has another holder: `planned` (drain, rebalance), `dead` (its holder is gone) or `first` (it had none) */
  moved(why: 'first' | 'planned' | 'dead'): void;
  /** a write met a newer object, or a taken name, and was decided again */
  conflict(loop: string): void;
  eventDropped(why: 'rate' | 'queue' | 'api'): void;
  /** how many keys wait, asked for when somebody looks; returns how to take it away again */
  queue(name: string, depth: () => number): () => void;
}

/** counts nothing */
export const NO_COUNTERS: ControllerCounters = {
  allocated: () => undefined,
  released: () => undefined,
  refused: () => undefined,
  moved: () => undefined,
  conflict: () => undefined,
  eventDropped: () => undefined,
  queue: () => () => undefined,
};
