/**
 * Makes docs/fsm.md from the matrix that the tests check: `node tools/fsm-table.ts` writes it, a test sees that the committed
 * file is current.
 */

import { writeFileSync } from 'node:fs';
import { CONNECTION_EVENTS, type ConnectionEventKind } from '../protocol/bgp/connection-event.ts';
import { CONNECTION_STATES, type ConnectionStateName } from '../protocol/bgp/session.ts';
import { COLUMNS, type ColumnName } from '../test/protocol/bgp/connection-matrix.ts';

export const FSM_TABLE_FILE = new URL('../docs/fsm.md', import.meta.url);

const INTRODUCTION = `# The session machine

Made by \`tools/fsm-table.ts\` from \`test/protocol/bgp/connection-matrix.ts\`; every cell is a test. One table per state of
one connection (RFC 4271 §8); what happens between two connections and between attempts is in
\`protocol/bgp/peer.ts\`, \`collision.ts\` and \`damping.ts\`.

Events that a state ignores are listed under its table. \`+timer seconds\` starts a timer (\`~\` with jitter), \`-timer\` stops it;
\`up\` is a session established, \`session down\` one that ended, \`down\` an attempt that came to nothing. The values are those of
the tests: connect retry 20 s, hold time 90 s, DelayOpen 4 s, send hold 480 s, closing 3 s.

Where this is not the letter of RFC 4271 §8.2.2:

- A timer that does not run in a state is ignored when it fires late; the RFC answers some with an FSM error.
- A NOTIFICATION is never answered by a NOTIFICATION, in OpenSent neither.
- A message while no TCP connection is up (Connect, Active) is left over from an earlier one and ignored.
- A header error in Established is answered by 1/x (§6.1), a malformed OPEN there by 5/3 (RFC 6608).
- A passive neighbour is never dialled: the connect retry timer does not run.
- \`closing\` stands between the NOTIFICATION and Idle, so that it can leave before TCP is closed.
`;

function keys<K extends string>(record: Readonly<Record<K, unknown>>): K[] {
  const isKey = (key: string): key is K => Object.hasOwn(record, key);
  return Object.keys(record).filter(isKey);
}

function row(event: keyof typeof CONNECTION_EVENTS, cell: string): string {
  const colon = cell.indexOf(': ');
  const next = cell.slice(0, colon);
  const notification = /NOTIFICATION (\d+\/\d+)/.exec(cell)?.[1] ?? '';
  const actions = cell.slice(colon + 2);
  return `| ${CONNECTION_EVENTS[event]} | ${next} | ${notification} | ${actions} |`;
}

function table(name: ColumnName): string {
  const column = COLUMNS[name];
  const events = keys(column);
  const rows = events.filter((event) => column[event] !== '-');
  const ignored = events.filter((event) => column[event] === '-');
  const names = ignored.map((event) => CONNECTION_EVENTS[event]).join('; ');
  return [
    `## ${name}\n`,
    '| event | next state | NOTIFICATION | actions |\n|---|---|---|---|',
    ...rows.map((event) => row(event, column[event])),
    `\nIgnored: ${names}.\n`,
  ].join('\n');
}

/** The seven states without conditions side by side: where an event leads, and what the neighbour is told. */
function overview(): string {
  const cell = (state: ConnectionStateName, event: ConnectionEventKind) => {
    const text = COLUMNS[state][event];
    if (text === '-') return '·';
    const notification = /NOTIFICATION (\d+\/\d+)/.exec(text)?.[1];
    const next = text.slice(0, text.indexOf(':'));
    return notification === undefined ? next : `${next} ${notification}`;
  };
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [
    '## Overview\n\nThe next state, with the NOTIFICATION that is sent; `·` = ignored.\n',
    line(['event', ...CONNECTION_STATES]),
    line(['---', ...CONNECTION_STATES.map(() => '---')]),
    ...keys(CONNECTION_EVENTS).map((event) =>
      line([CONNECTION_EVENTS[event], ...CONNECTION_STATES.map((state) => cell(state, event))]),
    ),
    '',
  ].join('\n');
}

export function fsmTable(): string {
  return [INTRODUCTION, overview(), ...keys(COLUMNS).map(table)].join('\n');
}

if (import.meta.main) writeFileSync(FSM_TABLE_FILE, fsmTable());
