/**
 * What the terminal shows of a scene: at most 23 lines of 80 columns, the same height whatever happens, so that nothing jumps. Pure.
 */

import { nameOf } from './cast.ts';
import type { Scene, SceneNode, SceneStep } from './scene.ts';
import { type Line, type Piece, piece, type StyleName, wrap } from './terminal-text.ts';

export interface FrameOptions {
  /** id of the machine that keys act on */
  readonly selected: number;
  readonly columns: number;
  readonly url: string | undefined;
}

const MARGIN = 2;
const WIDEST = 100;
const NARROWEST = 40;
const NODE_STYLES: readonly StyleName[] = ['node1', 'node2', 'node3'];
const INDENT = piece('  ');

export function frame(scene: Scene, options: FrameOptions): readonly Line[] {
  const width = Math.max(NARROWEST, Math.min(options.columns, WIDEST) - 2 * MARGIN);
  return [
    titleLine(scene, width),
    [],
    ...narrative(scene, width),
    [],
    ...machines(scene, options.selected),
    [],
    ...table(scene, width),
    [],
    ...requests(scene, width),
    [],
    ...footer(scene, options),
  ];
}

function titleLine({ elapsedMs, isHoldBroken }: Scene, width: number): Line {
  const name = ' herald demo ';
  const what = isHoldBroken
    ? '  broken on purpose: the hold timer never fires'
    : '  one address, three machines, one router';
  const time = `${(elapsedMs / 1000).toFixed(1)} s`;
  const gap = Math.max(1, width - name.length - what.length - time.length);
  return [INDENT, piece(name, 'title'), piece(what), piece(' '.repeat(gap)), piece(time, 'dim')];
}

const MARKS: Readonly<Record<SceneStep['state'], Piece>> = {
  seen: piece('✓ ', 'good'),
  failed: piece('✗ ', 'bad'),
  running: piece('▸ ', 'warn'),
  waiting: piece('· ', 'dim'),
  skipped: piece('- ', 'dim'),
};

/** six lines, whatever is told */
function narrative(scene: Scene, width: number): readonly Line[] {
  const { steps, step } = scene;
  const current = steps[step];
  const head =
    current === undefined
      ? piece(outcome(scene), scene.steps.some(({ state }) => state === 'failed') ? 'bad' : 'bold')
      : piece(`Step ${step + 1} of ${steps.length}  ${current.title}`, 'bold');
  const marks = steps.map(({ state }) => MARKS[state]);
  const told = current === undefined ? afterwards(scene) : [current.text, `Look: ${current.look}`];
  const lines = told.flatMap((text) => wrap(text, width)).map((text) => [INDENT, piece(text)]);
  const seen = (current ?? steps.findLast(({ state }) => state === 'seen'))?.sentence ?? '';
  const last = seen === '' ? [] : [INDENT, piece(`seen: ${seen}`, 'good')];
  return [[INDENT, ...marks, piece(' '), head], ...pad(lines.slice(0, 4), 4), last];
}

function outcome({ steps }: Scene): string {
  const failed = steps.find(({ state }) => state === 'failed');
  if (failed !== undefined) return `NOT seen at the router: ${failed.title}`;
  const isSkipped = steps.some(({ state }) => state === 'skipped');
  return isSkipped ? 'The rest of the story was skipped' : 'Every step was seen at the router';
}

function afterwards({ steps, notice }: Scene): readonly string[] {
  const failed = steps.find(({ state }) => state === 'failed');
  const how = failed === undefined ? [] : [failed.sentence];
  const hint =
    'Now it is yours: choose a machine with 1, 2, 3 and see what the router makes of it.';
  return [...how, hint, notice];
}

function pad(lines: readonly Line[], height: number): readonly Line[] {
  return [...lines, ...Array.from({ length: height - lines.length }, () => [])];
}

function machines({ nodes }: Scene, selected: number): readonly Line[] {
  const head = '    MACHINE            API SERVER  JOINED   SESSION       ROUTE AT THE ROUTER';
  return [[piece(head, 'dim')], ...nodes.map((node) => machine(node, node.id === selected))];
}

