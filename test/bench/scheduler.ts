/**
 * How long the scheduler thinks about 100,000 exclusive claims over 1,000 nodes: all new, then all settled, then with a rack of 40 nodes
 * gone. Pure: no API. `node --conditions=bgp-ts-source test/bench/scheduler.ts`.
 */

import { fileURLToPath } from 'node:url';
import { type AssignClaim, type AssignView, assign } from '../../src/scheduler/assign.ts';

export interface SchedulerRun {
  readonly what: string;
  readonly ms: number;
  /** of the processor, for machines that have other things to do */
  readonly cpuMs: number;
  /** claims that got a node they did not have */
  readonly placed: number;
  /** most minus least loaded */
  readonly spread: number;
}

export interface SchedulerSize {
  readonly claims: number;
  readonly nodes: number;
  readonly lost: number;
}

export const FULL_SIZE: SchedulerSize = { claims: 100_000, nodes: 1000, lost: 40 };
export const LIMIT_MS = 500;

export function benchScheduler({ claims, nodes, lost }: SchedulerSize): readonly SchedulerRun[] {
  const names = Array.from(
    { length: nodes },
    (_, index) => `node-${String(index).padStart(4, '0')}`,
  );
  const fresh = Array.from(
    { length: claims },
    (_, index): AssignClaim => ({
      name: `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`,
      group: 'pool',
      nodeFilter: 'fair',
    }),
  );
  const all = new Map([['pool', { eligible: names, keeps: new Set<string>() }]]);
  const rest = new Map([['pool', { eligible: names.slice(lost), keeps: new Set<string>() }]]);
  const first = run('all new', { claims: fresh, groups: all });
  const placed = first.claims;
  const settled = run('all settled', { claims: placed, groups: all });
  const rack = run(`${lost} nodes lost`, { claims: placed, groups: rest });
  return [first.result, settled.result, rack.result];
}

function run(what: string, view: AssignView) {
  const started = performance.now();
  const cpuBefore = process.cpuUsage();
  const decisions = assign(view);
  const ms = performance.now() - started;
  const { user, system } = process.cpuUsage(cpuBefore);
  const cpuMs = (user + system) / 1000;
  const loads = new Map<string, number>();
  for (const each of decisions) {
    if (each.kind !== 'none') loads.set(each.node, (loads.get(each.node) ?? 0) + 1);
  }
  const counts = [...loads.values()];
  const claims = decisions.map((each): AssignClaim => {
    const base = { name: each.claim, group: 'pool', nodeFilter: 'fair' } as const;
    return each.kind === 'none' ? base : { ...base, node: each.node };
  });
  const placed = decisions.filter(({ kind }) => kind === 'place').length;
  const spread = Math.max(...counts) - Math.min(...counts);
  return { claims, result: { what, ms, cpuMs, placed, spread } };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const runs = benchScheduler(FULL_SIZE);
  for (const { what, ms, cpuMs, placed, spread } of runs) {
    process.stdout.write(
      `scheduler, ${FULL_SIZE.claims} claims over ${FULL_SIZE.nodes} nodes, ${what}: ${ms.toFixed(0)} ms (${cpuMs.toFixed(0)} ms CPU), ${placed} placed, spread ${spread}\n`,
    );
  }
  process.exitCode = runs.every(({ ms }) => ms <= LIMIT_MS) ? 0 : 1;
}
