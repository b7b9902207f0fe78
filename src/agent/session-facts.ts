/**
 * What the sessions say that status must tell and `PeerStatus` does not: routes that a session cannot carry, a port that is taken.
 * Facts only: they change what people read, never what is wanted.
 */

import type { Family, RefusedRoute, SpeakerEvent } from 'bgp-ts';

export class SessionFacts {
  /** by session name, then by family: one example of what it cannot carry */
  readonly #refused = new Map<string, ReadonlyMap<Family, RefusedRoute>>();
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
        return;
      case 'down':
        this.#refused.delete(event.peer);
        return;
      default:
        return;
    }
  }

  get listenProblem(): string | undefined {
    return this.#listenProblem;
  }

  /** why the session of this name carries nothing of this family */
  refusal(session: string, family: Family): RefusedRoute | undefined {
    return this.#refused.get(session)?.get(family);
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
