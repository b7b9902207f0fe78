/** An Explanation as text: a few sentences about the Service and its claim, then one row per node and router, with what to do. Pure. */

import { formatSince, labelled, paint, plain, type Style, type Tone } from '../control/style.ts';
import { type Cell, type Column, formatTable, type Row } from '../control/table.ts';
import type { ClaimAnswer, Explanation, PoolAnswer, ServiceAnswer, Verdict } from './explain.ts';
import type { GateAnswer, NodeAnswer, RouteAnswer } from './node-answer.ts';
import type { PeerAnswer } from './peer-answer.ts';

export function renderClusterExplain(explanation: Explanation, style: Style): string {
  const { services, claims, pools, unclaimed, agentless, notes } = explanation;
  return [
    ...services.map((service) => renderService(service, style)),
    ...claims.map((claim) => renderClaim(claim, style)),
    unclaimed === undefined ? '' : renderUnclaimed(explanation.subject, unclaimed, style),
    claims.length === 0 ? pools.map((pool) => renderPool(pool, style)).join('') : '',
    renderNotes([...notes, ...agentlessNote(agentless)], style),
  ]
    .filter((part) => part !== '')
    .join('\n');
}

function renderService({ service, allocation, advertised }: ServiceAnswer, style: Style): string {
  const lines = [
    paint(`Service ${service}`, 'strong', style),
    verdictLine('address', allocation, style),
  ];
  if (advertised?.isOutdated === true) lines.push(outdatedLine(advertised, style));
  else if (advertised !== undefined) lines.push(verdictLine('routes', advertised, style));
  return `${lines.join('\n')}\n`;
}

const VERDICT_TONES: Readonly<Record<Verdict['state'], Tone>> = {
  yes: 'good',
  no: 'bad',
  unknown: 'attention',
  'not-ours': 'attention',
};
const LABEL_WIDTH = 10;

/** one space at least, also behind a label that is as wide as the column */
function label(text: string): string {
  return `${`  ${text}`.padEnd(LABEL_WIDTH)} `;
}

/** What the nodes do now is below; the condition of the Service speaks of a moment ago. */
function outdatedLine({ state, reason, message }: Verdict, style: Style): string {
  const now = state === 'yes' ? 'not announced at this moment' : 'announced';
  const follows = `${now}, see below; the Service's status follows in a moment, it still says`;
  return labelled(label('routes'), `${follows} ${reason}: ${message}`, style);
}

function verdictLine(about: string, verdict: Verdict, style: Style): string {
  const { reason, message, since, state } = verdict;
  const age = since === undefined ? '' : ` for ${formatSince(since, style)}`;
  const text = labelled(label(about), `${reason}${age}: ${message}`, style);
  return text.replace(reason, () => paint(reason, VERDICT_TONES[state], style));
}

function renderPool({ pool, used, total, free, fullSince, refused }: PoolAnswer, style: Style) {
  const full = fullSince === undefined ? '' : `; full for ${formatSince(fullSince, style)}`;
  const words = refused ?? `${used} of ${total} addresses are taken, ${free} are free${full}`;
  return `${labelled(`Pool ${pool}: `, words, style)}\n`;
}

function renderClaim(claim: ClaimAnswer, style: Style): string {
  const line = (about: string, text: string) => labelled(label(about), text, style);
  const lines = [paint(claim.address, 'strong', style), line('pool', claim.pool ?? 'none')];
  if (claim.services.length > 0) lines.push(line('for', claim.services.join(', ')));
  if (claim.refused !== undefined) lines.push(line('refused', claim.refused));
  if (claim.released !== undefined) {
    const why = `its Service ${claim.released} is gone; nobody else gets it before every node has withdrawn it`;
    lines.push(line('released', why));
  }
  if (claim.withdrawn !== undefined) lines.push(line('withdrawn', claim.withdrawn));
  lines.push(line('place', placeText(claim, style)), line('routes', routesText(claim)));
  const table = claim.nodes.length === 0 ? '' : `\n${renderNodes(claim.nodes, style)}`;
  return `${lines.join('\n')}\n${table}`;
}

const STEPS = ['holder', 'leaving, one step down', 'standby, two steps down'];

function placeText({ placement, phase, since }: ClaimAnswer, style: Style): string {
  const { mode, holder, levels, message } = placement;
  const age = since === undefined ? '' : ` for ${formatSince(since, style)}`;
  if (mode === 'anycast') return `anycast: every node that can serve it (${phase}${age})`;
  if (holder === undefined) return `exclusive, on no node yet (${phase}${age}): ${message}`;
  const moving = levels.map(({ node, level }) => `${node} ${STEPS[level] ?? ''}`).join('; ');
  const onTheMove = moving === '' ? '' : `; it moves: ${moving}`;
  return `exclusive, held by ${holder} (${phase}${age})${onTheMove}`;
}

