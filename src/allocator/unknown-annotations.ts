/** Annotations under herald.dev/ that Herald does not know: most likely misspelt, and then the Service gets something else than was asked for. Pure. */

import type { Labels } from '../model/labels.ts';
import { ANNOTATION, GROUP } from '../model/names.ts';
import { nearest } from '../model/nearest.ts';

const PREFIX = `${GROUP}/`;
const KNOWN: readonly string[] = Object.values(ANNOTATION);
const WORDS = KNOWN.map((key) => key.slice(PREFIX.length));
/** a Service may carry thousands of annotations; a person reads the first few */
const MOST = 5;

/** One sentence for each. */
export function unknownAnnotations(annotations: Labels): readonly string[] {
  const unknown: string[] = [];
  for (const key in annotations) {
    if (!key.startsWith(PREFIX) || KNOWN.includes(key)) continue;
    unknown.push(key);
    if (unknown.length === MOST) break;
  }
  return unknown.map(sentence);
}

function sentence(key: string): string {
  const meant = nearest(key.slice(PREFIX.length), WORDS);
  const hint =
    meant === undefined
      ? `those it knows are ${KNOWN.join(', ')}`
      : `did you mean ${PREFIX}${meant}?`;
  return `the annotation ${key} is none that Herald knows, so it is ignored; ${hint}`;
}
