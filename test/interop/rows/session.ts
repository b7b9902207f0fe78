/** Who dials, what happens when both do, route refresh, and the words of a shutdown in both directions. */

import { expect } from 'chai';
import type { Host } from '../../support/netns.ts';
import { untilValue } from '../../support/poll.ts';
import type { Cell } from '../cell.ts';
import { countOf } from '../cell.ts';
import { evidence } from '../evidence.ts';
import type { Subject } from '../subject-client.ts';
import type { Row } from './row.ts';

const prefix4 = '192.0.2.0/24';
const prefix6 = '2001:db8:1::/48';
const routes = [{ prefix: prefix4 }, { prefix: prefix6 }];
/** Below and above the router's 10.0.0.2: the larger one's connection is to survive (RFC 4271 §6.8). */
const identifiers = ['10.0.0.1', '10.0.0.9', '10.0.0.1'];

async function weWait(cell: Cell): Promise<readonly string[]> {
  const subject = await cell.startSubject({ listen: true });
  await subject.apply(cell.peer({ passive: true, routes }));
  await cell.startRouter({ isPassive: false });
  await cell.established(subject);
  await cell.route('ipv4', prefix4);
  const up = await subject.event('established', (event) => event.kind === 'established');
  expect(up.side).to.equal('in');
  const dialled = `tcp.flags.syn == 1 && tcp.flags.ack == 0 && ${cell.fromUs}`;
  expect(await cell.capture.frames(dialled, ['frame.number'])).to.deep.equal([]);
  return [evidence.table(cell.kind, 'ipv4'), `${evidence.wire(dialled)}: none`];
}

async function weDial(cell: Cell): Promise<readonly string[]> {
  const subject = await cell.connect({ routes });
  await cell.route('ipv4', prefix4);
  const up = await subject.event('established', (event) => event.kind === 'established');
  expect(up.side).to.equal('out');
  const dialled = `tcp.flags.syn == 1 && tcp.flags.ack == 0 && ${cell.fromThem}`;
  expect(await cell.capture.frames(dialled, ['frame.number'])).to.deep.equal([]);
  return [evidence.table(cell.kind, 'ipv4'), `${evidence.wire(dialled)}: none`];
}

/** Until both connections stand no data passes, so that the OPENs of both meet two open connections. */
const holdBack = `
table inet collision {
  chain input {
    type filter hook input priority 0;
    tcp sport 179 meta length > 70 drop
    tcp dport 179 meta length > 70 drop
  }
  counter answered {}
  chain output {
    type filter hook output priority 0;
    tcp sport 179 tcp flags & (syn | ack) == syn | ack counter name answered
  }
}
`;
/** The router dials first: GoBGP, OpenBGPD and ExaBGP give up dialling once they have accepted a connection. */
const theyFirst = `
table inet first {
  chain input {
    type filter hook input priority 0;
    tcp dport 179 tcp flags & (syn | ack) == syn drop
  }
}
`;

async function standing(host: Host): Promise<string[]> {
  const filter = ['sport', '=', ':179', 'or', 'dport', '=', ':179'];
  const { stdout } = await host.exec('ss', ['-tnH', 'state', 'established', ...filter]);
  return stdout.split('\n').filter((line) => line !== '');
}

async function bothDial(cell: Cell): Promise<readonly string[]> {
  const subject = await cell.startSubject({ listen: true });
  const survivors: string[] = [];
  for (const routerId of identifiers) {
    survivors.push(await collide(cell, subject, routerId));
    await subject.apply();
    await cell.router.kill();
    await untilValue('all connections are gone', () => standing(cell.ours), isEmpty);
  }
  const opens = `bgp.type == 1 && ${cell.fromUs}`;
  const frames = await cell.capture.frames(opens, ['tcp.stream', 'tcp.dstport']);
  const streams = (isOurs: boolean) =>
    new Set(
      frames
        .filter((frame) => (frame['tcp.dstport'] === '179') === isOurs)
        .map((frame) => frame['tcp.stream']),
    ).size;
  const [dialled, accepted] = [streams(true), streams(false)];
  expect(dialled, 'our OPEN on connections we dialled').to.be.at.least(identifiers.length);
  expect(accepted, 'our OPEN on connections they dialled').to.be.at.least(identifiers.length);
  return [
    `${evidence.wire(opens)}: ${identifiers.length} rounds, ${dialled} connections dialled, ${accepted} accepted; survivors: ${survivors.join(', ')}`,
    evidence.session(cell.kind),
    evidence.table(cell.kind, 'ipv4'),
  ];
}

const isEmpty = (lines: readonly string[]) => lines.length === 0;

