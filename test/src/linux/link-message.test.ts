import { expect } from 'chai';
import { decodeLinkBody } from '../../../src/linux/link-message.ts';

const fromHex = (hex: string) => Uint8Array.from(Buffer.from(hex.replaceAll(/\s/g, ''), 'hex'));

describe('an interface in rtnetlink', () => {
  it('is read with name, number and flags', () => {
    expect(
      decodeLinkBody(fromHex('00000403010000004900010000000000 070003006c6f0000')),
    ).to.deep.equal({ index: 1, name: 'lo', isUp: true, isLoopback: true, hasArp: false });
    expect(
      decodeLinkBody(fromHex('00000100030000004210010000000000 0700030065300000')),
    ).to.deep.equal({ index: 3, name: 'e0', isUp: false, isLoopback: false, hasArp: true });
  });
});
