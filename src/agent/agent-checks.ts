/** What the agent asks of its machine: the join check, the claims' own checks, and kube-proxy. Answers become knowledge; it decides nothing. */

import { CheckRunner } from '../checks/check-runner.ts';
import type { Verdict } from '../checks/verdict.ts';
import type { AgentOptions } from './agent-options.ts';
import type { DesiredState } from './desired.ts';
import { JOIN_KEY, joinFinding, wantedChecks } from './health.ts';
import type { Knowledge } from './knowledge.ts';
import { ServiceHealth } from './service-health.ts';
import type { View } from './view.ts';

export interface AgentChecksOptions {
  readonly world: AgentOptions;
  readonly knowledge: Knowledge;
  /** something is to be decided anew */
  readonly onDecisive: () => void;
  /** there is something new to tell, no more */
  readonly onNews: () => void;
}

export class AgentChecks {
  readonly #options: AgentChecksOptions;
  readonly #runner: CheckRunner;
  /** absent where no cluster is a source */
  readonly #services: ServiceHealth | undefined;

  constructor(options: AgentChecksOptions) {
    this.#options = options;
    const { clock, random, probe, kubeProxy } = options.world;
    const onChange = (key: string, verdict: Verdict) => this.#onVerdict(key, verdict);
    this.#runner = new CheckRunner({ clock, random, probe, onChange });
    if (kubeProxy === undefined) return;
    const { ask, url: proxyUrl, metricsUrl } = kubeProxy;
    this.#services = new ServiceHealth({
      clock,
      ask,
      proxyUrl,
      metricsUrl,
      onChange: () => {
        this.#shareFacts();
        options.onDecisive();
      },
    });
    this.#shareFacts();
  }

  apply(desired: DesiredState, view: View): void {
    const { world, knowledge } = this.#options;
    const wanted = wantedChecks(world.joinCheck, desired, view);
    const { verdicts } = knowledge;
    for (const key of verdicts.keys()) if (!wanted.has(key)) verdicts.delete(key);
    this.#runner.apply(wanted);
  }

  /** The Services behind the claims of the documents; `areOld`: kube-proxy has known them for long. */
  applyServices(areOld: boolean): void {
    const { knowledge } = this.#options;
    if (this.#services === undefined) return;
    this.#services.addresses = knowledge.clusterNode?.addresses ?? [];
    // worked out only where a port is silent: most documents come without one
    const isAnnounced = (name: string) => knowledge.announced.has(name);
    this.#services.apply(knowledge.documents?.claims ?? [], areOld, isAnnounced);
    this.#shareFacts();
  }

  stop(): void {
    this.#runner.stop();
    this.#services?.stop();
  }

  #shareFacts(): void {
    this.#options.knowledge.serviceFacts = this.#services?.facts;
  }

  #onVerdict(key: string, verdict: Verdict): void {
    const { world, knowledge, onDecisive, onNews } = this.#options;
    const before = knowledge.verdicts.get(key);
    knowledge.verdicts.set(key, verdict);
    if (key === JOIN_KEY && (before?.open ?? false) !== verdict.open) {
      const { sentence } = joinFinding(world.joinCheck, knowledge.verdicts);
      world.log.info('agent.join', { reason: sentence }, verdict.open ? 'joined' : 'not joined');
    }
    // a check that is new on an announced claim closes it by a failure that changes nothing in its own verdict
    const isDecisive = before?.open !== verdict.open || !verdict.open;
    if (isDecisive) onDecisive();
    else onNews();
  }
}
