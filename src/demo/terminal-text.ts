/** Text with colour for a terminal: pieces with a style each, cut to a width by what is visible. Pure. */

/** SGR parameters of ECMA-48; 256-colour codes where the eight are not enough */
export const STYLE = {
  plain: '',
  bold: '1',
  dim: '2',
  title: '1;7',
  good: '38;5;78',
  bad: '1;38;5;203',
  warn: '38;5;214',
  cold: '38;5;75',
  node1: '38;5;80',
  node2: '38;5;147',
  node3: '38;5;186',
} as const;
export type StyleName = keyof typeof STYLE;

export interface Piece {
  readonly text: string;
  readonly style: StyleName;
}

export type Line = readonly Piece[];

export function piece(text: string, style: StyleName = 'plain'): Piece {
  return { text, style };
}

/** At most `columns` wide. Every character here is one column wide. */
export function renderLine(line: Line, columns: number, isColor: boolean): string {
  let left = columns;
  let rendered = '';
  for (const { text, style } of line) {
    const shown = [...text].slice(0, left).join('');
    left -= [...shown].length;
    const sgr = STYLE[style];
    rendered += isColor && sgr !== '' && shown !== '' ? `\x1b[${sgr}m${shown}\x1b[0m` : shown;
  }
  return rendered;
}

/** Words into lines of at most `width`; a longer word is a line of its own. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}
