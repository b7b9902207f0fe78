/** Label selectors of others: a list of them means any of them, and ours is one. Pure. */

import { isLoose, type Loose, part, parts, text, texts } from '../sources/kube/loose-fields.ts';

/** one that selects by a single key and a list of values, as many lists of node names are written */
interface KeyValues {
  readonly key: string;
  readonly values: readonly string[];
}

/** The selector as ours writes it; undefined where it selects everything. */
export function selectorOf(selector: Loose): Loose | undefined {
  const labels = part(selector, 'matchLabels');
  const expressions = parts(selector, 'matchExpressions');
  if (Object.keys(labels).length === 0 && expressions.length === 0) return undefined;
  return {
    ...(Object.keys(labels).length === 0 ? {} : { matchLabels: labels }),
    ...(expressions.length === 0 ? {} : { matchExpressions: expressions.map(expressionOf) }),
  };
}

function expressionOf(expression: Loose): Loose {
  const values = texts(expression, 'values');
  const { key, operator } = expression;
  return { key, operator, ...(values.length === 0 ? {} : { values }) };
}

/**
 * The selectors that together select what any of the given ones does: one, where they can be put together into one; an empty list
 * where everything is selected.
 */
export function anyOf(selectors: readonly unknown[]): readonly Loose[] {
  const each = selectors.filter(isLoose).map(selectorOf);
  // one that selects everything is as if there were none
  if (each.some((selector) => selector === undefined)) return [];
  const present = each.filter((selector) => selector !== undefined);
  const simple = present.map(keyValues);
  const keys = new Set(simple.map((one) => one?.key));
  const [key] = keys;
  if (present.length < 2 || keys.size !== 1 || key === undefined) return present;
  const values = [...new Set(simple.flatMap((one) => one?.values ?? []))];
  return [{ matchExpressions: [{ key, operator: 'In', values }] }];
}

function keyValues(selector: Loose): KeyValues | undefined {
  const labels = Object.entries(part(selector, 'matchLabels'));
  const expressions = parts(selector, 'matchExpressions');
  const [label] = labels;
  const [expression] = expressions;
  if (labels.length + expressions.length !== 1) return undefined;
  if (label !== undefined && typeof label[1] === 'string') {
    return { key: label[0], values: [label[1]] };
  }
  const key = expression === undefined ? undefined : text(expression, 'key');
  if (expression === undefined || key === undefined || expression['operator'] !== 'In') {
    return undefined;
  }
  return { key, values: texts(expression, 'values') };
}
