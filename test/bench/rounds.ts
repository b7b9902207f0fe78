/**
 * Rounds of transfers: in each round the control first, then every sender, so that all of them see the same minutes of the
 * machine. A round whose control fails says nothing about anybody: it is done again, a few times. A sender that fails
 * while the control worked has failed, and the report says so.
 */

import type { Load } from './load.ts';
import type { Sender, SenderName } from './sender.ts';
import { type Stage, type Transfer, transfer } from './transfer.ts';

const repeatsOfARound = 3;

export type SenderRuns = {
  readonly name: SenderName;
  readonly runs: Transfer[];
  readonly failures: string[];
};

export type RoundsOptions = {
  readonly stage: Stage;
  readonly control: Sender;
  readonly senders: readonly Sender[];
  readonly load: Load;
  readonly rounds: number;
  readonly progress: (line: string) => void;
};

export type Rounds = {
  readonly routes: number;
  /** rounds that were thrown away because the control failed in them */
  readonly repeated: number;
  readonly senders: readonly SenderRuns[];
};

type Attempt = { readonly sender: Sender; readonly result: Transfer | Error };

async function attempt(options: RoundsOptions, sender: Sender, round: number): Promise<Attempt> {
  const size = options.load.routes.length.toLocaleString('en');
  const what = `${size} routes (${options.load.kind}), round ${round}/${options.rounds}: ${sender.label}`;
  try {
    const result = await transfer(options.stage, sender, options.load);
    const [up, start, empty] = [result.upToLastMs, result.startToLastMs, result.termToEmptyMs];
    const times = [up, start, empty].map((ms) => `${ms.toFixed(1)} ms`).join(', ');
    options.progress(`${what} ${times}, ${Math.round(result.peakResidentKib / 1024)} MiB`);
    return { sender, result };
  } catch (error) {
    const result = error instanceof Error ? error : new Error(String(error));
    options.progress(`${what} failed: ${result.message}`);
    return { sender, result };
  }
}

export async function playRounds(options: RoundsOptions): Promise<Rounds> {
  const all = [options.control, ...options.senders];
  const senders = all.map(({ name }): SenderRuns => ({ name, runs: [], failures: [] }));
  let repeated = 0;
  for (let round = 1; round <= options.rounds; round += 1) {
    const control = await attempt(options, options.control, round);
    if (control.result instanceof Error) {
      repeated += 1;
      if (repeated > repeatsOfARound) throw control.result;
      round -= 1;
      continue;
    }
    const attempts = [control];
    for (const sender of options.senders) attempts.push(await attempt(options, sender, round));
    attempts.forEach(({ result }, index) => {
      if (result instanceof Error) senders[index]?.failures.push(result.message);
      else senders[index]?.runs.push(result);
    });
  }
  return { routes: options.load.routes.length, repeated, senders };
}
