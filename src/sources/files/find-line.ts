/**
 * The line of a field in a piece of YAML. Only refused documents come here: `yaml` keeps positions, and is five times slower and
 * larger than js-yaml, so this module is loaded when the first document is refused. `yaml` itself is imported by name: in the bundle a
 * dynamic import of a CommonJS package has no names.
 */

import { isMap, isScalar, LineCounter, parseDocument } from 'yaml';
import type { DocumentPath } from '../../model/refusal.ts';

type Parsed = ReturnType<typeof parseDocument>;

/** Of each path the line within the piece, from 0; of the nearest field above where the path itself is not there. One parse for all. */
export function findLines(
  piece: string,
  paths: readonly DocumentPath[],
): readonly (number | undefined)[] {
  const lines = new LineCounter();
  const document = parseDocument(piece, { lineCounter: lines, merge: true, uniqueKeys: false });
  return paths.map((path) => {
    const offset = offsetOf(document, path);
    return offset === undefined ? undefined : lines.linePos(offset).line - 1;
  });
}

function offsetOf(document: Parsed, path: DocumentPath): number | undefined {
  let offset: number | undefined;
  for (let length = path.length; length > 0 && offset === undefined; length--) {
    const parent: unknown = document.getIn(path.slice(0, length - 1), true);
    const step = path[length - 1];
    if (isMap(parent)) {
      // the key's line: a value may begin far below it
      const pair = parent.items.find(({ key }) => isScalar(key) && String(key.value) === step);
      offset = rangeStart(pair?.key);
    } else {
      offset = rangeStart(document.getIn(path.slice(0, length), true));
    }
  }
  return offset;
}

function rangeStart(node: unknown): number | undefined {
  if (typeof node !== 'object' || node === null || !('range' in node)) return undefined;
  const { range } = node;
  return Array.isArray(range) && typeof range[0] === 'number' ? range[0] : undefined;
}
