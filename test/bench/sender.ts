/**
 * What a sender is to the bench: a program that gets routes the way its users give them, dials the receiver, and is timed
 * from the start of its process. Preparing files is outside the timing, everything from the first `spawn` on is inside.
 */

import { readFileSync } from 'node:fs';
import type { Host } from '../support/netns.ts';
import type { Running } from '../support/process.ts';
import type { Load } from './load.ts';
import type { Dialling } from './receiver.ts';

export type SenderName =
  | 'prebuilt'
  | 'bird'
  | 'bird-awake'
  | 'frr'
  | 'frr-tuned'
  | 'gobgp'
  | 'exabgp'
  | 'herald';

export interface Sender {
  readonly name: SenderName;
  /** for the table and the plot */
  readonly label: string;
  /** one sentence: how the routes get in, and what was set in its favour */
  readonly method: string;
  readonly dialling: Dialling;
  /** the version that answers, or undefined when the program is not there */
  version(): Promise<string | undefined>;
  /** Writes what the program will read; the result starts it. */
  prepare(host: Host, load: Load): Promise<StartSender> | StartSender;
}

/** Starts the program; resolves when everything that a user would have to do by hand has been done. */
export type StartSender = () => Promise<StartedSender>;

export type StartedSender = {
  /** processes whose memory counts; the first one gets the SIGTERM */
  readonly processes: readonly Running[];
};

/** Peak resident set of a process in kibibytes, as the kernel counted it. */
export function peakResidentKib(pid: number): number {
  const line = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  if (line === null) throw new Error(`no VmHWM for process ${pid}`);
  return Number(line[1]);
}
