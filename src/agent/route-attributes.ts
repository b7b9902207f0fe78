/**
 * The attributes of a claim's route to one peer: what the pool's advertisement says, the level of preference of an
 * exclusive claim, and GRACEFUL_SHUTDOWN while it drains (RFC 8326). Pure. Equal inputs give the same object, so that
 * thousands of routes share one and the speaker compares by identity.
 */

import { type RouteAttributes, WellKnownCommunity } from 'bgp-ts';
import type { Advertisement, Placement } from '../model/ip-pool.ts';

/** LOCAL_PREF of an exclusive claim's holder on internal sessions; anycast keeps the default of 100 */
const HOLDER_LOCAL_PREF = 200;

const PLAIN: Advertisement = { communities: [], largeCommunities: [], discardRoute: false };

export class RouteAttributeTable {
  readonly #known = new WeakMap<object, Map<string, RouteAttributes>>();

  /** `advertisement` undefined = the pool names none: a plain route */
  attributes(
    advertisement: Advertisement | undefined,
    placement: Placement,
    isDraining: boolean,
  ): RouteAttributes {
    const base = advertisement ?? PLAIN;
    const variants = this.#known.get(base) ?? new Map<string, RouteAttributes>();
    this.#known.set(base, variants);
    const key = `${placement.mode} ${placement.prependStep} ${isDraining}`;
    const known = variants.get(key);
    if (known !== undefined) return known;
    const made = makeAttributes(base, placement, isDraining);
    variants.set(key, made);
    return made;
  }
}

function makeAttributes(
  advertisement: Advertisement,
  placement: Placement,
  isDraining: boolean,
): RouteAttributes {
  const isExclusive = placement.mode === 'exclusive';
  const communities = [
    ...advertisement.communities,
    ...(isDraining ? [WellKnownCommunity['graceful-shutdown']] : []),
  ];
  // RFC 8326 §4.3: LOCAL_PREF 0 inside the AS. Across ASes an exclusive holder steps down one level too, so that two
  // holders of a moving claim are never equal at a router that ignores the community.
  const localPref = isDraining
    ? 0
    : (advertisement.localPref ?? (isExclusive ? HOLDER_LOCAL_PREF : undefined));
  const prepend =
    (advertisement.prepend ?? 0) + (isDraining && isExclusive ? placement.prependStep : 0);
  return {
    ...(communities.length === 0 ? {} : { communities }),
    ...(advertisement.largeCommunities.length === 0
      ? {}
      : { largeCommunities: advertisement.largeCommunities }),
    ...(localPref === undefined ? {} : { localPref }),
    ...(advertisement.med === undefined ? {} : { med: advertisement.med }),
    ...(prepend === 0 ? {} : { prepend }),
  };
}
