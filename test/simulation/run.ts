/**
 * One run: faults come one after another with little time in between, each undone after a while by itself; now and then there is
 * peace. It ends with the first violation. The same seed gives the same run.
 */

import { FAULTS } from './faults.ts';
import type { PlantedBug } from './planted-bugs.ts';
import { Simulation } from './simulation.ts';
import type { Violation } from './watcher.ts';

export interface RunOptions {
  readonly seed: number;
  readonly faults: number;
  readonly bug?: PlantedBug;
  /** go on until this invariant is violated; otherwise the first violation of any ends the run */
  readonly until?: string;
}

export interface RunReport {
  readonly seed: number;
  readonly faults: number;
  /** how often each fault happened */
  readonly byFault: ReadonlyMap<string, number>;
  readonly virtualSeconds: number;
  /** timers that fired, each followed by all promises that it settled */
  readonly steps: number;
  /** routes announced or withdrawn at the routers */
  readonly updates: number;
  readonly violations: readonly Violation[];
  /** the last faults before the first violation, for whoever looks into it */
  readonly story: readonly string[];
}

const BOOT_MS = 20_000;
const PEACE_EVERY = 15;
const PEACE_MS = 11_000;
const AFTERMATH_MS = 1000;
const MOST_GAP_MS = 1500;
const STORY_LENGTH = 16;

export async function runSimulation({ seed, faults, bug, until }: RunOptions): Promise<RunReport> {
  const run = new Simulation({ seed, ...(bug === undefined ? {} : { bug }) });
  const byFault = new Map<string, number>();
  const story: string[] = [];
  bootAll(run);
  await run.pass(BOOT_MS);
  let done = 0;
  const { violations } = run.watcher;
  const isFound = () => violations.some(({ invariant }) => invariant === (until ?? invariant));
  while (done < faults && !isFound()) {
    const happened = inject(run);
    if (happened !== undefined) {
      const { name, what } = happened;
      done += 1;
      byFault.set(name, (byFault.get(name) ?? 0) + 1);
      story.push(`${run.clock.now().toFixed(0)} ms: ${name} ${what}`);
    }
    const isPeace = happened !== undefined && done % PEACE_EVERY === 0;
    await run.pass(isPeace ? PEACE_MS : run.random.next() ** 2 * MOST_GAP_MS);
  }
  // peace at the end, or, for whoever looks into a violation, a little of what came after it
  await run.pass(violations.length === 0 ? PEACE_MS : AFTERMATH_MS);
  return {
    seed,
    faults: done,
    byFault,
    virtualSeconds: Math.round(run.clock.now() / 1000),
    steps: run.clock.fired,
    updates: run.updates,
    violations,
    story: story.slice(-STORY_LENGTH),
  };
}

/** routers, nodes and the servers on them come up in any order */
function bootAll(run: Simulation): void {
  const sometime = () => run.random.next() * 5000;
  run.watch();
  for (const router of run.routers) {
    run.later(sometime(), () => {
      router.start();
      run.rewire();
    });
  }
  for (const machine of run.machines) {
    run.later(sometime(), () => run.bootSometime(machine));
    run.later(2 * sometime(), () => {
      machine.api = { isUp: true, failNext: 0 };
    });
  }
}

function inject(run: Simulation): { readonly name: string; readonly what: string } | undefined {
  const total = FAULTS.reduce((sum, { weight }) => sum + weight, 0);
  let at = run.random.next() * total;
  for (const { name, weight, happen } of FAULTS) {
    at -= weight;
    if (at >= 0) continue;
    const what = happen(run);
    run.rewire();
    return what === undefined ? undefined : { name, what };
  }
  return undefined;
}
