import { expect } from 'chai';
import type { InterfaceAddresses } from '../../../protocol/io/interface-addresses.ts';
import { ipv4, ipv6 } from '../../../protocol/net/literal.ts';
import { sessionNextHops, steadyAddresses } from '../../../protocol/speaker/next-hops.ts';

const ETH0: InterfaceAddresses = {
  name: 'eth0',
  ipv4: [ipv4('192.0.2.1'), ipv4('192.0.2.2')],
  ipv6: [ipv6('2001:db8::1'), ipv6('2001:db8::2')],
  linkLocal: [ipv6('fe80::1'), ipv6('fe80::2')],
};
const REVERSED: InterfaceAddresses = {
  name: 'eth0',
  ipv4: ETH0.ipv4.toReversed(),
  ipv6: ETH0.ipv6.toReversed(),
  linkLocal: ETH0.linkLocal.toReversed(),
};

describe('the addresses that a session goes on with', () => {
  it('stay in front, in each list, in whatever order they come', () => {
    expect(steadyAddresses(undefined, REVERSED)).to.deep.equal(REVERSED);
    expect(steadyAddresses(ETH0, REVERSED)).to.deep.equal(ETH0);
  });

  it('are given up when the interface has them no more', () => {
    const without = { ...ETH0, ipv6: ETH0.ipv6.slice(1), linkLocal: [] };
    expect(steadyAddresses(ETH0, without)).to.deep.equal(without);
  });

  it('are those that it had while the interface is not listed', () => {
    expect(steadyAddresses(ETH0, undefined)).to.deep.equal(ETH0);
    expect(steadyAddresses(undefined, undefined)).to.equal(undefined);
  });

  it('never stand in the way of what the settings say', () => {
    const ipv6NextHop = ipv6('2001:db8::99');
    const local = ipv4('192.0.2.1');
    const set = sessionNextHops({ ipv6: ipv6NextHop }, local, steadyAddresses(ETH0, undefined));
    expect(set).to.deep.equal({ ipv4: local, ipv6: ipv6NextHop });
    const self = sessionNextHops({}, local, steadyAddresses(ETH0, REVERSED));
    expect(self).to.deep.equal({ ipv4: local, ipv6: ETH0.ipv6[0] });
  });

  it('are the next hop of IPv4 routes too where that was asked for (RFC 8950), unless another is written', () => {
    const [local, linkLocal] = [ipv6('2001:db8::2'), ipv6('fe80::1')];
    expect(sessionNextHops({}, local, ETH0, true).ipv4).to.deep.equal(local);
    expect(sessionNextHops({}, linkLocal, undefined, true).ipv4).to.deep.equal(linkLocal);
    const given = { ipv4: ipv4('192.0.2.9') };
    expect(sessionNextHops(given, local, ETH0, true).ipv4).to.deep.equal(given.ipv4);
    expect(sessionNextHops({}, ipv4('192.0.2.1'), ETH0, true).ipv4?.family).to.equal('ipv4');
  });
});
