/** What an informer says: each trouble once, not at every try, and its end. */

import type { Log } from '../../log/log.ts';
import { ApiError, isNotFound, type Resource } from './api.ts';

export class InformerLog {
  readonly #log: Log;
  readonly #resource: string;
  #said: string | undefined;
  #hasListed = false;

  constructor(log: Log, { group, version, plural }: Resource) {
    this.#log = log;
    this.#resource = group === '' ? plural : `${plural}.${group}/${version}`;
  }

  listed(count: number, changed: number): void {
    const fields = { resource: this.#resource, count, changed };
    const first = !this.#hasListed;
    this.#hasListed = true;
    if (first) this.#log.info('kube.synced', fields, 'listed for the first time');
    else this.#log.debug('kube.synced', fields, 'listed again');
  }

  failed(error: Error, failures: number): void {
    const kind = error instanceof ApiError ? `${error.status}` : error.name;
    if (this.#said === kind) return;
    this.#said = kind;
    const fields = { resource: this.#resource, failures, reason: error.message };
    if (isNotFound(error)) {
      const what = 'the API server does not know this resource yet; asking until it does';
      this.#log.warn('kube.missing', fields, what);
    } else this.#log.warn('kube.retry', fields, 'cannot follow this resource; trying again');
  }

  recovered(): void {
    if (this.#said === undefined) return;
    this.#said = undefined;
    this.#log.info('kube.retry', { resource: this.#resource }, 'following this resource again');
  }
}
