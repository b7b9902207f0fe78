/**
 * Cuts a file into its YAML documents without parsing it. `---` at the start of a line is a document marker wherever it stands
 * (YAML 1.2 §9.1.2 forbids it inside scalars), so this is exact. A piece that has not changed since the last reading need
 * not be parsed again, which is what makes one change in a file of 10,000 documents cheap.
 */

export interface Piece {
  readonly text: string;
  /** line of the file that it begins at, from 1 */
  readonly line: number;
}

export function splitDocuments(text: string): Piece[] {
  const pieces: Piece[] = [];
  let start = 0;
  let line = 1;
  for (const { index } of text.matchAll(/^---(?=\s|$)/gm)) {
    const piece = text.slice(start, index);
    // directives (%YAML 1.2) belong to the document behind their marker
    if (index === start || isDirectives(piece)) continue;
    pieces.push({ text: piece, line });
    line += countLines(piece);
    start = index;
  }
  pieces.push({ text: text.slice(start), line });
  return pieces.filter((piece) => !isEmpty(piece.text));
}

/** The line within the piece, from 0, at which its content begins. */
export function contentLine(piece: string): number {
  const lead = LEAD.exec(piece)?.[0] ?? '';
  return lead.length === piece.length ? 0 : countLines(lead);
}

/** lines with nothing but markers, comments and blanks */
const LEAD = /^(?:(?:---|\.\.\.)?[ \t\r]*(?:#[^\n]*)?\n)*/;

function isDirectives(piece: string): boolean {
  return piece.startsWith('%') && piece.split('\n').every((line) => /^(%|\s*(#|$))/.test(line));
}

/** a first character that can only be content: nearly every document, told without looking further */
const CONTENT = /^(?:---)?\s*[^\s#.%-]/;

/** nothing but markers, comments and blanks */
function isEmpty(piece: string): boolean {
  if (CONTENT.test(piece)) return false;
  const rest = piece.slice(LEAD.exec(piece)?.[0].length ?? 0);
  return /^(?:---|\.\.\.)?[ \t\r]*(?:#.*)?$/.test(rest);
}

function countLines(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++;
  return count;
}
