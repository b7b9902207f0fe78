/**
 * Mistakes that such systems have made (SEEDS H1, H3, H36), put between the agent and its ports. A simulation that does not find them
 * finds nothing; the tests run it with each and expect to see it fail.
 */

import type { Clock, Desired, Speaker } from 'bgp-ts';
import type { Documents } from '../../src/model/documents.ts';

export type AgentSpeaker = Pick<Speaker, 'apply' | 'status' | 'stop' | 'subscribe'>;

export interface PlantedBug {
  readonly speaker?: (speaker: AgentSpeaker, clock: Clock) => AgentSpeaker;
  readonly documents?: (node: string, documents: Documents) => Documents;
}

export type BugName = 'late-withdraw' | 'stale-retry' | 'double-holder';

const LATE_MS = 250;
const RETRY_MS = 2500;

/** A withdrawal waits for the next round of some loop. */
const lateWithdraw: PlantedBug = {
  speaker: (speaker, clock) => {
    let running = 0;
    let turn = 0;
    return {
      ...passed(speaker),
      apply: (desired) => {
        turn += 1;
        const mine = turn;
        const count = routeCount(desired);
        const isLess = count < running;
        running = count;
        if (!isLess) return speaker.apply(desired);
        clock.startTimer(LATE_MS, () => {
          if (mine === turn) speaker.apply(desired);
        });
        return [];
      },
    };
  },
};

/** What was decided before is queued once more behind what is decided now, and comes back. */
const staleRetry: PlantedBug = {
  speaker: (speaker, clock) => {
    let last: Desired | undefined;
    return {
      ...passed(speaker),
      apply: (desired) => {
        const old = last;
        last = desired;
        const refused = speaker.apply(desired);
        if (old === undefined || routeCount(old) <= routeCount(desired)) return refused;
        clock.startTimer(RETRY_MS, () => speaker.apply(withRoutesOf(last ?? desired, old)));
        return refused;
      },
    };
  },
};

/** One node believes that it holds every exclusive claim. */
const doubleHolder: PlantedBug = {
  documents: (node, documents) =>
    node !== 'n3'
      ? documents
      : {
          ...documents,
          claims: documents.claims.map((claim) => ({
            ...claim,
            object: { ...claim.object, ...(claim.object.node === undefined ? {} : { node }) },
          })),
        },
};

export const PLANTED_BUGS: Readonly<Record<BugName, PlantedBug>> = {
  'late-withdraw': lateWithdraw,
  'stale-retry': staleRetry,
  'double-holder': doubleHolder,
};

function passed(speaker: AgentSpeaker): Omit<AgentSpeaker, 'apply'> {
  return {
    status: () => speaker.status(),
    stop: (how) => speaker.stop(how),
    subscribe: (onEvent) => speaker.subscribe(onEvent),
  };
}

function withRoutesOf({ peers }: Desired, old: Desired): Desired {
  return {
    peers: peers.map(({ settings, routes }) => {
      const before = old.peers.find((peer) => peer.settings.name === settings.name);
      return { settings, routes: before?.routes ?? routes };
    }),
  };
}

function routeCount({ peers }: Desired): number {
  return peers.reduce((sum, { routes }) => sum + [...routes].length, 0);
}
