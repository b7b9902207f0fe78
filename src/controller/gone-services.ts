/**
 * Services whose end this process has seen itself. A claim that names a Service which the cache does not have is not yet proof: the claim
 * may have come sooner than the Service. Whoever is not in here is asked for at the API.
 */

/** enough for what ends while its claims are being released */
const REMEMBERED = 10_000;

export class GoneServices {
  readonly #uids = new Set<string>();

  add(uid: string): void {
    this.#uids.add(uid);
    const [oldest] = this.#uids;
    if (this.#uids.size > REMEMBERED && oldest !== undefined) this.#uids.delete(oldest);
  }

  has(uid: string | undefined): boolean {
    return uid !== undefined && this.#uids.has(uid);
  }
}
