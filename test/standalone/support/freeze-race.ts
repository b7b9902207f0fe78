/**
 * How long a router keeps the route of a speaker that is frozen: ours against a BIRD in the same place, with the same timers, under
 * the same router, in the same round. Each is stopped right after one of its messages has arrived (the kernel of the router
 * knows when), so that the luck of the keepalive's phase decides nothing. Used by the tests and by `make bench`.
 */

import { Bird } from '../../interop/routers/bird.ts';
import type { Host } from '../../support/netns.ts';
import { done, notYet, until } from '../../support/poll.ts';
import { edgeAsn, holdSeconds, masterAsn, vip, vipPrefix } from './addresses.ts';
import { nowMs } from './monotonic.ts';
import type { RouteWatch } from './route-watch.ts';
import type { Topology } from './topology.ts';

export type FreezeRound = {
  /** From SIGSTOP to the route gone from the router's kernel. */
  readonly heraldMs: number;
  readonly birdMs: number;
  /** Times at which a third, unfrozen speaker's route was missing meanwhile: must be none. */
  readonly disturbed: number;
};

/** A message that arrived this long ago is fresh enough to freeze its sender. */
const freshMs = 40;

/** Milliseconds since the router's kernel last received data from this neighbour's session. */
async function sinceLastMessage(router: Host, address: string): Promise<number> {
  const filter = ['dst', address, 'and', 'sport', '=', ':179'];
  const { stdout } = await router.exec('ss', ['-tniH', 'state', 'established', ...filter]);
  const ages = [...stdout.matchAll(/lastrcv:(\d+)/g)].map((match) => Number(match[1]));
  return Math.min(...ages);
}

async function freezeFresh(router: Host, address: string, freeze: () => void): Promise<number> {
  return await until(
    `a message of ${address} arrives at the router`,
    async () => {
      const age = await sinceLastMessage(router, address);
      if (age > freshMs) return notYet(age);
      freeze();
      return done(nowMs());
    },
    { timeoutMs: 10_000, everyMs: 5 },
  );
}

/**
 * Plays the rounds in a topology whose router, API servers and agents m1 and m3 run and announce; m2 has no agent: BIRD takes
 * its place. Everything is thawed and announced again at the end of each round.
 */
export async function freezeRace(topology: Topology, rounds: number): Promise<FreezeRound[]> {
  const { host, address, gateway } = topology.master('m2');
  const bird = new Bird();
  await bird.start(host, {
    localAsn: masterAsn,
    routerId: address,
    announce: [{ prefix: vipPrefix }],
    neighbours: [
      {
        address: gateway,
        localAddress: address,
        asn: edgeAsn,
        families: ['ipv4'],
        holdTimeSeconds: holdSeconds,
      },
    ],
  });
  const watch = await topology.watchRoutes();
  const results: FreezeRound[] = [];
  try {
    for (let round = 0; round < rounds; round += 1) {
      results.push(await freezeRound(topology, bird, watch));
    }
  } finally {
    await watch.stop();
    await bird.stop();
  }
  return results;
}

async function freezeRound(
  topology: Topology,
  bird: Bird,
  watch: RouteWatch,
): Promise<FreezeRound> {
  const [ours, theirs, third] = ['m1', 'm2', 'm3'].map((name) => topology.master(name));
  if (ours === undefined || theirs === undefined || third === undefined) throw new Error('three');
  const all = ['m1', 'm2', 'm3'];
  await topology.routesOf(all);
  await topology.steady(all, 2_500);
  const startedMs = nowMs();
  const router = topology.routerHost;
  const [oursMs, theirsMs] = await Promise.all([
    freezeFresh(router, ours.address, () => ours.freeze('agent')),
    freezeFresh(router, theirs.address, () => bird.freeze()),
  ]);
  const [oursGone, theirsGone] = await Promise.all([
    watch.gone(vip, ours.address, oursMs),
    watch.gone(vip, theirs.address, theirsMs),
  ]);
  const events = watch.events(vip).filter((event) => event.atMs >= startedMs);
  const disturbed = events.filter((event) => !event.gateways.includes(third.address)).length;
  ours.thaw();
  bird.thaw();
  await topology.routesOf(all);
  return { heraldMs: oursGone - oursMs, birdMs: theirsGone - theirsMs, disturbed };
}
