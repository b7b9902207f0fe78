/** The settings table as help text: flag, what it is, its default. Pure. */

import type { SettingRow } from '../config/setting-row.ts';

const FLAG_WIDTH = 26;
const TEXT_WIDTH = 72;

export function settingsHelp(settings: Readonly<Record<string, SettingRow>>): string {
  return Object.values(settings)
    .map((row) => {
      const fallback = row.default === '' ? '' : ` (default ${row.default})`;
      const [first = '', ...rest] = wrap(`${row.doc}${fallback}`);
      const head = `  --${row.flag}${row.bare === undefined ? ` ${row.metavar}` : `[=${row.metavar}]`}`;
      const lines =
        head.length < FLAG_WIDTH + 2
          ? [head.padEnd(FLAG_WIDTH + 2) + first]
          : [head, indent(first)];
      return [...lines, ...rest.map(indent)].join('\n');
    })
    .join('\n');
}

function indent(text: string): string {
  return ' '.repeat(FLAG_WIDTH + 2) + text;
}

function wrap(text: string): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= TEXT_WIDTH) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else lines.push(word);
  }
  return lines;
}
