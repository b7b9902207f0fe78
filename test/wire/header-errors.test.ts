/** RFC 4271 §6.1 on the wire: each message header error, in each state that reads messages, with its Data field. */

import { expect } from 'chai';
import type { NeighbourConnection } from '../support/scripted-neighbour.ts';
import { withPair, withSession } from '../support/speaker-under-test.ts';
import {
  Capability,
  hex,
  join,
  KEEPALIVE,
  MARKER,
  message,
  open,
  Type,
  USUAL_CAPABILITIES,
  u8,
  u16,
} from '../support/wire-bytes.ts';

type State = 'open-sent' | 'open-confirm' | 'established';

/** Brings the neighbour's end to the point where our side is in that state, with nothing left unread. */
async function inState(
  state: State,
  test: (neighbour: NeighbourConnection, expectDown: ExpectDown) => Promise<void>,
): Promise<void> {
  await withPair({}, async ({ port, subject }) => {
    const neighbour = await port.accept();
    if (state === 'established') {
      await neighbour.establish();
    } else {
      await neighbour.expectMessage(Type.open);
      if (state === 'open-confirm') {
        neighbour.send(open());
        await neighbour.expectKeepalive();
      }
    }
    expect(subject.status().state).to.equal(state);
    await test(neighbour, async (code, subcode) => {
      const { wasEstablished, reason } = await subject.until('down');
      expect(wasEstablished).to.equal(state === 'established');
      expect(reason).to.include({ kind: 'notification-sent', code, subcode });
      const [sent] = subject.of('notification-sent');
      expect(sent).to.include({ code, subcode });
      expect(subject.status().counters.notificationsSent).to.equal(1);
    });
  });
}

type ExpectDown = (code: number, subcode: number) => Promise<void>;

const STATES: readonly State[] = ['open-sent', 'open-confirm', 'established'];

/** a header whose length field says this, and nothing behind it: the error has to be found before a body comes */
const header = (length: number, type: number) => join(hex(MARKER), u16(length), u8(type));

const badMarker = (at: number) => {
  const bytes = Uint8Array.from(KEEPALIVE);
  bytes[at] = 0xfe;
  return bytes;
};

const CASES: readonly {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly notification: string;
}[] = [
  { name: 'first octet of the marker', bytes: badMarker(0), notification: '1/1' },
  { name: 'last octet of the marker', bytes: badMarker(15), notification: '1/1' },
  { name: 'length 0', bytes: header(0, 4), notification: '1/2 0000' },
  { name: 'length 18', bytes: header(18, 4), notification: '1/2 0012' },
  { name: 'length 4097', bytes: header(4097, 2), notification: '1/2 1001' },
  { name: 'length 65535', bytes: header(65535, 2), notification: '1/2 ffff' },
  { name: 'OPEN of 28 octets', bytes: header(28, 1), notification: '1/2 001c' },
  { name: 'UPDATE of 22 octets', bytes: header(22, 2), notification: '1/2 0016' },
  { name: 'NOTIFICATION of 20 octets', bytes: header(20, 3), notification: '1/2 0014' },
  { name: 'KEEPALIVE of 20 octets', bytes: header(20, 4), notification: '1/2 0014' },
  { name: 'type 0', bytes: header(19, 0), notification: '1/3 00' },
  { name: 'type 6', bytes: header(19, 6), notification: '1/3 06' },
  { name: 'type 255', bytes: header(19, 255), notification: '1/3 ff' },
];

describe('message header errors (RFC 4271 §6.1)', () => {
  for (const state of STATES) {
    for (const { name, bytes, notification } of CASES) {
      it(`${name} in ${state}: sends ${notification} and closes`, () =>
        inState(state, async (neighbour, expectDown) => {
          neighbour.send(bytes);
          expect(await neighbour.expectNotification()).to.equal(notification);
          expect(await neighbour.expectEnd()).to.equal('fin');
          await expectDown(1, Number(notification[2]));
        }));
    }
  }

  it('reads nothing behind a bad header, however good it looks', () =>
    inState('established', async (neighbour) => {
      neighbour.send(join(badMarker(3), header(19, 99)));
      expect(await neighbour.expectNotification()).to.equal('1/1');
      await neighbour.expectEnd();
      expect(neighbour.messages.filter(({ type }) => type === Type.notification)).to.have.lengthOf(
        1,
      );
    }));

  it('finds the error in a header that comes one octet at a time', () =>
    inState('open-confirm', async (neighbour) => {
      for (const octet of header(18, 2)) {
        neighbour.send(u8(octet));
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(await neighbour.expectNotification()).to.equal('1/2 0012');
    }));

  describe('with extended messages agreed (RFC 8654 §4)', () => {
    const extended = { capabilities: [...USUAL_CAPABILITIES, Capability.extendedMessage] };

    it('takes an UPDATE of 65,535 octets', () =>
      withSession({ open: extended }, async ({ neighbour, subject }) => {
        // one unknown optional transitive attribute fills the message
        const filler = new Uint8Array(65535 - 19 - 4 - 4);
        const attribute = join(hex('d0 c8'), u16(filler.length), filler);
        neighbour.send(message(Type.update, join(u16(0), u16(attribute.length), attribute)));
        const { update } = await subject.until('update-received');
        expect(update.attributes.unknown?.[0]?.value.length).to.equal(filler.length);
        expect(subject.status().state).to.equal('established');
      }));

    for (const [name, type] of [
      ['OPEN', Type.open],
      ['KEEPALIVE', Type.keepalive],
    ] as const) {
      it(`still refuses an ${name} of 4,097 octets: sends 1/2 1001`, () =>
        withSession({ open: extended }, async ({ neighbour }) => {
          neighbour.send(header(4097, type));
          expect(await neighbour.expectNotification()).to.equal('1/2 1001');
          await neighbour.expectEnd();
        }));
    }

    it('refuses an UPDATE of 4,097 octets where the neighbour did not offer them', () =>
      withSession({}, async ({ neighbour }) => {
        neighbour.send(header(4097, Type.update));
        expect(await neighbour.expectNotification()).to.equal('1/2 1001');
      }));
  });
});
