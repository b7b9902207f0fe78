/**
 * When the router's kernel changed a route, to the millisecond, without asking it over and over: `ip monitor` with time stamps.
 * FRR also changes next-hop groups under a route that stays, and the kernel drops groups of a dead link by itself; so every
 * event only says "look", and what holds after it is read from its own text where the event has it.
 */

import { fromWallMs } from '../../../tools/probe/monotonic.ts';
import type { Host } from '../../support/netns.ts';
import { done, notYet, until } from '../../support/poll.ts';
import type { Running } from '../../support/process.ts';
import { firstToRun } from './first-to-run.ts';

export type RouteEvent = {
  readonly atMs: number;
  readonly prefix: string;
  /** None: the route is gone. */
  readonly gateways: readonly string[];
};

let watches = 0;

export class RouteWatch {
  readonly #child: Running;

  private constructor(child: Running) {
    this.#child = child;
  }

  /** Returns when a change made after the start has been seen. */
  static async start(host: Host): Promise<RouteWatch> {
    watches += 1;
    const call = firstToRun('ip -ts -o monitor route nexthop');
    const child = host.spawn(`routes-${watches}`, ...call, { env: { TZ: 'UTC' } });
    const watch = new RouteWatch(child);
    await until(
      'ip monitor sees a marker',
      async () => {
        const marker = 'unreachable 192.0.2.255/32';
        await host.ip(`route replace ${marker}`, `route del ${marker}`);
        return watch.events('192.0.2.255').length > 0 ? done(true) : notYet('nothing');
      },
      { everyMs: 20 },
    );
    return watch;
  }

  events(address: string): RouteEvent[] {
    return parseRouteEvents(this.#child.log()).filter((event) => event.prefix === address);
  }

  /** The first moment after `sinceMs` from which the route no longer leads to this gateway. */
  async gone(
    address: string,
    gateway: string,
    sinceMs: number,
    timeoutMs = 20_000,
  ): Promise<number> {
    return await until(
      `the kernel's route of ${address} leaves ${gateway}`,
      () => {
        const events = this.events(address).filter((event) => event.atMs >= sinceMs);
        const event = events.find((each) => !each.gateways.includes(gateway));
        return event === undefined ? notYet(events) : done(event.atMs);
      },
      { timeoutMs, everyMs: 50 },
    );
  }

  stop(): Promise<number> {
    return this.#child.stop();
  }
}

/** 2026-01-01T00:00:00.000100, of which Date takes no more than three digits */
function wallMsOf(stamp: string): number {
  const micros = /\.\d{3}(\d{3})/.exec(stamp)?.[1] ?? '0';
  return Date.parse(`${stamp.replace(/(\.\d{3})\d*/, '$1')}Z`) + Number(micros) / 1000;
}

export function parseRouteEvents(log: string): RouteEvent[] {
  const events: RouteEvent[] = [];
  for (const line of log.slice(0, log.lastIndexOf('\n') + 1).split('\n')) {
    const match = /^\[([^\]]+)\] (Deleted )?(?:unreachable )?([\d.]+) (.*)$/.exec(line);
    if (match === null) continue;
    const [, stamp = '', deleted, prefix = '', rest = ''] = match;
    const gateways = [...rest.matchAll(/\bvia ([\d.]+)/g)].map((hop) => hop[1] ?? '');
    const atMs = fromWallMs(wallMsOf(stamp));
    events.push({ atMs, prefix, gateways: deleted === undefined ? gateways.sort() : [] });
  }
  return events;
}
