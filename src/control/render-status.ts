/** `herald status` as text: the node, its sessions, its claims, and what needs attention. Pure, from AgentStatus alone. */

import type { AgentStatus, ClaimStatus, SessionStatus } from '../agent/status.ts';
import type { DocumentFault } from '../model/documents.ts';
import { firstShutGate, ROUTE_TONES, summarizeRoutes } from './claim-summary.ts';
import { formatSince, labelled, paint, plain, type Style, type Tone } from './style.ts';
import { type Cell, type Column, formatTable, type Row } from './table.ts';

export function renderStatus(status: AgentStatus, style: Style): string {
  return [
    renderNode(status, style),
    renderSessions(status.sessions, style),
    renderClaims(status, style),
    renderList('Refused documents', status.faults.map(describeFault), style),
    renderList('Warnings', status.warnings, style),
  ]
    .filter((part) => part !== '')
    .join('\n');
}

const LABEL_WIDTH = 10;

function renderNode(status: AgentStatus, style: Style): string {
  const { node, routerId, version, pid, startedAt, source, joined, draining, stale } = status;
  const line = (label: string, text: string) => labelled(label.padEnd(LABEL_WIDTH), text, style);
  const tone = joined.state === 'open' ? 'good' : 'bad';
  const lines = [
    line(
      'node',
      `${node.name}, herald ${version}, pid ${pid}, up ${formatSince(startedAt, style)}`,
    ),
    ...(routerId === undefined ? [] : [line('router id', routerId)]),
    line('source', source),
    tint(
      line('joined', `${joined.state} for ${formatSince(joined.since, style)}: ${joined.sentence}`),
      { word: joined.state, tone },
      style,
    ),
  ];
  if (joined.state !== 'open' && joined.remedy !== undefined)
    lines.push(line('', `→ ${joined.remedy}`));
  if (draining !== undefined) {
    lines.push(line('draining', `for ${formatSince(draining.since, style)}: ${draining.reason}`));
  }
  if (stale !== undefined) {
    lines.push(line('stale', `for ${formatSince(stale.since, style)}: ${stale.sentence}`));
  }
  return `${lines.join('\n')}\n`;
}

/** paints a word after wrapping, so that colour never counts as width */
function tint(text: string, { word, tone }: { word: string; tone: Tone }, style: Style): string {
  return text.replace(word, () => paint(word, tone, style));
}

const SESSION_COLUMNS: readonly Column[] = [
  { title: 'PEER', most: 12 },
  { title: 'ADDRESS', most: 18, spills: true },
  { title: 'AS', most: 10, alignRight: true },
  { title: 'STATE', most: 12 },
  { title: 'SINCE', most: 6, alignRight: true },
  { title: 'SENT', most: 5, alignRight: true },
  { title: 'RECV', most: 5, alignRight: true },
];

function renderSessions(sessions: readonly SessionStatus[], style: Style): string {
  const up = sessions.filter(({ state }) => state === 'established').length;
  if (sessions.length === 0) {
    return `${labelled('Sessions: none. ', 'No BGPPeer document names a router for this node', style)}\n`;
  }
  const title = paint(`Sessions: ${up} of ${sessions.length} established`, 'strong', style);
  const rows = sessions.map((session) => sessionRow(session, style));
  return `${title}\n${formatTable(SESSION_COLUMNS, rows, style)}`;
}

function sessionRow(session: SessionStatus, style: Style): Row {
  const { peer, address, asn, state, since, routesSent, routesReceived } = session;
  const notes: Cell[] = [];
  if (session.refused !== undefined)
    notes.push({ text: `not used: ${session.refused}`, tone: 'bad' });
  if (session.lastError !== undefined) {
    const tone = state === 'established' ? 'faint' : 'attention';
    notes.push({ text: `last error: ${session.lastError}`, tone });
  }
  const [text, tone]: readonly [string, Tone] =
    session.refused === undefined
      ? [state, state === 'established' ? 'good' : 'attention']
      : ['refused', 'bad'];
  const cells = [
    peer,
    address,
    `${asn}`,
    { text, tone },
    formatSince(since, style),
    `${routesSent}`,
    `${routesReceived}`,
  ];
  return { cells, notes };
}

const CLAIM_COLUMNS: readonly Column[] = [
  { title: 'ADDRESS', most: 18, spills: true },
  { title: 'POOL', most: 14 },
  { title: 'ROUTE', most: 14 },
  { title: 'GATE' },
];

/** longer sentences go below */
const GATE_ROOM = 28;

function renderClaims(status: AgentStatus, style: Style): string {
  const { claims } = status;
  if (claims.length === 0) {
    return `${labelled('Claims: none. ', 'No IPClaim document is in force here', style)}\n`;
  }
  const out = claims.filter((claim) => claim.peers.some(({ route }) => route === 'up')).length;
  const title = paint(`Claims: ${out} of ${claims.length} announced`, 'strong', style);
  const rows = claims.map((claim) => claimRow(claim, status));
  return `${title}\n${formatTable(CLAIM_COLUMNS, rows, style)}`;
}

function claimRow(claim: ClaimStatus, status: AgentStatus): Row {
  const { state, text } = summarizeRoutes(claim);
  const route = { text: claim.leaving ? `leaving ${text}` : text, tone: ROUTE_TONES[state] };
  const { gate, sentence } = holdUp(claim, status);
  const whole = sentence === undefined ? gate : `${gate}: ${plain(sentence)}`;
  const cells = [claim.address, claim.pool ?? '-', route];
  // a sentence says the target first and what is wrong with it last: rather below than cut
  if (sentence === undefined || whole.length <= GATE_ROOM) return { cells: [...cells, whole] };
  return { cells: [...cells, gate], notes: [{ text: sentence, tone: 'faint' }] };
}

interface HoldUp {
  readonly gate: string;
  readonly sentence?: string;
}

/** What is said about the whole node stands above and is not said again for each claim. */
function holdUp(claim: ClaimStatus, status: AgentStatus): HoldUp {
  const gate = firstShutGate(claim);
  if (gate !== undefined) {
    const isOfNode =
      gate.name === 'joined' || (gate.name === 'not-draining' && status.draining !== undefined);
    return { gate: gate.name, ...(isOfNode ? {} : { sentence: gate.sentence }) };
  }
  const waiting = claim.peers.find(({ route }) => route === 'waiting');
  if (waiting !== undefined) return { gate: `no session with ${waiting.peer}` };
  return { gate: claim.peers.length === 0 ? 'no peer to announce it to' : '-' };
}

export function describeFault({
  file,
  line,
  subject,
  sentence,
  keepsLastGood,
}: DocumentFault): string {
  const where = line === undefined ? file : `${file}:${line}`;
  const what = subject === undefined ? '' : ` ${subject}:`;
  return `${where}:${what} ${sentence}${keepsLastGood ? ' (its last good form stays in force)' : ''}`;
}

function renderList(title: string, items: readonly string[], style: Style): string {
  if (items.length === 0) return '';
  const lines = items.map((item) => labelled('  ', plain(item), style));
  return `${paint(`${title}: ${items.length}`, 'strong', style)}\n${lines.join('\n')}\n`;
}
