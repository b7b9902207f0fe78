/**
 * Makes docs/demo.svg, the picture of the README: runs the demo for real, keeps what its terminal view shows at one moment of each step,
 * and writes the frames as one SVG that shows them in turn (and the freeze alone where motion is not wanted).
 *
 *   node --conditions=bgp-ts-source tools/demo-picture.ts
 */

import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Demo } from '../src/demo/demo.ts';
import { frame } from '../src/demo/terminal-frame.ts';
import type { Line, Piece, StyleName } from '../src/demo/terminal-text.ts';

const root = join(import.meta.dirname, '..');
const OUTPUT = join(root, 'docs/demo.svg');
const MAX_OCTETS = 150_000;
/** how far into each step the picture is taken: when there is something to see */
const MOMENTS_MS = [1800, 3500, 2500, 700, 1950, 1700, 1200, 2600] as const;
const STILL = 4;
const SHOWN_SECONDS = 3.5;
const COLUMNS = 80;
const CELL = { width: 8.43, height: 18 } as const;
const PADDING = 14;

const COLORS: Readonly<Record<StyleName, string>> = {
  plain: '#d7dde5',
  bold: '#ffffff',
  dim: '#8593a3',
  title: '#0e131a',
  good: '#5fd787',
  bad: '#ff5f5f',
  warn: '#ffaf00',
  cold: '#5fafff',
  node1: '#5fd7d7',
  node2: '#afafff',
  node3: '#d7d787',
};

const demo = new Demo({
  program: {
    command: process.execPath,
    args: ['--conditions=bgp-ts-source', join(root, 'src/cli/main.ts')],
    env: process.env,
  },
  temporary: tmpdir(),
  speed: 1,
  isHoldBroken: false,
});
const frames: string[] = [];

const over = new Promise<boolean>((resolve) => {
  demo.onStory(({ event }) => {
    if (event.kind === 'step') {
      setTimeout(() => frames.push(drawFrame()), MOMENTS_MS[event.step] ?? 1000);
    }
    if (event.kind === 'over') resolve(event.isSeen);
  });
});
await demo.start();
const isSeen = await over;
await demo.stop();
if (!isSeen || frames.length !== MOMENTS_MS.length) {
  process.stderr.write('the story was not seen to its end; no picture was made\n');
  process.exitCode = 1;
} else {
  const svg = document(frames);
  if (Buffer.byteLength(svg) > MAX_OCTETS) throw new Error(`${svg.length} octets are too many`);
  writeFileSync(OUTPUT, svg);
  process.stdout.write(`docs/demo.svg: ${frames.length} frames, ${svg.length} octets\n`);
}

function drawFrame(): string {
  const lines = frame(demo.scene(), { selected: 0, columns: COLUMNS, url: undefined });
  return lines.map((line, at) => drawLine(line, at)).join('');
}

/** neighbours of one style are one piece of text; each says where it begins, whatever font there is */
function drawLine(line: Line, row: number): string {
  const y = PADDING + (row + 1) * CELL.height - 5;
  let column = 0;
  const drawn = merge(line).map(({ text, style }) => {
    const x = PADDING + column * CELL.width;
    const length = [...text].length;
    column += length;
    if (text.trim() === '') return '';
    const width = (length * CELL.width).toFixed(1);
    const box =
      style === 'title'
        ? `<rect x="${x.toFixed(1)}" y="${y - 13}" width="${width}" height="17" rx="3" class="t"/>`
        : '';
    return `${box}<text x="${x.toFixed(1)}" y="${y}" textLength="${width}" class="${style}">${escapeText(text)}</text>`;
  });
  return drawn.join('');
}

function merge(line: Line): readonly Piece[] {
  const merged: Piece[] = [];
  for (const { text, style } of line) {
    const last = merged.at(-1);
    if (last?.style === style) merged[merged.length - 1] = { text: last.text + text, style };
    else merged.push({ text, style });
  }
  return merged;
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

function document(pictures: readonly string[]): string {
  const width = Math.round(COLUMNS * CELL.width + 2 * PADDING);
  const height = 22 * CELL.height + 2 * PADDING;
  const total = pictures.length * SHOWN_SECONDS;
  const part = (100 / pictures.length).toFixed(3);
  const styles = Object.entries(COLORS).map(([name, color]) => `.${name}{fill:${color}}`);
  const delays = pictures.map(
    (_, at) => `.f${at}{animation-delay:${(at * SHOWN_SECONDS).toFixed(1)}s}`,
  );
  const css = `text{font:14px ui-monospace,Menlo,"DejaVu Sans Mono",monospace;white-space:pre}.bold,.title{font-weight:700}.t{fill:#d7dde5}
${styles.join('')}
.f{opacity:0;animation:f ${total}s step-end infinite}@keyframes f{0%{opacity:1}${part}%{opacity:0}}
${delays.join('')}
@media(prefers-reduced-motion:reduce){.f{animation:none}.f${STILL}{opacity:1}}`;
  const groups = pictures.map((picture, at) => `<g class="f f${at}">${picture}</g>`).join('\n');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="herald demo in a terminal, step by step">
<title>herald demo in a terminal, step by step</title>
<style>${css}</style>
<rect width="${width}" height="${height}" rx="10" fill="#0e131a"/>
${groups}
</svg>
`;
}
