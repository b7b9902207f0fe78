import { expect } from 'chai';
import fc from 'fast-check';
import { decode, PLAIN_CONTEXT } from '../../../protocol/bgp/decode.ts';
import { encode } from '../../../protocol/bgp/encode.ts';
import { BgpFault } from '../../../protocol/bgp/error.ts';
import {
  ceaseNotification,
  describeNotification,
  encodeShutdownText,
  hardResetReason,
  MAX_NOTIFICATION_DATA,
  notificationFromFault,
  shutdownText,
} from '../../../protocol/bgp/notification.ts';
import { formatHex } from '../../../protocol/bytes/hex.ts';
import { notificationMessage } from '../../support/arbitraries.ts';

describe('NOTIFICATION', () => {
  for (const length of [0, 1, 2, 3]) {
    it(`a fault with ${length} octets of data leaves with all of them`, () => {
      const data = Uint8Array.from({ length }, (_, index) => index + 1);
      const fault = new BgpFault({ code: 5, subcode: 1, data, detail: 'x' });
      const raw = encode(notificationFromFault(fault), PLAIN_CONTEXT);
      expect(formatHex(raw.subarray(16))).to.equal(
        `00${(21 + length).toString(16)}030501${'010203'.slice(0, 2 * length)}`,
      );
    });
  }

  it('cuts data that would not fit, and owns what it keeps', () => {
    const data = new Uint8Array(65535).fill(1);
    const message = notificationFromFault(new BgpFault({ code: 7, subcode: 1, data, detail: 'x' }));
    data.fill(0);
    expect(message.data).to.have.lengthOf(MAX_NOTIFICATION_DATA);
    expect(message.data.every((octet) => octet === 1)).to.equal(true);
    expect(encode(message, PLAIN_CONTEXT)).to.have.lengthOf(4096);
  });

  it('puts a text into shutdown and reset and nowhere else', () => {
    for (const [subcode, data] of [
      [2, '026869'],
      [4, '026869'],
      [3, ''],
      [8, ''],
    ] as const) {
      expect(formatHex(ceaseNotification(subcode, 'hi').data), `${subcode}`).to.equal(data);
    }
    expect(formatHex(ceaseNotification(2).data)).to.equal('');
    expect(formatHex(ceaseNotification(2, '').data)).to.equal('');
  });

  it('cuts a text behind the last whole character within 255 octets', () => {
    const cases = [
      ['a'.repeat(255), 255],
      ['a'.repeat(256), 255],
      [`${'a'.repeat(254)}ü`, 254],
      [`${'a'.repeat(253)}ü`, 255],
      [`${'a'.repeat(253)}€`, 253],
      [`${'a'.repeat(252)}😀`, 252],
      [`${'a'.repeat(251)}😀`, 255],
    ] as const;
    for (const [text, octets] of cases) {
      const data = encodeShutdownText(text);
      expect(data).to.have.lengthOf(1 + octets);
      expect(data[0]).to.equal(octets);
      const shown = shutdownText({ kind: 'notification', code: 6, subcode: 2, data });
      expect(text.startsWith(shown ?? '?')).to.equal(true);
    }
  });

  it('shows what could steer a terminal as U+FFFD', () => {
    const text = 'a\u0007b\u001b[31mc\nd\u009be\u202ef\u2066g\u2028h';
    const message = ceaseNotification(2, text);
    expect(shutdownText(message)).to.equal(
      'a\ufffdb\ufffd[31mc\ufffdd\ufffde\ufffdf\ufffdg\ufffdh',
    );
    expect(shutdownText(ceaseNotification(2, 'Ärger 😀 ok'))).to.equal('Ärger 😀 ok');
  });

  it('gives back any short printable text', () => {
    const printable = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 30 })
      .filter((text) => text.isWellFormed() && !text.startsWith('\ufeff'));
    fc.assert(
      fc.property(printable, (text) => {
        fc.pre(new TextEncoder().encode(text).length <= 255);
        const raw = encode(ceaseNotification(4, text), PLAIN_CONTEXT);
        const result = decode(raw, PLAIN_CONTEXT);
        if (!result.ok || result.message.kind !== 'notification') throw new Error('not decoded');
        const expected = text.replace(/[\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, '\ufffd');
        expect(describeNotification(result.message)).to.deep.equal({
          name: 'Cease/Administrative Reset',
          text: expected,
        });
      }),
    );
  });

  it('always has a name, and a reason inside a hard reset only', () => {
    fc.assert(
      fc.property(notificationMessage(), (message) => {
        expect(describeNotification(message).name).to.match(/\w/);
        const reason = hardResetReason(message);
        const isHardReset = message.code === 6 && message.subcode === 9;
        expect(reason !== undefined).to.equal(isHardReset && message.data.length >= 2);
        if (reason === undefined) return;
        expect([reason.code, reason.subcode, ...reason.data]).to.deep.equal([...message.data]);
      }),
    );
  });
});
