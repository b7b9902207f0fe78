/** A burst beside the creation of the same Services alone, just before and just after it: what a balancer adds, whatever the machine is worth today. Pure. */

import { p50 } from './report.ts';
import type { Creation } from './services.ts';

export const BURST_LIMIT = { timesAlone: 2.2, serverMsOver: 6 };

/** One run as it was measured; moments of the monotonic clock. */
export interface BurstMoments {
  readonly alone: readonly { readonly creation: Creation; readonly serverCpu: number }[];
  readonly creation: Creation;
  readonly lastRouteMs: number;
  readonly statusMs: number;
  /** CPU seconds by program */
  readonly cpu: ReadonlyMap<string, number>;
}

export interface BurstRun {
  /** first create → last route, and last status */
  readonly routeMs: number;
  readonly toldMs: number;
  /** the later of these over the time of the creation alone */
  readonly timesAlone: number;
  /** CPU of the API server per Service that the creation alone does not take */
  readonly serverMsOver: number;
  readonly perSecond: number;
  readonly alonePerSecond: number;
}

export function burstRun(size: number, run: BurstMoments): BurstRun {
  const { alone, creation, lastRouteMs, statusMs, cpu } = run;
  const mean = (of: (each: BurstMoments['alone'][number]) => number) =>
    alone.reduce((sum, each) => sum + of(each), 0) / alone.length;
  const [routeMs, toldMs] = [lastRouteMs - creation.firstMs, statusMs - creation.firstMs];
  const aloneMs = mean((each) => each.creation.lastMs - each.creation.firstMs);
  const over = (cpu.get('API server') ?? 0) - mean((each) => each.serverCpu);
  return {
    ...{ routeMs, toldMs, timesAlone: Math.max(routeMs, toldMs) / aloneMs },
    serverMsOver: (over * 1000) / size,
    perSecond: creation.perSecond,
    alonePerSecond: mean((each) => each.creation.perSecond),
  };
}

/** The medians, and whether both are within their bounds. */
export function burstSummary(runs: readonly BurstRun[]) {
  const timesAlone = p50(runs.map((run) => run.timesAlone));
  const serverMsOver = p50(runs.map((run) => run.serverMsOver));
  const isMet = timesAlone <= BURST_LIMIT.timesAlone && serverMsOver <= BURST_LIMIT.serverMsOver;
  return { timesAlone, serverMsOver, isMet };
}
