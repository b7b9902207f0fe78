/** What the router tells: facts for the terminal, for tests and for the page. In text, as people and JSON have it. */

/** As GET /routes has it. */
export interface RouteView {
  readonly prefix: string;
  readonly nextHops: readonly NextHopView[];
  /** why the kernel does not have it as it is here */
  readonly problem?: string;
}

export interface NextHopView {
  readonly address: string;
  /** address of the neighbour that announced it */
  readonly peer: string;
  /** in use */
  readonly best: boolean;
}

/** As GET /peers has it. */
export interface PeerView {
  /** its address */
  readonly peer: string;
  readonly state: string;
  /** ISO 8601, of the last change of state */
  readonly since: string;
  readonly asn?: number;
  readonly routerId?: string;
  /** the one that was agreed on; 0 = never expires */
  readonly holdSeconds?: number;
  readonly routes: number;
  /** announced, but of no use: loops, next hops that lead nowhere */
  readonly rejected: number;
  readonly lastRejection?: string;
  readonly lastError?: string;
}

export type RouterEvent =
  | { readonly kind: 'peer-up'; readonly peer: string; readonly asn: number }
  | { readonly kind: 'peer-down'; readonly peer: string; readonly reason: string }
  /** announced, but of no use here, and why */
  | {
      readonly kind: 'rejected';
      readonly peer: string;
      /** the first ones */
      readonly prefixes: readonly string[];
      /** of all in this UPDATE */
      readonly count: number;
      readonly reason: string;
    }
  /** an UPDATE with a defect that does not end the session: its routes count as withdrawn (RFC 7606) */
  | { readonly kind: 'bad-update'; readonly peer: string; readonly reason: string }
  /** a connection that was turned away, by the address that it came from */
  | { readonly kind: 'refused'; readonly remote: string; readonly reason: string }
  /** routes as they are now; without next hops = gone. They are put into text for the first who reads them, and for nobody else. */
  | { readonly kind: 'routes'; readonly routes: readonly RouteView[] }
  /** what the kernel has for this prefix now, and what is in the way of more */
  | {
      readonly kind: 'kernel';
      readonly prefix: string;
      readonly nextHops: readonly string[];
      readonly problem?: string;
    };
