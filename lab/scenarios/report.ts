/** The table of a run, for the terminal and for docs/e2e.md. Pure. */

import type { Result } from './scenario.ts';

const HEAD = [
  '| scenario | what was done | probes | lost | outage | connections cut | |',
  '|---|---|---|---|---|---|---|',
];

export function tableOf(results: readonly Result[]): string {
  return [...HEAD, ...results.flatMap(rowsOf)].join('\n');
}

function rowsOf({ name, measured, failure, seconds }: Result): readonly string[] {
  const verdict = failure === undefined ? `as it should, ${Math.round(seconds)} s` : 'FAILED';
  if (measured.length === 0) return [`| ${name} | | | | | | ${verdict} |`];
  return measured.map(({ what, outage: { sent, lost, resets, outageMs } }, index) => {
    const time = lost === 0 ? '–' : `${(outageMs / 1000).toFixed(2)} s`;
    const first = index === 0 ? [name, verdict] : ['', ''];
    return `| ${first[0]} | ${what} | ${sent} | ${lost} | ${time} | ${resets} | ${first[1]} |`;
  });
}

const BEGIN = '<!-- table: made by make e2e SAVE=1 -->';
const END = '<!-- end of the table -->';

/** The page with the table between its marks. */
export function withTable(page: string, about: string, table: string): string {
  const from = page.indexOf(BEGIN);
  const to = page.indexOf(END);
  if (from < 0 || to < from) throw new Error(`the page has no ${BEGIN} … ${END}`);
  return `${page.slice(0, from)}${BEGIN}\n\n${about}\n\n${table}\n\n${page.slice(to)}`;
}
