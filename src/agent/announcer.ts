/**
 * Simple mode runs one replica, and Kubernetes may start it on another node while the old one still lives (SEEDS A5, A6). The Lease of the
 * controller decides which process announces anycast claims of the API; exclusive claims have labels and a Lease per node. Pure.
 *
 * holding       this process holds the Lease: full preference.
 * stepped-down  one step: the Lease was this process's, or this machine's before a restart, and cannot be renewed or read. An API
 *               outage takes nothing down, and a successor with the Lease is preferred. Two steps: the holder is leaving or has
 *               left, so that its routes end only when these are there.
 * waiting       another process holds the Lease, or nothing is known: nothing is announced.
 * refused       another workload of Herald announces: this process has not joined the cluster, and says so there.
 */

import type { Finding } from './view.ts';

export type Announcer =
  | { readonly kind: 'holding' }
  | { readonly kind: 'stepped-down'; readonly steps: 1 | 2; readonly sentence: string }
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
}

export interface AnnouncerFacts {
  readonly isLeading: boolean;
  /** undefined: not read since this process started */
  readonly reading?: LeaseReading;
  /** this machine announced when it knew the Lease last */
  readonly hasAnnounced: boolean;
  /** why this process must not act at all */
  readonly refusal?: { readonly sentence: string; readonly remedy: string };
}

const HOLDING: Announcer = { kind: 'holding' };
const SILENT: Announcer = {
  kind: 'stepped-down',
  steps: 1,
  sentence: 'the Lease of the controller cannot be renewed: one step down',
};
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
  const { isLeading, reading, hasAnnounced, refusal } = facts;
  if (refusal !== undefined) return { kind: 'refused', ...refusal };
  if (isLeading) return HOLDING;
  if (reading === undefined) return hasAnnounced ? SILENT : UNKNOWN;
  if (reading.isOwn || reading.holder === '') return hasAnnounced ? SILENT : FREE;
  return reading.isLeaving ? beside(reading.holder) : behind(reading.holder);
}

/** What this machine remembers for its next process. Only a reading that names another holder ends it. */
export function hasAnnouncedAfter({ isLeading, reading, hasAnnounced }: AnnouncerFacts): boolean {
  if (isLeading) return true;
  const isAnothers = reading !== undefined && !reading.isOwn && reading.holder !== '';
  return hasAnnounced && !isAnothers;
}

export function isSameAnnouncer(a: Announcer, b: Announcer): boolean {
  return a.kind === b.kind && wordsOf(a) === wordsOf(b);
}

function wordsOf(announcer: Announcer): string {
  switch (announcer.kind) {
    case 'holding':
      return '';
    case 'stepped-down':
      return `${announcer.steps} ${announcer.sentence}`;
    case 'refused':
      return announcer.sentence;
    case 'waiting':
      return `${announcer.finding.isUnknown === true} ${announcer.finding.sentence}`;
  }
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
