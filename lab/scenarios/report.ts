/** The table of a run, for the terminal and for docs/e2e.md. Pure. */

import type { Held } from '../../tools/probe/hold-log.ts';
import type { Result } from './scenario.ts';

const HEAD = [
  '| scenario | what was done | probes | lost | outage | connections cut | |',
  '|---|---|---|---|---|---|---|',
];

export function tableOf(results: readonly Result[]): string {
  return [...HEAD, ...results.flatMap(rowsOf)].join('\n');
}

function rowsOf(result: Result): readonly string[] {
  const { name, measured } = result;
  const verdict = verdictOf(result);
  if (measured.length === 0) return [`| ${name} | | | | | | ${verdict} |`];
  return measured.map(({ what, outage: { sent, lost, resets, outageMs }, held }, index) => {
    const time = lost === 0 ? '–' : `${(outageMs / 1000).toFixed(2)} s`;
    const cut = held === undefined ? String(resets) : `${resets}; ${cutOf(held)}`;
    const first = index === 0 ? [name, verdict] : ['', ''];
    return `| ${first[0]} | ${what} | ${sent} | ${lost} | ${time} | ${cut} | ${first[1]} |`;
  });
}

function verdictOf({ failure, refusal, seconds }: Result): string {
  if (refusal !== undefined) return 'not played';
  return failure === undefined ? `as it should, ${Math.round(seconds)} s` : 'FAILED';
}

/** Of connections that were held open: how many, and by what. */
function cutOf({ open, cut, reasons }: Held): string {
  const parts = Object.entries(reasons).map(([reason, count]) => `${count} ${reason}`);
  return `${cut} of ${open} held${parts.length === 0 ? '' : ` (${parts.sort().join(', ')})`}`;
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
