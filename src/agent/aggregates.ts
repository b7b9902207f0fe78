/**
 * Aggregates: the prefix that is announced in place of the host routes of the claims inside it (docs/decisions/0031). Pure.
 *
 * An aggregate draws packets for addresses that nobody has. So it stands only where this machine discards those (an unreachable route in the kernel, which is there
 * before the aggregate goes out), only inside the pool, and never for a claim that some nodes alone may serve: exclusive ones, those of Local Services, and those with checks or an address to bind. Whatever speaks
 * against it, the host routes go out.
 */

import {
  compareAddress,
  formatPrefix,
  maskPrefix,
  type Prefix,
  type PrefixKey,
  prefixAddress,
  prefixKey,
  type Route,
  type RouteAttributes,
} from 'bgp-ts';
import { lastAddress } from '../model/address-range.ts';
import { type IpClaim, isLocal } from '../model/ip-claim.ts';
import type { Advertisement, IpPool } from '../model/ip-pool.ts';
import type { ClaimSubject } from './claim-gates.ts';
import type { DiscardFacts } from './view.ts';

export interface Aggregate {
  readonly key: PrefixKey;
  readonly prefix: Prefix;
}

/** How a claim is announced to a peer. */
export interface Form {
  /** in place of its host route */
  readonly aggregate?: Aggregate;
  /** would stand if this machine discarded what nobody has: so that is wished for */
  readonly wish?: Aggregate;
  /** whose place at the peer it has while it is not announced: nobody has asked the kernel, so it may well be announced in this one */
  readonly place?: Aggregate;
  /** for people: what is announced, and why no aggregate is */
  readonly sentence?: string;
}

/** its host route, and nobody asks for anything else */
export const HOST_FORM: Form = {};

export function formOf(
  subject: ClaimSubject,
  advertisement: Advertisement | undefined,
  discards: DiscardFacts | undefined,
): Form {
  const { address } = subject.claim.object;
  const length = advertisement?.aggregationLength?.[address.family];
  if (advertisement === undefined || length === undefined || isHostLength(address.family, length)) {
    return HOST_FORM;
  }
  const prefix = maskPrefix(address, length);
  const why = objection(subject, prefix, advertisement);
  if (why !== undefined) return hostRoute(prefix, why);
  const wish = { key: prefixKey(prefix), prefix };
  const fact = discards?.get(wish.key);
  if (fact === undefined) {
    const missing = 'the kernel has not been asked for its discard route yet';
    // a machine that keeps no discard routes announces host routes, and each has a place
    const place = discards === undefined ? {} : { place: wish };
    return { ...hostRoute(prefix, missing), wish, ...place };
  }
  if (fact.kind === 'absent') return { ...hostRoute(prefix, fact.sentence), wish };
  const sentence = `${formatPrefix(prefix)} is announced in place of its host route`;
  return { aggregate: wish, wish, place: wish, sentence };
}

function isHostLength(family: Prefix['family'], length: number): boolean {
  return length >= (family === 'ipv4' ? 32 : 128);
}

function hostRoute(prefix: Prefix, why: string): Form {
  return { sentence: `its host route is announced, not ${formatPrefix(prefix)}: ${why}` };
}

function objection(
  { claim, pool, placement, level, outlives }: ClaimSubject,
  prefix: Prefix,
  { discardRoute }: Advertisement,
): string | undefined {
  if (!discardRoute) return 'the advertisement does not have discardRoute: true';
  if (placement.mode === 'exclusive' || level !== undefined) {
    return 'it is exclusive, and an aggregate would draw its packets to every node';
  }
  if (isLocal(claim.object)) {
    return 'its Service is Local (externalTrafficPolicy), and an aggregate would draw its packets to nodes without an endpoint';
  }
  const own = ownCondition(claim.object);
  if (own !== undefined) {
    return `${own}, and an aggregate would draw its packets to nodes where that fails`;
  }
  if (outlives === 'gone') {
    return `pool ${pool?.name} is gone, and nothing is announced that no pool has; make it again`;
  }
  if (pool === undefined || !isInside(prefix, pool)) {
    return `that is larger than the addresses of pool ${pool?.name}; write a longer aggregationLength`;
  }
  return undefined;
}

/** What may be wrong with this claim on one node, while its neighbours in the aggregate are well there. */
function ownCondition({ checks, bind }: IpClaim): string | undefined {
  if (checks.length > 0) return 'it has checks';
  return bind === undefined ? undefined : 'it is bound to an interface';
}

/** Nothing is announced that no pool has. */
function isInside(prefix: Prefix, { ranges }: IpPool): boolean {
  const [first, last] = [prefixAddress(prefix), lastAddress(prefix)];
  return ranges.some(
    (range) =>
      range.first.family === prefix.family &&
      compareAddress(range.first, first) <= 0 &&
      compareAddress(last, range.last) <= 0,
  );
}

/** The aggregates of one peer: each has one place, and one route from the first claim that gives it, of those that do not drain if there is one. */
export class AggregateRoutes {
  readonly #routes = new Map<
    PrefixKey,
    { readonly route: Route; readonly isDraining: boolean } | undefined
  >();

  has({ key }: Aggregate): boolean {
    return this.#routes.has(key);
  }

  /** `route` undefined: the claim keeps the place, and is not announced */
  add({ key }: Aggregate, route: Route | undefined, isDraining: boolean): void {
    const known = this.#routes.get(key);
    const isBetter = known === undefined || (known.isDraining && !isDraining);
    if (route !== undefined && isBetter) this.#routes.set(key, { route, isDraining });
    else if (known === undefined) this.#routes.set(key, undefined);
  }

  get routes(): readonly Route[] {
    return [...this.#routes.values()].flatMap((each) => (each === undefined ? [] : [each.route]));
  }
}

interface Sessions {
  readonly peers: readonly {
    readonly settings: { readonly name: string };
    readonly routes: readonly Route[];
  }[];
  readonly ranges: readonly { readonly name: string; readonly routes: readonly Route[] }[];
}

/** by peer and prefix: one list is asked for the aggregates of thousands of claims */
const sent = new WeakMap<readonly Route[], ReadonlyMap<PrefixKey, RouteAttributes>>();

/** The attributes that an aggregate has on the wire to a peer. */
export function aggregateSent(
  { peers, ranges }: Sessions,
  peer: string,
  aggregate: Prefix,
): RouteAttributes | undefined {
  const routes =
    peers.find(({ settings }) => settings.name === peer)?.routes ??
    ranges.find(({ name }) => name === peer)?.routes;
  if (routes === undefined) return undefined;
  let known = sent.get(routes);
  if (known === undefined) {
    const wide = routes.filter(({ prefix }) => !isHostLength(prefix.family, prefix.length));
    known = new Map(wide.map(({ prefix, attributes }) => [prefixKey(prefix), attributes]));
    sent.set(routes, known);
  }
  return known.get(prefixKey(aggregate));
}
