/**
 * Tables that fit the width. A column has a most it may take; what is longer is cut with …, except where a column spills: there
 * the whole text is shown and the row goes on in the next line, so that an IPv6 address of 39 characters is never cut.
 * The last column may take what is left. Pure.
 */

import { cut, paint, plain, type Style, type Tone, wrap } from './style.ts';

export interface Column {
  readonly title: string;
  /** characters; absent: what is left of the width (last column only) */
  readonly most?: number;
  readonly spills?: boolean;
  readonly alignRight?: boolean;
}

export interface Cell {
  readonly text: string;
  readonly tone?: Tone;
}

export interface Row {
  readonly cells: readonly (Cell | string)[];
  /** below the row, indented and wrapped */
  readonly notes?: readonly Cell[];
}

const GAP = '  ';
const NOTE_INDENT = '    ';
/** what the last column is sure of, and what it gets before others get more, if it has as much to say */
const LEAST_REST = 16;
const REST = 32;

export function formatTable(
  columns: readonly Column[],
  rows: readonly Row[],
  style: Style,
): string {
  const cells = rows.map(({ cells: all }) => all.map(asCell));
  const widths = columnWidths(columns, cells, style);
  const heading = columns.map(({ title }): Cell => ({ text: title, tone: 'faint' }));
  const lines = [formatRow(heading, columns, widths, style)];
  rows.forEach(({ notes = [] }, index) => {
    lines.push(formatRow(cells[index] ?? [], columns, widths, style));
    for (const { text, tone } of notes) {
      for (const line of wrap(text, style.width - NOTE_INDENT.length)) {
        lines.push(NOTE_INDENT + paint(line, tone, style));
      }
    }
  });
  return `${lines.join('\n')}\n`;
}

function asCell(cell: Cell | string): Cell {
  return typeof cell === 'string' ? { text: plain(cell) } : { ...cell, text: plain(cell.text) };
}

/** Each column takes what it needs up to its most; what then is left goes to those that need more, from the left. */
function columnWidths(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  style: Style,
): readonly number[] {
  const lengths = columns.map(({ title }, index) => [
    title.length,
    ...rows.map((row) => row[index]?.text.length ?? 0),
  ]);
  const fitting = (index: number, room: number) => largestUpTo(lengths[index] ?? [], room);
  const widths = columns.map(({ title, most, spills }, index) => {
    if (most === undefined) return Math.min(fitting(index, Infinity), LEAST_REST);
    const isLonger = fitting(index, Infinity) > most;
    return isLonger && !spills ? most : Math.max(fitting(index, most), title.length);
  });
  const gaps = GAP.length * (columns.length - 1);
  let left = style.width - gaps - widths.reduce((sum, width) => sum + width, 0);
  const grow = (index: number, bound: number) => {
    const { spills = false } = columns[index] ?? {};
    const width = widths[index] ?? 0;
    const room = Math.min(width + left, bound);
    // more room is of use to a text that is cut; to one that spills only if all of it fits
    const wanted = spills ? fitting(index, room) : Math.min(fitting(index, Infinity), room);
    if (wanted <= width) return;
    widths[index] = wanted;
    left -= wanted - width;
  };
  const last = columns.length - 1;
  if (columns[last]?.most === undefined) grow(last, REST);
  for (const index of columns.keys()) grow(index, Infinity);
  return widths;
}

function largestUpTo(lengths: readonly number[], bound: number): number {
  return lengths.reduce((best, length) => (length <= bound && length > best ? length : best), 0);
}

function formatRow(
  cells: readonly Cell[],
  columns: readonly Column[],
  widths: readonly number[],
  style: Style,
): string {
  const lines: string[] = [];
  let line = '';
  let column = 0;
  cells.forEach(({ text, tone }, index) => {
    const width = widths[index] ?? 0;
    const { spills = false, alignRight = false } = columns[index] ?? {};
    const isLast = index === cells.length - 1;
    const shown = spills ? text : cut(text, width);
    const padding = ' '.repeat(Math.max(width - shown.length, 0));
    const painted = paint(shown, tone, style);
    line += (alignRight ? padding + painted : painted + padding) + (isLast ? '' : GAP);
    column += width + GAP.length;
    if (shown.length <= width || isLast) return;
    lines.push(line);
    line = ' '.repeat(column);
  });
  return [...lines, line].map((one) => one.trimEnd()).join('\n');
}
