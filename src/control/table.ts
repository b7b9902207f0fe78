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
const LEAST_REST = 16;

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

function columnWidths(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  style: Style,
): readonly number[] {
  const natural = columns.map(({ title }) => title.length);
  for (const row of rows) {
    row.forEach(({ text }, index) => {
      const { spills = false, most = 0 } = columns[index] ?? {};
      // what spills anyway makes no room for itself
      if (spills && text.length > most) return;
      natural[index] = Math.max(natural[index] ?? 0, text.length);
    });
  }
  const fixed = columns.map(({ most }, index) => Math.min(natural[index] ?? 0, most ?? 0));
  const taken = fixed.reduce((sum, width) => sum + width, 0) + GAP.length * (columns.length - 1);
  const rest = Math.max(style.width - taken, LEAST_REST);
  return columns.map(({ most }, index) => (most === undefined ? rest : (fixed[index] ?? 0)));
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
