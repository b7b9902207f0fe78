/**
 * What routers may still have of sessions that are down. A router that was told the end, or has told it, has dropped our routes. One that lost the
 * connection without a word keeps them for the restart time where graceful restart was agreed on (RFC 4724 §4.2); one that no packet reaches any
 * more keeps them until its own hold timer ends, which began up to a keepalive after ours. A last word behind routes that never arrived has not
 * arrived either, and the whole hold time may be left. Nobody can tell it anything meanwhile, so nobody
 * else may stand where these routes do.
 */

import type { Clock, PeerStatus, SpeakerEvent } from 'bgp-ts';
import { ROUTER_LATE_SECONDS } from '../model/router-memory.ts';
import type { NamedTimers } from './named-timers.ts';
import type { PeerPlan } from './peer-settings.ts';

type Session = Pick<PeerStatus, 'name' | 'state'>;

interface Lost {
  readonly sinceMs: number;
  /** by its hold timer alone */
  readonly seconds: number;
  /** graceful restart was agreed on, and the router has heard no word */
  readonly isRestart: boolean;
}

export interface KeptRoutesOptions {
  readonly clock: Clock;
  readonly timers: Pick<NamedTimers, 'start'>;
  readonly agent: {
    readonly decided: { readonly plans: readonly PeerPlan[] };
    readonly sessions: readonly Pick<PeerStatus, 'name' | 'state' | 'isSynced'>[];
  };
}

const HOLD_TIMER_EXPIRED = 4;
/** neighbours of a range come and go under names of their own; beyond this number the longest lost is forgotten */
const MOST_LOST = 1000;

export class KeptRoutes {
  readonly #options: KeptRoutesOptions;
  readonly #onForgotten: () => void;
  readonly #startedMs: number;
  /** of sessions that are up: agreed hold time, and whether the router keeps routes over a restart */
  readonly #agreed = new Map<string, { readonly holdSeconds: number; readonly isAware: boolean }>();
  readonly #lost = new Map<string, Lost>();

  /** `onForgotten`: no router has anything any more that it cannot be told to drop */
  constructor(options: KeptRoutesOptions, onForgotten: () => void) {
    this.#options = options;
    this.#onForgotten = onForgotten;
    this.#startedMs = options.clock.now();
  }

  take(event: SpeakerEvent): void {
    if (event.kind === 'established') {
      const { holdTimeSeconds, peerGracefulRestart } = event.negotiated;
      const isAware = peerGracefulRestart !== undefined;
      this.#agreed.set(event.peer, { holdSeconds: holdTimeSeconds, isAware });
      this.#lost.delete(event.peer);
    }
    if (event.kind === 'removed') this.#agreed.delete(event.peer);
    if (event.kind !== 'down') return;
    if (event.wasEstablished) this.#end(event);
    const { leftMs } = this;
    if (leftMs > 0) this.#options.timers.start('kept', leftMs, this.#onForgotten);
  }

  /** Seconds from the end of a session for which the router may keep the routes; of one that never was up, those of the process before this one. */
  secondsOf({ peer }: PeerPlan, { name, state }: Session): number {
    if (state === 'established') return 0;
    const { restartSeconds = 0 } = peer.gracefulRestart ?? {};
    const lost = this.#lost.get(name);
    if (lost === undefined) return restartSeconds;
    return Math.max(lost.seconds, lost.isRestart ? restartSeconds : 0);
  }

  #end({ peer, reason }: SpeakerEvent & { readonly kind: 'down' }): void {
    const { holdSeconds = 0, isAware = false } = this.#agreed.get(peer) ?? {};
    this.#agreed.delete(peer);
    const isOurs = reason.kind === 'notification-sent' || reason.kind === 'stopped';
    const isSilence = reason.kind === 'notification-sent' && reason.code === HOLD_TIMER_EXPIRED;
    const isLost = isOurs && !isSilence && this.#isBehind(peer);
    const isRestart = isAware && (isSilence || isLost || reason.kind === 'disconnected');
    const ofSilence = isSilence ? Math.ceil(holdSeconds / 3) : 0;
    const seconds = isLost ? holdSeconds : ofSilence;
    this.#lost.delete(peer);
    this.#lost.set(peer, { sinceMs: this.#options.clock.now(), seconds, isRestart });
    const [oldest] = this.#lost.keys();
    if (this.#lost.size > MOST_LOST && oldest !== undefined) this.#lost.delete(oldest);
  }

  /** what it was told before the end has not arrived, as far as TCP tells */
  #isBehind(peer: string): boolean {
    const session = this.#options.agent.sessions.find(({ name }) => name === peer);
    return session?.isSynced === false;
  }

  /** for how long a router that cannot be told anything may still have routes of this node */
  get leftMs(): number {
    const { clock, agent } = this.#options;
    const nowMs = clock.now();
    const sessions = this.#withLost(agent.sessions);
    const left = agent.decided.plans.flatMap((plan) => {
      if (plan.kind === 'refused') return [];
      return sessionsOf(plan, sessions).map((session) => {
        const seconds = this.secondsOf(plan, session);
        const sinceMs = this.#lost.get(session.name)?.sinceMs ?? this.#startedMs;
        return seconds === 0 ? 0 : sinceMs + (seconds + ROUTER_LATE_SECONDS) * 1000 - nowMs;
      });
    });
    return left.reduce((longest, each) => Math.max(longest, each), 0);
  }

  /** a neighbour of a range that is gone has no session here any more, and may have our routes */
  #withLost(sessions: readonly Session[]): readonly Session[] {
    const present = new Set(sessions.map(({ name }) => name));
    const gone = [...this.#lost.keys()].filter((name) => !present.has(name));
    return [...sessions, ...gone.map((name) => ({ name, state: 'idle' as const }))];
  }
}

/** a range that nobody dials from stands for who may have done so before this process started */
function sessionsOf(
  { peer: { name } }: PeerPlan,
  sessions: readonly Session[],
): readonly Session[] {
  const own = sessions.filter((each) => each.name === name || each.name.startsWith(`${name}/`));
  return own.length === 0 ? [{ name, state: 'idle' }] : own;
}
