/**
 * Why a document that has the right shape still cannot be used. Thrown inside the converters and caught by `converted`, the only
 * place that turns it into a value; nothing else is caught there, since anything else is a mistake of ours.
 */

/** From the document's root: field names, and numbers for items of lists. */
export type DocumentPath = readonly (string | number)[];

export class Refusal extends Error {
  readonly path: DocumentPath;

  constructor(path: DocumentPath, sentence: string) {
    super(sentence);
    this.name = 'Refusal';
    this.path = path;
  }
}

export type Converted<T> = { readonly ok: true; readonly object: T } | Refused;

export interface Refused {
  readonly ok: false;
  readonly path: DocumentPath;
  readonly sentence: string;
}

/** where a document comes from; some fields are legal in one place only */
export type DocumentSource = 'files' | 'api';

export function converted<T>(convert: () => T): Converted<T> {
  try {
    return { ok: true, object: convert() };
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, path: error.path, sentence: error.message };
    throw error;
  }
}
