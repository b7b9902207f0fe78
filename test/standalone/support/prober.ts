/** Probes from the client's namespace; tools/probe has the program, and what its log says about an outage. */

import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { analyse, type Outage, type Probe, parseProbes } from '../../../tools/probe/probe-log.ts';
import type { Host } from '../../support/netns.ts';
import { done, notYet, until } from '../../support/poll.ts';
import type { Running } from '../../support/process.ts';

export type ProberOptions = {
  readonly address: string;
  readonly port: number;
  readonly everyMs: number;
  /** An end that does not depend on anybody: no prober sends for longer. */
  readonly seconds: number;
  /** By plain HTTP unless said; HTTPS tells servers apart by the name in their certificates; UDP is one packet each way. */
  readonly by?: { readonly https: string } | 'udp';
};

export type Span = { readonly fromMs: number; readonly toMs: number };

let probers = 0;
const program = join(import.meta.dirname, '../../../tools/probe/probe-main.ts');

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

  /** Ends the sending, and judges each span once the last probe is decided. */
  async outagesAtTheEnd(spans: readonly Span[]): Promise<Outage[]> {
    const probes = await this.stop();
    return spans.map(({ fromMs, toMs }) => analyse(probes, fromMs, toMs, this.#everyMs));
  }

  /** The verdict about a span, once all of its probes are decided; those of datagrams take too long to be waited for. */
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
      { everyMs: 100 },
    );
    return analyse(probes, fromMs, toMs, this.#everyMs);
  }
}

function manner(by: ProberOptions['by']): string {
  if (by === undefined) return 'plain';
  return by === 'udp' ? by : `https:${by.https}`;
}
