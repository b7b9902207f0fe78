/**
 * Simple mode runs one replica, and Kubernetes may start it on another node while the old one still lives (SEEDS A5, A6). The Lease of the
 * controller decides which process announces anycast claims of the API; exclusive claims have labels and a Lease per node. Pure.
 *
 * holding       this process holds the Lease: full preference.
 * stepped-down  one step: the Lease was this process's, or this machine's before a restart, and cannot be renewed or read. An API
 *               outage takes nothing down, and a successor with the Lease is preferred; when that one is cut off too, its later turn
 *               is what the router prefers it by. Two steps: the holder is leaving or has left, so that its routes end only when
 *               these are there.
 * waiting       another process holds the Lease, or nothing is known: nothing is announced.
 * refused       another workload of Herald announces: this process has not joined the cluster, and says so there.
 */

import type { Finding } from './view.ts';

export type Announcer =
  | { readonly kind: 'holding' }
  | {
      readonly kind: 'stepped-down';
      readonly steps: 1;
      /** of several processes that cannot renew the Lease the one with the highest held it last */
      readonly turn: number;
      readonly sentence: string;
    }
  | { readonly kind: 'stepped-down'; readonly steps: 2; readonly sentence: string }
  | { readonly kind: 'waiting'; readonly finding: Finding }
  | { readonly kind: 'refused'; readonly sentence: string; readonly remedy: string };

/** What an agent reads it from; `onChange` follows each change. */
export interface AnnouncerSource {
  readonly current: Announcer;
  subscribe(onChange: () => void): void;
}

/** The Lease as it was read last. */
export interface LeaseReading {
  /** empty: the Lease is free */
  readonly holder: string;
  readonly isOwn: boolean;
  /** the holder drains, or restarts as planned */
  readonly isLeaving: boolean;
  /** how often it went to another holder: each holder has one of its own, the later the higher */
  readonly transitions: number;
}

export interface AnnouncerFacts {
  readonly isLeading: boolean;
  /** undefined: not read since this process started */
  readonly reading?: LeaseReading;
  /** this machine announced when it knew the Lease last: the transitions of the Lease when it held it; undefined: it did not */
  readonly turn?: number;
  /** why this process must not act at all */
  readonly refusal?: { readonly sentence: string; readonly remedy: string };
}

const HOLDING: Announcer = { kind: 'holding' };
const UNKNOWN: Announcer = {
  kind: 'waiting',
  finding: {
    isOpen: false,
    sentence: 'the Lease of the controller has not been read yet',
    isUnknown: true,
  },
};
const FREE: Announcer = {
  kind: 'stepped-down',
  steps: 2,
  sentence: 'the Lease of the controller is free: two steps down until this process holds it',
};

export function announcerOf(facts: AnnouncerFacts): Announcer {
  const { isLeading, reading, turn, refusal } = facts;
  if (refusal !== undefined) return { kind: 'refused', ...refusal };
  if (isLeading) return HOLDING;
  if (reading === undefined) return turn === undefined ? UNKNOWN : silent(turn);
  if (reading.isOwn || reading.holder === '') return turn === undefined ? FREE : silent(turn);
  return reading.isLeaving ? beside(reading.holder) : behind(reading.holder);
}

/** What this machine remembers for its next process. Only a reading that names another holder ends it. */
export function turnAfter({ isLeading, reading, turn }: AnnouncerFacts): number | undefined {
  if (reading === undefined || reading.holder === '') return isLeading ? (turn ?? 0) : turn;
  if (reading.isOwn) return isLeading || turn !== undefined ? reading.transitions : undefined;
  return isLeading ? (turn ?? 0) : undefined;
}

export function isSameAnnouncer(a: Announcer, b: Announcer): boolean {
  return a.kind === b.kind && wordsOf(a) === wordsOf(b);
}

function wordsOf(announcer: Announcer): string {
  switch (announcer.kind) {
    case 'holding':
      return '';
    case 'stepped-down':
      return `${announcer.steps} ${turnOf(announcer)} ${announcer.sentence}`;
    case 'refused':
      return announcer.sentence;
    case 'waiting':
      return `${announcer.finding.isUnknown === true} ${announcer.finding.sentence}`;
  }
}

/** which holder of the Lease it was; undefined: none */
function turnOf(announcer: Announcer & { readonly kind: 'stepped-down' }): number | undefined {
  return announcer.steps === 1 ? announcer.turn : undefined;
}

function silent(turn: number): Announcer {
  const sentence = 'the Lease of the controller cannot be renewed: one step down';
  return { kind: 'stepped-down', steps: 1, turn, sentence };
}

function beside(holder: string): Announcer {
  const sentence = `${holder} holds the Lease of the controller and is leaving: two steps down`;
  return { kind: 'stepped-down', steps: 2, sentence };
}

function behind(holder: string): Announcer {
  const sentence = `${holder} holds the Lease of the controller and announces`;
  const remedy = 'stop that process, or wait: this one announces when the Lease is free';
  return { kind: 'waiting', finding: { isOpen: false, sentence, remedy } };
}
