/**
 * How long a router keeps the route of a speaker that is frozen: ours against a BIRD in the same place, with the same timers, under
 * the same router, in the same round. Used by the tests and by `make bench`.
 *
 * Both are stopped at some moment between two KEEPALIVEs, and that luck would decide a comparison by itself. So the time counts
 * from the last message that reached the router, which its kernel remembers per connection: the longest that a freeze can last.
 */

import { nowMs } from '../../../tools/probe/monotonic.ts';
import { Bird } from '../../interop/routers/bird.ts';
import type { Host } from '../../support/netns.ts';
import { edgeAsn, holdSeconds, masterAsn, vip, vipPrefix } from './addresses.ts';
import type { RouteWatch } from './route-watch.ts';
import type { Topology } from './topology.ts';

export type FreezeTime = {
  /** From SIGSTOP to the route gone from the router's kernel. */
  readonly frozenMs: number;
  /** From the last message that the router got to the route gone. */
  readonly silentMs: number;
};

export type FreezeRound = {
  readonly herald: FreezeTime;
  readonly bird: FreezeTime;
  /** Changes that took a third, unfrozen speaker's route away meanwhile: must be none. */
  readonly disturbed: number;
};

/** The reading of a clock through a program that takes this long to start is good to a few milliseconds. */
const sharpMs = 10;
const readingBoundMs = 600;

/**
 * When data of each neighbour's session last reached the router. They are silent by now, so of some readings the sharpest counts; the
 * bound is far below the hold time, after which there is no session to read.
 */
async function lastMessagesAt(router: Host): Promise<ReadonlyMap<string, number>> {
  const args = ['-tniHO', 'state', 'established', 'sport', '=', ':179'];
  const startedMs = nowMs();
  let best: { spanMs: number; at: Map<string, number> } | undefined;
  while (best === undefined || (best.spanMs > sharpMs && nowMs() - startedMs < readingBoundMs)) {
    const beforeMs = nowMs();
    const { stdout } = await router.exec('ss', args);
    const spanMs = nowMs() - beforeMs;
    if (best !== undefined && spanMs >= best.spanMs) continue;
    const ages = stdout.matchAll(/:179\s+(?:\[::ffff:)?([\d.]+)\]?:\d+\s.*?lastrcv:(\d+)/g);
    const middleMs = beforeMs + spanMs / 2;
    best = {
      spanMs,
      at: new Map([...ages].map(([, peer = '', age]) => [peer, middleMs - Number(age)])),
    };
  }
  return best.at;
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
        // As our agent's, so that nothing but the speaker differs.
        families: ['ipv4', 'ipv6'],
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
  const sinceMs = nowMs();
  try {
    ours.freeze('agent');
    bird.freeze();
    const frozenAtMs = nowMs();
    const last = await lastMessagesAt(topology.routerHost);
    const [oursLast, theirsLast] = [last.get(ours.address), last.get(theirs.address)];
    if (oursLast === undefined || theirsLast === undefined) throw new Error('no session to read');
    const [oursGone, theirsGone] = await Promise.all([
      watch.gone(vip, ours.address, sinceMs),
      watch.gone(vip, theirs.address, sinceMs),
    ]);
    const events = watch.events(vip).filter((event) => event.atMs >= sinceMs);
    return {
      herald: { frozenMs: oursGone - frozenAtMs, silentMs: oursGone - oursLast },
      bird: { frozenMs: theirsGone - frozenAtMs, silentMs: theirsGone - theirsLast },
      disturbed: events.filter((event) => !event.gateways.includes(third.address)).length,
    };
  } finally {
    ours.thaw();
    bird.thaw();
    await topology.routesOf(all);
  }
}
