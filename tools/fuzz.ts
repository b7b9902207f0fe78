/**
 * make fuzz: 1,000,000 mutated messages through the codec, in bounded time and memory.
 *
 *   node --conditions=bgp-ts-source --expose-gc tools/fuzz.ts [--seed N] [--count N]
 *
 * The same seed makes the same run. Exit 0 if nothing crashed, hung or leaked. What crashed becomes a vector in
 * test/vectors/bgp/fuzz-SEED-INDEX.json, whose expectation a person has to write: until then the unit ring is red.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { formatHex, PLAIN_CONTEXT } from 'bgp-ts';
import type { Counts, Crash } from './fuzz-campaign.ts';
import { CONTEXTS, VECTOR_FOLDER } from './fuzz-seeds.ts';
import { SHARED_HEADER, WARM_UP, type WorkerInput, type WorkerReport } from './fuzz-worker.ts';

const DEFAULT_SEED = 4271;
const DEFAULT_COUNT = 1_000_000;
const HANG_MS = 10_000;
const MAX_GROWTH_BYTES = 10 * 1024 * 1024;
const SHOW_EVERY_MS = 2000;

type Done = Extract<WorkerReport, { readonly kind: 'done' }>;
type Outcome =
  | { readonly kind: 'done'; readonly done: Done }
  | { readonly kind: 'hang'; readonly crash: Crash };

function readOptions(): { readonly seed: number; readonly count: number } | undefined {
  const { values } = parseArgs({
    options: { seed: { type: 'string' }, count: { type: 'string' } },
  });
  const seed = Number(values.seed ?? DEFAULT_SEED);
  const count = Number(values.count ?? DEFAULT_COUNT);
  if (!Number.isSafeInteger(seed) || !Number.isSafeInteger(count) || count < 1) {
    return undefined;
  }
  return { seed, count };
}

/** Runs the campaign in a thread and watches that it goes on. */
function runWatched(seed: number, count: number): Promise<Outcome> {
  const shared = new SharedArrayBuffer(SHARED_HEADER + 2 * 65536);
  const workerData: WorkerInput = { seed, count, shared };
  const worker = new Worker(new URL('./fuzz-worker.ts', import.meta.url), { workerData });
  const header = new Int32Array(shared, 0, 3);
  return new Promise((resolve, reject) => {
    let lastIndex = -1;
    const watchdog = setInterval(() => {
      const index = Atomics.load(header, 0);
      if (index === lastIndex && index + 1 < count) {
        const octets = new Uint8Array(shared, SHARED_HEADER, Atomics.load(header, 1));
        const what = `no answer within ${HANG_MS} ms`;
        settle(() => {
          const context = CONTEXTS[Atomics.load(header, 2)] ?? PLAIN_CONTEXT;
          const crash = { index, hex: formatHex(octets), context, what };
          resolve({ kind: 'hang', crash });
        });
      }
      lastIndex = index;
    }, HANG_MS);
    const settle = (how: () => void) => {
      clearInterval(watchdog);
      how();
      void worker.terminate();
    };
    const show = progressLine(count);
    worker.on('message', (report: WorkerReport) => {
      if (report.kind === 'progress') show(report.done, report.counts);
      else settle(() => resolve({ kind: 'done', done: report }));
    });
    worker.on('error', (error) => settle(() => reject(error)));
  });
}

function progressLine(count: number): (done: number, counts: Counts) => void {
  const started = performance.now();
  let shown = started;
  return (done, counts) => {
    const now = performance.now();
    if (now - shown < SHOW_EVERY_MS && done < count) return;
    shown = now;
    const rate = Math.round(done / ((now - started) / 1000));
    const crashes = counts['CRASH'] ?? 0;
    say(
      `${done.toLocaleString('en')} of ${count.toLocaleString('en')}, ${rate.toLocaleString('en')}/s, ${crashes} crashes`,
    );
  };
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function writeVector(seed: number, crash: Crash): string {
  const { index, hex, context, what } = crash;
  const path = join(VECTOR_FOLDER, `fuzz-${seed}-${index}.json`);
  const vector = {
    name: `message ${index} of seed ${seed}`,
    source: `fuzz: ${what.split('\n')[0]}; put here what the RFCs want`,
    negotiated: context,
    hex,
    // matches nothing: the unit ring stays red until somebody has decided
    fault: { code: 0, subcode: 0 },
  };
  writeFileSync(path, `${JSON.stringify([vector], null, 2)}\n`);
  return path;
}

function summary(counts: Counts): void {
  const width = Math.max(...Object.keys(counts).map((key) => key.length));
  const rows = Object.entries(counts).toSorted(([, a], [, b]) => b - a);
  for (const [outcome, number] of rows) {
    say(`  ${outcome.padEnd(width)} ${number.toLocaleString('en').padStart(10)}`);
  }
}

const megabytes = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(1)} MB`;

async function main(): Promise<number> {
  const options = readOptions();
  if (options === undefined || globalThis.gc === undefined) {
    process.stderr.write('usage: node --expose-gc tools/fuzz.ts [--seed N] [--count N]\n');
    return 2;
  }
  const { seed, count } = options;
  say(`fuzz: seed ${seed}, ${count.toLocaleString('en')} messages`);
  const started = performance.now();
  const outcome = await runWatched(seed, count);
  if (outcome.kind === 'hang') {
    say(`HANG ${outcome.crash.what}: ${writeVector(seed, outcome.crash)}`);
    return 1;
  }
  const { result, heapEarlyBytes, heapEndBytes } = outcome.done;
  summary(result.counts);
  const seconds = (performance.now() - started) / 1000;
  const rate = Math.round(count / seconds).toLocaleString('en');
  const growth = heapEndBytes - heapEarlyBytes;
  say(
    `${seconds.toFixed(1)} s, ${rate} messages/s, slowest message ${result.slowestMs.toFixed(1)} ms`,
  );
  say(
    `heap ${megabytes(heapEarlyBytes)} after ${WARM_UP.toLocaleString('en')}, ${megabytes(heapEndBytes)} at the end: ${megabytes(growth)} more, ${megabytes(MAX_GROWTH_BYTES)} allowed`,
  );
  for (const crash of result.crashes) {
    say(`CRASH ${crash.what}\n  ${writeVector(seed, crash)}`);
  }
  return result.crashes.length === 0 && growth <= MAX_GROWTH_BYTES ? 0 : 1;
}

process.exitCode = await main();
