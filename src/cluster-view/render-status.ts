/** A ClusterStatus as text. Nodes of which all is well are counted where there are many; what needs attention is always there. Pure. */

import { formatSince, labelled, paint, plain, type Style } from '../control/style.ts';
import { type Cell, type Column, formatTable, type Row } from '../control/table.ts';
import { CLAIM_PHASES } from '../controller/facts.ts';
import type { IpNodeSession } from '../model/ip-node.ts';
import type { PoolAnswer } from './explain.ts';
import type { ClusterStatus, ControllerAnswer, NodeStatus, WaitingService } from './status.ts';

export function renderClusterStatus(status: ClusterStatus, style: Style): string {
  return [
    renderHead(status, style),
    renderNodes(status.nodes, style),
    renderPools(status.pools, style),
    renderClaims(status, style),
    renderWaiting(status.waiting, style),
    renderNotes(status, style),
  ]
    .filter((text) => text !== '')
    .join('\n');
}

const LABEL_WIDTH = 12;

function renderHead({ cluster, controller }: ClusterStatus, style: Style): string {
  const line = (label: string, text: string) => labelled(label.padEnd(LABEL_WIDTH), text, style);
  return `${line('cluster', cluster)}\n${line('controller', controllerText(controller, style))}\n`;
}

function controllerText({ state, holder, since, renewed }: ControllerAnswer, style: Style): string {
  const age = (iso: string | undefined) => (iso === undefined ? '?' : formatSince(iso, style));
  switch (state) {
    case 'leading':
      return `${holder} leads for ${age(since)}, heard ${age(renewed)} ago`;
    case 'late':
      return `nobody leads: ${holder} was heard ${age(renewed)} ago; kubectl -n herald-system get pods`;
    case 'none':
      return 'nobody leads: no Service gets an address; kubectl -n herald-system get pods';
    case 'unknown':
      return 'unknown: its Lease may not be read';
  }
}

const NODE_COLUMNS: readonly Column[] = [
  { title: 'NODE', most: 20 },
  { title: 'JOINED', most: 6 },
  { title: 'ROUTES', most: 6, alignRight: true },
  { title: 'ROUTER', most: 14 },
  { title: 'ADDRESS', most: 15, spills: true },
  { title: 'SESSION', most: 11 },
  { title: 'SINCE', most: 6, alignRight: true },
];
const MOST_WELL = 20;

function renderNodes(nodes: readonly NodeStatus[], style: Style): string {
  if (nodes.length === 0) {
    const what = 'no agent has told of itself; kubectl -n herald-system get daemonset,pods';
    return `${labelled('Nodes: none. ', what, style)}\n`;
  }
  const sessions = nodes.flatMap((node) => node.sessions);
  const joined = nodes.filter((node) => node.joined?.open === true).length;
  const up = sessions.filter(({ state }) => state === 'Established').length;
  const words = `Nodes: ${joined} of ${nodes.length} joined, ${up} of ${sessions.length} sessions established`;
  const folded = new Set(nodes.filter(isWell).slice(MOST_WELL));
  const rows = nodes.filter((node) => !folded.has(node)).flatMap((node) => nodeRows(node, style));
  const more = folded.size === 0 ? '' : `and ${folded.size} more, of which all is well\n`;
  return `${paint(words, 'strong', style)}\n${formatTable(NODE_COLUMNS, rows, style)}${more}`;
}

function isWell({ joined, alive, draining, refused, sessions }: NodeStatus): boolean {
  const isUp = sessions.length > 0 && sessions.every(({ state }) => state === 'Established');
  return (
    joined?.open === true && alive !== false && draining === undefined && refused === 0 && isUp
  );
}

function nodeRows(node: NodeStatus, style: Style): readonly Row[] {
  const isJoined = node.joined?.open === true;
  const joined: Cell = { text: isJoined ? 'yes' : 'no', tone: isJoined ? 'good' : 'bad' };
  const first = [node.node, joined, `${node.routes}`];
  const notes = nodeNotes(node, style);
  if (node.sessions.length === 0) return [{ cells: [...first, '-', '-', '-', '-'], notes }];
  return node.sessions.map((session, index) => {
    const { peer, address, state, since } = session;
    const tone = state === 'Established' ? 'good' : 'attention';
    const age = since === undefined ? '-' : formatSince(since, style);
    const cells = [...first, peer, address, { text: state, tone } as const, age];
    const own = sessionNotes(session).map((text): Cell => ({ text: plain(text), tone: 'faint' }));
    return { cells, notes: index === node.sessions.length - 1 ? [...own, ...notes] : own };
  });
}

