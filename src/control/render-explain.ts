/**
 * `herald explain ADDRESS`: why an address is announced or not, gate by gate and peer by peer, with what to do about those that are not
 * open; and for an address that nobody claimed, what to write. Pure, from AgentStatus alone.
 */

import { type Address, formatAddress } from 'bgp-ts';
import type {
  AgentStatus,
  ClaimPeerStatus,
  ClaimStatus,
  GateStatus,
  SessionStatus,
} from '../agent/status.ts';
import { formatClaimName } from '../model/claim-name.ts';
import { describeWaiting, firstShutGate, ROUTE_TONES } from './claim-summary.ts';
import { describeFault } from './render-status.ts';
import { formatSince, labelled, paint, type Style, wrap } from './style.ts';

export interface Explanation {
  readonly isClaimed: boolean;
  readonly text: string;
}

export function findClaim(status: AgentStatus, address: Address): ClaimStatus | undefined {
  const text = formatAddress(address);
  return status.claims.find((claim) => claim.address === text);
}

export function renderExplain(status: AgentStatus, address: Address, style: Style): Explanation {
  const claim = findClaim(status, address);
  if (claim === undefined)
    return { isClaimed: false, text: renderUnclaimed(status, address, style) };
  const parts = [renderHead(claim, status, style)];
  if (claim.peers.length === 0) parts.push(renderGates(claim.gates, style));
  for (const peer of claim.peers) parts.push(renderPeer(peer, status, style));
  return { isClaimed: true, text: parts.join('\n') };
}

function renderHead(claim: ClaimStatus, status: AgentStatus, style: Style): string {
  const facts = [
    claim.pool === undefined ? 'in no pool' : `pool ${claim.pool}`,
    `written in ${claim.origin}`,
    ...(claim.interface === undefined ? [] : [`bound to ${claim.interface}`]),
    `node ${status.node.name}`,
  ];
  const lines = [
    paint(claim.address, 'strong', style),
    labelled('  ', facts.join(', '), style),
    labelled('  ', verdictOf(claim, status), style),
  ];
  if (claim.leaving)
    lines.push(labelled('  ', 'its document is gone: the route is on its way out', style));
  return `${lines.join('\n')}\n`;
}

function verdictOf(claim: ClaimStatus, status: AgentStatus): string {
  const { peers } = claim;
  const up = peers.filter(({ route }) => route === 'up').length;
  if (peers.length === 0)
    return 'not announced: no BGPPeer of this node is there to announce it to';
  if (up === peers.length) return `announced to ${peersText(up)}`;
  const so = up === 0 ? 'not announced' : `announced to ${up} of ${peersText(peers.length)}`;
  const draining = peers.filter(({ route }) => route === 'draining').length;
  if (draining > 0) return `draining: still out to ${peersText(draining)}, with GRACEFUL_SHUTDOWN`;
  const gate = firstShutGate(claim);
  if (gate !== undefined) return `${so}: the gate '${gate.name}' is ${gate.state}`;
  const waiting = peers.find(({ route }) => route === 'waiting');
  return waiting === undefined ? so : `${so}: ${describeWaiting(waiting.peer, status)}`;
}

function peersText(count: number): string {
  return count === 1 ? '1 peer' : `${count} peers`;
}

function renderPeer(peer: ClaimPeerStatus, status: AgentStatus, style: Style): string {
  const session = status.sessions.find((one) => one.peer === peer.peer);
  const route = paint(
    peer.route === 'none' ? 'no route' : peer.route,
    ROUTE_TONES[peer.route],
    style,
  );
  const lines = [`to ${paint(peer.peer, 'strong', style)}: ${route}`];
  if (session !== undefined)
    lines.push(labelled('  session   ', describeSession(session, style), style));
  const attributes = attributesOf(peer);
  if (attributes !== '') lines.push(labelled('  route     ', attributes, style));
  return `${lines.join('\n')}\n${renderGates(peer.gates, style)}`;
}

function describeSession(session: SessionStatus, style: Style): string {
  const { address, asn, state, since } = session;
  const why = session.refused ?? (state === 'established' ? undefined : session.lastError);
  const base = `${address}, AS ${asn}, ${state} for ${formatSince(since, style)}`;
  return why === undefined ? base : `${base}: ${why}`;
}

function attributesOf({ attributes, aggregate }: ClaimPeerStatus): string {
  if (attributes === undefined) return '';
  const { nextHop, communities, prepend, med, localPref } = attributes;
  return [
    ...(aggregate === undefined ? [] : [`within ${aggregate}`]),
    `next hop ${nextHop ?? 'self'}`,
    ...(communities.length === 0 ? [] : [`communities ${communities.join(' ')}`]),
    ...(prepend === 0 ? [] : [`prepend ${prepend}`]),
    ...(med === undefined ? [] : [`MED ${med}`]),
    ...(localPref === undefined ? [] : [`local-pref ${localPref}`]),
  ].join(', ');
}

const GATE_TONES = { open: 'good', draining: 'attention', closed: 'bad' } as const;
const NAME_WIDTH = 14;
const STATE_WIDTH = 10;
const SINCE_WIDTH = 8;

function renderGates(gates: readonly GateStatus[], style: Style): string {
  const lines = gates.flatMap((gate) => {
    const { name, state, sentence, remedy } = gate;
    const since = formatSince(gate.since, style).padEnd(SINCE_WIDTH);
    const front = `  ${name.padEnd(NAME_WIDTH)}${state.padEnd(STATE_WIDTH)}${since}`;
    const width = Math.max(style.width - front.length, 20);
    const texts = [...wrap(sentence, width)];
    if (state !== 'open' && remedy !== undefined) texts.push(...wrap(`→ ${remedy}`, width));
    const painted = `  ${name.padEnd(NAME_WIDTH)}${paint(state, GATE_TONES[state], style)}${' '.repeat(STATE_WIDTH - state.length)}${since}`;
    return texts.map((text, index) => (index === 0 ? painted : ' '.repeat(front.length)) + text);
  });
  return `${lines.join('\n')}\n`;
}

function renderUnclaimed(status: AgentStatus, address: Address, style: Style): string {
  const text = formatAddress(address);
  const name = formatClaimName(address);
  const about = status.faults.filter(({ subject }) => subject === `IPClaim/${name}`);
  const sentence = `${text} is not claimed on ${status.node.name}: no document of ${status.source} in force is an IPClaim named ${name}`;
  const parts = [`${labelled('', sentence, style)}\n`];
  if (about.length > 0) {
    const lines = about.map((fault) => labelled('  ', describeFault(fault), style));
    parts.push(`There is one, but it was refused:\n${lines.join('\n')}\n`);
  } else {
    parts.push(`To claim it, write this document, with an IPPool that holds the address:

  apiVersion: herald.dev/v1alpha1
  kind: IPClaim
  metadata:
    name: ${name}
  spec: {}
`);
  }
  return parts.join('\n');
}
