/**
 * One transfer: a fresh receiver, one sender, one load, and the four numbers of that run. The sender is ended with SIGTERM,
 * which is itself measured, and whatever is left of it is killed before the next run.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { Host } from '../support/netns.ts';
import type { Load } from './load.ts';
import { Receiver } from './receiver.ts';
import { peakResidentKib, type Sender, type StartedSender } from './sender.ts';
import { anchorWallClock, wallMs } from './wall-clock.ts';

const fillBoundMs = 60_000;
const emptyBoundMs = 20_000;
const calmMs = 1000;
const logTail = 2_000;

export type Transfer = {
  /** session up → last route in the receiver's table */
  readonly upToLastMs: number;
  /** process start → last route */
  readonly startToLastMs: number;
  /** SIGTERM → empty table */
  readonly termToEmptyMs: number;
  readonly peakResidentKib: number;
};

export type Stage = { readonly sender: Host; readonly receiver: Host };

export async function transfer(stage: Stage, sender: Sender, load: Load): Promise<Transfer> {
  const start = await sender.prepare(stage.sender, load);
  const receiver = await Receiver.start(stage.receiver, sender.dialling);
  try {
    anchorWallClock();
    const startedAtMs = wallMs();
    const starting = start();
    const filling = receiver.filled(load.routes.length, fillBoundMs);
    // Both at once: the routes may be there before the sender's own set-up has been waited for.
    const [started, filled] = await Promise.all([
      starting,
      Promise.race([filling, starting.then(died)]),
    ]);
    const resident = started.processes.map((child) => peakResidentKib(child.pid));
    const emptied = await terminate(started, receiver);
    return {
      upToLastMs: filled.lastRouteAtMs - filled.upAtMs,
      startToLastMs: filled.lastRouteAtMs - startedAtMs,
      termToEmptyMs: emptied,
      peakResidentKib: resident.reduce((sum, one) => sum + one, 0),
    };
  } finally {
    await stage.sender.stopAll();
    await receiver.stop();
  }
}

/** Rejects when the sender ends by itself, with what it said last: nothing will come any more. */
async function died({ processes }: StartedSender): Promise<never> {
  const [main] = processes;
  const status = await main?.ended;
  throw new Error(`the sender ended with ${status}: ${main?.log().slice(-logTail)}`);
}

/** SIGTERM to the program as a supervisor sends it: to its main process, not to its group. */
async function terminate(started: StartedSender, receiver: Receiver): Promise<number> {
  const [main] = started.processes;
  if (main === undefined) throw new Error('a sender without a process');
  // A table that was filled a moment ago is still being tidied by its owner; every sender gets the same calm one.
  await delay(calmMs);
  const sentAtMs = wallMs();
  process.kill(main.pid, 'SIGTERM');
  return (await receiver.emptied(emptyBoundMs)) - sentAtMs;
}
