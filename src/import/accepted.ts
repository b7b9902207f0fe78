/**
 * The last look at what an import has made: each document goes through the schema and the rules that files and the API server go by, and what they would refuse is told
 * instead of printed. Pure.
 */

import { readPiece } from '../sources/files/read-document.ts';
import type { HeraldDocument, Imported } from './imported.ts';

export function accepted(imported: Imported): Imported {
  const documents: HeraldDocument[] = [];
  const gaps = [...imported.gaps];
  for (const document of imported.documents) {
    const refusal = refusalOf(document);
    if (refusal === undefined) documents.push(document);
    else gaps.push(`${document.kind} ${document.metadata.name}: it is left out: ${refusal}`);
  }
  return { ...imported, documents, gaps };
}

function refusalOf(document: HeraldDocument): string | undefined {
  const result = readPiece(JSON.stringify(forFiles(document))).find((each) => !each.ok);
  return result?.ok === false ? result.sentence : undefined;
}

/** a Secret is for the cluster alone, and as good as a file here */
function forFiles(document: HeraldDocument): object {
  const { password } = document.spec;
  const isSecret = typeof password === 'object' && password !== null && 'secret' in password;
  if (!isSecret) return document;
  return { ...document, spec: { ...document.spec, password: { file: '/etc/herald/password' } } };
}
