/**
 * How an exclusive claim comes to the node that shall hold it: one write at a time, each decided from the object and the nodes'
 * answers alone, so a controller that starts in the middle of a move goes on with it. Pure.
 *
 * Each node with a part in the claim has a label whose value is its level of preference. In an orderly move the old holder steps down
 * and says so; the new one steps up and says so; the old one leaves. At every moment the levels of all nodes that can be heard by a
 * router are different from each other, and nobody leaves before another is there: never two paths of equal preference, never none.
 *
 * A leaving holder stands two steps down, not one: one step down is where a holder goes by itself when it is cut off from the API, and
 * the new holder may be cut off before it has answered, or an old one may still be.
 *
 * A node that may be heard by a router and has not answered is waited for as long as its Lease is fresh (docs/decisions/0037), also while
 * the claim is withdrawn: it may be announced again before that node knows of it (0073).
 */

import { nodeLabel, type PreferenceLevel } from '../model/names.ts';

export interface MoveView {
  /** spec.node */
  readonly node?: string;
  /** of each node label on the claim, by the label's key */
  readonly levels: ReadonlyMap<string, PreferenceLevel>;
  /** who shall hold it; absent: nobody can, and it stays as it is */
  readonly target?: string;
  readonly partOf: (label: string) => Part;
  /** levels of nodes whose label was taken away and that have not yet said that they announce the claim no more */
  readonly lingering: ReadonlySet<PreferenceLevel>;
  /** levels at which nodes that were cut off, and lost their labels, may still stand */
  readonly haunted: ReadonlySet<PreferenceLevel>;
  /** false: it is withdrawn, and a node that has said that it knows announces nothing */
  readonly isAnnounced: boolean;
  /** the target has had enough time to answer to the claim as it stands; nobody steps up over another node's silence */
  readonly isOverdue: boolean;
}

/** A node that has a label on the claim. */
export interface Part {
  /** it is dead, or nobody can reach anything through it: it is not waited for */
  readonly isGone: boolean;
  /** what it announces since it knows the claim as it stands; absent: it has not said */
  readonly answer?: PreferenceLevel | 'nothing';
  /** what it has said last, however long ago */
  readonly said?: PreferenceLevel;
  /** it has said that it announces nothing of it, and why: whoever leaves it loses no route */
  readonly refuses?: boolean;
  /** it lists it as refused, whatever it knows by now */
  readonly refusal?: object;
  /** it may announce more, of what leaves it, than it lists levels of */
  readonly isCrowded?: boolean;
}

export type MoveStep =
  | { readonly kind: 'settled' }
  | { readonly kind: 'wait'; readonly sentence: string }
  /** the target has the claim and does not announce it: it has said so, or its time is over; choose another if there is one */
  | { readonly kind: 'unanswered'; readonly sentence: string }
  | { readonly kind: 'write'; readonly write: MoveWrite };

export interface MoveWrite {
  /** spec.node; absent: as it is */
  readonly node?: string;
  /** null takes a label away */
  readonly labels: Readonly<Record<string, string | null>>;
  readonly sentence: string;
}

/** where a leaving holder goes, in this order, if it is free */
export const LEAVING_LEVELS = [2, 1] as const satisfies readonly PreferenceLevel[];

const LINGERING: MoveStep = {
  kind: 'wait',
  sentence: 'one that had it before has not said yet that it has left',
};

interface Other extends Part {
  readonly label: string;
  readonly level: PreferenceLevel;
}

export function moveStep(view: MoveView): MoveStep {
  const { target, levels } = view;
  if (target === undefined) return { kind: 'settled' };
  const own = nodeLabel(target);
  const others = [...levels]
    .filter(([label]) => label !== own)
    .map(([label, level]): Other => ({ label, level, ...view.partOf(label) }));
  // while it is withdrawn, of those that may still announce it: they have not said that they know
  const heard = others.filter(
    ({ isGone, answer }) => !isGone && (view.isAnnounced || answer !== 'nothing'),
  );
  const [first] = heard;
  if (first === undefined) return straight(view, target, others);
  if (!view.isAnnounced) {
    return { kind: 'wait', sentence: `${first.label} has not said yet that it has withdrawn it` };
  }
  return levels.get(own) === 0
    ? finish(view, { target, others, heard })
    : takeOver(view, { target, others, heard });
}

interface Scene {
  readonly target: string;
  readonly others: readonly Other[];
  /** those of the others that a router may hear */
  readonly heard: readonly Other[];
}

/** Nobody else can be heard: one write does it all. */
function straight(view: MoveView, target: string, others: readonly Other[]): MoveStep {
  const isDone = view.levels.get(nodeLabel(target)) === 0 && view.node === target;
  if (isDone && others.length === 0) return standsAlone(view, target);
  if (!isDone && isHeld(view)) return LINGERING;
  const sentence = isDone ? 'those that are gone lose their labels' : `${target} holds it`;
  return write(sentence, { ...removed(others), [nodeLabel(target)]: '0' }, target);
}

function standsAlone({ isAnnounced, partOf }: MoveView, target: string): MoveStep {
  if (!isAnnounced || partOf(nodeLabel(target)).refuses !== true) return { kind: 'settled' };
  return { kind: 'unanswered', sentence: `${target} refuses it` };
}

/** One that was told to hold it and then to leave may still be on its way. */
function isHeld({ lingering }: MoveView): boolean {
  return lingering.has(0);
}

