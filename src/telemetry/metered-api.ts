/** A KubeApi that tells of each call how it ended: verb, resource, and the status or the word for there being none. */

import {
  ApiError,
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

export type ApiVerb = 'get' | 'list' | 'create' | 'update' | 'patch' | 'delete';

export interface ApiMeter {
  /** `code`: an HTTP status, `unreachable`, or `aborted` by ourselves */
  call(verb: ApiVerb, resource: string, code: string): void;
  /** a watch is over, and is opened again unless we stop */
  watchEnded(resource: string, why: WatchEnd['kind']): void;
}

export class MeteredApi implements KubeApi {
  readonly #api: KubeApi;
  readonly #meter: ApiMeter;

  constructor(api: KubeApi, meter: ApiMeter) {
    this.#api = api;
    this.#meter = meter;
  }

  get(resource: Resource, name: string, options?: CallOptions): Promise<KubeObject> {
    return this.#count('get', resource, () => this.#api.get(resource, name, options));
  }

  list(resource: Resource, options?: ListOptions): Promise<KubeList> {
    return this.#count('list', resource, () => this.#api.list(resource, options));
  }

  create(resource: Resource, body: object, options?: CallOptions): Promise<KubeObject> {
    return this.#count('create', resource, () => this.#api.create(resource, body, options));
  }

  update(
    resource: Resource,
    name: string,
    body: object,
    options?: WriteOptions,
  ): Promise<KubeObject> {
    return this.#count('update', resource, () => this.#api.update(resource, name, body, options));
  }

  patch(
    resource: Resource,
    name: string,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<KubeObject> {
    return this.#count('patch', resource, () => this.#api.patch(resource, name, patch, options));
  }

  delete(resource: Resource, name: string, options?: DeleteOptions): Promise<void> {
    return this.#count('delete', resource, () => this.#api.delete(resource, name, options));
  }

  async watch(resource: Resource, options: WatchOptions): Promise<WatchEnd> {
    const end = await this.#api.watch(resource, options);
    if (!options.signal.aborted) this.#meter.watchEnded(resource.plural, end.kind);
    return end;
  }

  async #count<T>(verb: ApiVerb, { plural }: Resource, send: () => Promise<T>): Promise<T> {
    try {
      const answer = await send();
      this.#meter.call(verb, plural, verb === 'create' ? '201' : '200');
      return answer;
    } catch (error) {
      this.#meter.call(verb, plural, codeOf(error));
      throw error;
    }
  }
}

function codeOf(error: unknown): string {
  if (error instanceof ApiError) return String(error.status);
  return error instanceof ApiUnreachable ? 'unreachable' : 'aborted';
}
