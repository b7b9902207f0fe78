/**
 * The attributes of a claim's route to one peer: what the pool's advertisement says, the level of preference of an
 * exclusive claim, and GRACEFUL_SHUTDOWN while it drains (RFC 8326). Pure. Equal inputs give the same object, so that
 * thousands of routes share one and the speaker compares by identity.
 */

import { type RouteAttributes, WellKnownCommunity } from 'bgp-ts';
import { type Advertisement, LEAST_LOCAL_PREF, type Placement } from '../model/ip-pool.ts';
import type { EffectiveLevel } from '../model/names.ts';

/** LOCAL_PREF of an exclusive claim's holder on internal sessions; anycast keeps the default of 100 */
const HOLDER_LOCAL_PREF = 200;
/** inside the AS, by level of preference */
const LOCAL_PREFS: Readonly<Record<EffectiveLevel, number>> = {
  0: HOLDER_LOCAL_PREF,
  1: 150,
  2: 100,
  3: 75,
  4: 50,
  5: 25,
};
const LOWEST_LEVEL = 5;

/** of an anycast route whose pool names no other */
const DEFAULT_LOCAL_PREF = 100;
/** each step down takes a quarter of an anycast route's LOCAL_PREF */
const ANYCAST_STEPS = 4;

/** What is said of one route beside its advertisement. */
export interface RouteStanding {
  readonly placement: Placement;
  /** of an exclusive claim; of an anycast claim 0, but in simple mode the steps down */
  readonly level: EffectiveLevel;
  readonly isDraining: boolean;
  /** the controller moves it; absent: nobody does */
  readonly isPlaced?: boolean;
}

const PLAIN: Advertisement = { communities: [], largeCommunities: [], discardRoute: false };

export class RouteAttributeTable {
  readonly #known = new WeakMap<object, Map<string, RouteAttributes>>();

  /** `advertisement` undefined = the pool names none: a plain route */
  attributes(advertisement: Advertisement | undefined, standing: RouteStanding): RouteAttributes {
    const base = advertisement ?? PLAIN;
    const variants = this.#known.get(base) ?? new Map<string, RouteAttributes>();
    this.#known.set(base, variants);
    const { placement, level, isDraining, isPlaced = false } = standing;
    const key = `${placement.mode} ${placement.prependStep} ${level} ${isDraining} ${isPlaced}`;
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
  const localPref = localPrefOf(advertisement, standing);
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

/**
 * A pool's own value takes the place of the holder's; below the default the steps shrink with it, so that six levels stay apart. What drains
 * stands below everything else (RFC 8326 §4.3 has LOCAL_PREF 0), and among what drains the levels stay apart, too.
 */
function localPrefOf(
  { localPref }: Advertisement,
  { placement, level, isDraining }: RouteStanding,
): number | undefined {
  if (placement.mode !== 'exclusive') {
    if (isDraining) return 0;
    const own = localPref ?? DEFAULT_LOCAL_PREF;
    return level === 0 ? localPref : Math.floor((own * (ANYCAST_STEPS - level)) / ANYCAST_STEPS);
  }
  if (isDraining) return LOWEST_LEVEL - level;
  const holder = Math.max(localPref ?? HOLDER_LOCAL_PREF, LEAST_LOCAL_PREF);
  const less = HOLDER_LOCAL_PREF - LOCAL_PREFS[level];
  if (holder >= HOLDER_LOCAL_PREF) return holder - less;
  return Math.floor((holder * LOCAL_PREFS[level]) / HOLDER_LOCAL_PREF);
}

/**
 * Across ASes a holder that drains steps down too, so that it is no equal of the next one at a router that ignores the community. Who stands
 * lower already stays where it is: one step more would be another node's level. So would one whole step of a holder that the controller placed:
 * a node that was told to hold the claim, and then to leave, may stand there.
 */
function prependOf({ placement, level, isDraining, isPlaced }: RouteStanding): number {
  if (placement.mode !== 'exclusive') return level * placement.prependStep;
  const { prependStep } = placement;
  if (level > 0 || !isDraining) return level * prependStep;
  return isPlaced === true ? Math.max(1, prependStep - 1) : prependStep;
}
