/**
 * The numbers of a run as data: medians per sender, ratios within the run, and the targets that ours has to meet. What is printed,
 * saved and drawn all comes from here.
 */

import type { DecodeReport } from './decode.ts';
import { median } from './median.ts';
import type { Rounds, SenderRuns } from './rounds.ts';
import type { SenderName } from './sender.ts';

export type Summary = {
  readonly name: SenderName;
  readonly runs: number;
  readonly failures: readonly string[];
  /** medians; absent when every run failed */
  readonly upToLastMs?: number;
  readonly startToLastMs?: number;
  readonly termToEmptyMs?: number;
  readonly peakResidentMiB?: number;
  /** every run, in the order of the rounds */
  readonly samples: {
    readonly upToLastMs: readonly number[];
    readonly startToLastMs: readonly number[];
    readonly termToEmptyMs: readonly number[];
  };
};

export type TransferReport = {
  readonly routes: number;
  readonly repeatedRounds: number;
  readonly senders: readonly Summary[];
};

export type BenchReport = {
  readonly date: string;
  readonly machine: string;
  readonly rounds: number;
  readonly versions: Readonly<Record<string, string>>;
  readonly methods: Readonly<Record<string, string>>;
  readonly transfers: readonly TransferReport[];
  readonly communities?: TransferReport;
  readonly decode?: DecodeReport;
  readonly targets: readonly Target[];
};

export type Target = {
  readonly what: string;
  readonly ours: string;
  readonly wanted: string;
  readonly isMet: boolean;
};

type Timing = 'upToLastMs' | 'startToLastMs' | 'termToEmptyMs';

const kibPerMib = 1024;
const tenths = (value: number): number => Math.round(value * 10) / 10;

function summary({ name, runs, failures }: SenderRuns): Summary {
  const take = (timing: Timing): number[] => runs.map((run) => tenths(run[timing]));
  const samples = {
    upToLastMs: take('upToLastMs'),
    startToLastMs: take('startToLastMs'),
    termToEmptyMs: take('termToEmptyMs'),
  };
  const head = { name, runs: runs.length, failures };
  if (runs.length === 0) return { ...head, samples };
  return {
    ...head,
    upToLastMs: median(samples.upToLastMs),
    startToLastMs: median(samples.startToLastMs),
    termToEmptyMs: median(samples.termToEmptyMs),
    peakResidentMiB: tenths(median(runs.map((run) => run.peakResidentKib)) / kibPerMib),
    samples,
  };
}

export const transferReport = (rounds: Rounds): TransferReport => ({
  routes: rounds.routes,
  repeatedRounds: rounds.repeated,
  senders: rounds.senders.map(summary),
});

const milliseconds = (value: number): string => `${value.toFixed(value < 100 ? 1 : 0)} ms`;

const routers: readonly SenderName[] = [
  'bird',
  'bird-awake',
  'frr',
  'frr-tuned',
  'gobgp',
  'exabgp',
];

/** A target against others of the same run, at most `factor` times the best of them. */
function against(
  report: TransferReport,
  timing: Timing,
  wanted: { readonly names: readonly SenderName[]; readonly factor: number; readonly text: string },
): Target[] {
  const of = (name: SenderName) => report.senders.find((sender) => sender.name === name)?.[timing];
  const ours = of('herald');
  const best = Math.min(...wanted.names.map((name) => of(name) ?? Number.POSITIVE_INFINITY));
  if (ours === undefined || best === Number.POSITIVE_INFINITY) return [];
  return [
    {
      what: `${report.routes.toLocaleString('en')} routes, ${timingText[timing]}`,
      ours: `${milliseconds(ours)}, ${(ours / best).toFixed(2)} ×`,
      wanted: `${wanted.text} (${milliseconds(best)})`,
      isMet: ours <= wanted.factor * best,
    },
  ];
}

export const timingText: Readonly<Record<Timing, string>> = {
  upToLastMs: 'session up → last route',
  startToLastMs: 'process start → last route',
  termToEmptyMs: 'SIGTERM → empty table',
};

const startBoundMs = 1_000;
const residentBoundMib = 120;
const fullSize = 100_000;

function fixedTargets(report: TransferReport): Target[] {
  const ours = report.senders.find((sender) => sender.name === 'herald');
  if (ours?.startToLastMs === undefined || ours.peakResidentMiB === undefined) return [];
  const routes = `${report.routes.toLocaleString('en')} routes`;
  return [
    {
      what: `${routes}, ${timingText.startToLastMs}`,
      ours: milliseconds(ours.startToLastMs),
      wanted: `≤ ${startBoundMs.toLocaleString('en')} ms`,
      isMet: ours.startToLastMs <= startBoundMs,
    },
    {
      what: `${routes}, peak memory`,
      ours: `${ours.peakResidentMiB} MiB`,
      wanted: `≤ ${residentBoundMib} MB`,
      // the bound is in megabytes, the stricter reading of "MB"
      isMet: (ours.peakResidentMiB * kibPerMib * kibPerMib) / 1e6 <= residentBoundMib,
    },
  ];
}

function fullTableTargets(report: TransferReport): Target[] {
  return [
    ...against(report, 'upToLastMs', {
      names: ['prebuilt'],
      factor: 1.5,
      text: '≤ 1.5 × the prebuilt bytes',
    }),
    ...against(report, 'upToLastMs', { names: routers, factor: 1, text: 'ahead of all four' }),
    ...fixedTargets(report),
    ...against(report, 'termToEmptyMs', {
      names: routers,
      factor: 1.5,
      text: '≤ 1.5 × the best router',
    }),
  ];
}

function decodeTargets(report: DecodeReport): Target[] {
  const rate = (name: string) => report.rows.find((row) => row.name === name)?.messagesPerSecond;
  const ours = rate('herald');
  const theirs = Math.max(
    ...report.rows.filter((row) => row.name !== 'herald').map((row) => row.messagesPerSecond),
  );
  if (ours === undefined) return [];
  return [
    {
      what: 'decoding an MRT file',
      ours: `${ours.toLocaleString('en')} msg/s, ${(ours / theirs).toFixed(2)} ×`,
      wanted: `≥ GoBGP at its best setting (${theirs.toLocaleString('en')} msg/s)`,
      isMet: ours >= theirs,
    },
  ];
}

export function targets(report: Omit<BenchReport, 'targets'>): Target[] {
  const full = report.transfers.find(({ routes }) => routes === fullSize);
  const own = report.communities;
  return [
    ...(full === undefined ? [] : fullTableTargets(full)),
    ...(own === undefined
      ? []
      : against(own, 'upToLastMs', {
          names: ['gobgp', 'exabgp'],
          factor: 1,
          text: 'own communities each: ahead of GoBGP and ExaBGP',
        })),
    ...(report.decode === undefined ? [] : decodeTargets(report.decode)),
  ];
}
