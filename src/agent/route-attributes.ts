/**
 * The attributes of a claim's route to one peer: what the pool's advertisement says, the level of preference of an
 * exclusive claim, and GRACEFUL_SHUTDOWN while it drains (RFC 8326). Pure. Equal inputs give the same object, so that
 * thousands of routes share one and the speaker compares by identity.
 */

import { type RouteAttributes, WellKnownCommunity } from 'bgp-ts';
import { HIGHEST_EPOCH } from '../model/convert-claim.ts';
import { type Advertisement, LEAST_LOCAL_PREF, type Placement } from '../model/ip-pool.ts';
import type { EffectiveLevel } from '../model/names.ts';
import type { Lapsed } from './placement.ts';

/** Levels of preference inside the AS: LOCAL_PREF of each where the pool names none, and the least of a pool's own that keeps them apart. */
interface Scale {
  readonly prefs: readonly [number, ...number[]];
  readonly least: number;
}

/** of exclusive claims; anycast keeps the default of 100 */
const EXCLUSIVE: Scale = { prefs: [200, 150, 100, 75, 50, 25], least: LEAST_LOCAL_PREF };
/** of anycast claims in simple mode: below 6 two of three steps, or one and what drains, would be equal */
const SIMPLE: Scale = { prefs: [100, 75, 50], least: 6 };

/** MED of those whose Lease has run out: the later a node was told to hold the claim, the lower, and so preferred */
const HIGHEST_MED = 4_000_000_000;
const LABELS = 3;

/** What is said of one route beside its advertisement. */
export interface RouteStanding {
  readonly placement: Placement;
  /** of an exclusive claim; of an anycast claim 0, but in simple mode the steps down */
  readonly level: EffectiveLevel;
  readonly isDraining: boolean;
  /** the controller moves it; absent: nobody does */
  readonly isPlaced?: boolean;
  readonly lapsed?: Lapsed;
  /** an anycast claim in simple mode: another process may announce it a step up or down */
  readonly isSimple?: boolean;
  /** routers may have paths of nodes in other ASes beside this one, and do not compare their MEDs */
  readonly hasForeignPaths?: boolean;
}

const PLAIN: Advertisement = { communities: [], largeCommunities: [], discardRoute: false };

export class RouteAttributeTable {
  readonly #known = new WeakMap<object, Map<string, RouteAttributes>>();
  /** thousands of routes in a row are alike: to see that costs less than a key */
  #last: { base: Advertisement; standing: RouteStanding; attributes: RouteAttributes } | undefined;

  /** `advertisement` undefined = the pool names none: a plain route */
  attributes(advertisement: Advertisement | undefined, standing: RouteStanding): RouteAttributes {
    const base = advertisement ?? PLAIN;
    const last = this.#last;
    if (last?.base === base && isAlike(last.standing, standing)) return last.attributes;
    const attributes = this.#find(base, standing);
    this.#last = { base, standing, attributes };
    return attributes;
  }

  #find(base: Advertisement, standing: RouteStanding): RouteAttributes {
    const variants = this.#known.get(base) ?? new Map<string, RouteAttributes>();
    this.#known.set(base, variants);
    const { placement, level, isDraining, isPlaced = false } = standing;
    const { lapsed, isSimple, hasForeignPaths } = standing;
    const words = [placement.mode, placement.prependStep, level, isDraining, isPlaced, isSimple];
    const more = lapsed === undefined ? [] : [lapsed.epoch, lapsed.label, hasForeignPaths];
    const key = [...words, ...more].join(' ');
    const known = variants.get(key);
    if (known !== undefined) return known;
    const made = makeAttributes(base, apart(standing));
    variants.set(key, made);
    return made;
  }
}

function isAlike(a: RouteStanding, b: RouteStanding): boolean {
  return (
    a.placement.mode === b.placement.mode &&
    a.placement.prependStep === b.placement.prependStep &&
    a.level === b.level &&
    a.isDraining === b.isDraining &&
    a.isPlaced === b.isPlaced &&
    a.isSimple === b.isSimple &&
    a.lapsed === undefined &&
    b.lapsed === undefined
  );
}

/**
 * Two nodes whose Leases have run out stand at one level, and their MEDs tell who was told later. Routers compare these only between paths of
 * one AS (RFC 4271 §9.1.2.2 c). Where nodes are in several, each second epoch is further down, at a level that nobody else has: then two that
 * held the claim one after the other stand apart, though the former may be preferred.
 */
function apart(standing: RouteStanding): RouteStanding {
  const { lapsed, level, hasForeignPaths, isSimple } = standing;
  if (lapsed === undefined || hasForeignPaths !== true || lapsed.epoch % 2 === 0) return standing;
  if (isSimple === true) return { ...standing, level: 3 };
  return level === 3 ? { ...standing, level: 4 } : standing;
}

function medOf({ med }: Advertisement, { lapsed }: RouteStanding): number | undefined {
  if (lapsed === undefined) return med;
  return HIGHEST_MED - LABELS * Math.min(lapsed.epoch, HIGHEST_EPOCH) + lapsed.label;
}

function makeAttributes(advertisement: Advertisement, standing: RouteStanding): RouteAttributes {
  const { isDraining } = standing;
  const communities = [
    ...advertisement.communities,
    ...(isDraining ? [WellKnownCommunity['graceful-shutdown']] : []),
  ];
  const localPref = localPrefOf(advertisement, standing);
  const med = medOf(advertisement, standing);
  const prepend = (advertisement.prepend ?? 0) + prependOf(standing);
  return {
    ...(communities.length === 0 ? {} : { communities }),
    ...(advertisement.largeCommunities.length === 0
      ? {}
      : { largeCommunities: advertisement.largeCommunities }),
    ...(localPref === undefined ? {} : { localPref }),
    ...(med === undefined ? {} : { med }),
    ...(prepend === 0 ? {} : { prepend }),
  };
}

/**
 * A pool's own value takes the place of the holder's; below the default the steps shrink with it, so that all levels stay apart. What drains
 * stands below everything else (RFC 8326 §4.3 has LOCAL_PREF 0), and among what drains the levels stay apart, too.
 */
function localPrefOf(
  { localPref }: Advertisement,
  { placement, level, isDraining, isSimple }: RouteStanding,
): number | undefined {
  const isExclusive = placement.mode === 'exclusive';
  if (!isExclusive && isSimple !== true) return isDraining ? 0 : localPref;
  const { prefs, least } = isExclusive ? EXCLUSIVE : SIMPLE;
  if (isDraining) return Math.max(0, prefs.length - 1 - level);
  const [most] = prefs;
  const usual = prefs[level] ?? 0;
  const own = Math.max(localPref ?? most, least);
  return own >= most ? own - (most - usual) : Math.floor((own * usual) / most);
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
