/** metav1.Condition, as it stands in the status of Services and of our own kinds → Condition. */

import { optional } from '../../model/optional.ts';
import type { Condition } from '../../model/service.ts';
import { filledText, type Loose, parts, text, wholeNumber, word } from './loose-fields.ts';

const STATES = ['True', 'False', 'Unknown'] as const;
const NONE: readonly Condition[] = [];

export function convertConditions(status: Loose): readonly Condition[] {
  const conditions = parts(status, 'conditions');
  return conditions.length === 0 ? NONE : conditions.flatMap(condition);
}

function condition(of: Loose): readonly Condition[] {
  const type = filledText(of, 'type');
  if (type === undefined) return NONE;
  const found: Condition = {
    type,
    status: word(of, 'status', STATES) ?? 'Unknown',
    reason: text(of, 'reason') ?? '',
    message: text(of, 'message') ?? '',
    ...optional('lastTransitionTime', filledText(of, 'lastTransitionTime')),
    ...optional('observedGeneration', wholeNumber(of, 'observedGeneration')),
  };
  return [found];
}
