/**
 * What the sessions say that status must tell and `PeerStatus` does not: routes that a session cannot carry, a port that is taken.
 * Facts only: they change what people read, never what is wanted.
 */

import {
  describeDown,
  type Family,
  type PeerStatus,
  type RefusedRoute,
  type SpeakerEvent,
} from 'bgp-ts';
import { type Carriers, carriersOf } from './carriers.ts';

type Told = Pick<PeerStatus, 'name' | 'state' | 'lastError'>;

export class SessionFacts {
  /** by session name, then by family: one example of what it cannot carry */
  readonly #refused = new Map<string, ReadonlyMap<Family, RefusedRoute>>();
  /** names of sessions that are up; true = it has been told everything once since it came up */
  readonly #isTold = new Map<string, boolean>();
  /** by session name: what the neighbour said when it ended a session that has not come back since */
  readonly #words = new Map<string, string>();
  #told:
    | { readonly peer: string; readonly byFamily: ReadonlyMap<Family, RefusedRoute> }
    | undefined;
  #listenProblem: string | undefined;

  take(event: SpeakerEvent): void {
    switch (event.kind) {
      case 'listening':
        this.#listenProblem = undefined;
        return;
      case 'listen-failed':
        this.#listenProblem = `${event.error.message}; find the program with 'ss -ltnp' and stop it, or set --listen-port; it is tried again every few seconds`;
        return;
      case 'routes-refused': {
        const ofFamily = event.first.filter(({ reason }) => isAboutFamily(reason));
        const byFamily = new Map(ofFamily.map((one) => [one.route.prefix.family, one] as const));
        this.#told = { peer: event.peer, byFamily };
        return;
      }
      // said after each writing, right behind what was refused in it
      case 'routes-synced':
        if (this.#told?.peer === event.peer) this.#refused.set(event.peer, this.#told.byFamily);
        else this.#refused.delete(event.peer);
        this.#told = undefined;
        this.#isTold.set(event.peer, true);
        return;
      case 'established':
        this.#refused.delete(event.peer);
        this.#isTold.set(event.peer, false);
        return;
      case 'down':
        if (event.wasEstablished) {
          this.#refused.delete(event.peer);
          this.#isTold.delete(event.peer);
        }
        // a second connection that lost a collision: the session that stands goes on as it was
        if (this.#isTold.has(event.peer)) return;
        // what the router said explains more than the refused connections that follow
        if (event.reason.kind === 'notification-received') {
          this.#words.set(event.peer, describeDown(event.reason));
        }
        return;
      case 'transition':
        if (event.to === 'established') this.#words.delete(event.peer);
        return;
      case 'removed':
        for (const known of [this.#refused, this.#isTold, this.#words]) known.delete(event.peer);
        return;
      default:
        return;
    }
  }

  /** Sessions that are down, with the router's own words where it had some. */
  told<T extends Told>(sessions: readonly T[]): readonly T[] {
    return sessions.map((session) => this.#withWords(session));
  }

  #withWords<T extends Told>(session: T): T {
    const words = this.#words.get(session.name);
    const { lastError = words } = session;
    if (words === undefined || session.state === 'established') return session;
    return {
      ...session,
      lastError: lastError === words ? words : `${words}; since then: ${lastError}`,
    };
  }

  get listenProblem(): string | undefined {
    return this.#listenProblem;
  }

  /** why the session of this name carries nothing of this family */
  refusal(session: string, family: Family): RefusedRoute | undefined {
    return this.#refused.get(session)?.get(family);
  }

  /** what each session carries of what it was told last */
  carriers(sessions: readonly Pick<PeerStatus, 'name' | 'state'>[]): Carriers {
    return carriersOf(sessions, {
      isTold: (session) => this.#isTold.get(session) === true,
      refusal: (session, family) => this.refusal(session, family),
    });
  }
}

/** the others concern one route and its attributes */
function isAboutFamily(reason: RefusedRoute['reason']): boolean {
  return (
    reason === 'family-not-negotiated' ||
    reason === 'no-next-hop' ||
    reason === 'next-hop-not-usable'
  );
}
