/** What a node tells each router of a claim, by what the API knows of its sessions. Pure. */

import type { Family } from 'bgp-ts';
import type { BgpPeer } from '../model/bgp-peer.ts';
import type { IpNodeSession } from '../model/ip-node.ts';
import { selects } from '../model/labels.ts';
import type { NodeFacts } from './explain-facts.ts';
import type { ClaimCase, GateAnswer, RouteAnswer } from './node-answer.ts';

export interface PeerAnswer {
  readonly peer: string;
  readonly route: RouteAnswer;
  /** absent: the agent reports none */
  readonly session?: IpNodeSession;
  /** why it is not announced though every gate is open */
  readonly sentence?: string;
  readonly remedy?: string;
}

export function peerAnswers(
  facts: NodeFacts,
  subject: ClaimCase,
  gates: readonly GateAnswer[],
): readonly PeerAnswer[] {
  const sessions = facts.ipNode?.status.sessions ?? [];
  const { family } = subject.claim.address;
  return subject.peers
    .filter((peer) => isMeant(peer, facts, subject))
    .map((peer) => answerOf(peer, facts.name, { sessions, gates, family }));
}

/** Where the labels of a Node may not be read, its sessions tell which routers are its own. */
function isMeant(peer: BgpPeer, { node, ipNode }: NodeFacts, { claim, pool }: ClaimCase): boolean {
  if (!peer.families.includes(claim.address.family)) return false;
  const labels = typeof node === 'string' ? undefined : node.labels;
  const isIts =
    labels === undefined
      ? ipNode?.status.sessions?.some((session) => session.peer === peer.name) === true
      : selects(peer.nodeSelector, labels);
  const entries = pool?.advertisements ?? [];
  if (!isIts || entries.length === 0) return isIts;
  return entries.some(
    (entry) =>
      selects(entry.peerSelector, peer.labels) &&
      (labels === undefined || selects(entry.nodeSelector, labels)),
  );
}

interface Standing {
  readonly sessions: readonly IpNodeSession[];
  readonly gates: readonly GateAnswer[];
  readonly family: Family;
}

function answerOf(peer: BgpPeer, node: string, standing: Standing): PeerAnswer {
  const { sessions, gates, family } = standing;
  const own = sessions.filter((session) => session.peer === peer.name);
  const up = own.filter(({ state }) => state === 'Established');
  const session = up.find((each) => uncarried(each, family) === undefined) ?? up[0] ?? own[0];
  const known = { peer: peer.name, ...(session === undefined ? {} : { session }) };
  const route = routeBy(gates);
  const isWanted = route === 'announced' || route === 'draining';
  if (session?.state === 'Established') {
    const sentence = uncarried(session, family);
    if (sentence === undefined) return { ...known, route };
    const remedy = `see families and nextHop of BGPPeer ${peer.name}, and what the router agrees to`;
    return { ...known, route: isWanted ? 'none' : route, sentence, remedy };
  }
  return { ...known, route: isWanted ? 'waiting' : route, ...why(peer, node, session) };
}

/** why a session that is up takes no routes of this family */
function uncarried({ cannotCarry = [] }: IpNodeSession, family: Family): string | undefined {
  return cannotCarry.find((each) => each.family === family)?.message;
}

function routeBy(gates: readonly GateAnswer[]): RouteAnswer {
  const states = new Set(gates.map(({ state }) => state));
  const isUnheard = gates.some(({ name, state }) => name === 'agent' && state !== 'open');
  if (isUnheard) return 'unknown';
  if (states.has('closed')) return 'none';
  if (states.has('unknown')) return 'unknown';
  return states.has('draining') ? 'draining' : 'announced';
}

function why(peer: BgpPeer, node: string, session: IpNodeSession | undefined) {
  if (session === undefined) {
    const sentence = `the agent of ${node} reports no session with ${peer.name}`;
    return { sentence, remedy: `kubectl describe ipnode ${node}, and bgppeer ${peer.name}` };
  }
  const { state, lastError } = session;
  const sentence = `the session is ${state}${lastError === undefined ? '' : `: ${lastError}`}`;
  const remedy = `see the router at ${session.address}; herald manifest router prints its half`;
  return { sentence, remedy };
}
