/**
 * What an agent knows about itself, as the status of its IPNode (deploy/crds/ipnodes.yaml). Pure. Exceptions are listed, the rest is
 * counted; the whole stays below 64 kB whatever a router says and however many claims there are, since every write of it
 * goes to all controllers.
 *
 * Not here: the condition AgentAlive, which is the controller's.
 */

import type {
  IpNodeLevel,
  IpNodeRefusal,
  IpNodeSession,
  IpNodeStatus,
} from '../../model/ip-node.ts';
import { optional } from '../../model/optional.ts';
import { ROUTER_LATE_SECONDS } from '../../model/router-memory.ts';
import type { Condition } from '../../model/service.ts';
import { ABANDONED, type AgentStatus, type SessionStatus } from '../status.ts';
import { plainText } from './plain-text.ts';
import { fitting } from './status-size.ts';
import type { Releases } from './write-pace.ts';

/** What the report needs of an agent. */
export interface ReportFacts {
  readonly joined: { readonly isOpen: boolean; readonly sentence: string; readonly since: string };
  readonly draining?: AgentStatus['draining'];
  readonly ignoresExcludeLabel?: boolean;
  /** of the Lease, where this node has one */
  readonly leaseSeconds?: number;
  readonly stale?: AgentStatus['stale'];
  readonly sessions: readonly SessionStatus[];
  /** addresses that go out to at least one router */
  readonly announced: number;
  /** what concerns this node and is not announced, namespaces in turn, so that what has no room is of those that have the most; may hold only the first of them */
  readonly refused: readonly IpNodeRefusal[];
  readonly refusedCount: number;
  /** of exclusive claims on the move, as all routers have been told; those that are waited for longest first */
  readonly levels: readonly IpNodeLevel[];
  /** addresses whose level the controller may wait for, whether or not it is among `levels` */
  readonly awaited: readonly string[];
  readonly observedClaims?: string;
  /** of claims that were released and are still there */
  readonly released: Releases;
  /** grows with every change of an exclusive claim of this node that the controller may wait for the answer to */
  readonly moves: number;
  /** all that was decided is out: `observedClaims` answers for what is known now, not only for what is of its version */
  readonly isCurrent: boolean;
}

const MOST_SESSIONS = 256;
const MOST_REFUSED = 100;
const MOST_LEVELS = 1000;
/** of JSON; with all that is bounded by its own length they stay below 64 kB */
const BYTES = { sessions: 26_000, refused: 13_000, levels: 20_000 } as const;
const MOST_NAME = 253;
const MOST_ADDRESS = 64;
const MOST_MESSAGE = 1024;
const MOST_DRAIN_REASON = 256;
const SAME_MOMENT_MS = 1500;

/** `before` is what was written last: a time moves only with what it is of */
export function ipNodeStatus(
  facts: ReportFacts,
  before: IpNodeStatus,
  nowText: string,
): IpNodeStatus {
  const { joined, draining, announced, observedClaims } = facts;
  const refused = listed(facts);
  const refusedMore = Math.max(facts.refusedCount, facts.refused.length) - refused.length;
  const levels = fitting(facts.levels.slice(0, MOST_LEVELS), BYTES.levels, level);
  return {
    joined: {
      open: joined.isOpen,
      reason: joined.isOpen ? 'Joined' : 'NotJoined',
      message: plainText(joined.sentence, MOST_MESSAGE),
      since: steady(joined.since, before.joined?.since),
    },
    ...(draining === undefined ? {} : { draining: drainOf(draining, before.draining) }),
    ...(facts.ignoresExcludeLabel === true ? { ignoresExcludeLabel: true } : {}),
    sessions: fitting(kept(facts.sessions), BYTES.sessions, sessionWriter(before)),
    routes: announced,
    ...(refused.length === 0 ? {} : { refused }),
    ...(refusedMore <= 0 ? {} : { refusedMore }),
    ...(levels.length === 0 ? {} : { levels }),
    ...(observedClaims === undefined ? {} : { observedClaims }),
    conditions: conditionsOf(facts, before.conditions ?? [], nowText),
  };
}

