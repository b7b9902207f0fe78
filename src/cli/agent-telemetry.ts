/** Metrics and probes of `herald agent`. Loaded only where they are asked for, so that an agent without them stays as light as it is. */

import { performance } from 'node:perf_hooks';
import type { Agent } from '../agent/agent.ts';
import type { AgentOptions } from '../agent/agent-options.ts';
import type { ReportHealth } from '../agent/kube-report/kube-report.ts';
import { agentFacts, agentReadiness } from '../agent/telemetry.ts';
import type { Log } from '../log/log.ts';
import { type AgentMetrics, createAgentMetrics } from '../telemetry/agent-metrics.ts';
import { type Health, TelemetryServer } from '../telemetry/http.ts';
import type { ListenAddress } from '../telemetry/listen-address.ts';
import {
  createMetricsBase,
  type MetricsBase,
  type TelemetryGuest,
  type TelemetryHost,
} from '../telemetry/metrics-base.ts';
import type { TurnFacts } from '../turns/turn-watch.ts';
import { labelled } from '../turns/work-labels.ts';
import { processFacts } from './process-facts.ts';

export interface TelemetryParts {
  readonly version: string;
  readonly log: Log;
  readonly turns: TurnFacts;
}

export class AgentTelemetry implements TelemetryHost {
  readonly base: MetricsBase;
  readonly #metrics: AgentMetrics;
  readonly #guests: TelemetryGuest[] = [];
  readonly #address: ListenAddress;
  readonly #log: Log;
  #server: TelemetryServer | undefined;

  constructor(address: ListenAddress, { version, log, turns }: TelemetryParts) {
    this.base = createMetricsBase(processFacts('agent', version, turns));
    this.#metrics = createAgentMetrics(this.base);
    this.#address = address;
    this.#log = log;
  }

  /** The controller of simple mode: one process, one page of metrics, one answer to whether it is ready. */
  join(guest: TelemetryGuest): void {
    this.#guests.push(guest);
  }

  /** the same speaker, and how long each decision took to hand over is told */
  timed(speaker: AgentOptions['speaker']): AgentOptions['speaker'] {
    return {
      apply: (desired) => {
        const startedMs = performance.now();
        const refused = speaker.apply(desired);
        this.#metrics.applied((performance.now() - startedMs) / 1000);
        return refused;
      },
      status: () => speaker.status(),
      stop: (how) => speaker.stop(how),
      subscribe: (onEvent) => speaker.subscribe(onEvent),
    };
  }

  /** A port that is taken is told, and is no reason not to run. */
  async start(agent: Agent, health: () => ReportHealth | undefined): Promise<void> {
    this.#metrics.watch(() => agentFacts(agent, health()));
    const server = new TelemetryServer({
      metrics: () =>
        labelled('metrics', () => {
          for (const guest of this.#guests) guest.refresh();
          return this.#metrics.text();
        }),
      live: () => ({ ok: true, lines: [] }),
      ready: () =>
        labelled('metrics', () =>
          together([agentReadiness(agent, health()), ...this.#guests.map(readyOf)]),
        ),
    });
    this.#server = server;
    const opened = await server.start(this.#address);
    if (typeof opened === 'string') this.#log.error('agent.start', {}, opened);
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
  }
}

function readyOf(guest: TelemetryGuest): Health {
  return guest.ready();
}

function together(all: readonly Health[]): Health {
  return { ok: all.every(({ ok }) => ok), lines: all.flatMap(({ lines }) => lines) };
}