function sessionNotes({ state, lastError, cannotCarry = [] }: IpNodeSession): readonly string[] {
  if (state === 'Established') return cannotCarry.map(({ message }) => message);
  return lastError === undefined ? [] : [lastError];
}

function nodeNotes(node: NodeStatus, style: Style): readonly Cell[] {
  const { joined, draining, silentSince, refused } = node;
  const told = [
    joined?.open === true ? '' : `not joined: ${joined?.message ?? 'it has not reported yet'}`,
    draining === undefined
      ? ''
      : `draining for ${formatSince(draining.since, style)}: ${draining.reason}`,
    node.alive === false
      ? `its agent is silent${silentSince === undefined ? '' : ` for ${formatSince(silentSince, style)}`}`
      : '',
    refused === 0
      ? ''
      : `${refused} not announced: kubectl get ipnode ${node.node} -o yaml tells which and why`,
  ];
  return told.filter((text) => text !== '').map((text) => ({ text, tone: 'faint' }));
}

const POOL_COLUMNS: readonly Column[] = [
  { title: 'POOL', most: 24 },
  { title: 'USED', most: 10, alignRight: true },
  { title: 'FREE', most: 20, alignRight: true },
  { title: 'TOTAL', most: 20, alignRight: true },
];

function renderPools(pools: readonly PoolAnswer[], style: Style): string {
  if (pools.length === 0) {
    return `${labelled('Pools: none. ', 'Without an IPPool no Service gets an address', style)}\n`;
  }
  const rows = pools.map(({ pool, used, free, total, fullSince, refused }): Row => {
    const notes: Cell[] = [];
    if (refused !== undefined) notes.push({ text: `not in force: ${refused}`, tone: 'bad' });
    if (fullSince !== undefined) {
      const text = `full for ${formatSince(fullSince, style)}; add addresses, or a pool`;
      notes.push({ text, tone: 'attention' });
    }
    return { cells: [pool, `${used}`, `${free}`, `${total}`], notes };
  });
  return `${paint('Pools', 'strong', style)}\n${formatTable(POOL_COLUMNS, rows, style)}`;
}

function renderClaims({ claims }: ClusterStatus, style: Style): string {
  const total = CLAIM_PHASES.reduce((sum, phase) => sum + claims[phase], 0);
  const parts = CLAIM_PHASES.filter((phase) => claims[phase] > 0).map(
    (phase) => `${claims[phase]} ${phase}`,
  );
  const words = total === 0 ? 'none' : `${total} (${parts.join(', ')})`;
  return `${paint('Claims', 'strong', style)}: ${words}\n`;
}

const WAITING_COLUMNS: readonly Column[] = [
  { title: 'SERVICE', most: 40 },
  { title: 'SINCE', most: 6, alignRight: true },
  { title: 'REASON' },
];
const MOST_WAITING = 20;

function renderWaiting(waiting: ClusterStatus['waiting'], style: Style): string {
  if (waiting === undefined || waiting.length === 0) return '';
  const rows = waiting.slice(0, MOST_WAITING).map((one) => waitingRow(one, style));
  const more = waiting.length > MOST_WAITING ? `and ${waiting.length - MOST_WAITING} more\n` : '';
  const title = paint(`Services without their address: ${waiting.length}`, 'strong', style);
  return `${title}\n${formatTable(WAITING_COLUMNS, rows, style)}${more}`;
}

function waitingRow({ service, since, reason, message }: WaitingService, style: Style): Row {
  const notes: readonly Cell[] = [{ text: plain(message), tone: 'faint' }];
  return { cells: [service, formatSince(since, style), reason], notes };
}

function renderNotes({ notes, peers }: ClusterStatus, style: Style): string {
  const bad = peers.flatMap(({ peer, refused }) =>
    refused === undefined ? [] : `BGPPeer ${peer} is not in force: ${refused}`,
  );
  return [...bad, ...notes].map((note) => `${labelled('Note: ', note, style)}\n`).join('');
}