/**
 * Those that have room. Who reads a list that is cut short (`cutShortOf`) takes one that ends with a claim that is not served here for one that has all others. Where
 * it has not, it ends with one of the others: the first of all is one, if there are any.
 */
function listed({ refused, refusedCount }: ReportFacts): readonly IpNodeRefusal[] {
  const fits = fitting(refused.slice(0, MOST_REFUSED), BYTES.refused, refusal);
  const isLocal = ({ gate }: IpNodeRefusal) => gate === 'healthy';
  const [local, others] = [fits.filter(isLocal), fits.filter((each) => !isLocal(each))];
  const hasOthers = refusedCount <= refused.length && refused.slice(fits.length).every(isLocal);
  return hasOthers ? [...others, ...local] : [...local, ...others];
}

/** The same moment comes out of two clocks a little differently each time; that is no news. */
function steady(since: string, before: string | undefined): string {
  if (before === undefined) return since;
  return Math.abs(Date.parse(since) - Date.parse(before)) < SAME_MOMENT_MS ? before : since;
}

function drainOf(
  { reason, since }: NonNullable<AgentStatus['draining']>,
  before: IpNodeStatus['draining'],
) {
  const text = plainText(reason, MOST_DRAIN_REASON) || 'draining';
  return { reason: text, since: steady(since, before?.since) };
}

/** Where not all have room, those that are up come first: whether there is one decides what this node is given. */
function kept(sessions: readonly SessionStatus[]): readonly SessionStatus[] {
  if (sessions.length <= MOST_SESSIONS) return sessions;
  const up = sessions.filter(isUp);
  return [...up, ...sessions.filter((one) => !isUp(one))].slice(0, MOST_SESSIONS);
}

function isUp({ state }: SessionStatus): boolean {
  return state === 'established';
}

function sessionWriter({ sessions = [] }: IpNodeStatus) {
  const written = new Map(sessions.map((one) => [`${one.peer} ${one.address} ${one.state}`, one]));
  return (one: SessionStatus, mostText: number): IpNodeSession => {
    const now = session(one, mostText);
    const before = written.get(`${now.peer} ${now.address} ${now.state}`);
    return { ...now, since: steady(one.since, before?.since) };
  };
}

function session(one: SessionStatus, mostText: number): IpNodeSession {
  const error = one.refused ?? one.lastError;
  const lastError = error === undefined ? '' : plainText(error, mostText);
  return {
    peer: plainText(one.peer, MOST_NAME),
    address: plainText(one.address, MOST_ADDRESS),
    state: stateName(one.state),
    routesSent: one.routesSent,
    routesReceived: one.routesReceived,
    ...(lastError === '' ? {} : { lastError }),
    ...(isUp(one) ? optional('holdSeconds', one.holdSeconds) : {}),
    ...(isUp(one) ? optional('restartSeconds', one.restartSeconds) : {}),
    ...(isUp(one) ? {} : optional('keptSeconds', one.keptSeconds)),
    ...cannotCarry(one, mostText),
  };
}

function cannotCarry(
  { cannotCarry: told = [] }: SessionStatus,
  mostText: number,
): Pick<IpNodeSession, 'cannotCarry'> {
  if (told.length === 0) return {};
  const most = Math.min(mostText, MOST_MESSAGE);
  return {
    cannotCarry: told.map(({ family, sentence }) => ({
      family,
      message: plainText(sentence, most),
    })),
  };
}

const STATE_NAMES: Readonly<Record<string, IpNodeSession['state']>> = {
  connect: 'Connect',
  active: 'Active',
  'open-sent': 'OpenSent',
  'open-confirm': 'OpenConfirm',
  established: 'Established',
};

/** a session that cannot be, and one that says goodbye, are as far from being up as an idle one */
function stateName(state: string): IpNodeSession['state'] {
  return STATE_NAMES[state] ?? 'Idle';
}

