/**
 * Where a claim stands with this node: announced by all, by this node at a level of preference, or not here (gate 2, `assigned`). Pure.
 *
 * A claim of the API is placed by the controller, and its labels say where: they are what the agent's watches select by, and a pool
 * that changes its mode moves nothing before the controller has found the claim a new place. A claim of files is placed by its own words.
 */

import type { Sourced } from '../model/documents.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import { DEFAULT_PLACEMENT, type IpPool, type Placement } from '../model/ip-pool.ts';
import { selects } from '../model/labels.ts';
import {
  ANYCAST_LABEL,
  type EffectiveLevel,
  levelOf,
  type PreferenceLevel,
} from '../model/names.ts';
import { optional } from '../model/optional.ts';
import type { Announcer } from './announcer.ts';
import type { Gate } from './gate.ts';
import type { View } from './view.ts';

/** What placement needs of a View. */
export type PlacementView = Pick<View, 'node' | 'fencedSinceMs' | 'hasLapsed' | 'announcer'>;

export interface Standing {
  readonly placement: Placement;
  /** of an exclusive claim; undefined: it has no place on this node */
  readonly level?: EffectiveLevel;
  /** a fenced holder, or a Lease that has run out, of this node or in simple mode of the controller: what is known here, by which those that stand at one level are told apart */
  readonly lapsed?: Lapsed;
  /** of an anycast claim in simple mode, where another process may be preferred */
  readonly stepsDown?: 0 | 1 | 2;
}

export interface Lapsed {
  /** how often a node was told to hold the claim; in simple mode how often the Lease went to another holder */
  readonly epoch: number;
  readonly label: PreferenceLevel;
}

export function standingOf(
  claim: Sourced<IpClaim>,
  pool: IpPool | undefined,
  view: PlacementView,
): Standing {
  const ofPool = pool?.placement ?? DEFAULT_PLACEMENT;
  const { placement: own, node, labels } = claim.object;
  const placement = own === undefined ? ofPool : { ...ofPool, ...own };
  if (claim.source !== 'api') {
    const isHere = placement.mode === 'exclusive' && node === view.node.name;
    return isHere ? { placement, level: 0 } : { placement };
  }
  const level = levelOf(labels, view.node.name);
  if (level !== undefined) {
    return { placement: inMode(placement, 'exclusive'), ...fenced(level, claim.object, view) };
  }
  if (!(ANYCAST_LABEL in labels)) return { placement: inMode(placement, 'exclusive') };
  const { announcer } = view;
  if (announcer === undefined) return { placement: inMode(placement, 'anycast') };
  return { placement: inMode(placement, 'anycast'), ...stepped(announcer) };
}

function stepped(announcer: Announcer): Pick<Standing, 'stepsDown' | 'lapsed'> {
  if (announcer.kind !== 'stepped-down') return { stepsDown: 0 };
  if (announcer.steps === 2) return { stepsDown: 2 };
  return { stepsDown: 1, lapsed: { epoch: announcer.turn, label: 0 } };
}

/** the same object where it is so already: attributes are shared by it */
function inMode(placement: Placement, mode: Placement['mode']): Placement {
  return placement.mode === mode ? placement : { ...placement, mode };
}

/**
 * A holder that cannot renew its Lease may have lost the claim without knowing: one step down, never out. Who stands lower stays.
 *
 * When it has not renewed it for as long as the Lease lasts, another node may hold the claim, and that one may be fenced, drained or started
 * anew: whatever levels it comes to then, this node stands below them. Several that are cut off one after the other, or together with all
 * others in an outage, stand apart by the epoch of the claim as each of them knows it (route-attributes.ts).
 */
function fenced(
  label: PreferenceLevel,
  { epoch = 0 }: IpClaim,
  { fencedSinceMs, hasLapsed }: PlacementView,
): { readonly level: EffectiveLevel; readonly lapsed?: Lapsed } {
  if (fencedSinceMs === undefined) return { level: label };
  // a leaving node may stand at 1 as well, by its label: the MED tells the two apart
  if (hasLapsed !== true)
    return label === 0 ? { level: 1, lapsed: { epoch, label } } : { level: label };
  return { level: label === 0 ? 3 : 5, lapsed: { epoch, label } };
}

const ANYCAST: Gate = {
  name: 'assigned',
  state: 'open',
  sentence: 'every node announces it (anycast)',
};

const PLACED_HERE: Readonly<Record<EffectiveLevel, Gate>> = {
  0: { name: 'assigned', state: 'open', sentence: 'placed on this node (exclusive)' },
  1: {
    name: 'assigned',
    state: 'open',
    sentence: 'placed on this node (exclusive), one step down',
  },
  2: {
    name: 'assigned',
    state: 'open',
    sentence: 'placed on this node (exclusive), two steps down',
  },
  3: lapsed('three'),
  4: lapsed('four'),
  5: lapsed('five'),
};

function lapsed(steps: string): Gate {
  const why = 'it has just started, or its Lease has run out';
  const sentence = `placed on this node (exclusive), ${steps} steps down: ${why}`;
  return { name: 'assigned', state: 'open', sentence };
}

export function placedGate(
  { object, source }: Sourced<IpClaim>,
  { placement, level }: Standing,
  { node, announcer }: PlacementView,
): Gate {
  if (object.withdrawn !== undefined) {
    const remedy = 'remove spec.withdrawn from the claim';
    return closed(`withdrawn: ${object.withdrawn.reason}`, remedy);
  }
  // whom the controller has chosen keeps it until another has taken over
  const isChosen = source === 'api' && level !== undefined;
  if (!isChosen && !selects(placement.nodeSelector, node.labels)) {
    const remedy = "change the placement's nodeSelector, or the node's labels (--node-labels)";
    return closed(`the placement's nodeSelector does not select node ${node.name}`, remedy);
  }
  if (placement.mode === 'anycast') {
    return source === 'api' && announcer !== undefined ? announcerGate(announcer) : ANYCAST;
  }
  if (level !== undefined) return PLACED_HERE[level];
  const sentence =
    object.node === undefined
      ? 'exclusive, and placed on no node yet'
      : `exclusive, and placed on node ${object.node}`;
  return closed(sentence, `to move it here, set spec.node to ${node.name}`);
}

const HOLDING: Gate = {
  name: 'assigned',
  state: 'open',
  sentence: 'this process holds the Lease of the controller (simple mode)',
};

function announcerGate(announcer: Announcer): Gate {
  switch (announcer.kind) {
    case 'holding':
      return HOLDING;
    case 'stepped-down':
      return { name: 'assigned', state: 'open', sentence: announcer.sentence };
    case 'refused':
      return closed(announcer.sentence, announcer.remedy);
    case 'waiting': {
      const { sentence, remedy, isUnknown } = announcer.finding;
      const more = { ...optional('remedy', remedy), ...optional('isUnknown', isUnknown) };
      return { name: 'assigned', state: 'closed', sentence, ...more };
    }
  }
}

function closed(sentence: string, remedy: string): Gate {
  return { name: 'assigned', state: 'closed', sentence, remedy };
}
