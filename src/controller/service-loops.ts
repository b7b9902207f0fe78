/** Everything that gives out addresses and takes them back: one world, and the loops that work on it. */

import { ClaimRelease } from './claim-release.ts';
import { DeletedClaims } from './deleted-claims.ts';
import type { ControllerLoop, LoopContext } from './loops.ts';
import { PoolStatusLoop } from './pool-status.ts';
import { ReleaseWatch } from './release-watch.ts';
import { ServiceLoop } from './service-loop.ts';
import { ServiceWorld } from './service-world.ts';

interface Run {
  readonly world: ServiceWorld;
  readonly services: ServiceLoop;
  readonly release: ClaimRelease;
  readonly deleted: DeletedClaims;
  readonly pools: PoolStatusLoop;
  /** where it is ours alone */
  readonly releases?: ReleaseWatch;
}

/** The caches must have synced when it starts: what they lack is taken as knowledge. */
export class ServiceLoops implements ControllerLoop {
  readonly #context: LoopContext;
  #run: Run | undefined;

  constructor(context: LoopContext) {
    this.#context = context;
  }

  /** addresses are being given out: what is less urgent can wait */
  get isBusy(): boolean {
    return this.#run?.services.isBusy ?? false;
  }

  start(): void {
    if (this.#run !== undefined) return;
    const { caches, settings, clock } = this.#context;
    const world = new ServiceWorld(caches, {
      isDefaultClass: settings.defaultClass,
      wallTimeMs: () => clock.wallTimeMs(),
      coolDown: { coolDownMs: settings.coolDownMs ?? 0, now: () => clock.now() },
      listener: {
        due: (key, delayMs) => services.due(key, delayMs),
        poolsTouched: () => pools.touched(),
        releaseTouched: (name) => release.due(name),
      },
    });
    const own = this.#context.releaseWatch === undefined;
    const releases = this.#context.releaseWatch ?? new ReleaseWatch(this.#context);
    if (own) releases.start();
    const services = new ServiceLoop(this.#context, world);
    const release = new ClaimRelease(this.#context, world, releases);
    const pools = new PoolStatusLoop(this.#context, world, {
      awaitedBy: release.awaitedBy,
      seenForMs: (claim) => releases.seenForMs(claim),
    });
    const deleted = new DeletedClaims(this.#context, world, (claim) =>
      release.isOurDeletion(claim),
    );
    this.#run = { world, services, release, deleted, pools, ...(own && { releases }) };
    // before the release forgets what it has deleted itself
    deleted.start();
    release.start();
    world.start();
  }

  stop(): void {
    const run = this.#run;
    if (run === undefined) return;
    this.#run = undefined;
    run.world.stop();
    run.services.stop();
    run.release.stop();
    run.deleted.stop();
    run.pools.stop();
    run.releases?.stop();
  }
}
