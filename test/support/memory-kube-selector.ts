/** Label and field selectors as they stand in a query, for the in-memory API. Throws on what it cannot read: a test's mistake. */

import type { KubeObject, Selection } from '../../src/sources/kube/api.ts';

type Requirement = (object: KubeObject) => boolean;

export function compileSelection(selection: Selection): Requirement {
  const requirements = [
    ...splitTerms(selection.labelSelector ?? '').map(labelTerm),
    ...splitTerms(selection.fieldSelector ?? '').map(fieldTerm),
  ];
  return (object) => requirements.every((holds) => holds(object));
}

/** at commas, but not at those inside of parentheses */
function splitTerms(selector: string): readonly string[] {
  return selector
    .split(/,(?![^(]*\))/)
    .map((term) => term.trim())
    .filter((term) => term !== '');
}

function labelTerm(term: string): Requirement {
  const set = /^(\S+)\s+(in|notin)\s*\(([^)]*)\)$/.exec(term);
  if (set !== null) {
    const [, key = '', operator, list = ''] = set;
    const values = list.split(',').map((value) => value.trim());
    return (object) => {
      const value = labelOf(object, key);
      return (value !== undefined && values.includes(value)) === (operator === 'in');
    };
  }
  const equality = /^([^=!]+?)\s*(!=|==?)\s*(.*)$/.exec(term);
  if (equality !== null) {
    const [, key = '', operator, wanted] = equality;
    return (object) => (labelOf(object, key) === wanted) === (operator !== '!=');
  }
  if (term.startsWith('!')) return (object) => labelOf(object, term.slice(1)) === undefined;
  if (/[\s()]/.test(term)) throw new Error(`'${term}' is no label selector`);
  return (object) => labelOf(object, term) !== undefined;
}

function labelOf(object: KubeObject, key: string): string | undefined {
  return object.metadata.labels?.[key];
}

function fieldTerm(term: string): Requirement {
  const match = /^([\w.]+)(!=|==?)(.*)$/.exec(term);
  if (match === null) throw new Error(`'${term}' is no field selector`);
  const [, path = '', operator, wanted] = match;
  return (object) => (fieldOf(object, path.split('.')) === wanted) === (operator !== '!=');
}

function fieldOf(object: unknown, path: readonly string[]): string {
  let value: unknown = object;
  for (const key of path) {
    if (typeof value !== 'object' || value === null) return '';
    value = Object.entries(value).find(([name]) => name === key)?.[1];
  }
  return value === undefined || value === null ? '' : String(value);
}
