/**
 * What a process has of metrics once, whatever roles it plays: a registry and the meter of its way to the API. An agent that is its own
 * controller is the host of both, and serves them as one.
 */

import type { Registry } from 'prom-client';
import { createApiMeter } from './api-metrics.ts';
import type { Health } from './http.ts';
import type { ApiMeter } from './metered-api.ts';
import { createRegistry, type ProcessFacts } from './process-metrics.ts';

export interface MetricsBase {
  readonly registry: Registry;
  readonly meter: ApiMeter;
}

export function createMetricsBase(process: ProcessFacts): MetricsBase {
  const registry = createRegistry(process);
  return { registry, meter: createApiMeter(registry) };
}

/** A role that is told of beside that of its host. */
export interface TelemetryGuest {
  /** reads its gauges anew, before they are told */
  refresh(): void;
  ready(): Health;
}

export interface TelemetryHost {
  readonly base: MetricsBase;
  join(guest: TelemetryGuest): void;
}