function machine(node: SceneNode, isSelected: boolean): Line {
  const { id, name, address, isApiUp, power } = node;
  return [
    piece(isSelected ? '  ▸ ' : '    ', 'bold'),
    piece(name, NODE_STYLES[id - 1] ?? 'plain'),
    piece(` ${address}`.padEnd(13), 'dim'),
    power === 'frozen' ? cell('frozen', 12, 'cold') : apiCell(isApiUp),
    joinedCell(node),
    sessionCell(node),
    routePiece(node),
  ];
}

function cell(text: string, width: number, style: StyleName): Piece {
  return piece(text.padEnd(width), style);
}

function apiCell(isUp: boolean): Piece {
  return isUp ? cell('up', 12, 'good') : cell('down', 12, 'dim');
}

function joinedCell({ joined }: SceneNode): Piece {
  if (joined === undefined) return cell('?', 9, 'dim');
  return joined === 'open' ? cell('yes', 9, 'good') : cell('no', 9, 'dim');
}

function sessionCell({ power, isSession, agentSession }: SceneNode): Piece {
  if (power === 'frozen') return cell('frozen', 14, 'cold');
  if (power === 'dead') return cell('dead', 14, 'bad');
  return cell(agentSession, 14, isSession ? 'good' : 'dim');
}

function routePiece({ route, power, isDraining }: SceneNode): Piece {
  if (route === 'used')
    return power === 'frozen' ? piece('● in use', 'cold') : piece('● in use', 'good');
  if (route === 'spare') return piece('◐ draining', 'warn');
  return piece(isDraining ? '○ drained' : '○ none', 'dim');
}

/** how the router spreads new requests: one bar, as long for each next hop as its part */
function table(
  { nodes, prefix, holdSeconds, isHoldBroken }: Scene,
  width: number,
): readonly Line[] {
  const used = nodes.filter(({ route }) => route === 'used');
  const hops = `${used.length} next hop${used.length === 1 ? '' : 's'}`;
  const hold = isHoldBroken ? 'off' : `${holdSeconds} s`;
  const head = [INDENT, piece('ROUTER ', 'dim'), piece(prefix, 'bold'), piece(` via ${hops}`)];
  const bar = used.flatMap(({ id, share }, at) => {
    const from = Math.round((at * width) / used.length);
    const to = Math.round(((at + 1) * width) / used.length);
    const label = ` ${nameOf(id)} ${share} % `;
    const rest = '━'.repeat(Math.max(0, to - from - label.length - 2));
    return [piece(`━${label}${rest} `, NODE_STYLES[id - 1] ?? 'plain')];
  });
  const empty = piece('no route to host'.padEnd(width), 'dim');
  return [
    [...head, piece(`   hold time ${hold}`, 'dim')],
    [INDENT, ...(used.length === 0 ? [empty] : bar)],
  ];
}

function requests({ requests: counts, strip }: Scene, width: number): readonly Line[] {
  const answered = counts.answered.reduce((sum, each) => sum + each, 0);
  const every = `one every ${counts.everyMs} ms`;
  const marks = [...strip.marks].slice(-width).map(mark);
  return [
    [
      INDENT,
      piece('REQUESTS ', 'dim'),
      piece(`${answered} answered`, 'good'),
      piece('  '),
      piece(`${counts.lost} lost`, counts.lost > 0 ? 'bad' : 'dim'),
      piece(`  ${counts.unroutable} without a route   ${every}`, 'dim'),
    ],
    [INDENT, ...marks],
  ];
}

function mark(character: string): Piece {
  const style = NODE_STYLES['123'.indexOf(character)];
  if (style !== undefined) return piece('▮', style);
  if (character === '-') return piece('·', 'dim');
  return 'xyz'.includes(character) ? piece('▯', 'dim') : piece('×', 'bad');
}

function footer({ mode, notice }: Scene, { selected, url }: FrameOptions): readonly Line[] {
  const keys =
    mode === 'story'
      ? 's skip the story   q quit'
      : `1 2 3 machine   on ${nameOf(selected)}: d drain  f freeze  k kill  a API server   q quit`;
  const page = url === undefined ? [] : [INDENT, piece('page  ', 'dim'), piece(url, 'plain')];
  const said = mode === 'story' ? notice : '';
  return [[INDENT, piece(keys, 'bold')], page, [INDENT, piece(said, 'warn')]];
}
