/** Metrics and probes of `herald agent`. Loaded only where they are asked for, so that an agent without them stays as light as it is. */

import { performance } from 'node:perf_hooks';
import type { Agent } from '../agent/agent.ts';
import type { AgentOptions } from '../agent/agent-options.ts';
import type { ReportHealth } from '../agent/kube-report/kube-report.ts';
import { agentFacts, agentReadiness } from '../agent/telemetry.ts';
import type { Log } from '../log/log.ts';
import { type AgentMetrics, createAgentMetrics } from '../telemetry/agent-metrics.ts';
import { TelemetryServer } from '../telemetry/http.ts';
import type { ListenAddress } from '../telemetry/listen-address.ts';
import type { ApiMeter } from '../telemetry/metered-api.ts';
import { processFacts } from './process-facts.ts';

export class AgentTelemetry {
  readonly #metrics: AgentMetrics;
  readonly #address: ListenAddress;
  readonly #log: Log;
  #server: TelemetryServer | undefined;

  constructor(address: ListenAddress, { version, log }: { version: string; log: Log }) {
    this.#metrics = createAgentMetrics(processFacts('agent', version));
    this.#address = address;
    this.#log = log;
  }

  get meter(): ApiMeter {
    return this.#metrics.meter;
  }

  /** the same speaker, and how long each decision took to hand over is told */
  timed(speaker: AgentOptions['speaker']): AgentOptions['speaker'] {
    return {
      apply: (desired) => {
        const startedMs = performance.now();
        speaker.apply(desired);
        this.#metrics.applied((performance.now() - startedMs) / 1000);
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
      metrics: () => this.#metrics.text(),
      live: () => ({ ok: true, lines: [] }),
      ready: () => agentReadiness(agent, health()),
    });
    this.#server = server;
    const opened = await server.start(this.#address);
    if (typeof opened === 'string') this.#log.error('agent.start', {}, opened);
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
  }
}
