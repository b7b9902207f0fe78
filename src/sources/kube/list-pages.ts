/**
 * Asks for the pages of one list. How long an object is its owner decides: a tenant may make each of its Services 1.5 MB long, and a page of five
 * hundred such takes all memory. A page that is too long is asked for again with fewer objects, and the next ones have more again.
 */

import {
  AnswerTooLong,
  type KubeApi,
  type KubeList,
  type ListOptions,
  type Resource,
} from './api.ts';

/** of objects as most are, a page of 500 has a tenth of it */
const MOST_BYTES = 16 * 1024 * 1024;
/** until one was short enough, and after that: objects of one owner stand together, so the next page is much like the last */
const FEWER = { first: 8, later: 2 };
const MORE = 1.25;

export class ListPages {
  readonly #api: KubeApi;
  readonly #resource: Resource;
  /** undefined: whole, whatever its length */
  readonly #most: number | undefined;
  #limit: number;
  #hasPage = false;

  constructor(api: KubeApi, resource: Resource, most: number | undefined) {
    this.#api = api;
    this.#resource = resource;
    this.#most = most;
    this.#limit = most ?? 1;
  }

  async ask(wanted: ListOptions): Promise<KubeList> {
    if (this.#most === undefined) return await this.#api.list(this.#resource, wanted);
    for (;;) {
      const limit = this.#limit;
      // one object alone is taken as it is: the API server bounds it
      const bound = limit > 1 ? { mostBytes: MOST_BYTES } : {};
      try {
        const page = await this.#api.list(this.#resource, { ...wanted, limit, ...bound });
        this.#hasPage = true;
        this.#limit = Math.min(Math.ceil(limit * MORE), this.#most);
        return page;
      } catch (error) {
        if (!(error instanceof AnswerTooLong)) throw error;
        const by = this.#hasPage ? FEWER.later : FEWER.first;
        this.#limit = Math.max(1, Math.floor(limit / by));
      }
    }
  }
}
