/** Kubernetes objects out of YAML, of any kind: several documents, and Lists. Pure. What is not YAML is a sentence. */

import { loadAll, YAMLException } from 'js-yaml';
import { filledText, isLoose, type Loose, part, parts } from '../sources/kube/loose-fields.ts';

export type ForeignObjects =
  | { readonly ok: true; readonly objects: readonly Loose[] }
  | { readonly ok: false; readonly sentence: string };

export function parseObjects(text: string): ForeignObjects {
  try {
    const documents: unknown[] = loadAll(text);
    return { ok: true, objects: documents.filter(isLoose).flatMap(members) };
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const line = error.mark?.line;
    const where = line === undefined ? '' : ` in line ${line + 1}`;
    return { ok: false, sentence: `this is not YAML that can be read${where}: ${error.reason}` };
  }
}

function members(object: Loose): readonly Loose[] {
  const isList = filledText(object, 'kind')?.endsWith('List') === true && 'items' in object;
  return isList ? parts(object, 'items') : [object];
}

export function nameOf(object: Loose): string {
  return filledText(part(object, 'metadata'), 'name') ?? 'unnamed';
}

export function namespaceOf(object: Loose): string {
  return filledText(part(object, 'metadata'), 'namespace') ?? 'default';
}

export function kindOf(object: Loose): string {
  return filledText(object, 'kind') ?? '';
}

/** `apiVersion` without its version */
export function groupOf(object: Loose): string {
  const version = filledText(object, 'apiVersion') ?? '';
  return version.includes('/') ? version.slice(0, version.indexOf('/')) : '';
}
