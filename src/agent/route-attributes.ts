/**
 * The attributes of a claim's route to one peer: what the pool's advertisement says, the level of preference of an
 * exclusive claim, and GRACEFUL_SHUTDOWN while it drains (RFC 8326). Pure. Equal inputs give the same object, so that
 * thousands of routes share one and the speaker compares by identity.
 */

import { type RouteAttributes, WellKnownCommunity } from 'bgp-ts';
import type { Advertisement, Placement } from '../model/ip-pool.ts';
import type { PreferenceLevel } from '../model/names.ts';

/** LOCAL_PREF of an exclusive claim's holder on internal sessions; anycast keeps the default of 100 */
const HOLDER_LOCAL_PREF = 200;
/** how much less each level of preference is worth inside the AS */
const LOCAL_PREF_STEP = 50;

/** of an anycast route whose pool names no other */
const DEFAULT_LOCAL_PREF = 100;
/** each step down takes a quarter of an anycast route's LOCAL_PREF */
const ANYCAST_STEPS = 4;

/** What is said of one route beside its advertisement. */
export interface RouteStanding {
  readonly placement: Placement;
  /** of an exclusive claim; of an anycast claim 0, but in simple mode the steps down */
  readonly level: PreferenceLevel;
  readonly isDraining: boolean;
}

const PLAIN: Advertisement = { communities: [], largeCommunities: [], discardRoute: false };

export class RouteAttributeTable {
  readonly #known = new WeakMap<object, Map<string, RouteAttributes>>();

  /** `advertisement` undefined = the pool names none: a plain route */
  attributes(advertisement: Advertisement | undefined, standing: RouteStanding): RouteAttributes {
    const base = advertisement ?? PLAIN;
    const variants = this.#known.get(base) ?? new Map<string, RouteAttributes>();
    this.#known.set(base, variants);
    const { placement, level, isDraining } = standing;
    const key = `${placement.mode} ${placement.prependStep} ${level} ${isDraining}`;
    const known = variants.get(key);
    if (known !== undefined) return known;
    const made = makeAttributes(base, standing);
    variants.set(key, made);
    return made;
  }
}

function makeAttributes(advertisement: Advertisement, standing: RouteStanding): RouteAttributes {
  const { isDraining } = standing;
  const communities = [
    ...advertisement.communities,
    ...(isDraining ? [WellKnownCommunity['graceful-shutdown']] : []),
  ];
  const localPref = isDraining ? 0 : localPrefOf(advertisement, standing);
  const prepend = (advertisement.prepend ?? 0) + prependOf(standing);
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

/** RFC 8326 §4.3 has LOCAL_PREF 0 for what drains; a pool's own value takes the place of the holder's, and the steps go down from it. */
function localPrefOf(
  { localPref }: Advertisement,
  { placement, level }: RouteStanding,
): number | undefined {
  if (placement.mode !== 'exclusive') {
    const own = localPref ?? DEFAULT_LOCAL_PREF;
    return level === 0 ? localPref : Math.floor((own * (ANYCAST_STEPS - level)) / ANYCAST_STEPS);
  }
  return Math.max(0, (localPref ?? HOLDER_LOCAL_PREF) - level * LOCAL_PREF_STEP);
}

/** Across ASes a holder that drains steps down too, so that two holders of a moving claim are never equal at a router that ignores the community. */
function prependOf({ placement, level, isDraining }: RouteStanding): number {
  if (placement.mode !== 'exclusive') return level * placement.prependStep;
  return (level + (isDraining ? 1 : 0)) * placement.prependStep;
}
