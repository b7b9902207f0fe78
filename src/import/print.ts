/** An import as text: first as comments what has no counterpart and what is left to do by hand, then the documents. Pure. */

import { dump } from 'js-yaml';
import { plain } from '../control/style.ts';
import type { Imported } from './imported.ts';

export function printImported({ documents, commands, gaps }: Imported, from: string): string {
  const head = [
    `made by herald import ${from}: ${documents.length} documents`,
    ...section('has no counterpart, or needs a look:', gaps),
    ...section('to be done by hand:', commands),
  ].map((line) => (line === '' ? '#' : `# ${line}`));
  const texts = documents.map((document) => dump(document, { noRefs: true, lineWidth: -1 }));
  return [`${head.join('\n')}\n`, ...texts].join('---\n');
}

function section(title: string, lines: readonly string[]): readonly string[] {
  if (lines.length === 0) return [];
  return ['', title, ...lines.map((line) => `  ${plain(line)}`)];
}
