/** A neighbour that freezes: the kernel still acknowledges, nobody reads. The hold timer is the only one to notice. */

import { expect } from 'chai';
import { untilValue } from '../../support/poll.ts';
import type { Cell } from '../cell.ts';
import { evidence } from '../evidence.ts';
import type { Row } from './row.ts';

const prefix = '192.0.2.0/24';
/** Short enough to be waited for, and three times what a busy machine keeps a process waiting. */
const holdTimeSeconds = 9;
/** Every third of it, less a quarter of jitter: four fit into it, and one more may meet its end. */
const keepalivesInHoldTime = 5;

const ours = {
  timers: { holdSeconds: holdTimeSeconds, connectRetrySeconds: 1 },
  routes: [{ prefix }],
};
const connect = (cell: Cell) => cell.connect(ours, { holdTimeSeconds });

async function theyFreeze(cell: Cell): Promise<readonly string[]> {
  const subject = await connect(cell);
  await cell.route('ipv4', prefix);
  cell.router.freeze();
  try {
    const sent = await subject.event(
      'Hold Timer Expired',
      (event) => event.kind === 'notification-sent',
    );
    expect(sent).to.include({ code: 4, subcode: 0 });
    const filter = `bgp.notify.major_error == 4 && ${cell.fromUs}`;
    const [farewell] = await timesOf(cell, filter);
    const lastWord = (await timesOf(cell, `bgp && ${cell.fromThem}`)).at(-1);
    if (farewell === undefined || lastWord === undefined) throw new Error('nothing on the wire');
    expect(farewell - lastWord, 'seconds of silence').to.be.at.least(holdTimeSeconds - 0.1);
    // a busy machine holds up the hold timer, and the keepalives with it: their number tells how long we waited by our own clock
    const keepalives = (await timesOf(cell, `bgp.type == 4 && ${cell.fromUs}`)).filter(
      (time) => time > lastWord && time <= farewell,
    );
    expect(keepalives.length, 'our keepalives into the silence').to.be.within(
      1,
      keepalivesInHoldTime,
    );
    return [evidence.ours('notification-sent 4/0'), evidence.wire(filter)];
  } finally {
    cell.router.thaw();
  }
}

/** When frames passed the router's end of the link, in seconds since 1970. */
async function timesOf(cell: Cell, filter: string): Promise<readonly number[]> {
  const frames = await cell.capture.frames(filter, ['frame.time_epoch']);
  return frames.map((frame) => Number(frame['frame.time_epoch']));
}

async function weFreeze(cell: Cell): Promise<readonly string[]> {
  const subject = await connect(cell);
  await cell.route('ipv4', prefix);
  // FRR restarts its hold timer from the second message in Established on; this is one more.
  await subject.apply(cell.peer({ ...ours, routes: [{ prefix, med: 5 }] }));
  await untilValue(
    'the change arrived',
    () => cell.router.routes('ipv4'),
    (found) => found[0]?.med === 5,
  );
  const frozenMs = Date.now();
  subject.freeze();
  await cell.table('ipv4', []);
  const seconds = (Date.now() - frozenMs) / 1_000;
  expect(seconds, 'seconds from the freeze').to.be.greaterThan(holdTimeSeconds / 2);
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
