/** Where an agent has its documents from: `files:DIR`, `kube`, or both. Pure. */

import type { DocumentSource } from '../model/refusal.ts';

export interface DocumentSources {
  /** in the order in which they count: files win */
  readonly sources: readonly DocumentSource[];
  /** of files */
  readonly directory?: string;
}

const FORMS = 'write files:DIR, kube, or kube,files:DIR';

/** Throws a sentence. A directory may have commas in its name, so it comes last. */
export function parseSources(text: string): DocumentSources {
  if (text === 'kube') return { sources: ['api'] };
  const rest = text.startsWith('kube,') ? text.slice('kube,'.length) : text;
  if (!/^files:./.test(rest)) throw new Error(FORMS);
  const directory = rest.slice('files:'.length);
  return { sources: rest === text ? ['files'] : ['files', 'api'], directory };
}