/** The target has been told to hold it: the others leave once it does. */
function finish(view: MoveView, scene: Scene): MoveStep {
  const { target, others, heard } = scene;
  const rival = heard.find(({ level }) => level === 0);
  if (rival !== undefined) return stepDown(view, rival, scene);
  if (view.partOf(nodeLabel(target)).answer === 0) {
    return write(`${target} holds it, the others leave`, removed(others), target);
  }
  if (view.node !== target) return write(`${target} holds it`, {}, target);
  const sentence = `${target} has not said yet that it announces it`;
  return view.isOverdue ? { kind: 'unanswered', sentence } : { kind: 'wait', sentence };
}

/** Somebody else has been told to hold it, or has announced it last: it steps down first. */
function takeOver(view: MoveView, scene: Scene): MoveStep {
  const { target, others, heard } = scene;
  const holder = heard.find(({ level }) => level === 0);
  if (holder !== undefined) return stepDown(view, holder, scene);
  const unheard = heard.find(({ answer, level }) => answer !== level && answer !== 'nothing');
  // however long it takes: a node that renews its Lease and cannot hear of its claims still announces this one as before
  if (unheard !== undefined) {
    return { kind: 'wait', sentence: `${unheard.label} has not said yet that it has stepped down` };
  }
  if (isHeld(view)) return LINGERING;
  // who refuses it needs its level no more: the next one that refuses it may
  const left = others.filter(({ isGone, refuses }) => isGone || refuses === true);
  return write(`${target} steps up`, { ...removed(left), [nodeLabel(target)]: '0' }, target);
}

/** The holder leaves its level to another: it steps down, or leaves at once where there is no room and another is there. */
function stepDown(view: MoveView, holder: Other, { target, others, heard }: Scene): MoveStep {
  if (view.lingering.size > 0) return LINGERING;
  const rest = heard.filter((other) => other !== holder);
  const gone = others.filter(({ isGone }) => isGone);
  const own = view.levels.get(nodeLabel(target));
  const taken = new Set([...rest.map(({ level }) => level), own]);
  const haunted = new Set([...view.haunted, ...gone.map(cutOffLevel)]);
  const free = LEAVING_LEVELS.filter((level) => !taken.has(level));
  const level = free.find((each) => !haunted.has(each));
  if (level !== undefined) {
    return write(`${holder.label} steps down`, { [holder.label]: String(level) });
  }
  // the target may be there as well: one that was told to leave, and shall hold it again
  const itself = own === undefined ? [] : [{ level: own, ...view.partOf(nodeLabel(target)) }];
  if ([...rest, ...itself].some((each) => each.level > 0 && each.level === each.answer)) {
    return write(`${holder.label} leaves`, { [holder.label]: null });
  }
  // who refuses it needs its level no more, nor does one that lists none while the holder announces it
  const isHeard = holder.answer === 0;
  const mute = rest.filter((each) => each.refuses || (isHeard && each.answer === 'nothing'));
  if (mute.length > 0) return write('those that do not announce it leave', removed(mute));
  const [next] = free;
  if (next === undefined) {
    // where very many leave those, their refusals do not count: the holder's own does
    if (holder.refuses) return write(`${holder.label} leaves`, { [holder.label]: null });
    return { kind: 'wait', sentence: 'no level of preference is free yet' };
  }
  return write(`${holder.label} steps down`, { [holder.label]: String(next) });
}

/**
 * The version of the claim that a node has to have taken up for its answer to count: that in which its label got its value, as far as that is remembered. While
 * the claim is withdrawn it is the claim as it stands: a node that knows an older form may announce it.
 */
export function answerVersion<T>(
  { version, isWithdrawn }: { readonly version: T; readonly isWithdrawn: boolean },
  labelled: T | undefined,
): T {
  return isWithdrawn ? version : (labelled ?? version);
}

/**
 * Where a node may stand that was cut off before it lost its label: where it last said that it is, but a holder has stepped down by
 * itself.
 */
export function cutOffLevel({ said }: Pick<Part, 'said'>): PreferenceLevel {
  return said === 2 ? 2 : 1;
}

/**
 * Where a node may stand that has lost its label and has not said that it knows, for a controller that has not seen what label that was. One
 * that renews its Lease and is merely deaf (0037) was told to leave before, so it stands where leaving holders go. It tells that
 * level, but where some hundreds leave it at once there may be no room for it.
 */
export function formerLevel(part: Pick<Part, 'said' | 'isGone'>): PreferenceLevel {
  return part.said === undefined && !part.isGone ? LEAVING_LEVELS[0] : cutOffLevel(part);
}

/**
 * The level for which such a node is waited for, since it may announce the claim where another would stand; undefined: for none. A holder that refuses
 * it, or finds no level free, loses its label without having stepped down: by what it has said last it announces it as the holder, or refused it and may announce
 * it again. One that very many leave, and that lists no level, may stand at either level of those that leave.
 */
export function lingeringLevel(part: Omit<Part, 'answer'>): PreferenceLevel | undefined {
  if (part.isGone) return undefined;
  if (part.said === 0) return 0;
  if (part.said !== undefined) return undefined;
  if (part.refusal !== undefined) return 0;
  return part.isCrowded ? LEAVING_LEVELS[0] : undefined;
}

function removed(others: readonly Other[]): Record<string, null> {
  return Object.fromEntries(others.map(({ label }) => [label, null]));
}

function write(
  sentence: string,
  labels: Readonly<Record<string, string | null>>,
  node?: string,
): MoveStep {
  return { kind: 'write', write: { ...(node !== undefined && { node }), labels, sentence } };
}
