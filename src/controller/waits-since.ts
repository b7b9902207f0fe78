/**
 * Since when a Service waits for addresses, for the line in which they are given out: since it was made, but one that was made a load balancer later came
 * to the line later. In the memory of the leader: the next one knows when each was made.
 */

import { type Service, serviceKey } from '../model/service.ts';

export class WaitsSince {
  readonly #wallTimeMs: () => number;
  readonly #turned = new Map<string, number>();

  constructor(wallTimeMs: () => number) {
    this.#wallTimeMs = wallTimeMs;
  }

  changed(key: string, now: Service | undefined, before: Service | undefined): void {
    if (now?.isLoadBalancer !== true || now.uid !== before?.uid) this.#turned.delete(key);
    else if (!before.isLoadBalancer) this.#turned.set(key, this.#wallTimeMs());
  }

  of(service: Service): number {
    return this.#turned.get(serviceKey(service)) ?? service.createdMs;
  }
}
