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

/** All pieces with something in them. */
export function splitDocuments(text: string): Piece[] {
  return [...cutDocuments(text)].filter((piece) => !isEmpty(piece.text));
}

/** One at a time, so that whoever takes them can pause in between; some may be empty. */
export function* cutDocuments(text: string): Generator<Piece> {
  let start = 0;
  let line = 1;
  for (const { index } of text.matchAll(/^---(?=\s|$)/gm)) {
    const piece = text.slice(start, index);
    // directives (%YAML 1.2) belong to the document behind their marker
    if (index === start || isDirectives(piece)) continue;
    yield { text: piece, line };
    line += countLines(piece);
    start = index;
  }
  yield { text: text.slice(start), line };
}

/** The line within the piece, from 0, at which its content begins. */
export function contentLine(piece: string): number {
  const lead = leadLength(piece);
  return lead === piece.length ? 0 : countLines(piece.slice(0, lead));
}

/** a line with nothing but a marker, a comment or blanks */
const LEAD_LINE = /(?:---|\.\.\.)?[ \t\r]*(?:#[^\n]*)?\n/y;

/** Line by line: one pattern for all of them would need a place on the stack for each. */
function leadLength(piece: string): number {
  let length = 0;
  for (;;) {
    LEAD_LINE.lastIndex = length;
    if (!LEAD_LINE.test(piece)) return length;
    length = LEAD_LINE.lastIndex;
  }
}

/** no directives of anybody are longer */
const MAX_DIRECTIVES = 8192;

function isDirectives(piece: string): boolean {
  if (!piece.startsWith('%') || piece.length > MAX_DIRECTIVES) return false;
  return piece.split('\n').every((line) => /^(%|\s*(#|$))/.test(line));
}

/** a first character that can only be content: nearly every document, told without looking further */
const CONTENT = /^(?:---)?\s*[^\s#.%-]/;

/** nothing but markers, comments and blanks */
export function isEmpty(piece: string): boolean {
  if (CONTENT.test(piece)) return false;
  const rest = piece.slice(leadLength(piece));
  return /^(?:---|\.\.\.)?[ \t\r]*(?:#.*)?$/.test(rest);
}

function countLines(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++;
  return count;
}
