/** When Services got their addresses: a watch of their own beside the balancer's, each status stamped as it is read. */

import type { KubeObject } from '../../../src/sources/kube/api.ts';
import { inNamespace, SERVICES } from '../../../src/sources/kube/resources.ts';
import { nowMs } from '../../../tools/probe/monotonic.ts';
import type { TestApi } from '../../cluster/support/test-api.ts';
import { field, items, text } from '../../interop/routers/json.ts';

export interface Served {
  readonly address: string;
  readonly atMs: number;
}

export class ServiceFeed {
  readonly #api: TestApi;
  readonly #namespace: string;
  readonly #ending = new AbortController();
  readonly #served = new Map<string, Served>();
  readonly #listeners = new Set<(name: string, served: Served) => void>();
  readonly #hearers = new Set<() => void>();

  private constructor(api: TestApi, namespace: string) {
    this.#api = api;
    this.#namespace = namespace;
  }

  static async start(api: TestApi, namespace: string): Promise<ServiceFeed> {
    const feed = new ServiceFeed(api, namespace);
    const list = await api.list(inNamespace(SERVICES, namespace), { limit: 1 });
    void feed.#watch(list.resourceVersion);
    return feed;
  }

  /** by the name of the Service; those that have an address now */
  get served(): ReadonlyMap<string, Served> {
    return this.#served;
  }

  /** of anything: that a Service was made, changed or deleted */
  onHeard(hearer: () => void): void {
    this.#hearers.add(hearer);
  }

  onServed(listener: (name: string, served: Served) => void): void {
    this.#listeners.add(listener);
  }

  /** Waits for one; rejects when it has none in time. */
  async when(name: string, timeoutMs = 30_000): Promise<Served> {
    const known = this.#served.get(name);
    if (known !== undefined) return known;
    return await new Promise((resolve, reject) => {
      const listener = (each: string, served: Served) => {
        if (each !== name) return;
        finish();
        resolve(served);
      };
      const timer = setTimeout(() => {
        finish();
        reject(new Error(`${name} has no address after ${timeoutMs} ms`));
      }, timeoutMs);
      const finish = () => {
        clearTimeout(timer);
        this.#listeners.delete(listener);
      };
      this.#listeners.add(listener);
    });
  }

  stop(): void {
    this.#ending.abort();
  }

  async #watch(from: string): Promise<void> {
    let resourceVersion = from;
    while (!this.#ending.signal.aborted) {
      const end = await this.#api.watch(inNamespace(SERVICES, this.#namespace), {
        resourceVersion,
        signal: this.#ending.signal,
        timeoutSeconds: 3600,
        onEvent: (event) => {
          if (event.kind === 'bookmark') resourceVersion = event.resourceVersion;
          else {
            resourceVersion = event.object.metadata.resourceVersion ?? resourceVersion;
            this.#take(event.object, event.kind === 'deleted');
          }
        },
      });
      if (end.kind === 'failed' && !this.#ending.signal.aborted) throw end.error;
    }
  }

  #take(service: KubeObject, isGone: boolean): void {
    for (const hearer of this.#hearers) hearer();
    const { name } = service.metadata;
    const [ingress] = items(field(service, 'status', 'loadBalancer', 'ingress'));
    const address = text(field(ingress, 'ip'));
    if (isGone || address === '') {
      this.#served.delete(name);
      return;
    }
    if (this.#served.get(name)?.address === address) return;
    const served = { address, atMs: nowMs() };
    this.#served.set(name, served);
    for (const listener of [...this.#listeners]) listener(name, served);
  }
}
