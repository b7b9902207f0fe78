/** One piece of a file → its documents, each with its line. Used by the main thread for small pieces, by a thread of its own for large ones. */

import { type DocumentResult, readPiece } from './read-document.ts';
import { contentLine, isEmpty } from './split-documents.ts';

export interface LocatedDocument {
  readonly result: DocumentResult;
  /** from 1 in a file, from the piece's own start in a piece: where the document begins; of what is wrong, where it is refused */
  readonly line: number;
}

/** nobody reads more, and each has to be looked for */
export const MAX_LINES = 100;
/** one document is parsed without a pause; a List of ten thousand claims has a third of it */
const MAX_DOCUMENT_LENGTH = 4 * 1024 * 1024;
/** what is larger is parsed, but not once more for its lines: that takes some hundred times its size in memory */
const MAX_SEARCHED_LENGTH = 1024 * 1024;

/** `lines`: so many refusals get their line, the others that of their document */
export async function locatePiece(text: string, lines: number): Promise<LocatedDocument[]> {
  if (text.length > MAX_DOCUMENT_LENGTH) {
    const sentence = 'a document is larger than 4 MB; split it';
    return [{ result: { ok: false, sentence, path: [] }, line: 0 }];
  }
  if (isEmpty(text)) return [];
  const start = contentLine(text);
  const documents = readPiece(text).map((result) => {
    return { result, line: result.ok ? start : (result.line ?? start) };
  });
  const unknown = documents.filter(({ result }) => !result.ok && result.path.length > 0);
  if (unknown.length === 0 || lines <= 0 || text.length > MAX_SEARCHED_LENGTH) return documents;
  const { findLines } = await import('./find-line.ts');
  const wanted = unknown.slice(0, lines);
  const found = findLines(
    text,
    wanted.map(({ result }) => (result.ok ? [] : result.path)),
  );
  for (const [index, document] of wanted.entries()) {
    document.line = found[index] ?? document.line;
  }
  return documents;
}
