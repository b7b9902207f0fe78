/**
 * The status for those who ask once. Ten thousand claims make megabytes and take a good part of a second to build, in which no
 * session gets a keepalive: so it is built once for all who wait, after they asked, and never during more than half of the time,
 * however many ask.
 */

export class StatusDesk<T> {
  readonly #build: () => T;
  readonly #waiting: Waiting<T>[] = [];
  #timer: NodeJS.Timeout | undefined;
  #notBeforeMs = 0;

  constructor(build: () => T) {
    this.#build = build;
  }

  /** `serve` is called with what was built after this call, maybe within it; `fail` where it cannot be built */
  ask(serve: (built: T) => void, fail: (error: unknown) => void): void {
    this.#waiting.push({ serve, fail });
    const waitMs = this.#notBeforeMs - performance.now();
    if (waitMs <= 0) this.#serve();
    else this.#timer ??= setTimeout(() => this.#serve(), waitMs);
  }

  #serve(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const startedMs = performance.now();
    const tell = this.#outcome();
    const endedMs = performance.now();
    this.#notBeforeMs = endedMs + (endedMs - startedMs);
    for (const waiting of this.#waiting.splice(0)) tell(waiting);
  }

  #outcome(): (waiting: Waiting<T>) => void {
    try {
      const built = this.#build();
      return ({ serve }) => serve(built);
    } catch (error) {
      return ({ fail }) => fail(error);
    }
  }
}

interface Waiting<T> {
  readonly serve: (built: T) => void;
  readonly fail: (error: unknown) => void;
}
