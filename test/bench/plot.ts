/**
 * The plot of docs/bench.svg: time from session up to the last route against the number of routes, both axes logarithmic, one line
 * per sender. Written by hand as SVG. All colours are readable on white and on black, the background is none.
 */

import type { TransferReport } from './results.ts';

type Point = { readonly routes: number; readonly ms: number };
type Series = { readonly name: string; readonly label: string; readonly points: readonly Point[] };

const size = { width: 840, height: 470 } as const;
const frame = { left: 76, right: 620, top: 62, bottom: 404 } as const;
const labelGap = 19;
/** what is faster than this is drawn as this: the observer asks every 2 ms */
const resolutionMs = 1;
const grey = '#8b8f98';

const colours: Readonly<Record<string, string>> = {
  herald: '#e5484d',
  prebuilt: grey,
  bird: '#3e8ede',
  'bird-awake': '#7fb3e8',
  frr: '#2f9e62',
  'frr-tuned': '#6fb58f',
  gobgp: '#a06be0',
  exabgp: '#cf8a1e',
};

function seriesOf(
  reports: readonly TransferReport[],
  labels: ReadonlyMap<string, string>,
): Series[] {
  const names = new Set(reports.flatMap((report) => report.senders.map((sender) => sender.name)));
  return [...names].map((name) => ({
    name,
    label: labels.get(name) ?? name,
    points: reports.flatMap((report) => {
      const ms = report.senders.find((sender) => sender.name === name)?.upToLastMs;
      return ms === undefined ? [] : [{ routes: report.routes, ms }];
    }),
  }));
}

const powers = (low: number, high: number): number[] =>
  Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index));

const text = (at: { x: number; y: number }, content: string, rest = ''): string =>
  `<text x="${at.x.toFixed(1)}" y="${at.y.toFixed(1)}" ${rest}>${content}</text>`;

const duration = (ms: number): string => (ms >= 1000 ? `${ms / 1000} s` : `${ms} ms`);

const measured = (ms: number): string =>
  ms >= 1000 ? `${(ms / 1000).toFixed(2)} s` : `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;

/** Pushes labels apart so that none overlaps its neighbour, keeping their order and staying close to their line's end. */
function spread(wanted: readonly number[]): number[] {
  const order = wanted.map((y, index) => ({ y, index })).sort((a, b) => a.y - b.y);
  const placed: number[] = [];
  let last = Number.NEGATIVE_INFINITY;
  for (const { y, index } of order) {
    last = Math.max(y, last + labelGap);
    placed[index] = last;
  }
  const overflow = Math.max(0, last - frame.bottom);
  return placed.map((y) => y - overflow);
}

export function plot(
  reports: readonly TransferReport[],
  labels: ReadonlyMap<string, string>,
  caption: string,
): string {
  const series = seriesOf(reports, labels).filter(({ points }) => points.length > 0);
  const all = series.flatMap(({ points }) => points);
  const decades = (values: readonly number[]): readonly [number, number] => [
    Math.floor(Math.log10(Math.min(...values))),
    Math.ceil(Math.log10(Math.max(...values))),
  ];
  const [xLow, xHigh] = decades(all.map((point) => point.routes));
  const [yLow, yHigh] = decades(all.map((point) => Math.max(point.ms, resolutionMs)));
  const x = (routes: number): number =>
    frame.left +
    ((Math.log10(routes) - xLow) / Math.max(1, xHigh - xLow)) * (frame.right - frame.left);
  const y = (ms: number): number =>
    frame.bottom -
    ((Math.log10(Math.max(ms, resolutionMs)) - yLow) / Math.max(1, yHigh - yLow)) *
      (frame.bottom - frame.top);

  const grid = [
    ...powers(yLow, yHigh).map(
      (ms) =>
        `<line x1="${frame.left}" x2="${frame.right}" y1="${y(ms).toFixed(1)}" y2="${y(ms).toFixed(1)}" class="grid"/>` +
        text({ x: frame.left - 10, y: y(ms) + 4 }, duration(ms), 'class="tick" text-anchor="end"'),
    ),
    ...powers(xLow, xHigh).map(
      (routes) =>
        `<line x1="${x(routes).toFixed(1)}" x2="${x(routes).toFixed(1)}" y1="${frame.top}" y2="${frame.bottom}" class="grid"/>` +
        text(
          { x: x(routes), y: frame.bottom + 22 },
          routes.toLocaleString('en'),
          'class="tick" text-anchor="middle"',
        ),
    ),
  ];
  const ends = spread(series.map(({ points }) => y(points.at(-1)?.ms ?? 1)));
  const lines = series.map((one, index) =>
    drawSeries(one, { x, y, labelY: ends[index] ?? frame.top }),
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${size.height}" role="img" aria-labelledby="title">
<title id="title">Session up to last route in BIRD's table, by number of routes</title>
<style>
  text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: ${grey}; }
  .head { font-size: 17px; font-weight: 600; }
  .tick { font-size: 12px; font-variant-numeric: tabular-nums; }
  .grid { stroke: ${grey}; stroke-opacity: 0.28; }
  .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
  .ours { stroke-width: 3.5; }
  .limit { stroke-dasharray: 6 5; }
</style>
${text({ x: frame.left, y: 26 }, 'Session up → last route in the receiver’s table', 'class="head"')}
${text({ x: frame.left, y: 47 }, 'host routes of one attribute set into BIRD over veth; both axes logarithmic, lower is faster')}
${grid.join('\n')}
${text({ x: (frame.left + frame.right) / 2, y: frame.bottom + 44 }, 'routes', 'text-anchor="middle"')}
${lines.join('\n')}
${text({ x: frame.left, y: size.height - 8 }, caption, 'class="tick"')}
</svg>
`;
}

type Place = {
  readonly x: (routes: number) => number;
  readonly y: (ms: number) => number;
  readonly labelY: number;
};

function drawSeries({ name, label, points }: Series, place: Place): string {
  const colour = colours[name] ?? grey;
  const at = points.map(({ routes, ms }) => ({ x: place.x(routes), y: place.y(ms) }));
  const path = at.map((point) => `${point.x.toFixed(1)},${point.y.toFixed(1)}`).join(' ');
  const kind = name === 'herald' ? ' ours' : name === 'prebuilt' ? ' limit' : '';
  const radius = name === 'herald' ? 5 : 3.5;
  const dots = at.map(
    (point) =>
      `<circle cx="${point.x.toFixed(1)}" cy="${point.y.toFixed(1)}" r="${radius}" fill="${colour}"/>`,
  );
  const last = at.at(-1);
  const value = measured(points.at(-1)?.ms ?? 0);
  const weight = name === 'herald' ? ';font-weight:700' : '';
  const lead =
    last === undefined
      ? ''
      : `<line x1="${(last.x + 7).toFixed(1)}" y1="${last.y.toFixed(1)}" x2="${(last.x + 22).toFixed(1)}" y2="${(place.labelY).toFixed(1)}" stroke="${colour}" stroke-opacity="0.5"/>`;
  return [
    `<polyline points="${path}" class="line${kind}" stroke="${colour}"/>`,
    ...dots,
    lead,
    text(
      { x: (last?.x ?? frame.right) + 27, y: place.labelY + 4 },
      `${label}  ${value}`,
      `style="fill:${colour}${weight}"`,
    ),
  ].join('');
}
