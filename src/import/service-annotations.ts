/** Annotations of Services: what another balancer was asked for, as commands that ask ours for the same. Pure. */

import { ANNOTATION } from '../model/names.ts';
import { type Loose, labels, part } from '../sources/kube/loose-fields.ts';
import { kindOf, nameOf, namespaceOf } from './foreign-objects.ts';
import { type Imported, NOTHING, quoted, together } from './imported.ts';

/** the other's key → ours; `undefined`: it says nothing that matters */
export type AnnotationTable = Readonly<Record<string, string | undefined>>;

export const OURS = ANNOTATION;

/** `isTheirs`: a key of theirs that the table does not know has no counterpart */
export function serviceAnnotations(
  objects: readonly Loose[],
  table: AnnotationTable,
  isTheirs: (key: string) => boolean,
): Imported {
  const services = objects.filter((object) => kindOf(object) === 'Service');
  return together(services.map((service) => annotationsOf(service, table, isTheirs)));
}

function annotationsOf(
  service: Loose,
  table: AnnotationTable,
  isTheirs: (key: string) => boolean,
): Imported {
  const namespace = namespaceOf(service);
  const name = nameOf(service);
  const wanted: string[] = [];
  const gaps: string[] = [];
  for (const [key, value] of Object.entries(labels(part(service, 'metadata'), 'annotations'))) {
    if (!isTheirs(key)) continue;
    const ours = table[key];
    if (ours !== undefined) wanted.push(quoted(`${ours}=${writtenValue(ours, value)}`));
    else if (!(key in table)) {
      gaps.push(`Service ${namespace}/${name}: the annotation ${key} has no counterpart`);
    }
  }
  if (wanted.length === 0) return { ...NOTHING, gaps };
  const command = `kubectl -n ${quoted(namespace)} annotate service ${quoted(name)} ${[...new Set(wanted)].join(' ')}`;
  return { ...NOTHING, commands: [command], gaps };
}

/** lists are written without blanks; the word by which Services share is as it is */
function writtenValue(ours: string, value: string): string {
  return ours === OURS.share ? value.trim() : value.replaceAll(/\s+/g, '');
}
