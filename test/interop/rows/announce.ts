/** Routes come and go: both families, many at once, from the command line, and again after every restart of the router. */

import { join } from 'node:path';
import { expect } from 'chai';
import { untilValue } from '../../support/poll.ts';
import { type Cell, ourAsn, theirAsn } from '../cell.ts';
import { evidence } from '../evidence.ts';
import type { Family } from '../routers/router.ts';
import type { Row } from './row.ts';

const program = join(import.meta.dirname, '../../../src/cli/herald');
const restarts = 10;
const manyCount = 1_000;

const samples: Readonly<Record<Family, readonly [string, string]>> = {
  ipv4: ['192.0.2.0/24', '198.51.100.7/32'],
  ipv6: ['2001:db8:1::/48', '2001:db8::7/128'],
};

async function announceAndWithdraw(cell: Cell, family: Family): Promise<readonly string[]> {
  const [first, second] = samples[family];
  const subject = await cell.connect({ routes: [{ prefix: first }, { prefix: second }] });
  await cell.table(family, [first, second]);
  await subject.apply(cell.peer({ routes: [{ prefix: second }] }));
  await cell.table(family, [second]);
  await subject.apply(cell.peer({ routes: [] }));
  await cell.table(family, []);
  // The routes went one by one, not with the session.
  expect((await cell.router.sessions())[0]?.state).to.equal('established');
  expect(subject.events.filter((event) => event.kind === 'down')).to.deep.equal([]);
  return [evidence.table(cell.kind, family), evidence.session(cell.kind)];
}

/** 10.1.0.0/32 and its neighbours: 5 octets each, so that 4,096-octet messages hold about 800. */
const many = Array.from(
  { length: manyCount },
  (_, index) => `10.1.${index >> 8}.${index & 255}/32`,
);

const isMany = (count: number) => count === manyCount;

/** First in messages of 4,096 octets, which tshark counts; then as large as the router takes them (RFC 8654). */
async function packs(cell: Cell): Promise<readonly string[]> {
  const routes = many.map((prefix) => ({ prefix, communities: ['65001:1'] }));
  const subject = await cell.connect({ extendedMessage: false, routes });
  const counted = `${cell.kind} counts ${manyCount} routes`;
  const patience = { timeoutMs: 60_000, everyMs: 200 };
  await untilValue(counted, () => cell.router.count('ipv4'), isMany, patience);
  const filter = `bgp.type == 2 && ${cell.fromUs}`;
  // Two messages of routes, and End-of-RIB for each family, which may come after the router has counted.
  const updates = await untilValue(
    'all UPDATEs are on the wire',
    async () => {
      const frames = await cell.capture.frames(filter, ['bgp.type']);
      const types = frames.flatMap((frame) => frame['bgp.type'].split(','));
      return types.filter((type) => type === '2').length;
    },
    (count) => count >= 4,
    { timeoutMs: 120_000 },
  );
  expect(updates).to.equal(4);
  // tshark 4.0 takes a message of more than 4,096 octets for a broken one, so the rest is the router's word alone.
  await cell.capture.stop();
  const since = subject.events.length;
  await subject.apply(cell.peer({ routes }));
  const up = await subject.event('established', (event) => event.kind === 'established', {
    since,
    timeoutMs: 60_000,
  });
  await untilValue(counted, () => cell.router.count('ipv4'), isMany, patience);
  const large = up.extendedMessage === true ? 'agreed on and used' : 'not offered by the router';
  return [
    evidence.count(cell.kind, 'ipv4'),
    `${evidence.wire(filter)}: ${updates} messages`,
    `once more, with messages of 65,535 octets ${large}`,
  ];
}

/** Two paths of one prefix (RFC 7911), told apart by their MED; then one of them is withdrawn. */
async function addPath(cell: Cell): Promise<readonly string[]> {
  const prefix = '192.0.2.0/24';
  const paths = [1, 2].map((pathId) => ({ prefix, pathId, med: 10 * pathId }));
  const peer = { addPathSend: ['ipv4'], routes: paths } as const;
  const subject = await cell.connect(peer, { addPath: 'receive' });
  const shows = (meds: string) =>
    untilValue(
      `${cell.kind} shows paths with MED ${meds}`,
      async () => (await cell.router.routes('ipv4')).map((route) => route.med ?? 0).toSorted(),
      (seen) => seen.join(' ') === meds,
      { everyMs: 200 },
    );
  await shows('10 20');
  await subject.apply(cell.peer({ ...peer, routes: paths.slice(1) }));
  await shows('20');
  return [evidence.table(cell.kind, 'ipv4')];
}

async function commandLine(cell: Cell): Promise<readonly string[]> {
  await cell.startRouter();
  const flags = [
    ...['--peer', cell.theirAddress, '--peer-asn', `${theirAsn}`, '--asn', `${ourAsn}`],
    ...['--hold', '30', '--med', '42', '--community', '65001:7', '--community', '65001:1:2'],
    ...['--prepend', '1', '--json', '192.0.2.0/24', '2001:db8:1::/48'],
  ];
  const announce = cell.ours.spawn('announce', program, ['announce', ...flags]);
  const route = await cell.route('ipv4', '192.0.2.0/24');
  expect(route).to.include({ med: 42, origin: 'igp' });
  expect(route.asPath).to.deep.equal([ourAsn, ourAsn]);
  expect(route.communities).to.deep.equal(['65001:7']);
  expect(route.largeCommunities).to.deep.equal(['65001:1:2']);
  expect(route.nextHops).to.deep.equal([cell.ourAddress]);
  await cell.route('ipv6', '2001:db8:1::/48');
  expect(await announce.stop()).to.equal(0);
  await cell.table('ipv4', []);
  const shown = await untilValue(
    `${cell.kind} shows the text of the Cease`,
    () => cell.router.lastNotification(cell.ourAddress),
    (notification) => notification?.text !== undefined,
    { everyMs: 200 },
  );
  expect(shown?.text).to.equal('herald announce: stopped by SIGTERM');
  return [evidence.table(cell.kind, 'ipv4'), evidence.notification(cell.kind)];
}

async function survivesRestarts(cell: Cell): Promise<readonly string[]> {
  const routes = [...samples.ipv4, ...samples.ipv6].map((prefix) => ({ prefix }));
  const subject = await cell.connect({ routes });
  for (let restart = 1; restart <= restarts; restart += 1) {
    const since = subject.events.length;
    await cell.router.restart();
    await subject.event('the session is up again', (event) => event.kind === 'established', {
      since,
      timeoutMs: 60_000,
    });
    await cell.table('ipv4', samples.ipv4);
    await cell.table('ipv6', samples.ipv6);
  }
  const ups = subject.events.filter((event) => event.kind === 'established').length;
  expect(ups).to.be.greaterThanOrEqual(restarts + 1);
  return [
    evidence.table(cell.kind, 'ipv4'),
    evidence.table(cell.kind, 'ipv6'),
    evidence.ours('established'),
  ];
}

export const announceRows: readonly Row[] = [
  { name: 'IPv4 announce and withdraw', run: (cell) => announceAndWithdraw(cell, 'ipv4') },
  { name: 'IPv6 announce and withdraw', run: (cell) => announceAndWithdraw(cell, 'ipv6') },
  { name: '1,000 routes in a few UPDATEs', run: packs },
  { name: 'two paths of one prefix (add-path)', run: addPath },
  { name: 'herald announce on the command line', run: commandLine },
];

export const restartRows: readonly Row[] = [
  { name: 'neighbour restarts ten times', run: survivesRestarts },
];
