/**
 * The controller: caches that are always warm, an election, and the loops of whoever leads. A term begins when we lead and everything
 * has been listed; it ends with the Lease, and its guard with it, so nothing of an old term writes in a new one. Losing the API ends
 * nothing: watches and the election go on by themselves when it is back.
 */

import type { Clock, Random } from 'bgp-ts';
import type { Log } from '../log/log.ts';
import { CONTROLLER_LEASE, NAMESPACE } from '../model/names.ts';
import type { KubeApi } from '../sources/kube/api.ts';
import { ControllerCaches } from './caches.ts';
import { type ControllerCounters, NO_COUNTERS } from './counters.ts';
import { createLoops } from './create-loops.ts';
import { Election, type LeaseEnd } from './election.ts';
import type { ElectionTimes, LeaseRecord } from './election-rules.ts';
import { EventRecorder } from './events.ts';
import { type ControllerFacts, controllerFacts } from './facts.ts';
import { KubeletLeases } from './kubelet-leases.ts';
import { LivenessWatch } from './liveness-watch.ts';
import type { ControllerLoop, LoopContext, LoopSettings } from './loops.ts';
import { ReleaseWatch } from './release-watch.ts';
import { ALWAYS, WriteGuard, type WriteRight } from './write-guard.ts';

export interface ControllerOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** of this process alone */
  readonly identity: string;
  /** absent: no election, this one leads from the start */
  readonly election?: ElectionTimes;
  /** the Lease of the election, each time that it is read or written */
  readonly onRecord?: (record: LeaseRecord | undefined) => void;
  /** with each change of leading, by the Lease alone */
  readonly onLeading?: (isLeading: boolean) => void;
  readonly settings: LoopSettings;
  readonly counters?: ControllerCounters;
  /** other ones in tests */
  readonly loops?: (context: LoopContext) => readonly ControllerLoop[];
}

interface Term {
  readonly guard: WriteGuard;
  readonly events: EventRecorder;
  readonly loops: readonly ControllerLoop[];
}

/** how long writes that are under way are waited for at a stop: a Lease that is given back late is no use to anybody */
const SETTLE_MS = 3000;

export class Controller {
  readonly #options: ControllerOptions;
  readonly #caches: ControllerCaches;
  /** a standby looks too, so that it knows who is dead when it takes over */
  readonly #livenessWatch: LivenessWatch;
  /** and how long addresses have been given back */
  readonly #releaseWatch: ReleaseWatch;
  readonly #election: Election | undefined;
  #term: Term | undefined;
  #mayLead = false;

  constructor(options: ControllerOptions) {
    const { api, clock, random, log, identity, election: times } = options;
    this.#options = options;
    this.#caches = new ControllerCaches({ api, clock, random, log });
    const kubelets = new KubeletLeases({ api, clock, log });
    this.#livenessWatch = new LivenessWatch({ clock, log, caches: this.#caches, kubelets });
    this.#releaseWatch = new ReleaseWatch({ clock, caches: this.#caches });
    if (times === undefined) return;
    const onLead = () => this.#lead();
    const onLost = () => this.#follow();
    this.#election = new Election({ ...options, identity, times, onLead, onLost });
    this.#caches.subscribe('leases', (key) => {
      if (key === `${NAMESPACE}/${CONTROLLER_LEASE}`) this.#election?.kick();
    });
  }

  /** it holds the Lease (or needs none), and its loops run */
  get isLeading(): boolean {
    return this.#term !== undefined && (this.#election?.isLeading ?? true);
  }

  /** what has not been listed yet: a standby is ready too, as soon as there is nothing */
  get unsynced(): readonly string[] {
    return this.#caches.unsynced;
  }

  facts(): ControllerFacts {
    return controllerFacts(this.#caches, this.isLeading);
  }

  start(): void {
    this.#caches.start();
    this.#livenessWatch.start();
    this.#releaseWatch.start();
    this.#caches.whenSynced(() => this.#begin());
    if (this.#election === undefined) this.#lead();
    else this.#election.start();
  }

  /** The process is about to stop; the Lease says so, and is still held. */
  async leave(): Promise<void> {
    await this.#election?.leave();
  }

  /** Lets writes that are under way come to their end, within bounds, and gives the Lease back. */
  async stop(end?: LeaseEnd): Promise<void> {
    this.#mayLead = false;
    await this.#end();
    await this.#election?.stop(end);
    this.#livenessWatch.stop();
    this.#releaseWatch.stop();
    this.#caches.stop();
  }

  #lead(): void {
    this.#mayLead = true;
    this.#options.onLeading?.(true);
    this.#begin();
  }

  #follow(): void {
    this.#mayLead = false;
    this.#options.onLeading?.(false);
    void this.#end();
  }

  #begin(): void {
    if (!this.#mayLead || this.#term !== undefined || !this.#caches.hasSynced) return;
    const {
      api,
      clock,
      log,
      identity,
      counters = NO_COUNTERS,
      loops = createLoops,
    } = this.#options;
    const guard = new WriteGuard(api, this.#right(), clock);
    const events = new EventRecorder({
      api: guard,
      clock,
      log,
      instance: identity,
      onDropped: (why) => counters.eventDropped(why),
      isBusy: () => this.#term?.loops.some(({ isBusy = false }) => isBusy) ?? false,
    });
    const ours = {
      caches: this.#caches,
      livenessWatch: this.#livenessWatch,
      releaseWatch: this.#releaseWatch,
    };
    const context = { ...this.#options, ...ours, api: guard, events, counters };
    this.#term = { guard, events, loops: loops(context) };
    for (const loop of this.#term.loops) loop.start();
    log.info('controller.start', { identity }, 'the loops run');
  }

  async #end(): Promise<void> {
    const term = this.#term;
    if (term === undefined) return;
    this.#term = undefined;
    for (const loop of term.loops) loop.stop();
    term.events.stop();
    await term.guard.close(SETTLE_MS);
    this.#options.log.info('controller.stop', {}, 'the loops have ended');
  }

  #right(): WriteRight {
    return this.#election ?? ALWAYS;
  }
}
