/** A Plan as text: what changes on which node, and nothing of what stays. Pure. */

import { labelled, paint, type Style, type Tone } from '../control/style.ts';
import { type Cell, type Column, formatTable, type Row } from '../control/table.ts';
import type { NodePlan, Plan } from './plan.ts';

const COLUMNS: readonly Column[] = [
  { title: 'CHANGE', most: 10 },
  { title: 'WHAT', most: 24, spills: true },
  { title: 'ROUTER' },
];
const TONES: Readonly<Record<string, Tone>> = {
  open: 'good',
  announce: 'good',
  close: 'bad',
  withdraw: 'bad',
  refused: 'bad',
  restart: 'attention',
  change: 'attention',
};
/** beyond so many routes of one node they are counted */
const MOST = 50;

export function renderPlan({ nodes, notes }: Plan, style: Style): string {
  const touched = nodes.filter(isTouched);
  const same = nodes.length - touched.length;
  const rest = same === 0 ? '' : `Nothing changes on ${same} ${same === 1 ? 'node' : 'nodes'}\n`;
  return [
    ...touched.map((node) => renderNode(node, style)),
    rest,
    notes.map((note) => `${labelled('Note: ', note, style)}\n`).join(''),
  ]
    .filter((text) => text !== '')
    .join('\n');
}

export function isTouched({ sessions, routes }: NodePlan): boolean {
  return sessions.length + routes.length > 0;
}

function renderNode({ node, sessions, routes }: NodePlan, style: Style): string {
  const rows = [
    ...sessions.map(({ what, peer, sentence }) => row(what, 'session', peer, sentence)),
    ...routes
      .slice(0, MOST)
      .map(({ what, prefix, peer, sentence }) => row(what, prefix, peer, sentence)),
  ];
  const more = routes.length > MOST ? `and ${routes.length - MOST} routes more\n` : '';
  return `${paint(`Node ${node}`, 'strong', style)}\n${formatTable(COLUMNS, rows, style)}${more}`;
}

function row(what: string, about: string, peer: string, sentence: string | undefined): Row {
  const tone = TONES[what];
  const first: Cell = tone === undefined ? { text: what } : { text: what, tone };
  const notes: readonly Cell[] = sentence === undefined ? [] : [{ text: sentence, tone: 'faint' }];
  return { cells: [first, about, peer], notes };
}
