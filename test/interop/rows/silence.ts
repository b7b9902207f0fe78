/** A neighbour that freezes: the kernel still acknowledges, nobody reads. The hold timer is the only one to notice. */

import { expect } from 'chai';
import { untilValue } from '../../support/poll.ts';
import { type Cell, holdTimeSeconds } from '../cell.ts';
import { evidence } from '../evidence.ts';
import type { Row } from './row.ts';

const prefix = '192.0.2.0/24';
const graceSeconds = 2;
/** BIRD is 1.5 to 3 s late by design, and a busy machine adds to it. */
const theirBoundMs = 20_000;

async function theyFreeze(cell: Cell): Promise<readonly string[]> {
  const subject = await cell.connect({ routes: [{ prefix }] });
  await cell.route('ipv4', prefix);
  const frozenMs = Date.now();
  cell.router.freeze();
  try {
    const sent = await subject.event(
      'Hold Timer Expired',
      (event) => event.kind === 'notification-sent',
      { timeoutMs: (holdTimeSeconds + 3 * graceSeconds) * 1_000 },
    );
    expect(sent).to.include({ code: 4, subcode: 0 });
    const seconds = (sent.atMs - frozenMs) / 1_000;
    expect(seconds, 'seconds from the freeze').to.be.within(1, holdTimeSeconds + graceSeconds);
    const filter = `bgp.notify.major_error == 4 && ${cell.fromUs}`;
    expect(await cell.capture.frames(filter, ['frame.number'])).to.have.lengthOf.at.least(1);
    return [evidence.ours('notification-sent 4/0'), evidence.wire(filter)];
  } finally {
    cell.router.thaw();
  }
}

async function weFreeze(cell: Cell): Promise<readonly string[]> {
  const subject = await cell.connect({ routes: [{ prefix }] });
  await cell.route('ipv4', prefix);
  // FRR restarts its hold timer from the second message in Established on; this is one more.
  await subject.apply(cell.peer({ routes: [{ prefix, med: 5 }] }));
  await untilValue(
    'the change arrived',
    () => cell.router.routes('ipv4'),
    (found) => found[0]?.med === 5,
  );
  const frozenMs = Date.now();
  subject.freeze();
  await cell.table('ipv4', [], { timeoutMs: theirBoundMs });
  const seconds = (Date.now() - frozenMs) / 1_000;
  expect(seconds, 'seconds from the freeze').to.be.greaterThan(holdTimeSeconds - 1.5);
  const filter = `bgp.notify.major_error == 4 && ${cell.fromThem}`;
  await untilValue(
    'the router said why',
    () => cell.capture.frames(filter, ['frame.number']),
    (frames) => frames.length >= 1,
    { everyMs: 500 },
  );
  return [evidence.table(cell.kind, 'ipv4'), evidence.wire(filter)];
}

export const silenceRows: readonly Row[] = [
  { name: 'hold timer: the router freezes, we send 4/0', run: theyFreeze },
  { name: 'hold timer: we freeze, the router drops our routes', run: weFreeze },
];
