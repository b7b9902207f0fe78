/**
 * A registry of our own with what every role tells of its process. Not prom-client's default metrics: those watch the garbage collector
 * and the event loop with timers of their own, and nobody has asked for forty of them. Turns of the main thread are measured in src/turns.
 */

import { Counter, Gauge, Registry } from 'prom-client';
import type { TurnFacts } from '../turns/turn-watch.ts';
import { WORKS } from '../turns/work-labels.ts';

/** What only the shell of the program may ask the system for. */
export interface ProcessFacts {
  readonly version: string;
  readonly role: 'agent' | 'controller';
  /** wall-clock milliseconds */
  readonly startedMs: number;
  readonly cpuSeconds: () => number;
  readonly residentBytes: () => number;
  readonly turns: TurnFacts;
}

export function createRegistry({ version, role, ...facts }: ProcessFacts): Registry {
  const registry = new Registry();
  const registers = [registry];
  new Gauge({
    name: 'herald_build_info',
    help: 'Version and role of this process; always 1.',
    labelNames: ['version', 'role'],
    registers,
  }).set({ version, role }, 1);
  new Gauge({
    name: 'process_start_time_seconds',
    help: 'When this process started, in seconds since 1970.',
    registers,
  }).set(facts.startedMs / 1000);
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'CPU time that this process has used, in seconds.',
    registers,
    collect() {
      this.reset();
      this.inc(facts.cpuSeconds());
    },
  });
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Memory of this process that is in RAM.',
    registers,
    collect() {
      this.set(facts.residentBytes());
    },
  });
  turnMetrics(registry, facts.turns);
  return registry;
}

function turnMetrics(registry: Registry, turns: TurnFacts): void {
  new Gauge({
    name: 'herald_longest_turn_seconds',
    help: 'The longest time without a look at a timer, in the last one to two minutes.',
    registers: [registry],
    collect() {
      this.set(turns.longestSeconds());
    },
  });
  new Counter({
    name: 'herald_long_turns_total',
    help: 'Turns of the main thread over 200 ms, by what took most of the time.',
    labelNames: ['work'],
    registers: [registry],
    collect() {
      this.reset();
      for (const work of WORKS) this.inc({ work }, turns.long.get(work) ?? 0);
    },
  });
}
