/**
 * `make bench-routers`: the speed and memory of Herald beside four routers, in one run. This file only leads through it: options,
 * what must be there, the namespaces, the rounds, the report. Progress goes to stderr, the tables to stdout.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname, join } from 'node:path';
import { createLab, type Lab } from '../support/netns.ts';
import { run } from '../support/process.ts';
import { UsageError } from './command-line.ts';
import { type DecodeReport, measureDecoders } from './decode.ts';
import { frrDump } from './frr-dump.ts';
import { makeLoad } from './load.ts';
import { network } from './network.ts';
import { type BenchOptions, benchOptions, usage } from './options.ts';
import { plot } from './plot.ts';
import { printed } from './print.ts';
import { type BenchReport, type TransferReport, targets, transferReport } from './results.ts';
import { playRounds } from './rounds.ts';
import type { Sender } from './sender.ts';
import { bird, birdAwake } from './senders/bird.ts';
import { exabgp } from './senders/exabgp.ts';
import { frr, frrTuned } from './senders/frr.ts';
import { gobgp } from './senders/gobgp.ts';
import { herald } from './senders/herald.ts';
import { prebuilt } from './senders/prebuilt.ts';
import type { Stage } from './transfer.ts';

const root = join(import.meta.dirname, '..', '..');
const rivals: readonly Sender[] = [bird, birdAwake, frr, frrTuned, gobgp, exabgp, herald];
const labels = new Map([prebuilt, ...rivals].map((sender) => [sender.name, sender.label]));

class NotReady extends Error {}

const progress = (line: string): void => {
  process.stderr.write(`bench: ${line}\n`);
};

async function isThere(command: string, args: readonly string[]): Promise<boolean> {
  try {
    await run(command, args, { anyStatus: true });
    return true;
  } catch {
    return false;
  }
}

async function versionOf(sender: Sender): Promise<string | undefined> {
  try {
    return await sender.version();
  } catch {
    return undefined;
  }
}

/** Versions of all that takes part, or one sentence about what is missing. */
async function ready(senders: readonly Sender[]): Promise<Record<string, string>> {
  if (process.getuid?.() !== 0) throw new NotReady('needs root, for network namespaces');
  const versions: Record<string, string> = {};
  const missing: string[] = [];
  for (const sender of [prebuilt, bird, frr, ...senders]) {
    const version = await versionOf(sender);
    if (version === undefined) missing.push(sender === herald ? 'dist/herald' : sender.label);
    else versions[sender.name] = version;
  }
  if (!(await isThere('go', ['version']))) missing.push('Go');
  if (missing.length > 0) {
    throw new NotReady(
      `missing: ${missing.join(', ')}; \`make setup build\` installs and builds them`,
    );
  }
  return versions;
}

function chosen(options: BenchOptions): Sender[] {
  if (!options.only.includes('transfer') && !options.only.includes('communities')) return [];
  if (options.senders.length === 0) return [...rivals];
  return options.senders.map((name) => {
    const sender = rivals.find((one) => one.name === name);
    if (sender === undefined) throw new UsageError(`--sender ${name}: no such sender`);
    return sender;
  });
}

async function setUp(lab: Lab): Promise<Stage> {
  const sender = await lab.host('sender', { forward: false });
  const receiver = await lab.host('receiver', { forward: false });
  await lab.link(receiver, sender, {
    a: [`${network.receiver}/${network.length}`],
    b: [`${network.sender}/${network.length}`],
    offload: true,
  });
  return { sender, receiver };
}

async function transfers(stage: Stage, options: BenchOptions, senders: readonly Sender[]) {
  const reports: TransferReport[] = [];
  const shared = { stage, control: prebuilt, senders, rounds: options.rounds, progress };
  for (const size of options.only.includes('transfer') ? options.sizes : []) {
    reports.push(transferReport(await playRounds({ ...shared, load: makeLoad('shared', size) })));
  }
  if (!options.only.includes('communities')) return { reports };
  const load = makeLoad('communities', options.communityRoutes);
  return { reports, communities: transferReport(await playRounds({ ...shared, load })) };
}

async function decoding(stage: Stage, options: BenchOptions): Promise<DecodeReport | undefined> {
  if (!options.only.includes('decode')) return undefined;
  const file = await frrDump(stage);
  const { rounds, decodeSeconds: seconds } = options;
  return await measureDecoders({ file, rounds, seconds, progress });
}

function save(report: BenchReport, options: BenchOptions): void {
  const json = `${JSON.stringify(report, undefined, 2)}\n`;
  mkdirSync(dirname(options.json), { recursive: true });
  writeFileSync(options.json, json);
  const folder = options.save ? join(root, 'docs') : dirname(options.json);
  if (options.save) writeFileSync(join(folder, 'bench.json'), json);
  if (report.transfers.length === 0) return;
  const caption = `medians of ${report.rounds}; ${report.machine}; ${report.date.slice(0, 10)}`;
  writeFileSync(join(folder, 'bench.svg'), plot(report.transfers, labels, caption));
}

const machine = (): string => `${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}`;

/** 0, or 1 when some sender brought no run to its end: then its column is empty and the report is not one. */
async function bench(options: BenchOptions): Promise<number> {
  const senders = chosen(options);
  const versions = await ready(senders);
  const methods = Object.fromEntries([prebuilt, ...senders].map((one) => [one.name, one.method]));
  const lab = createLab('bench');
  try {
    const stage = await setUp(lab);
    const { reports, communities } = await transfers(stage, options, senders);
    const decode = await decoding(stage, options);
    const measured = {
      date: new Date().toISOString(),
      machine: machine(),
      rounds: options.rounds,
      versions,
      methods,
      transfers: reports,
      ...(communities === undefined ? {} : { communities }),
      ...(decode === undefined ? {} : { decode }),
    };
    const report = { ...measured, targets: targets(measured) };
    save(report, options);
    process.stdout.write(printed(report, labels));
    const all = [...reports, ...(communities === undefined ? [] : [communities])];
    return all.some(({ senders: rows }) => rows.some((row) => row.runs === 0)) ? 1 : 0;
  } finally {
    await lab.destroy();
  }
}

async function main(): Promise<number> {
  try {
    const options = benchOptions(process.argv.slice(2));
    if (options !== undefined) return await bench(options);
    process.stdout.write(usage);
    return 0;
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof NotReady)) throw error;
    process.stderr.write(`bench: ${error.message}\n`);
    return error instanceof UsageError ? 2 : 1;
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
process.exitCode = await main();
