/** What a user can do to a machine: four verbs that each go both ways. Pure: from the verb and how things are to an order, or a refusal. */

import type { SceneNode } from './scene.ts';
import type { Order } from './story.ts';

export const VERBS = ['drain', 'freeze', 'kill', 'api'] as const;
export type Verb = (typeof VERBS)[number];

export type Choice =
  | { readonly kind: 'order'; readonly order: Order; readonly sentence: string }
  | { readonly kind: 'refused'; readonly sentence: string };

export function parseVerb(text: unknown): Verb | undefined {
  return VERBS.find((verb) => verb === text);
}

/** What the verb means for this machine now: its two directions share one key and one button. */
export function choose(verb: Verb, node: SceneNode): Choice {
  const { name, power } = node;
  if (verb === 'kill') {
    return power === 'dead'
      ? order(node, 'revive', `${name} boots`)
      : order(node, 'kill', `${name} was killed (SIGKILL)`);
  }
  if (power === 'dead') return refuse(`${name} is dead; revive it first`);
  if (verb === 'freeze') {
    return power === 'frozen'
      ? order(node, 'thaw', `${name} runs again (SIGCONT)`)
      : order(node, 'freeze', `${name} was frozen (SIGSTOP)`);
  }
  if (power === 'frozen') return refuse(`${name} is frozen and hears nothing; thaw it first`);
  return verb === 'drain' ? chooseDrain(node) : chooseApi(node);
}

function chooseDrain(node: SceneNode): Choice {
  const { name, isDraining } = node;
  return isDraining
    ? order(node, 'undrain', `${name} takes part again`)
    : order(node, 'drain', `${name} is being drained`);
}

function chooseApi(node: SceneNode): Choice {
  const { name, isApiUp } = node;
  return isApiUp
    ? order(node, 'api-down', `the API server of ${name} was stopped`)
    : order(node, 'api-up', `the API server of ${name} starts`);
}

function order({ id }: SceneNode, kind: Order['kind'], sentence: string): Choice {
  return { kind: 'order', order: { kind, id }, sentence };
}

function refuse(sentence: string): Choice {
  return { kind: 'refused', sentence };
}

/** The orders that bring a machine back to where it serves, whatever was done to it. */
export function mend({ id, power, isApiUp, isDraining }: SceneNode): readonly Order[] {
  if (power === 'dead') return [{ kind: 'revive', id }];
  const orders: Order[] = [];
  if (power === 'frozen') orders.push({ kind: 'thaw', id });
  if (!isApiUp) orders.push({ kind: 'api-up', id });
  if (isDraining) orders.push({ kind: 'undrain', id });
  return orders;
}
