/**
 * Compares what a router says with what a scenario expects of it, as partial JSON: fields that are not named may be anything, a list has
 * exactly the named elements, in any order. Pure.
 */

export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [key: string]: Json };

/** What is wrong, each with its place; empty: it fits. */
export function misfits(expected: Json, found: unknown, place = ''): readonly string[] {
  if (Array.isArray(expected)) return ofList(expected, found, place);
  if (typeof expected === 'object' && expected !== null) return ofObject(expected, found, place);
  if (expected === found) return [];
  return [`${place || 'it'} is ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`];
}

function ofObject(expected: object, found: unknown, place: string): readonly string[] {
  if (typeof found !== 'object' || found === null || Array.isArray(found)) {
    return [`${place || 'it'} is ${JSON.stringify(found)}, not an object`];
  }
  const fields = new Map<string, unknown>(Object.entries(found));
  return Object.entries(expected).flatMap(([key, value]) =>
    misfits(value, fields.get(key), place === '' ? key : `${place}.${key}`),
  );
}

function ofList(expected: readonly Json[], found: unknown, place: string): readonly string[] {
  if (!Array.isArray(found)) return [`${place || 'it'} is ${JSON.stringify(found)}, not a list`];
  const left: unknown[] = [...found];
  const missing = expected.filter((each) => {
    const index = left.findIndex((candidate) => misfits(each, candidate).length === 0);
    if (index >= 0) left.splice(index, 1);
    return index < 0;
  });
  return [
    ...missing.map((each) => `${place || 'the list'} has no ${JSON.stringify(each)}`),
    ...left.map((each) => `${place || 'the list'} has ${JSON.stringify(each)} too`),
  ];
}
