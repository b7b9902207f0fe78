/**
 * Graceful restart, our side restarting (RFC 4724): closed without a word, routes stay and are stale; a new process says
 * what is still true, End-of-RIB removes the rest. Going away for good is a Cease, and then nothing may stay.
 */

import { expect } from 'chai';
import { untilValue } from '../../support/poll.ts';
import type { Cell } from '../cell.ts';
import { evidence } from '../evidence.ts';
import type { Row } from './row.ts';

const kept = '192.0.2.0/24';
const dropped = '198.51.100.0/24';
const six = '2001:db8:1::/48';
/** Far more than a new process takes on a busy machine, and than a router takes to drop what it does not keep. */
const gracefulRestart = { restartSeconds: 120 };

async function restarts(cell: Cell): Promise<readonly string[]> {
  const first = await cell.connect(
    { gracefulRestart, routes: [{ prefix: kept }, { prefix: dropped }, { prefix: six }] },
    { isGracefulRestartHelper: true },
  );
  await cell.table('ipv4', [kept, dropped]);
  await cell.table('ipv6', [six]);
  await first.stop({ kind: 'restart' });
  await untilValue(
    'both routes are kept and stale',
    () => cell.router.routes('ipv4'),
    (found) => found.length === 2 && found.every((route) => route.isStale === true),
    { everyMs: 200 },
  );
  const farewell = `bgp.type == 3 && ${cell.fromUs}`;
  expect(await cell.capture.frames(farewell, ['frame.number'])).to.deep.equal([]);
  const second = await cell.startSubject({ restarting: true });
  await second.apply(cell.peer({ gracefulRestart, routes: [{ prefix: kept }, { prefix: six }] }));
  await untilValue(
    'the route that was announced again is fresh, the other is gone',
    () => cell.router.routes('ipv4'),
    (found) => found.length === 1 && found[0]?.prefix === kept && found[0].isStale !== true,
    { everyMs: 200 },
  );
  await cell.established(second);
  const [route] = await cell.table('ipv6', [six]);
  expect(route?.isStale).to.equal(undefined);
  const flag = `bgp.cap.gr.timers.restart_flag == 1 && ${cell.fromUs}`;
  expect(await cell.capture.frames(flag, ['frame.number'])).to.have.lengthOf.at.least(1);
  return [
    evidence.table(cell.kind, 'ipv4'),
    `${evidence.wire(farewell)}: none before the restart`,
    evidence.wire(flag),
  ];
}

async function goesAway(cell: Cell): Promise<readonly string[]> {
  const subject = await cell.connect(
    { gracefulRestart, routes: [{ prefix: kept }, { prefix: six }] },
    { isGracefulRestartHelper: true },
  );
  await cell.table('ipv4', [kept]);
  await cell.table('ipv6', [six]);
  await subject.stop({ kind: 'shutdown', text: 'for good', deadlineMs: 5_000 });
  // a router that keeps them does so for all of the restart time
  const bound = { timeoutMs: 50_000, everyMs: 100 };
  await cell.table('ipv4', [], bound);
  await cell.table('ipv6', [], bound);
  // ExaBGP is run without the capability, since it would then be the one to leave without a word.
  const offered = `bgp.cap.type == 64 && ${cell.fromThem}`;
  const offers = await cell.capture.frames(offered, ['frame.number']);
  expect(offers.length > 0).to.equal(cell.kind !== 'exabgp');
  const filter = `bgp.notify.major_error == 6 && ${cell.fromUs}`;
  expect(await cell.capture.frames(filter, ['frame.number'])).to.have.lengthOf(1);
  return [
    evidence.table(cell.kind, 'ipv4'),
    evidence.table(cell.kind, 'ipv6'),
    evidence.wire(filter),
    `${evidence.wire(offered)}: ${offers.length === 0 ? 'none' : 'agreed on'}`,
  ];
}

export const gracefulRestartRows: readonly Row[] = [
  { name: 'graceful restart of ours: stale routes kept', run: restarts },
  { name: 'going away drops routes at once, graceful restart or not', run: goesAway },
];
