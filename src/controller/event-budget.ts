/**
 * Which events are told, pure: the same words about the same object make a series (one Event with a count) and not a flood; each
 * object, each namespace, and all together have a bucket of tokens. A namespace has less than half of what all have, so that one tenant
 * does not keep the events of another from being told. What finds its bucket empty is dropped and counted by the caller.
 */

export interface EventText {
  /** uid of the object, or what stands for it */
  readonly object: string;
  /** of the object, or of whom it is for; absent: it belongs to the cluster */
  readonly namespace?: string;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

export interface BudgetLimits {
  /** the same words within this long belong to one series */
  readonly seriesMs: number;
  /** a series is written again at most this often */
  readonly repeatMs: number;
  readonly perObject: BucketLimits;
  readonly perNamespace: BucketLimits;
  readonly overall: BucketLimits;
  /** series and buckets that are remembered at most; the longest unused go first */
  readonly remembered: number;
}

export interface BucketLimits {
  readonly burst: number;
  readonly perSecond: number;
}

export const EVENT_LIMITS: BudgetLimits = {
  seriesMs: 10 * 60_000,
  repeatMs: 60_000,
  perObject: { burst: 10, perSecond: 1 / 60 },
  perNamespace: { burst: 40, perSecond: 3 },
  overall: { burst: 100, perSecond: 10 },
  remembered: 5000,
};

export type EventVerdict =
  | { readonly kind: 'tell' }
  /** the same again: `count` times by now */
  | { readonly kind: 'repeat'; readonly count: number }
  /** the same again, and it was written a moment ago: the count goes out with the next one */
  | { readonly kind: 'counted' }
  | { readonly kind: 'drop' };

interface Series {
  count: number;
  lastMs: number;
  writtenMs: number;
}

interface Bucket {
  tokens: number;
  atMs: number;
}

export class EventBudget {
  readonly #limits: BudgetLimits;
  readonly #series = new Map<string, Series>();
  readonly #buckets = new Map<string, Bucket>();
  readonly #overall: Bucket;

  constructor(limits: BudgetLimits = EVENT_LIMITS) {
    this.#limits = limits;
    this.#overall = { tokens: limits.overall.burst, atMs: 0 };
  }

  ask(event: EventText, nowMs: number): EventVerdict {
    const key = seriesKey(event);
    const series = this.#series.get(key);
    if (series !== undefined && nowMs - series.lastMs <= this.#limits.seriesMs) {
      return this.#again(event, series, nowMs);
    }
    const ofObject = this.#bucket(event.object, this.#limits.perObject, nowMs);
    if (!take(ofObject, this.#limits.perObject, nowMs) || !this.#takeShared(event, nowMs)) {
      return { kind: 'drop' };
    }
    remember(this.#series, key, { count: 1, lastMs: nowMs, writtenMs: nowMs }, this.#limits);
    return { kind: 'tell' };
  }

  /** the first Event of a series could not be written: the next one starts it anew */
  forget(event: EventText): void {
    this.#series.delete(seriesKey(event));
  }

  #again(event: EventText, series: Series, nowMs: number): EventVerdict {
    series.count += 1;
    series.lastMs = nowMs;
    remember(this.#series, seriesKey(event), series, this.#limits);
    if (nowMs - series.writtenMs < this.#limits.repeatMs) return { kind: 'counted' };
    if (!this.#takeShared(event, nowMs)) return { kind: 'counted' };
    series.writtenMs = nowMs;
    return { kind: 'repeat', count: series.count };
  }

  #takeShared({ namespace }: EventText, nowMs: number): boolean {
    const { perNamespace, overall } = this.#limits;
    const hasPlace =
      namespace === undefined ||
      take(this.#bucket(`namespace ${namespace}`, perNamespace, nowMs), perNamespace, nowMs);
    return hasPlace && take(this.#overall, overall, nowMs);
  }

  #bucket(key: string, { burst }: BucketLimits, nowMs: number): Bucket {
    const bucket = this.#buckets.get(key) ?? { tokens: burst, atMs: nowMs };
    remember(this.#buckets, key, bucket, this.#limits);
    return bucket;
  }
}

export function seriesKey({ object, type, reason, message }: EventText): string {
  return [object, type, reason, message].join('\n');
}

function take(bucket: Bucket, { burst, perSecond }: BucketLimits, nowMs: number): boolean {
  const gained = ((nowMs - bucket.atMs) / 1000) * perSecond;
  bucket.tokens = Math.min(burst, bucket.tokens + gained);
  bucket.atMs = nowMs;
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

/** a Map keeps the order of insertion: what is used is put at the end, what overflows falls off the front */
function remember<V>(map: Map<string, V>, key: string, value: V, { remembered }: BudgetLimits) {
  map.delete(key);
  map.set(key, value);
  if (map.size <= remembered) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
