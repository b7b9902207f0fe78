/**
 * Whether the API serves the nodes' kubelets: their Leases in kube-node-lease, read while somebody asks and at no other time. Agents that
 * renew their own prove the same without a request, so this costs nothing until no agent at all is heard. It never says who lives: a
 * kubelet without an agent announces nothing.
 */

import type { Clock, Timer } from 'bgp-ts';
import type { Log } from '../log/log.ts';
import { ApiError, ApiUnreachable, type KubeApi } from '../sources/kube/api.ts';
import { convertLease } from '../sources/kube/convert-lease.ts';
import { inNamespace, LEASES } from '../sources/kube/resources.ts';

export interface KubeletLeasesOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly log: Log;
}

const KUBELET_LEASES = inNamespace(LEASES, 'kube-node-lease');
/** kubelets renew every 10 s; of several one is heard sooner */
const ASK_MS = 2000;

export class KubeletLeases {
  readonly #options: KubeletLeasesOptions;
  #timer: Timer | undefined;
  #ending: AbortController | undefined;
  /** by name, whatever changes with a renewal */
  #marks: ReadonlyMap<string, string> | undefined;
  #problem = '';

  constructor(options: KubeletLeasesOptions) {
    this.#options = options;
  }

  /** Calls back whenever a renewal is seen, until `rest`. Asked again while it asks already, nothing more happens. */
  ask(onRenewal: () => void): void {
    if (this.#ending !== undefined) return;
    this.#ending = new AbortController();
    void this.#look(this.#ending.signal, onRenewal);
  }

  rest(): void {
    this.#ending?.abort();
    this.#ending = undefined;
    this.#timer?.cancel();
    this.#marks = undefined;
  }

  async #look(signal: AbortSignal, onRenewal: () => void): Promise<void> {
    try {
      // from the server's own memory: one that does not hear of renewals has none to show
      const options = { resourceVersion: '0', timeoutMs: ASK_MS, signal };
      const { items } = await this.#options.api.list(KUBELET_LEASES, options);
      if (signal.aborted) return;
      this.#say('');
      const before = this.#marks;
      this.#marks = new Map(items.map((item) => [item.metadata.name, markOf(item)]));
      if (before !== undefined && isNewer(this.#marks, before)) onRenewal();
    } catch (error) {
      if (!(error instanceof ApiError || error instanceof ApiUnreachable)) throw error;
      if (signal.aborted) return;
      this.#say(error.message);
    }
    this.#timer = this.#options.clock.startTimer(ASK_MS, () => void this.#look(signal, onRenewal));
  }

  #say(problem: string): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    if (problem === '') return;
    const consequence =
      'the Leases of kubelets cannot be read; only agents show that the API serves others';
    this.#options.log.warn('controller.kubelets', { reason: problem }, consequence);
  }
}

function markOf(object: Parameters<typeof convertLease>[0]): string {
  const lease = convertLease(object);
  return `${lease?.uid} ${lease?.renewTime}`;
}

function isNewer(now: ReadonlyMap<string, string>, before: ReadonlyMap<string, string>): boolean {
  return [...now].some(([name, mark]) => before.get(name) !== mark);
}
