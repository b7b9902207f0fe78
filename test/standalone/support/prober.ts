/**
 * Probes from the client's namespace and what they say about an outage. Counted is what a client would have noticed: probes without an
 * answer, the time from the first of them to the last, the longest time in which nobody answered at all, and, beside them, connections that
 * were open when their way changed: no router without state can keep those.
 */

import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import type { Host } from '../../support/netns.ts';
import { done, notYet, until } from '../../support/poll.ts';
import type { Running } from '../../support/process.ts';

export type Probe = {
  readonly sentMs: number;
  readonly latencyMs: number;
  /** The server that answered. */
  readonly who?: string;
  /** Why there was no answer: timeout, reset, ECONNREFUSED, EHOSTUNREACH, … */
  readonly lost?: string;
};

export type ProberOptions = {
  readonly address: string;
  readonly port: number;
  readonly everyMs: number;
  /** An end that does not depend on anybody: no prober sends for longer. */
  readonly seconds: number;
  /** By plain HTTP unless said; HTTPS tells servers apart by the name in their certificates; UDP is one packet each way. */
  readonly by?: { readonly https: string } | 'udp';
};

export type Outage = {
  readonly sent: number;
  /** Without an answer, except `resets`. */
  readonly lost: number;
  /** Connections that were open when their way changed, or their server died, and were reset. */
  readonly resets: number;
  /** From the first lost probe until one interval after the last; 0 when none was lost. */
  readonly outageMs: number;
  /** The longest time between two answered probes, by when they were sent. */
  readonly longestGapMs: number;
  /** How many each server answered. */
  readonly answeredBy: Readonly<Record<string, number>>;
  /** How many were lost for which reason. */
  readonly reasons: Readonly<Record<string, number>>;
};

const resetWhileOpen = 'reset';
let probers = 0;
const program = join(import.meta.dirname, 'prober-main.ts');

export class Prober {
  readonly #child: Running;
  readonly #output: string;
  readonly #everyMs: number;
  readonly #probes: Probe[] = [];
  #readBytes = 0;

  private constructor(child: Running, output: string, everyMs: number) {
    this.#child = child;
    this.#output = output;
    this.#everyMs = everyMs;
  }

  /** Returns when the first probes are out. */
  static async start(host: Host, options: ProberOptions): Promise<Prober> {
    probers += 1;
    const output = join(host.folder, `probes-${probers}.log`);
    const count = Math.ceil((options.seconds * 1000) / options.everyMs);
    const numbers = [options.port, options.everyMs, count].map(String);
    const args = [program, manner(options.by), options.address, ...numbers, output];
    const child = host.spawn(`prober-${probers}`, process.execPath, args);
    const prober = new Prober(child, output, options.everyMs);
    await until('the prober has an outcome', () => {
      if (!child.isRunning && child.log() !== '') throw new Error(child.log());
      return prober.read().length > 0 ? done(true) : notYet('none');
    });
    return prober;
  }

  /** What has been decided so far; the youngest second may still be open. Only what was written since the last time is read. */
  read(): readonly Probe[] {
    if (!existsSync(this.#output)) return [];
    const file = openSync(this.#output, 'r');
    try {
      const bytes = Buffer.alloc(fstatSync(file).size - this.#readBytes);
      const count = readSync(file, bytes, 0, bytes.length, this.#readBytes);
      const whole = bytes.subarray(0, bytes.lastIndexOf(0x0a, count - 1) + 1);
      this.#readBytes += whole.length;
      for (const probe of parseProbes(whole.toString())) this.#probes.push(probe);
      return this.#probes;
    } finally {
      closeSync(file);
    }
  }

  /** Ends the sending, waits for the last outcome. */
  async stop(): Promise<readonly Probe[]> {
    await this.#child.stop();
    return this.read();
  }

  /** The verdict about a span, once all of its probes are decided. */
  async outage(fromMs: number, toMs: number): Promise<Outage> {
    const probes = await until(
      'every probe of the span is decided',
      () => {
        const all = this.read();
        if (!this.#child.isRunning) return done(all);
        // a hundred moves at 1,000 probes a second are more than a call takes as arguments
        const newest = all.reduce((last, p) => Math.max(last, p.sentMs + p.latencyMs), 0);
        // Later ones may be decided first: what was sent a second before the newest outcome is all there.
        return newest > toMs + 1000 ? done(all) : notYet(newest - toMs);
      },
      { timeoutMs: 5_000, everyMs: 100 },
    );
    return analyse(probes, fromMs, toMs, this.#everyMs);
  }
}

function manner(by: ProberOptions['by']): string {
  if (by === undefined) return 'plain';
  return by === 'udp' ? by : `https:${by.https}`;
}

export function parseProbes(text: string): Probe[] {
  // The last line may be half written.
  const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const [sent = '', latency = '', outcome = ''] = line.split(' ');
      const times = { sentMs: Number(sent), latencyMs: Number(latency) };
      return outcome.startsWith('!')
        ? { ...times, lost: outcome.slice(1) }
        : { ...times, who: outcome };
    });
}

export function analyse(
  all: readonly Probe[],
  fromMs: number,
  toMs: number,
  everyMs: number,
): Outage {
  const probes = all
    .filter((probe) => probe.sentMs >= fromMs && probe.sentMs <= toMs)
    .toSorted((a, b) => a.sentMs - b.sentMs);
  const lost = probes.filter(({ lost: why }) => why !== undefined && why !== resetWhileOpen);
  const [first, last] = [lost.at(0), lost.at(-1)];
  const answers = probes.filter((probe) => probe.lost === undefined).map((probe) => probe.sentMs);
  const edges = [fromMs, ...answers, toMs];
  const gaps = edges.slice(1).map((edge, index) => edge - (edges[index] ?? edge));
  return {
    sent: probes.length,
    lost: lost.length,
    resets: probes.filter((probe) => probe.lost === resetWhileOpen).length,
    outageMs: first === undefined || last === undefined ? 0 : last.sentMs - first.sentMs + everyMs,
    longestGapMs: Math.max(0, ...gaps),
    answeredBy: tally(probes.map((probe) => probe.who)),
    reasons: tally(lost.map((probe) => probe.lost)),
  };
}

function tally(words: readonly (string | undefined)[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const word of words) if (word !== undefined) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}