/** One round; the result is the side of the connection that survived. */
async function collide(cell: Cell, subject: Subject, routerId: string): Promise<string> {
  await Promise.all([cell.ours.nft(holdBack), cell.theirs.nft(holdBack)]);
  await cell.theirs.nft(theyFirst);
  const timers = { holdSeconds: 9, keepaliveSeconds: 1, connectRetrySeconds: 1 };
  await subject.apply(cell.peer({ listen: true, routerId, routes, timers }));
  await cell.startRouter({ isPassive: false, holdTimeSeconds: 9 });
  const patience = { timeoutMs: 60_000, everyMs: 100 };
  await untilValue(
    'the router has dialled',
    () => standing(cell.ours),
    (lines) => lines.length >= 1,
    patience,
  );
  await cell.theirs.nft('delete table inet first');
  await untilValue(
    'we have dialled too',
    () => answeredBy(cell.theirs),
    (count) => count >= 1,
    patience,
  );
  const open = 'delete table inet collision';
  await Promise.all([cell.ours.nft(open), cell.theirs.nft(open)]);
  await cell.established(subject);
  await cell.route('ipv4', prefix4);
  const survivor = await lastConnection(cell);
  // It is there to stay: keepalives pass, and it is still the only one.
  const alive = `bgp.type == 4 && ${cell.fromUs} && tcp.port == ${survivor.port}`;
  await untilValue(
    'keepalives on the surviving connection',
    () => cell.capture.frames(alive, ['frame.number']),
    (frames) => frames.length >= 3,
    { everyMs: 500 },
  );
  expect(await lastConnection(cell)).to.deep.equal(survivor);
  const sessions = await cell.router.sessions();
  expect(sessions.map((session) => session.state)).to.deep.equal(['established']);
  return survivor.side;
}

/** How many dials a host has answered since the gate was closed; asked of nft, since every moment lets TCP wait longer. */
async function answeredBy(host: Host): Promise<number> {
  const { stdout } = await host.exec('nft', ['list', 'counter', 'inet', 'collision', 'answered']);
  return Number(/packets (\d+)/.exec(stdout)?.[1] ?? 0);
}

/** The one connection that both ends still have: who dialled it, and from which port. */
async function lastConnection(
  cell: Cell,
): Promise<{ readonly side: string; readonly port: string }> {
  const [line = ''] = await untilValue(
    'exactly one connection is left on both ends',
    async () => [...(await standing(cell.ours)), ...(await standing(cell.theirs))],
    (lines) => lines.length === 2,
    // What was held back comes again when TCP next repeats it, which it does ever more rarely.
    { timeoutMs: 90_000, everyMs: 300 },
  );
  const [, ourPort = '', theirPort = ''] = /:(\d+) +\S+:(\d+)/.exec(line) ?? [];
  return ourPort === '179' ? { side: 'theirs', port: theirPort } : { side: 'ours', port: ourPort };
}

async function refresh(cell: Cell): Promise<readonly string[]> {
  await cell.connect({ routes });
  await cell.route('ipv4', prefix4);
  await cell.route('ipv6', prefix6);
  await cell.router.refresh(cell.ourAddress);
  const asked = `bgp.type == 5 && bgp.route_refresh.subtype == 0 && ${cell.fromThem}`;
  const requests = await untilValue(
    'the router asked for both families',
    () => cell.capture.frames(asked, ['frame.time_epoch', 'bgp.route_refresh.afi']),
    (frames) => frames.reduce((sum, each) => sum + countOf(each['bgp.route_refresh.afi']), 0) >= 2,
    { everyMs: 500 },
  );
  const since = requests[0]?.['frame.time_epoch'] ?? '';
  const again = `bgp.type == 2 && ${cell.fromUs}`;
  await untilValue(
    'both routes were sent again',
    () =>
      cell.capture.frames(`${again} && frame.time_epoch > ${since}`, [
        'bgp.nlri_prefix',
        'bgp.mp_reach_nlri_ipv6_prefix',
      ]),
    (frames) =>
      frames.some((frame) => frame['bgp.nlri_prefix'].includes('192.0.2.0')) &&
      frames.some((frame) => frame['bgp.mp_reach_nlri_ipv6_prefix'].includes('2001:db8:1::')),
    { everyMs: 500 },
  );
  await cell.route('ipv4', prefix4);
  await cell.route('ipv6', prefix6);
  return [
    evidence.wire(asked),
    `${evidence.wire(again)} after it`,
    evidence.table(cell.kind, 'ipv4'),
  ];
}

async function ourShutdown(cell: Cell): Promise<readonly string[]> {
  const subject = await cell.connect({ routes });
  await cell.route('ipv4', prefix4);
  const text = 'Rack 7 wird geräumt, back at 14:00';
  await subject.stop({ kind: 'shutdown', text, deadlineMs: 5_000 });
  await cell.table('ipv4', []);
  const shown = await untilValue(
    `${cell.kind} shows our text`,
    () => cell.router.lastNotification(cell.ourAddress),
    (notification) => notification?.text !== undefined,
    { everyMs: 200 },
  );
  expect(shown?.text).to.equal(text);
  return [evidence.notification(cell.kind), evidence.table(cell.kind, 'ipv4')];
}

async function theirShutdown(cell: Cell): Promise<readonly string[]> {
  const subject = await cell.connect({ routes });
  const text = await cell.router.shutdown(cell.ourAddress, 'drained for work');
  if (!('shutdown-text' in cell.router.limits)) expect(text).to.equal('drained for work');
  const received = await subject.event(
    'the text of the router',
    (event) => event.kind === 'notification-received',
  );
  expect(received).to.include({ code: 6, subcode: 2, text });
  await cell.router.enable(cell.ourAddress);
  await cell.established(subject);
  await cell.route('ipv4', prefix4);
  return [evidence.ours(`notification-received 6/2 "${text}"`), evidence.session(cell.kind)];
}

export const sessionRows: readonly Row[] = [
  { name: 'route refresh asked by the router', run: refresh },
  { name: 'we wait, the router dials', run: weWait },
  { name: 'the router waits, we dial', run: weDial },
  { name: 'both dial at once: one session survives', run: bothDial },
];

export const shutdownRows: readonly Row[] = [
  { name: 'our shutdown text shown by the router', run: ourShutdown },
  { name: "the router's shutdown text shown by us", run: theirShutdown },
];
