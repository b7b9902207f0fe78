/** Who may talk at all: TCP-MD5 (RFC 2385), GTSM (RFC 5082), neighbours behind a router. */

import { expect } from 'chai';
import { untilValue } from '../../support/poll.ts';
import type { Cell } from '../cell.ts';
import { evidence } from '../evidence.ts';
import type { Subject } from '../subject-client.ts';
import type { Row } from './row.ts';

const prefix = '192.0.2.0/24';
const routes = [{ prefix }];
const key = 'Right-Key.42';

/** Option 19 of TCP: the MD5 signature. */
const signed = 'bgp.type == 1 && tcp.option_kind == 19';

/**
 * OpenBGPD on Linux signs what it dials but puts no key on its listening socket, so a signed SYN is dropped there: with it the
 * router dials as well, and the session is the one that it opens.
 */
async function startWithKey(cell: Cell, password: string): Promise<Subject> {
  const theyDial = cell.kind === 'openbgpd';
  const subject = await cell.startSubject({ listen: theyDial });
  await cell.startRouter({ password: key, isPassive: !theyDial });
  await subject.apply(cell.peer({ password, listen: theyDial, routes }));
  return subject;
}

async function rightKey(cell: Cell): Promise<readonly string[]> {
  const subject = await startWithKey(cell, key);
  await cell.established(subject);
  await cell.route('ipv4', prefix);
  const opens = await cell.capture.frames(signed, ['ip.src']);
  const senders = new Set(opens.map((open) => open['ip.src']));
  expect([...senders].toSorted()).to.deep.equal([cell.ourAddress, cell.theirAddress]);
  return [evidence.table(cell.kind, 'ipv4'), evidence.wire(signed)];
}

async function wrongKey(cell: Cell): Promise<readonly string[]> {
  const subject = await startWithKey(cell, 'Wrong-Key.42');
  const [status] = await untilValue(
    'our side says that nobody answers',
    () => subject.status(),
    (peers) => peers[0]?.lastError !== undefined,
    { timeoutMs: 60_000 },
  );
  const [session] = await cell.router.sessions();
  expect(session?.state).to.not.equal('established');
  expect(subject.events.some((event) => event.kind === 'established')).to.equal(false);
  expect(status?.lastError).to.match(/MD5|password|key/i);
  expect(await cell.capture.frames('bgp', ['frame.number'])).to.deep.equal([]);
  await subject.apply(cell.peer({ password: key, listen: cell.kind === 'openbgpd', routes }));
  await cell.established(subject);
  await cell.route('ipv4', prefix);
  return [
    evidence.session(cell.kind),
    `our lastError \`${status?.lastError}\``,
    `${evidence.wire('bgp')}: none before the key was corrected`,
    evidence.table(cell.kind, 'ipv4'),
  ];
}

async function gtsm(cell: Cell): Promise<readonly string[]> {
  // ExaBGP answers a SYN with the kernel's TTL, so with it the router has to dial.
  const theyDial = cell.kind === 'exabgp';
  const subject = await cell.startSubject({ listen: theyDial });
  await subject.apply(cell.peer({ ttl: { kind: 'gtsm', hops: 1 }, passive: theyDial, routes }));
  await cell.startRouter({ hasTtlSecurity: true, isPassive: !theyDial });
  await cell.established(subject);
  await cell.route('ipv4', prefix);
  const filter = `bgp && ip.ttl != 255`;
  expect(await cell.capture.frames('bgp', ['frame.number'])).to.have.lengthOf.at.least(4);
  expect(await cell.capture.frames(filter, ['frame.number'])).to.deep.equal([]);
  return [evidence.table(cell.kind, 'ipv4'), `${evidence.wire(filter)}: none`];
}

/**
 * The router dials from two hops away with the highest TTL there is; one hop is what we allow, so no SYN of it may be answered.
 * Allowing two hops brings the session up: it was the distance that kept it down.
 */
async function gtsmRefuses(cell: Cell): Promise<readonly string[]> {
  const subject = await cell.startSubject({ listen: true });
  const near = cell.peer({ passive: true, ttl: { kind: 'gtsm', hops: 1 }, routes });
  await subject.apply(near);
  await cell.startRouter({ isPassive: false, multihop: 255 });
  const syn = `tcp.flags.syn == 1 && tcp.flags.ack == 0 && ip.ttl == 255 && ${cell.fromThem}`;
  await untilValue(
    'the router has dialled twice',
    () => cell.capture.frames(syn, ['tcp.srcport']),
    (frames) => frames.length >= 2,
    { timeoutMs: 60_000, everyMs: 500 },
  );
  const bgp = await cell.capture.frames(`bgp && ${cell.fromUs}`, ['frame.number']);
  expect(bgp, 'nothing is said to a neighbour from afar').to.deep.equal([]);
  expect(subject.events.some((event) => event.kind === 'established')).to.equal(false);
  await subject.apply({ ...near, ttl: { kind: 'gtsm', hops: 2 } });
  await cell.established(subject);
  await cell.route('ipv4', prefix);
  return [
    evidence.wire(syn),
    `${evidence.wire(`bgp && ${cell.fromUs}`)}: none`,
    evidence.session(cell.kind),
  ];
}

async function multihop(cell: Cell): Promise<readonly string[]> {
  await cell.connect({ ttl: { kind: 'hops', hops: 2 }, routes }, { multihop: 2 });
  const route = await cell.route('ipv4', prefix);
  expect(route.nextHops).to.deep.equal([cell.ourAddress]);
  // One hop was lost on the way: 2 left us, 1 arrived.
  const filter = `bgp.type == 2 && ip.ttl == 1 && ${cell.fromUs}`;
  expect(await cell.capture.frames(filter, ['frame.number'])).to.have.lengthOf.at.least(1);
  return [evidence.table(cell.kind, 'ipv4'), evidence.wire(filter)];
}

export const securityRows: readonly Row[] = [
  { name: 'MD5, right key', run: rightKey },
  { name: 'MD5, wrong key, then corrected', run: wrongKey },
  { name: 'GTSM', run: gtsm },
  { name: 'GTSM refuses a neighbour two hops away', topology: 'routed', run: gtsmRefuses },
  { name: 'multihop eBGP', topology: 'routed', run: multihop },
];
