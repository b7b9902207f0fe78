import { expect } from 'chai';
import { PLAIN_CONTEXT } from '../../../protocol/bgp/decode.ts';
import { encode } from '../../../protocol/bgp/encode.ts';
import type { Capability, OpenMessage } from '../../../protocol/bgp/message.ts';
import { formatHex } from '../../../protocol/bytes/hex.ts';

const OPEN: OpenMessage = {
  kind: 'open',
  version: 4,
  asn: 65000,
  holdTimeSeconds: 90,
  routerId: 0xc0000201,
  capabilities: [],
};

function parameters(message: Partial<OpenMessage>): string {
  return formatHex(encode({ ...OPEN, ...message }, PLAIN_CONTEXT).subarray(28));
}

function blank(length: number): Capability {
  return { kind: 'unknown', code: 240, value: new Uint8Array(length) };
}

describe('OPEN, what only we can write', () => {
  it('has parameters of other types before the capabilities', () => {
    const otherParameters = [{ type: 99, value: Uint8Array.of(1, 2) }];
    expect(parameters({ otherParameters })).to.equal('0463020102');
    expect(parameters({ otherParameters, capabilities: [{ kind: 'route-refresh' }] })).to.equal(
      '086302010202020200',
    );
  });

  it('turns to the form of RFC 9072 with the 256th octet and not before', () => {
    expect(parameters({ capabilities: [blank(251)] })).to.match(/^ff02fdf0fb/);
    expect(parameters({ capabilities: [blank(252)] })).to.match(/^ffff01010200fef0fc/);
  });

  it('refuses what has no encoding', () => {
    const families = [{ afi: 1, safi: 1, forwarding: true }];
    const restart: Capability = {
      kind: 'graceful-restart',
      restarting: false,
      notification: false,
      restartTimeSeconds: 4096,
      families,
    };
    expect(() => parameters({ capabilities: [blank(256)] })).to.throw(RangeError, '256 octets');
    expect(() => parameters({ capabilities: [restart] })).to.throw(RangeError, '4095');
    expect(() => parameters({ capabilities: Array(20).fill(blank(255)) })).to.throw(RangeError);
  });
});
