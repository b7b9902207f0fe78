/**
 * Claims that are held: exclusive ones of the API with a label of this node, whose pool advertises on other nodes alone from now on. Nobody else
 * announces them yet, so they drain until the controller has moved them and the label goes (docs/decisions/0036). Pure.
 *
 * Label, pool and Node alone say so. What becomes of peers meanwhile, or of the claim's own gates, may stop its route; it ends nothing, since
 * nothing would begin it again.
 */

import { type IpPool, isAdvertisedOn } from '../model/ip-pool.ts';
import { type Labels, selects } from '../model/labels.ts';
import type { ClaimSubject } from './claim-gates.ts';
import { type ClaimDecision, desired } from './desired.ts';
import type { Departure, HeldForm, View } from './view.ts';

/** Claims with one form, as they are on disk. */
export interface SavedHold {
  readonly advertisements: HeldForm;
  readonly claims: readonly string[];
}

type Standing = Pick<ClaimSubject, 'claim' | 'pool' | 'level'>;

/** the controller knows that, too, and moves it */
export function isToBeMoved(standing: Standing, labels: Labels): boolean {
  const pool = placingPool(standing);
  return pool !== undefined && formOf(pool, labels) === undefined;
}

/** How it was announced by a pool that has changed since, or would have been: to whom is a question for each peer by itself. */
export function heldForm(standing: Standing, labels: Labels): HeldForm | undefined {
  const pool = placingPool(standing);
  return pool && formOf(pool, labels);
}

/** of a claim that the controller has placed here */
function placingPool({ claim, pool, level }: Standing): IpPool | undefined {
  return claim.source === 'api' && level !== undefined ? pool : undefined;
}

const formsByPool = new WeakMap<IpPool, WeakMap<Labels, HeldForm | undefined>>();

/** Read once per pool and labels: thousands of claims of one pool are held by one edit, and saved by one text. undefined: not advertised there */
function formOf(pool: IpPool, labels: Labels): HeldForm | undefined {
  const known = formsByPool.get(pool) ?? new WeakMap<Labels, HeldForm | undefined>();
  formsByPool.set(pool, known);
  if (!known.has(labels)) {
    const chosen = pool.advertisements.filter(({ nodeSelector }) => selects(nodeSelector, labels));
    known.set(labels, isAdvertisedOn(pool, labels) ? chosen : undefined);
  }
  return known.get(labels);
}

/** undefined: it is not held */
export function heldDeparture(
  now: ClaimSubject,
  form: HeldForm | undefined,
  { nowMs, node }: View,
): Departure | undefined {
  const { claim, pool } = now;
  if (form === undefined || pool === undefined || !isToBeMoved(now, node.labels)) return undefined;
  const reason = `no advertisement of pool ${pool.name} selects this node`;
  return { claim, pool, sinceMs: nowMs, reason, held: form };
}

/** Those that are held because the labels of this node have changed; `running` is what was decided last, under `formerLabels`. */
export function heldAfter(
  running: readonly ClaimDecision[],
  formerLabels: Labels,
  view: View,
): ReadonlyMap<string, Departure> {
  const forms = new Map(
    running.flatMap(({ subject }) => {
      const form = subject.departure === undefined ? heldForm(subject, formerLabels) : undefined;
      return form === undefined ? [] : [[subject.claim.object.name, form] as const];
    }),
  );
  return heldBy(forms, view);
}

/** Those that the process before this one held, and that still are to be moved. */
export function heldAsSaved(
  saved: readonly SavedHold[],
  view: View,
): ReadonlyMap<string, Departure> {
  const forms = saved.flatMap(({ advertisements, claims }) =>
    claims.map((name) => [name, advertisements] as const),
  );
  return heldBy(new Map(forms), view);
}

function heldBy(forms: ReadonlyMap<string, HeldForm>, view: View): ReadonlyMap<string, Departure> {
  if (forms.size === 0) return new Map();
  const claims = view.documents.claims.filter(({ object }) => forms.has(object.name));
  const documents = { ...view.documents, claims };
  const { claims: decided } = desired({ ...view, documents, departures: new Map() });
  return new Map(
    decided.flatMap(({ subject }) => {
      const { name } = subject.claim.object;
      const departure = heldDeparture(subject, forms.get(name), view);
      return departure === undefined ? [] : [[name, departure] as const];
    }),
  );
}

interface Group {
  readonly advertisements: HeldForm;
  readonly claims: string[];
}

/** undefined: none is held. Claims of one pool mostly have one form, of which the text is made once. */
export function holdsToSave(
  departures: ReadonlyMap<string, Departure>,
): readonly SavedHold[] | undefined {
  const byForm = new Map<HeldForm, Group>();
  const byText = new Map<string, Group>();
  for (const [name, { held }] of departures) {
    if (held === undefined) continue;
    const group = byForm.get(held) ?? groupOf(held, byText);
    byForm.set(held, group);
    group.claims.push(name);
  }
  return byText.size === 0 ? undefined : [...byText.values()];
}

/** forms that are equal, of two pools or of one that was edited, are saved as one */
function groupOf(held: HeldForm, byText: Map<string, Group>): Group {
  const text = JSON.stringify(held);
  const group = byText.get(text) ?? { advertisements: held, claims: [] };
  byText.set(text, group);
  return group;
}
