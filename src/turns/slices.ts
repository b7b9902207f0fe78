/**
 * Long work on the main thread, done in slices with a turn for everybody else between two of them: Leases, watches and sessions of BGP wait for one
 * slice and never for all of it. A slice ends by the work that is done, not by a clock: the same work has the same slices on every machine.
 *
 * A job is an iterator that yields what its last step cost; what comes after its last yield runs when all of it is done. Jobs run one after the other.
 * One that throws is over, and the next one goes on; the error is that of the turn, as everywhere.
 */

import { labelled, type Work } from './work-labels.ts';

/** in addresses of Services, the unit of all its users: some 10 ms */
const SLICE = 2048;

export class Slices {
  readonly #what: Work;
  readonly #jobs: Iterator<number>[] = [];
  #idle: PromiseWithResolvers<void> | undefined;
  #isStopped = false;

  constructor(what: Work) {
    this.#what = what;
  }

  /** undefined: nothing is left to do */
  get untilDone(): Promise<void> | undefined {
    return this.#idle?.promise;
  }

  /** The first slice runs at once, so little work is done on return. */
  add(job: Iterator<number>): void {
    this.#jobs.push(job);
    if (this.#idle !== undefined) return;
    this.#idle = Promise.withResolvers();
    this.#run();
  }

  /** What is left is given up, and nobody who waits for it goes on. */
  stop(): void {
    this.#isStopped = true;
  }

  #run(): void {
    if (this.#isStopped) return;
    try {
      labelled(this.#what, () => this.#slice());
    } finally {
      if (this.#jobs.length > 0) setImmediate(() => this.#run());
      else {
        this.#idle?.resolve();
        this.#idle = undefined;
      }
    }
  }

  #slice(): void {
    let spent = 0;
    for (let job = this.#jobs[0]; job !== undefined && spent < SLICE; job = this.#jobs[0]) {
      let isOver = true;
      try {
        const step = job.next();
        isOver = step.done === true;
        if (step.done !== true) spent += step.value;
      } finally {
        if (isOver) this.#jobs.shift();
      }
    }
  }
}
