/** The tables of a report as text. */

import type { DecodeReport } from './decode.ts';
import type { BenchReport, Summary, TransferReport } from './results.ts';

type Cell = string | number | undefined;

type Side = 'left' | 'right';

/** Columns as wide as their widest cell; the first one is text, the others are numbers unless `side` says otherwise. */
function table(
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  side: Side = 'right',
): string {
  const text = [head, ...rows.map((row) => row.map((cell) => String(cell ?? '–')))];
  const widths = head.map((_, column) => Math.max(...text.map((row) => row[column]?.length ?? 0)));
  const lines = text.map((row) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return column === 0 || side === 'left' ? cell.padEnd(width) : cell.padStart(width);
      })
      .join('  ')
      .trimEnd(),
  );
  const rule = widths.map((width) => '─'.repeat(width)).join('  ');
  return [lines[0], rule, ...lines.slice(1)].map((line) => `  ${line}\n`).join('');
}

const ms = (value: number | undefined): string | undefined =>
  value === undefined ? undefined : value.toFixed(value < 100 ? 1 : 0);

function transferTable(report: TransferReport, labels: ReadonlyMap<string, string>): string {
  const limit = report.senders.find((sender) => sender.name === 'prebuilt')?.upToLastMs;
  const ratio = (sender: Summary): string | undefined =>
    sender.upToLastMs === undefined || limit === undefined
      ? undefined
      : `${(sender.upToLastMs / limit).toFixed(2)} ×`;
  const head = [
    '',
    'up → last ms',
    'to limit',
    'start → last ms',
    'TERM → empty ms',
    'peak MiB',
    'runs',
  ];
  const rows = report.senders.map((sender) => [
    labels.get(sender.name) ?? sender.name,
    ms(sender.upToLastMs),
    ratio(sender),
    ms(sender.startToLastMs),
    ms(sender.termToEmptyMs),
    sender.peakResidentMiB,
    sender.failures.length === 0 ? sender.runs : `${sender.runs}, ${sender.failures.length} failed`,
  ]);
  return table(head, rows);
}

function decodeTable(report: DecodeReport): string {
  const base = report.rows.find((row) => row.name === 'gobgp')?.messagesPerSecond ?? 1;
  const rows = report.rows.map((row) => [
    row.label,
    row.messagesPerSecond.toLocaleString('en'),
    `${(row.messagesPerSecond / base).toFixed(2)} ×`,
    row.samples.length,
  ]);
  return table(['', 'messages/s', 'to GoBGP', 'runs'], rows);
}

export function printed(report: BenchReport, labels: ReadonlyMap<string, string>): string {
  const versions = Object.entries(report.versions).map(([name, version]) => `${name} ${version}`);
  const parts = [
    `${report.date}, ${report.machine}\n${versions.join(' · ')}\nmedians of ${report.rounds} interleaved rounds\n`,
  ];
  for (const one of report.transfers) {
    const size = one.routes.toLocaleString('en');
    parts.push(`${size} /32 of one attribute set into BIRD\n${transferTable(one, labels)}`);
  }
  if (report.communities !== undefined) {
    const size = report.communities.routes.toLocaleString('en');
    parts.push(
      `${size} /32, each with communities of its own\n${transferTable(report.communities, labels)}`,
    );
  }
  if (report.decode !== undefined) {
    const { messages, prefixes } = report.decode;
    const size = `${messages.toLocaleString('en')} messages, ${prefixes.toLocaleString('en')} routes`;
    parts.push(`decoding an MRT file that FRR wrote: ${size}\n${decodeTable(report.decode)}`);
  }
  if (report.targets.length > 0) {
    const rows = report.targets.map(({ what, ours, wanted, isMet }) => [
      `${isMet ? 'met   ' : 'missed'}  ${what}`,
      ours,
      wanted,
    ]);
    parts.push(`targets\n${table(['', 'ours', 'wanted'], rows, 'left')}`);
  }
  return parts.join('\n');
}