function routesText({ nodes }: ClaimAnswer): string {
  if (nodes.length === 0) return 'no node is there to announce it';
  const announcing = nodes.filter(({ route }) => route === 'announced');
  const reached = new Set(announcing.flatMap(({ peers }) => upTo(peers)));
  const meant = new Set(nodes.flatMap(({ peers }) => peers.map(({ peer }) => peer)));
  const draining = nodes.filter(({ route }) => route === 'draining').length;
  const leaving = draining === 0 ? '' : `; ${counted(draining, 'more')} leaving`;
  return `announced by ${announcing.length} of ${counted(nodes.length, 'node')} to ${reached.size} of ${counted(meant.size, 'router')}${leaving}`;
}

function upTo(peers: readonly PeerAnswer[]): readonly string[] {
  return peers.flatMap(({ peer, route }) => (route === 'announced' ? peer : []));
}

function counted(count: number, noun: string): string {
  return noun === 'more' || count === 1 ? `${count} ${noun}` : `${count} ${noun}s`;
}

const COLUMNS: readonly Column[] = [
  { title: 'NODE', most: 20 },
  { title: 'ROUTER', most: 14 },
  { title: 'ROUTE', most: 9 },
  { title: 'SESSION', most: 11 },
  { title: 'SINCE', most: 6, alignRight: true },
  { title: 'GATES' },
];
/** nodes of which all is well, beyond so many, are counted */
const MOST_WELL = 20;

function renderNodes(nodes: readonly NodeAnswer[], style: Style): string {
  const well = nodes.filter(isWell);
  const folded = new Set(well.slice(MOST_WELL));
  const rows = nodes.filter((node) => !folded.has(node)).flatMap((node) => nodeRows(node, style));
  const more =
    folded.size === 0 ? '' : `and ${counted(folded.size, 'node')} more, of which all is well\n`;
  return `${formatTable(COLUMNS, rows, style)}${more}`;
}

function isWell({ gates, peers }: NodeAnswer): boolean {
  return gates.every(isOpen) && peers.every(({ route }) => route === 'announced');
}

function isOpen({ state }: GateAnswer): boolean {
  return state === 'open';
}

const ROUTE_TONES: Readonly<Record<RouteAnswer, Tone>> = {
  announced: 'good',
  draining: 'attention',
  waiting: 'attention',
  none: 'bad',
  unknown: 'attention',
};

function nodeRows({ node, peers, gates }: NodeAnswer, style: Style): readonly Row[] {
  const shut = gates.filter((gate) => !isOpen(gate));
  const words = shut.map(({ name, state }) => `${name} ${state}`).join(', ');
  const gatesText = words === '' ? 'all open' : words;
  const notes = shut.flatMap((gate) => gateNotes(gate, style));
  if (peers.length === 0) {
    const cells = [node, '-', { text: 'none', tone: ROUTE_TONES.none }, '-', '-', gatesText];
    const none: Cell = {
      text: 'no BGPPeer is meant for it here: see nodeSelector of the BGPPeers, and advertisements of the pool',
      tone: 'faint',
    };
    return [{ cells, notes: shut.length === 0 ? [none] : notes }];
  }
  return peers.map((peer, index) => {
    const { session, route } = peer;
    const since = session?.since === undefined ? '-' : formatSince(session.since, style);
    const tone = ROUTE_TONES[route];
    const cells = [node, peer.peer, { text: route, tone }, session?.state ?? '-', since, gatesText];
    const own = peerNotes(peer);
    // what is true of the node is said once, below its last row
    return { cells, notes: index === peers.length - 1 ? [...own, ...notes] : own };
  });
}

function gateNotes({ name, sentence, since, remedy }: GateAnswer, style: Style): readonly Cell[] {
  const age = since === undefined ? '' : ` (for ${formatSince(since, style)})`;
  const text = `${name}: ${plain(sentence)}${age}`;
  return [{ text, tone: 'faint' }, ...(remedy === undefined ? [] : [{ text: `→ ${remedy}` }])];
}

function peerNotes({ sentence, remedy }: PeerAnswer): readonly Cell[] {
  if (sentence === undefined) return [];
  return [
    { text: plain(sentence), tone: 'faint' },
    ...(remedy === undefined ? [] : [{ text: `→ ${remedy}` }]),
  ];
}

function renderUnclaimed(
  address: string,
  { claimName, pool }: NonNullable<Explanation['unclaimed']>,
  style: Style,
): string {
  const where =
    pool === undefined
      ? 'and no pool holds it: write an IPPool that does'
      : `and free in pool ${pool}: a Service asks for it with the annotation herald.dev/addresses: ${address}`;
  return `${labelled('', `${address} is claimed by nobody (there is no IPClaim ${claimName}), ${where}`, style)}\n`;
}

const NAMED = 10;

function agentlessNote(names: readonly string[]): readonly string[] {
  if (names.length === 0) return [];
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : '';
  return [`Nodes without an agent take no part: ${names.slice(0, NAMED).join(', ')}${more}`];
}

function renderNotes(notes: readonly string[], style: Style): string {
  return notes.map((note) => `${labelled('Note: ', note, style)}\n`).join('');
}
