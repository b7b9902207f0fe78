/**
 * Reads objects of other people's kinds (Services, Nodes), of which any field may be absent or of another shape in a later version:
 * what does not fit is as if it were not there. Of our own kinds src/model/fields.ts is strict.
 */

import type { Labels } from '../../model/labels.ts';

export type Loose = Readonly<Record<string, unknown>>;

const NOTHING: Loose = {};
const NO_ITEMS: readonly unknown[] = [];
const NO_LABELS: Labels = {};

/** empty where it is no object */
export function part(of: Loose, key: string): Loose {
  const value = of[key];
  return isLoose(value) ? value : NOTHING;
}

export function items(of: Loose, key: string): readonly unknown[] {
  const value = of[key];
  return Array.isArray(value) ? value : NO_ITEMS;
}

export function parts(of: Loose, key: string): readonly Loose[] {
  return items(of, key).filter(isLoose);
}

export function texts(of: Loose, key: string): readonly string[] {
  return items(of, key).filter((item) => typeof item === 'string');
}

export function text(of: Loose, key: string): string | undefined {
  const value = of[key];
  return typeof value === 'string' ? value : undefined;
}

/** an empty text is how Kubernetes writes that there is none */
export function filledText(of: Loose, key: string): string | undefined {
  return text(of, key) || undefined;
}

export function wholeNumber(of: Loose, key: string): number | undefined {
  const value = of[key];
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined;
}

export function flag(of: Loose, key: string): boolean | undefined {
  const value = of[key];
  return typeof value === 'boolean' ? value : undefined;
}

export function word<W extends string>(of: Loose, key: string, words: readonly W[]): W | undefined {
  const value = of[key];
  return words.find((each) => each === value);
}

/** the object itself where all of it is text, which is nearly always: thousands are read at a start */
export function labels(of: Loose, key: string): Labels {
  const value = of[key];
  if (!isLoose(value)) return NO_LABELS;
  if (isLabels(value)) return value;
  return Object.fromEntries(Object.entries(value).flatMap(([name, each]) => textEntry(name, each)));
}

function textEntry(name: string, value: unknown): [string, string][] {
  return typeof value === 'string' ? [[name, value]] : [];
}

function isLabels(value: Loose): value is Labels {
  for (const key in value) if (typeof value[key] !== 'string') return false;
  return true;
}

export function isLoose(value: unknown): value is Loose {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
