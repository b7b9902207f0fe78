/**
 * Which of several API servers is asked: the one that works, until it does not. One that cannot be reached is left at once, one that
 * answers with errors of its own (its etcd is gone) after a few in a row. Knows nothing of sockets.
 */

/** answers of 5xx in a row after which another server may do better */
const MANY_ERRORS = 3;

export class ServerRing {
  readonly #count: number;
  #at: number;
  #errors = 0;

  constructor(count: number, first = 0) {
    this.#count = count;
    this.#at = first;
  }

  get current(): number {
    return this.#at;
  }

  answered(server: number, status: number): boolean {
    if (server !== this.#at) return false;
    this.#errors = status >= 500 ? this.#errors + 1 : 0;
    return this.#errors >= MANY_ERRORS && this.#leave();
  }

  /** true: another one is asked from now on. What is reported of a server that was left already changes nothing. */
  unreachable(server: number): boolean {
    return server === this.#at && this.#leave();
  }

  #leave(): boolean {
    this.#errors = 0;
    this.#at = (this.#at + 1) % this.#count;
    return this.#count > 1;
  }
}
