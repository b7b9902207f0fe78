/**
 * What was really on the wire: dumpcap writes an interface of a namespace to a file, tshark reads it back.
 *
 * "Running" and "everything is in the file" are not guessed: a marker datagram is sent out of the same interface, and
 * once its bytes are in the file, the capture runs, and every earlier frame is in the file too.
 */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Host } from './netns.ts';
import { done, notYet, until } from './poll.ts';
import { type Running, run } from './process.ts';

const markerGroup = 'ff02::1';
const discardPort = 9;
/** dumpcap looks at its buffer every 250 ms; a marker that took longer was sent too early. */
const resendMs = 300;
/** Three programs have to run for it. */
const seenWithinMs = 120_000;
/** tshark takes a second of a processor to start, and a ring may start ten of them on two. */
const readWithinMs = 180_000;
let captures = 0;

export type CaptureOptions = {
  /** TCP ports besides 179 that carry BGP. */
  readonly bgpPorts?: readonly number[];
};

export class Capture {
  readonly path: string;
  readonly #host: Host;
  readonly #device: string;
  readonly #options: CaptureOptions;
  #process: Running | undefined;
  #markers = 0;

  constructor(host: Host, device: string, options: CaptureOptions = {}) {
    captures += 1;
    this.#host = host;
    this.#device = device;
    this.#options = options;
    this.path = join(host.folder, `capture-${captures}.pcap`);
  }

  /** Returns when the first marker is in the file: what is sent from now on will be too. */
  async start(): Promise<void> {
    const args = ['-i', this.#device, '-P', '-q', '-w', this.path];
    this.#process = this.#host.spawn(`capture-${captures}`, 'dumpcap', args);
    await this.sync();
  }

  /** Waits until everything sent or received so far is in the file. */
  async sync(): Promise<void> {
    const process = this.#process;
    if (process === undefined || !process.isRunning) return;
    this.#markers += 1;
    const marker = `herald-capture-${captures}-${this.#markers}`;
    const send = `printf %s ${marker} >/dev/udp/${markerGroup}%${this.#device}/${discardPort}`;
    await until(
      `the capture on ${this.#host.name} ${this.#device} sees its marker`,
      async () => {
        if (!process.isRunning) throw new Error(`dumpcap ended: ${process.log()}`);
        // No file yet means no capture yet, and a marker sent now would be lost.
        if (existsSync(this.path)) await this.#host.exec('bash', ['-c', send]);
        const holds = () => this.#holds(marker);
        const patience = { timeoutMs: resendMs, everyMs: 20 };
        return until('the marker is in the file', holds, patience).then(done, notYet);
      },
      { everyMs: 0, timeoutMs: seenWithinMs },
    );
  }

  async stop(): Promise<void> {
    await this.sync();
    await this.#process?.stop();
    this.#process = undefined;
  }

  /** The frames that match a Wireshark display filter, each as its fields; several values are joined by a comma. */
  async frames<F extends string>(
    displayFilter: string,
    fields: readonly F[],
  ): Promise<Readonly<Record<F, string>>[]> {
    await this.sync();
    const ports = (this.#options.bgpPorts ?? []).flatMap((port) => ['-d', `tcp.port==${port},bgp`]);
    const columns = fields.flatMap((field) => ['-e', field]);
    const format = ['-T', 'fields', '-E', 'separator=/t', '-E', 'occurrence=a', ...columns];
    // A file still being written may end in half a frame, which tshark reports by its status after all whole ones.
    const options = { anyStatus: this.#process !== undefined, timeoutMs: readWithinMs };
    const read = ['-n', '-r', this.path, ...ports, '-Y', displayFilter];
    const { stdout, stderr } = await run('tshark', [...read, ...format], options);
    if (/isn't a valid|not a valid|Some fields aren't valid/.test(stderr)) throw new Error(stderr);
    return stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => record(fields, line.split('\t')));
  }

  #holds(marker: string) {
    return readFileSync(this.path).includes(marker) ? done(true) : notYet('no marker');
  }
}

function record<F extends string>(
  fields: readonly F[],
  values: readonly string[],
): Record<F, string> {
  const pairs = fields.map((field, index) => [field, values[index] ?? ''] as const);
  return Object.fromEntries(pairs) as Record<F, string>; // brand: the keys are exactly `fields`
}

/** Starts a capture and returns it running. */
export async function startCapture(
  host: Host,
  device: string,
  options: CaptureOptions = {},
): Promise<Capture> {
  const capture = new Capture(host, device, options);
  await capture.start();
  return capture;
}