function refusal({ address, gate, message }: IpNodeRefusal, mostText: number): IpNodeRefusal {
  return {
    address: plainText(address, MOST_ADDRESS),
    gate: plainText(gate, 32),
    message: plainText(message, Math.min(mostText, MOST_MESSAGE)),
  };
}

function level({ address, level: value }: IpNodeLevel): IpNodeLevel {
  return { address: plainText(address, MOST_ADDRESS), level: value };
}

type Told = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

function conditionsOf(
  facts: ReportFacts,
  before: readonly Condition[],
  nowText: string,
): readonly Condition[] {
  const slow = slowRouter(facts);
  const all = [sessionsUp(facts.sessions), staleness(facts.stale)];
  return [...all, ...(slow === undefined ? [] : [slow])].map((told) => {
    const last = before.find(({ type }) => type === told.type);
    const hasMoved = last?.status !== told.status;
    const since = hasMoved ? nowText : (last?.lastTransitionTime ?? nowText);
    return {
      ...told,
      message: plainText(told.message, MOST_MESSAGE / 2),
      lastTransitionTime: since,
    };
  });
}

function sessionsUp(all: readonly SessionStatus[]): Told {
  const type = 'SessionsUp';
  const sessions = all.filter(({ state }) => state !== ABANDONED);
  if (sessions.length === 0) {
    const message = 'no BGPPeer selects this node';
    return { type, status: 'False', reason: 'NoPeers', message };
  }
  const down = sessions.filter((one) => !isUp(one));
  const [first] = down;
  if (first === undefined) {
    const message = sessions.length === 1 ? 'its session is up' : `all ${sessions.length} are up`;
    return { type, status: 'True', reason: 'AllUp', message };
  }
  const why = first.refused ?? first.lastError ?? `it is ${first.state}`;
  const message = `${sessions.length - down.length} of ${sessions.length} are up; ${first.peer}: ${why}`;
  const reason = down.length === sessions.length ? 'NoneUp' : 'SomeDown';
  return { type, status: 'False', reason, message };
}

/** A lease that is shorter than its routers' memory moves nothing sooner. Told only where it is so. */
function slowRouter({ sessions, leaseSeconds }: ReportFacts): Told | undefined {
  if (leaseSeconds === undefined) return undefined;
  const keeps = ({ holdSeconds = 0, restartSeconds = 0 }: SessionStatus) =>
    Math.max(holdSeconds, restartSeconds);
  const slowest = sessions.filter(isUp).toSorted((one, other) => keeps(other) - keeps(one))[0];
  const endless = sessions.find((one) => isUp(one) && one.holdSeconds === 0);
  const type = 'RoutersForgetInTime';
  if (endless !== undefined) {
    const message = `the session with ${endless.peer} has no hold time: no router would notice that this node is dead, so its exclusive addresses stay until its Node is deleted; set timers.holdSeconds`;
    return { type, status: 'False', reason: 'NoHoldTime', message };
  }
  const seconds = slowest === undefined ? 0 : keeps(slowest) + ROUTER_LATE_SECONDS;
  if (slowest === undefined || seconds <= leaseSeconds) return undefined;
  const what = (slowest.restartSeconds ?? 0) > (slowest.holdSeconds ?? 0) ? 'restart' : 'hold';
  const message = `${slowest.peer} may keep the routes of this node for ${seconds} s after its death (${what} time of ${seconds - ROUTER_LATE_SECONDS} s, and ${ROUTER_LATE_SECONDS} s more), so its exclusive addresses move no sooner, though --lease-duration is ${leaseSeconds}`;
  return { type, status: 'False', reason: what === 'hold' ? 'HoldTime' : 'RestartTime', message };
}

function staleness(stale: AgentStatus['stale']): Told {
  const type = 'Stale';
  if (stale === undefined) {
    const message = 'what it announces is what the documents say';
    return { type, status: 'False', reason: 'UpToDate', message };
  }
  return { type, status: 'True', reason: 'SourceSilent', message: stale.sentence };
}
