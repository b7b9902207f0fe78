/**
 * A KubeApi that writes only while we lead. The deadline is looked at before each write, so a process that was frozen and wakes up
 * writes nothing, whatever its loops were about to do; and no write is waited for longer than until another may lead. It also knows
 * what is under way, for an orderly stop. Reading is free.
 */

import type { Clock } from 'bgp-ts';
import {
  ApiUnreachable,
  type CallOptions,
  type DeleteOptions,
  type KubeApi,
  type KubeList,
  type KubeObject,
  type ListOptions,
  type Patch,
  type Resource,
  type WatchEnd,
  type WatchOptions,
  type WriteOptions,
} from '../sources/kube/api.ts';

export interface WriteRight {
  /** on our own clock */
  readonly mayWriteUntilMs: number;
  readonly fencedUntilMs: number;
}

/** no election: one controller, or several on purpose */
export const ALWAYS: WriteRight = {
  mayWriteUntilMs: Number.POSITIVE_INFINITY,
  fencedUntilMs: Number.POSITIVE_INFINITY,
};

const DEFAULT_TIMEOUT_MS = 10_000;

export class WriteGuard implements KubeApi {
  readonly #api: KubeApi;
  readonly #right: WriteRight;
  readonly #clock: Clock;
  readonly #underWay = new Set<Promise<unknown>>();
  #isClosed = false;

  constructor(api: KubeApi, right: WriteRight, clock: Clock) {
    this.#api = api;
    this.#right = right;
    this.#clock = clock;
  }

  /** from now on nothing is written; resolves when what was under way is over, or after `boundMs` */
  async close(boundMs: number): Promise<void> {
    this.#isClosed = true;
    let bound: { cancel(): void } | undefined;
    const late = new Promise<void>((resolve) => {
      bound = this.#clock.startTimer(boundMs, resolve);
    });
    await Promise.race([Promise.allSettled([...this.#underWay]), late]);
    bound?.cancel();
  }

  get(resource: Resource, name: string, options?: CallOptions): Promise<KubeObject> {
    return this.#api.get(resource, name, options);
  }

  list(resource: Resource, options?: ListOptions): Promise<KubeList> {
    return this.#api.list(resource, options);
  }

  watch(resource: Resource, options: WatchOptions): Promise<WatchEnd> {
    return this.#api.watch(resource, options);
  }

  create(resource: Resource, body: object, options?: CallOptions): Promise<KubeObject> {
    return this.#write(() =>
      this.#api.create(resource, body, { ...options, timeoutMs: this.#timeoutMs(options) }),
    );
  }

  update(
    resource: Resource,
    name: string,
    body: object,
    options?: WriteOptions,
  ): Promise<KubeObject> {
    return this.#write(() =>
      this.#api.update(resource, name, body, { ...options, timeoutMs: this.#timeoutMs(options) }),
    );
  }

  patch(
    resource: Resource,
    name: string,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<KubeObject> {
    return this.#write(() =>
      this.#api.patch(resource, name, patch, { ...options, timeoutMs: this.#timeoutMs(options) }),
    );
  }

  delete(resource: Resource, name: string, options?: DeleteOptions): Promise<void> {
    return this.#write(() =>
      this.#api.delete(resource, name, { ...options, timeoutMs: this.#timeoutMs(options) }),
    );
  }

  async #write<T>(send: () => Promise<T>): Promise<T> {
    if (this.#isClosed || this.#clock.now() >= this.#right.mayWriteUntilMs) {
      // to a loop it is as if the API could not be reached; it is about to be stopped
      throw new ApiUnreachable('this controller does not lead, so it writes nothing', undefined);
    }
    const sent = send();
    this.#underWay.add(sent);
    try {
      return await sent;
    } finally {
      this.#underWay.delete(sent);
    }
  }

  #timeoutMs({ timeoutMs = DEFAULT_TIMEOUT_MS }: CallOptions = {}): number {
    return Math.max(1, Math.min(timeoutMs, this.#right.fencedUntilMs - this.#clock.now()));
  }
}
