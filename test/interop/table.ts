/** The interop table as Markdown, and read back from it, so that the document can be compared with the run. */

import type { RouterKind } from './routers/router.ts';

export type Verdict =
  | { readonly kind: 'pass'; readonly evidence: readonly string[] }
  | { readonly kind: 'fail'; readonly error: Error }
  | { readonly kind: 'n/a'; readonly reason: string; readonly note: number };

export type Result = {
  readonly router: RouterKind;
  readonly row: string;
  readonly verdict: Verdict;
};

export type Excuse = {
  readonly router: RouterKind;
  readonly row: string;
  readonly reason: string;
  readonly quote: string;
  readonly source: string;
  readonly absent?: readonly string[];
};

export type Report = {
  readonly routers: readonly RouterKind[];
  readonly rows: readonly string[];
  readonly results: readonly Result[];
  readonly excuses: readonly Excuse[];
  /** `BIRD 2.0.12` and so on, with the kernel. */
  readonly versions: readonly string[];
};

function find(report: Report, router: RouterKind, row: string): Verdict {
  const found = report.results.find((each) => each.router === router && each.row === row);
  if (found === undefined) throw new Error(`no verdict for ${router}: ${row}`);
  return found.verdict;
}

function cellText(verdict: Verdict): string {
  return verdict.kind === 'n/a'
    ? `n/a: ${verdict.reason} [${verdict.note}](#not-applicable)`
    : verdict.kind;
}

export function tableLines(report: Report): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [
    line(['', ...report.routers]),
    line(['---', ...report.routers.map(() => '---')]),
    ...report.rows.map((row) =>
      line([row, ...report.routers.map((router) => cellText(find(report, router, row)))]),
    ),
  ];
}

/** `bird: row` → the verdict's kind, from a document made by `formatReport`. */
export function parseTable(markdown: string): Map<string, string> {
  const kinds = new Map<string, string>();
  const lines = markdown.split('\n').filter((line) => line.startsWith('| '));
  const [head = [], , ...body] = lines.map((line) => line.slice(2, -2).split(' | '));
  for (const [row, ...cells] of body) {
    for (const [index, cell] of cells.entries()) {
      kinds.set(`${head[index + 1]}: ${row}`, cell.startsWith('n/a') ? 'n/a' : cell);
    }
  }
  return kinds;
}

export function formatReport(report: Report): string {
  const count = (kind: Verdict['kind']) =>
    report.results.filter((each) => each.verdict.kind === kind).length;
  return [
    '# Interop: our speaker against five routers',
    '',
    'Written by the interop ring itself (`HERALD_SAVE_INTEROP=1 make interop`, as root); every run compares its own verdicts with',
    'this table and fails where they differ. Each cell is a router and our speaker in network namespaces of their own.',
    'What a cell was judged by stands below: the router command whose output was read, or a Wireshark display filter over a capture of',
    'the link. One more run of "attributes arrive as sent" per router, with a MED one higher than expected, has to fail, and does.',
    '',
    ...report.versions.map((version) => `- ${version}`),
    '',
    ...tableLines(report),
    '',
    `${count('pass')} pass, ${count('fail')} fail, ${count('n/a')} n/a.`,
    '',
    '## Not applicable',
    '',
    ...report.excuses.map(
      (each, index) =>
        `${index + 1}. ${each.router}, ${each.row}: ${each.reason} “${each.quote}” (\`${each.source}\`${absence(each)})`,
    ),
    '',
    '## Evidence',
    '',
    ...report.rows.flatMap((row) => [
      `### ${row}`,
      '',
      ...report.routers.map((router) => evidenceLine(router, find(report, router, row))),
      '',
    ]),
  ].join('\n');
}

function evidenceLine(router: RouterKind, verdict: Verdict): string {
  if (verdict.kind === 'pass') return `- ${router}: ${verdict.evidence.join('; ')}`;
  if (verdict.kind === 'n/a') return `- ${router}: n/a, note ${verdict.note}`;
  return `- ${router}: ${verdict.error.message.split('\n')[0]}`;
}

function absence({ absent = [] }: Excuse): string {
  return absent.length === 0 ? '' : `, which has no word of ${absent.join(', ')}`;
}
