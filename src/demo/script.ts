/**
 * The story that the demo tells, about forty seconds at speed 1. Conditions look at the router's table only; bounds are several times
 * what it takes on a busy machine, except for the hold timer's, whose bound is the point.
 */

import { HOLD_SECONDS, MEMBERS, nameOf } from './cast.ts';
import { type Facts, isSameSet } from './facts.ts';
import type { Beat, Condition, Order, Step } from './story.ts';

const ALL = MEMBERS.map(({ id }) => id);
const DRAINED = 2;
const FROZEN = 3;
const KILLED = 1;

/** processes start, sessions come up: slow where the machine is busy */
const START_MS = 15_000;
const CONVERGE_MS = 10_000;
/** the router notices at its hold time; a keepalive may have come just before, and timers may be late by a little */
const HOLD_BOUND_MS = HOLD_SECONDS * 1000 + 1500;
/** well before the hold time, on a busy machine too */
const AT_ONCE_MS = 2000;
const SHARE_OF_REQUESTS = 8;

export const STORY: readonly Step[] = [
  {
    title: 'Three sessions, no route',
    text: 'Three machines have booted. Their agents open BGP sessions, but no API server answers yet.',
    look: 'sessions are established, and the router has no next hop: nothing is announced too early.',
    beats: [
      see('the router has three sessions', START_MS, ({ sessions }) => isSameSet(sessions, ALL)),
      keep('nobody announces anything', 2000, ({ known }) => known.length === 0),
      pause(1500),
    ],
  },
  {
    title: 'API servers come up',
    text: 'One API server after the other starts. Its machine joins as soon as /readyz has answered twice.',
    look: 'each machine adds its next hop by itself, and requests find it.',
    beats: [...comesUp(1), ...comesUp(2), ...comesUp(3)],
  },
  {
    title: 'ECMP over three',
    text: 'The router has three equally good ways to one address and spreads requests over all of them.',
    look: 'about a third each, none lost.',
    promise: { what: 'no request is lost', holds: isNothingLost },
    beats: [
      see(`each answers ${SHARE_OF_REQUESTS} requests or more`, CONVERGE_MS, isShared),
      pause(3000),
    ],
  },
  {
    title: 'A drain loses nothing',
    text: `${nameOf(DRAINED)} is drained: GRACEFUL_SHUTDOWN first, then the withdrawal. Then its API server is stopped.`,
    look: 'requests move to the other two before the server goes: none is lost.',
    promise: { what: 'no new request is lost', holds: isNothingLost },
    beats: [
      order('drain', DRAINED),
      see(`the router no longer uses ${nameOf(DRAINED)}`, CONVERGE_MS, without(DRAINED)),
      see(`the route of ${nameOf(DRAINED)} is withdrawn`, CONVERGE_MS, isUnknown(DRAINED)),
      order('api-down', DRAINED),
      keep(`its API server is down, and no request is lost`, 1500, without(DRAINED)),
      order('api-up', DRAINED),
      order('undrain', DRAINED),
      see(`${nameOf(DRAINED)} is back, no request was lost`, CONVERGE_MS, areAllUsed),
      pause(2000),
    ],
  },
  {
    title: 'A machine freezes',
    text: `${nameOf(FROZEN)} stops dead (SIGSTOP): its connections stay open, it falls silent.`,
    look: `requests to it are lost until the hold timer of ${HOLD_SECONDS} s removes it.`,
    promise: { what: 'the other two stay in use', holds: others(FROZEN) },
    beats: [
      order('freeze', FROZEN),
      see(`the hold timer has removed ${nameOf(FROZEN)}`, HOLD_BOUND_MS, isUnknown(FROZEN)),
      pause(3000),
    ],
  },
  {
    title: 'It thaws and comes back',
    text: `${nameOf(FROZEN)} runs again. Its session is gone, so it dials and announces anew.`,
    look: 'three next hops again, with no help from anybody.',
    promise: { what: 'the other two stay in use', holds: others(FROZEN) },
    beats: [
      order('thaw', FROZEN),
      see(`${nameOf(FROZEN)} is back at the router`, START_MS, areAllUsed),
      pause(2500),
    ],
  },
  {
    title: 'A machine is killed',
    text: `${nameOf(KILLED)} is killed (SIGKILL). Its kernel closes the session, and the router need not wait.`,
    look: 'the next hop goes at once, not after the hold time.',
    promise: { what: 'the other two stay in use', holds: others(KILLED) },
    beats: [
      order('kill', KILLED),
      see(`the route of ${nameOf(KILLED)} is gone`, AT_ONCE_MS, isUnknown(KILLED)),
      pause(2500),
    ],
  },
  {
    title: 'It is revived',
    text: `${nameOf(KILLED)} boots: agent and API server in any order, no memory of the death needed.`,
    look: 'the table is what it was.',
    promise: { what: 'the other two stay in use', holds: others(KILLED) },
    beats: [
      order('revive', KILLED),
      see('the router uses all three again', START_MS, areAllUsed),
      pause(2500),
    ],
  },
];

function comesUp(id: number): readonly Beat[] {
  const isUp: Condition = ({ used }) => isSameSet(used, ALL.slice(0, id));
  return [
    order('api-up', id),
    see(`the route of ${nameOf(id)} is at the router`, CONVERGE_MS, isUp),
    pause(1000),
  ];
}

function order(kind: Order['kind'], id: number): Beat {
  return { kind: 'order', order: { kind, id } };
}

function pause(forMs: number): Beat {
  return { kind: 'pause', forMs };
}

function see(what: string, withinMs: number, when: Condition): Beat {
  return { kind: 'see', what, withinMs, when };
}

function keep(what: string, forMs: number, holds: Condition): Beat {
  return { kind: 'keep', what, forMs, while: holds };
}

function areAllUsed({ used }: Facts): boolean {
  return isSameSet(used, ALL);
}

function without(id: number): Condition {
  return ({ used }) =>
    isSameSet(
      used,
      ALL.filter((each) => each !== id),
    );
}

function isUnknown(id: number): Condition {
  return ({ known }) => !known.includes(id);
}

function others(id: number): Condition {
  return ({ used }) => ALL.every((each) => each === id || used.includes(each));
}

function isNothingLost(facts: Facts, mark: Facts): boolean {
  return facts.requests.lost === mark.requests.lost;
}

function isShared({ used, requests }: Facts, mark: Facts): boolean {
  const isEnough = (count: number, at: number) =>
    count - (mark.requests.answered[at] ?? 0) >= SHARE_OF_REQUESTS;
  return isSameSet(used, ALL) && requests.answered.every(isEnough);
}
