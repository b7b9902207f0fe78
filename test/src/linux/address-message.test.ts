import { address, formatAddress } from 'bgp-ts';
import { expect } from 'chai';
import { decodeAddressBody, encodeAddressBody } from '../../../src/linux/address-message.ts';

const fromHex = (hex: string) => Uint8Array.from(Buffer.from(hex.replaceAll(/\s/g, ''), 'hex'));
const toHex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

describe('an address in rtnetlink', () => {
  it('is written with family, length, flags, interface and marks', () => {
    const body = encodeAddressBody({
      address: address('192.0.2.7'),
      prefixLength: 32,
      index: 1,
      flags: 0,
      label: 'lo:herald',
      protocol: 72,
    });
    expect(toHex(body)).to.equal(
      '0220000001000000' +
        '08000200c0000207' +
        '08000100c0000207' +
        '0e0003006c6f3a686572616c64000000' +
        '05000b0048000000',
    );
  });

  it('is written as preferred for 0 s and valid for ever where it is deprecated', () => {
    const body = encodeAddressBody({
      address: address('2001:db8::7'),
      prefixLength: 128,
      index: 1,
      flags: 0x22,
    });
    expect(toHex(body)).to.equal(
      '0a80220001000000' +
        '1400020020010db8000000000000000000000007' +
        '1400010020010db8000000000000000000000007' +
        '1400060000000000ffffffff0000000000000000',
    );
  });

  it('comes back as it was written', () => {
    const six = {
      address: address('2001:db8::7'),
      prefixLength: 128,
      index: 70_000,
      flags: 2,
      protocol: 72,
    };
    expect(decodeAddressBody(encodeAddressBody(six))).to.deep.equal(six);
  });

  // As Linux 6.18 sent them for `ip address add` of iproute2 6.1
  const recorded: readonly [string, string, object][] = [
    [
      'a /32 on lo with a label',
      '022080000100000008000100c000020708000200c00002070e0003006c6f3a686572616c64000000080008008000000014000600ffffffffffffffff3483110034831100',
      { address: '192.0.2.7', prefixLength: 32, index: 1, flags: 0x80, label: 'lo:herald' },
    ],
    [
      'the near end of a point-to-point address',
      '0220800002000000080001000a010002080002000a0100010700030065310000080008008000000014000600ffffffffffffffff3583110035831100',
      { address: '10.1.0.1', prefixLength: 32, index: 2, flags: 0x80, label: 'e1' },
    ],
    [
      '::1, which the kernel added',
      '0a8080fe01000000140001000000000000000000000000000000000114000600ffffffffffffffff3183110031831100080008008000000005000b0001000000',
      { address: '::1', prefixLength: 128, index: 1, flags: 0x80, protocol: 1 },
    ],
    [
      'a /64 without duplicate address detection',
      '0a408200030000001400010020010db800000000000000000000000114000600ffffffffffffffff34831100348311000800080082000000',
      { address: '2001:db8::1', prefixLength: 64, index: 3, flags: 0x82 },
    ],
  ];
  for (const [name, hex, expected] of recorded) {
    it(`is read: ${name}`, () => {
      const { address: value, ...rest } = decodeAddressBody(fromHex(hex)) ?? {};
      const text = value === undefined ? undefined : formatAddress(value);
      expect({ address: text, ...rest }).to.deep.equal(expected);
    });
  }

  it('is nothing in another family, with an impossible length, or without its octets', () => {
    expect(decodeAddressBody(fromHex('1c18800003000000080002000a000001'))).to.equal(undefined);
    expect(decodeAddressBody(fromHex('0221800003000000080002000a000001'))).to.equal(undefined);
    expect(decodeAddressBody(fromHex('02188000030000000600020000000000'))).to.equal(undefined);
  });
});
