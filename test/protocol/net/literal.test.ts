import { expect } from 'chai';
import { formatAddress, formatPrefix } from '../../../protocol/net/address-text.ts';
import { address, ipv4, ipv6, prefix, routerId } from '../../../protocol/net/literal.ts';

describe('literals', () => {
  it('are the parsed values', () => {
    expect(formatAddress(address('2001:db8::1'))).to.equal('2001:db8::1');
    expect(formatAddress(ipv4('192.0.2.1'))).to.equal('192.0.2.1');
    expect(formatAddress(ipv6('::1'))).to.equal('::1');
    expect(formatPrefix(prefix('10.0.0.0/8'))).to.equal('10.0.0.0/8');
    expect(routerId('192.0.2.1')).to.equal(0xc0000201);
  });

  it('throw for what is not right', () => {
    expect(() => address('host')).to.throw(RangeError, "'host' is not an IP address");
    expect(() => ipv4('::1')).to.throw(RangeError, 'IPv4');
    expect(() => ipv6('192.0.2.1')).to.throw(RangeError, 'IPv6');
    expect(() => prefix('10.0.0.1/8')).to.throw(RangeError, 'behind its length');
    expect(() => routerId('300.1.1.1')).to.throw(RangeError, 'identifier');
  });
});
