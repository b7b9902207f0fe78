/** What a failing proxy is told: which requests, which fault, how often. Counting is all that happens here. */

import { type ApiRequest, matches, type RequestMatch } from './api-request.ts';

export type Fault =
  /** the proxy answers in the server's place; the server never sees it */
  | {
      readonly kind: 'status';
      readonly code: number;
      readonly reason: string;
      readonly retryAfterSeconds?: number;
    }
  /** goes on to the server after this long, unless the client has given up */
  | { readonly kind: 'stall'; readonly ms: number }
  /** the request IS done, its answer is cut off: the client sees a broken connection */
  | { readonly kind: 'drop-response' }
  /** the connection breaks before the server sees the request */
  | { readonly kind: 'drop-request' }
  /** the connection stays, and nothing comes any more; open watches too, for good */
  | { readonly kind: 'half-open' }
  /** the answer comes at this pace; open watches too */
  | { readonly kind: 'slow'; readonly bytesPerSecond: number }
  /** an ERROR event in a watch, which then ends; open watches too */
  | { readonly kind: 'watch-error'; readonly code: number; readonly reason: string };

export interface Rule {
  readonly match: RequestMatch;
  readonly fault: Fault;
  /** this many requests, then no more; default all */
  readonly times?: number;
  /** so many matching requests pass first */
  readonly after?: number;
}

/** A rule at work. */
export class ActiveRule {
  readonly rule: Rule;
  #matched = 0;
  #applied = 0;

  constructor(rule: Rule) {
    this.rule = rule;
  }

  /** requests that fit, whether the fault hit them or not */
  get matched(): number {
    return this.#matched;
  }

  /** requests that the fault hit */
  get applied(): number {
    return this.#applied;
  }

  /** Counts the request; true when the fault is for it. */
  takes(request: ApiRequest): boolean {
    const { match, times = Number.POSITIVE_INFINITY, after = 0 } = this.rule;
    if (!matches(match, request)) return false;
    this.#matched += 1;
    if (this.#matched <= after || this.#applied >= times) return false;
    this.#applied += 1;
    return true;
  }
}

/** metav1.Status, as the server words its refusals. */
export function statusBody(code: number, reason: string): object {
  const message = `${reason} by the failing proxy`;
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    code,
  };
}
