/** What the agent asks of its machine: the join check, the claims' own checks, and kube-proxy. Answers become knowledge; it decides nothing. */

import type { Timer } from 'bgp-ts';
import { CheckRunner } from '../checks/check-runner.ts';
import type { Verdict } from '../checks/verdict.ts';
import type { CheckSpec } from '../model/check-spec.ts';
import type { AgentOptions } from './agent-options.ts';
import type { DesiredState } from './desired.ts';
import { JOIN_KEY, joinFinding, wantedChecks } from './health.ts';
import type { Knowledge } from './knowledge.ts';
import { ServiceHealth } from './service-health.ts';
import type { View } from './view.ts';

/** The words of a check that fails may be others each time. What is told to a cluster has those of the last decision, and no older ones than this. */
const WORDS_MS = 30_000;

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
  #words: Timer | undefined;
  #wanted: ReadonlyMap<string, CheckSpec> = new Map();
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
    this.#wanted = wanted;
    this.#runner.apply(wanted);
  }

  /** Those of the saved View. kube-proxy has known them for long where this boot has been Ready; after a reboot it has all its rules to write anew. */
  applySavedServices(): void {
    this.applyServices(this.#options.knowledge.clusterJoined.inThisBoot);
  }

  /** The Services behind the claims of the documents; `areOld`: kube-proxy has known them for long. */
  applyServices(areOld = false): void {
    const { knowledge } = this.#options;
    if (this.#services === undefined) return;
    this.#heedNode(this.#services);
    // worked out only where a port is silent: most documents come without one
    const isAnnounced = (name: string) => knowledge.announced.has(name);
    this.#services.apply(knowledge.documents?.claims ?? [], areOld, isAnnounced);
    this.#shareFacts();
  }

  /** Node and documents come by lists of their own: either may be the later one. */
  nodeIsKnown(): void {
    if (this.#services === undefined) return;
    this.#heedNode(this.#services);
    this.#shareFacts();
  }

  /**
   * Waits for kube-proxy count from when the Node may announce. It listens where it did while the
   * Node is gone from the API.
   */
  #heedNode(services: ServiceHealth): void {
    const { clusterNode, clusterJoined } = this.#options.knowledge;
    if (clusterNode !== undefined) services.addresses = clusterNode.addresses;
    services.isJoined = clusterJoined.isOpen;
  }

  stop(): void {
    this.#words?.cancel();
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
    if (isDecisive(before, verdict, this.#wanted.get(key))) onDecisive();
    else {
      if (!verdict.open)
        this.#words ??= world.clock.startTimer(WORDS_MS, () => this.#refreshWords());
      onNews();
    }
  }

  #refreshWords(): void {
    this.#words = undefined;
    this.#options.onDecisive();
  }
}

/**
 * Whether anything has changed that findings stand on (health.ts); the words of a failure are none of it, and may be others each time. A check that is new
 * on an announced claim closes it by the failure that makes them enough, which changes nothing in its own verdict.
 */
function isDecisive(before: Verdict | undefined, now: Verdict, spec: CheckSpec | undefined) {
  if (before === undefined || spec === undefined) return true;
  const isEnough = ({ failuresInRow }: Verdict) => failuresInRow >= spec.failures;
  return (
    before.open !== now.open || before.known !== now.known || isEnough(before) !== isEnough(now)
  );
}
