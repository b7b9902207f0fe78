/**
 * How text for people is set: width, colour, time that has passed, and the rule that foreign text (a router's shutdown message, a
 * server's body) cannot steer a terminal. Pure.
 */

export interface Style {
  readonly color: boolean;
  readonly width: number;
  /** wall clock, for "since" */
  readonly nowMs: number;
}

export type Tone = 'good' | 'attention' | 'bad' | 'faint' | 'strong';

const CODES: Readonly<Record<Tone, string>> = {
  good: '32',
  attention: '33',
  bad: '31',
  faint: '2',
  strong: '1',
};

export function paint(text: string, tone: Tone | undefined, style: Style): string {
  return style.color && tone !== undefined && text !== ''
    ? `\u001b[${CODES[tone]}m${text}\u001b[0m`
    : text;
}

/** one line, nothing that a terminal obeys */
export function plain(text: string): string {
  return text.replaceAll(/[\s\p{Cc}\p{Cf}]+/gu, ' ').trim();
}

export function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(width - 1, 0))}…`;
}

/** Lines of at most `width`, broken at blanks where there are any. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of plain(text).split(' ')) {
    let rest = word;
    if (line !== '' && line.length + 1 + rest.length > width) {
      lines.push(line);
      line = '';
    }
    while (rest.length > width) {
      lines.push(rest.slice(0, width));
      rest = rest.slice(width);
    }
    line = line === '' ? rest : `${line} ${rest}`;
  }
  return [...lines, line];
}

/** `label` in front, the text wrapped beside it */
export function labelled(label: string, text: string, style: Style): string {
  const width = Math.max(style.width - label.length, 20);
  return wrap(text, width)
    .map((line, index) => (index === 0 ? label : ' '.repeat(label.length)) + line)
    .join('\n');
}

const UNITS = [
  ['d', 86_400, 'h', 3600],
  ['h', 3600, 'm', 60],
  ['m', 60, 's', 1],
] as const;

/** the two largest units: 3d04h, 5h02m, 3m12s, 8s */
export function formatElapsed(ms: number): string {
  // a clock that was stepped back makes no negative time
  const seconds = Math.max(Math.floor(ms / 1000), 0);
  for (const [unit, size, smaller, smallerSize] of UNITS) {
    if (seconds < size) continue;
    const rest = Math.floor((seconds % size) / smallerSize);
    return `${Math.floor(seconds / size)}${unit}${String(rest).padStart(2, '0')}${smaller}`;
  }
  return `${seconds}s`;
}

export function formatSince(iso: string, style: Style): string {
  return formatElapsed(style.nowMs - Date.parse(iso));
}
