/** Next hops: both families over one session of either family, given ones, and the link-local address beside the global one. */

import { expect } from 'chai';
import { untilValue } from '../../support/poll.ts';
import { type Cell, ours6, theirs6 } from '../cell.ts';
import { evidence } from '../evidence.ts';
import type { Neighbour } from '../routers/router.ts';
import type { SubjectPeer } from '../subject-protocol.ts';
import type { Row } from './row.ts';

const prefix4 = '192.0.2.0/24';
const prefix6 = '2001:db8:1::/48';
const routes = [{ prefix: prefix4 }, { prefix: prefix6 }];

async function expectNextHops(cell: Cell, four: string, six: string): Promise<readonly string[]> {
  const route4 = await cell.route('ipv4', prefix4);
  const route6 = await cell.route('ipv6', prefix6);
  expect(route4.nextHops[0], 'IPv4').to.equal(four);
  expect(route6.nextHops[0], 'IPv6').to.equal(six);
  return [evidence.table(cell.kind, 'ipv4'), evidence.table(cell.kind, 'ipv6')];
}

async function overIpv4(cell: Cell): Promise<readonly string[]> {
  await cell.connect({ routes });
  return expectNextHops(cell, cell.ourAddress, ours6);
}

const sixSession: { peer: Partial<SubjectPeer>; neighbour: Partial<Neighbour> } = {
  peer: { address: theirs6 },
  neighbour: { address: ours6, localAddress: theirs6 },
};

async function overIpv6(cell: Cell): Promise<readonly string[]> {
  await cell.connect({ ...sixSession.peer, routes }, sixSession.neighbour);
  return expectNextHops(cell, cell.ourAddress, ours6);
}

/** Given for the session, and for one route only; then changed in place, without a new session. */
async function given(cell: Cell): Promise<readonly string[]> {
  const nextHop = { ipv4: '10.0.0.77', ipv6: 'fd00::77' };
  const subject = await cell.connect({ nextHop, routes });
  await expectNextHops(cell, '10.0.0.77', 'fd00::77');
  const own = [
    { prefix: prefix4, nextHop: '10.0.0.88' },
    { prefix: prefix6, nextHop: 'fd00::88' },
  ];
  await subject.apply(cell.peer({ nextHop, routes: own }));
  const four = await waitForHop(cell, 'ipv4', '10.0.0.88');
  const six = await waitForHop(cell, 'ipv6', 'fd00::88');
  await subject.apply(cell.peer({ routes }));
  await waitForHop(cell, 'ipv4', cell.ourAddress);
  await waitForHop(cell, 'ipv6', ours6);
  expect(subject.events.filter((event) => event.kind === 'down')).to.deep.equal([]);
  return [four, six];
}

async function waitForHop(cell: Cell, family: 'ipv4' | 'ipv6', hop: string): Promise<string> {
  await untilValue(
    `the ${family} next hop is ${hop}`,
    () => cell.router.routes(family),
    (found) => found.length === 1 && found[0]?.nextHops[0] === hop,
    { everyMs: 200 },
  );
  return evidence.table(cell.kind, family);
}

const linkLocalField = 'bgp.update.path_attribute.mp_reach_nlri.next_hop.ipv6.link_local';

async function linkLocal(cell: Cell): Promise<readonly string[]> {
  await cell.connect(
    { ...sixSession.peer, nextHop: { ipv6LinkLocal: true }, routes: [{ prefix: prefix6 }] },
    sixSession.neighbour,
  );
  const own = cell.link.a.linkLocal;
  const route = await cell.route('ipv6', prefix6);
  const isBlind = 'shows-link-local' in cell.router.limits;
  expect(route.nextHops).to.deep.equal(isBlind ? [ours6] : [ours6, own]);
  const filter = `${linkLocalField} == ${own} && ${cell.fromUs}`;
  expect(await cell.capture.frames(filter, ['frame.number'])).to.have.lengthOf.at.least(1);
  return [evidence.table(cell.kind, 'ipv6'), evidence.wire(`${linkLocalField} && ${cell.fromUs}`)];
}

/** RFC 8950: IPv4 routes that lead to an IPv6 address, where both sides said that they know what that is. */
async function extended(cell: Cell): Promise<readonly string[]> {
  await cell.connect(
    {
      ...sixSession.peer,
      extendedNextHop: true,
      nextHop: { ipv4: ours6 },
      routes: [{ prefix: prefix4 }],
    },
    { ...sixSession.neighbour, hasExtendedNextHop: true },
  );
  const route = await cell.route('ipv4', prefix4);
  expect(route.nextHops[0]).to.equal(ours6);
  return [evidence.table(cell.kind, 'ipv4')];
}

export const nextHopRows: readonly Row[] = [
  { name: 'next hops of both families over an IPv4 session', run: overIpv4 },
  { name: 'next hops of both families over an IPv6 session', run: overIpv6 },
  { name: 'next hops given, and changed in place', run: given },
  { name: 'link-local next hop beside the global one', run: linkLocal },
  { name: 'IPv4 routes behind an IPv6 next hop (RFC 8950)', run: extended },
];
