/**
 * What is out at the neighbours: the last decision that every session that was up has had written in full. What the controller is told of
 * a node rests on it: a level that counts, a withdrawal that has left. A decision on its way counts as nothing yet.
 */

import type { PeerStatus, Speaker } from 'bgp-ts';
import type { PreferenceLevel } from '../model/names.ts';
import { isAnnounced } from './departures.ts';
import type { DesiredState } from './desired.ts';

export interface Announced {
  /** by claim name: exclusive claims that are out, and at which level */
  readonly levels: ReadonlyMap<string, PreferenceLevel>;
  /** claims with a route to at least one peer */
  readonly routes: number;
  /** resourceVersion of IPClaims up to which everything was decided on and has left; undefined: no API was heard yet */
  readonly observedClaims?: bigint;
  /** nothing that was decided is still on its way, and `observedClaims` answers for all of it */
  readonly isCurrent: boolean;
}

interface Step {
  readonly desired: DesiredState;
  readonly observed: bigint | undefined;
}

export class AnnouncedState {
  readonly #speaker: Pick<Speaker, 'status'>;
  #decided: Step | undefined;
  #written: Step | undefined;
  #isBehind = false;
  #told: { readonly of: Step; readonly announced: Omit<Announced, 'isCurrent'> } | undefined;

  constructor(speaker: Pick<Speaker, 'status'>) {
    this.#speaker = speaker;
  }

  /** after the speaker has been told */
  decided(desired: DesiredState): void {
    this.#decided = { desired, observed: this.#decided?.observed };
    this.settle();
  }

  /** all changes of IPClaims up to this one are in what was decided last; `isBehind`: so are some later ones */
  observed(resourceVersion: bigint, isBehind: boolean): void {
    this.#isBehind = isBehind;
    if (this.#decided === undefined) return;
    this.#decided = { ...this.#decided, observed: resourceVersion };
    this.settle();
  }

  /** something was written, or a session ended; true when that is news */
  settle(): boolean {
    if (this.#written === this.#decided || this.#speaker.status().some(isBehind)) return false;
    this.#written = this.#decided;
    return true;
  }

  get current(): Announced {
    const step = this.#written;
    const isCurrent = step === this.#decided && !this.#isBehind;
    if (step === undefined) return { levels: new Map(), routes: 0, isCurrent };
    if (this.#told?.of !== step) this.#told = { of: step, announced: announcedOf(step) };
    return { ...this.#told.announced, isCurrent };
  }
}

function announcedOf({ desired, observed }: Step): Omit<Announced, 'isCurrent'> {
  const out = desired.claims.filter(isAnnounced);
  const levels = out.flatMap(({ subject: { level, claim } }) =>
    level === undefined ? [] : [[claim.object.name, level] as const],
  );
  return {
    levels: new Map(levels),
    routes: out.length,
    ...(observed === undefined ? {} : { observedClaims: observed }),
  };
}

function isBehind({ state, isSynced }: PeerStatus): boolean {
  return state === 'established' && !isSynced;
}
