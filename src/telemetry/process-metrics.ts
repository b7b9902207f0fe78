/**
 * A registry of our own with what every role tells of its process. Not prom-client's default metrics: those watch the garbage collector
 * and the event loop with timers of their own, and nobody has asked for forty of them.
 */

import { Counter, Gauge, Registry } from 'prom-client';

/** What only the shell of the program may ask the system for. */
export interface ProcessFacts {
  readonly version: string;
  readonly role: 'agent' | 'controller';
  /** wall-clock milliseconds */
  readonly startedMs: number;
  readonly cpuSeconds: () => number;
  readonly residentBytes: () => number;
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
  return registry;
}
