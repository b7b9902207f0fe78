/**
 * What is out at the neighbours: the last decision that has arrived in full at every neighbour whose session was up, as far as a session carries
 * it. What the controller is told of a node rests on it: a level that counts, a withdrawal that has left. A decision on its way counts as
 * nothing yet, and a route that no session takes never does: whoever waits for it would let the old holder go.
 */

import type { PeerStatus, Speaker, SpeakerEvent } from 'bgp-ts';
import type { EffectiveLevel, PreferenceLevel } from '../model/names.ts';
import { type Carriers, isCarried } from './carriers.ts';
import type { DesiredState } from './desired.ts';
import type { KeptRoutes } from './kept-routes.ts';
import type { SavedView } from './saved-view.ts';

export interface Announced {
  /** by claim name: exclusive claims that are out, and at which level */
  readonly levels: ReadonlyMap<string, PreferenceLevel>;
  /** claims that at least one router has */
  readonly routes: number;
  /** resourceVersion of IPClaims up to which everything was decided on and has left; undefined: no API was heard yet */
  readonly observedClaims?: bigint;
  /** nothing that was decided is still on its way, and `observedClaims` answers for all of it */
  readonly isCurrent: boolean;
  /** for how long a router that cannot be told anything may still have routes of this node; absent: none has */
  readonly keptMs?: number;
}

interface Step {
  readonly desired: DesiredState;
  readonly observed: bigint | undefined;
}

export class AnnouncedState {
  readonly #speaker: Pick<Speaker, 'status'>;
  readonly #carriers: () => Carriers;
  /** what routers whose sessions are down may still have of what they were told before */
  readonly kept: KeptRoutes | undefined;
  #decided: Step | undefined;
  #written: Step | undefined;
  #isBehind = false;
  #told:
    | {
        readonly of: Step;
        readonly by: string;
        readonly announced: Omit<Announced, 'isCurrent' | 'keptMs'>;
      }
    | undefined;

  constructor(speaker: Pick<Speaker, 'status'>, carriers: () => Carriers, kept?: KeptRoutes) {
    this.#speaker = speaker;
    this.#carriers = carriers;
    this.kept = kept;
  }

  /** the View, with what the next process has to wait for */
  toSave(view: SavedView | undefined): SavedView | undefined {
    return this.kept === undefined ? view : this.kept.inView(view);
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
    // it has not been told of this decision, and another node may stand where it believes that we do
    if (this.kept?.mustWait() === true) return false;
    this.#written = this.#decided;
    return true;
  }

  take(event: SpeakerEvent): void {
    this.kept?.take(event);
    const { kind } = event;
    if (kind === 'routes-synced' || kind === 'down' || kind === 'end-arrived') this.settle();
  }

  get current(): Announced {
    // a router may have forgotten by time alone
    if (this.kept !== undefined) this.settle();
    const step = this.#written;
    const keptMs = this.kept?.leftMs ?? 0;
    const isCurrent = step === this.#decided && !this.#isBehind;
    const rest = { isCurrent, ...(keptMs > 0 && { keptMs }) };
    if (step === undefined) return { levels: new Map(), routes: 0, ...rest };
    return { ...this.#tell(step), ...rest };
  }

  #tell(step: Step): Omit<Announced, 'isCurrent' | 'keptMs'> {
    const carriers = this.#carriers();
    const { signature: by } = carriers;
    if (this.#told?.of === step && this.#told.by === by) return this.#told.announced;
    const announced = announcedOf(step, carriers);
    this.#told = { of: step, by, announced };
    return announced;
  }
}

function announcedOf(
  { desired, observed }: Step,
  carriers: Carriers,
): Omit<Announced, 'isCurrent' | 'keptMs'> {
  const out = desired.claims.filter((decision) => isCarried(decision, carriers));
  const levels = out.flatMap(({ subject: { level, claim } }) =>
    level === undefined ? [] : [[claim.object.name, told(level)] as const],
  );
  return {
    levels: new Map(levels),
    routes: out.length,
    ...(observed === undefined ? {} : { observedClaims: observed }),
  };
}

/** For a controller all levels of a node that cannot hold its claims are one: it is not where its label says. */
function told(level: EffectiveLevel): PreferenceLevel {
  return level === 0 || level === 2 ? level : 1;
}

/** A router that restarts gracefully with us keeps what the session before had until End-of-RIB (RFC 4724 §4.2), whatever we want now. */
function isBehind({ state, isSynced, owesEndOfRib, negotiated }: PeerStatus): boolean {
  if (state !== 'established') return false;
  return !isSynced || (owesEndOfRib && negotiated?.peerGracefulRestart !== undefined);
}
