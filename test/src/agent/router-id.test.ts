import { address, routerId } from 'bgp-ts';
import { expect } from 'chai';
import { defaultRouterId } from '../../../src/agent/router-id.ts';

const LOOPBACK = on('lo', '127.0.0.1/8');
const VIP = on('lo', '192.0.2.7/32');

function on(name: string, text: string, ours = false) {
  const [host = '', length] = text.split('/');
  return { interface: name, address: address(host), prefixLength: Number(length), ours };
}

describe('the default BGP identifier', () => {
  it('is the first IPv4 address that other machines can know', () => {
    const first = on('eth0', '10.0.0.11/24');
    const present = [
      LOOPBACK,
      on('eth0', '169.254.3.4/16'),
      on('eth0', '2001:db8::1/64'),
      first,
      on('eth1', '10.1.0.11/24'),
    ];
    expect(defaultRouterId('node-1', present)).to.equal(routerId('10.0.0.11'));
  });

  it('is no address that a service has on many machines, put there by hand or by us', () => {
    const left = on('eth0', '192.0.2.8/32', true);
    const present = [LOOPBACK, VIP, left, on('eth0', '10.0.0.11/24')];
    expect(defaultRouterId('node-1', present)).to.equal(routerId('10.0.0.11'));
  });

  it('is no address that a proxy binds on a dummy', () => {
    const bound = on('kube-ipvs0', '10.96.0.1/32');
    const present = [LOOPBACK, bound, on('eth0', '10.0.0.11/24')];
    const dummies = new Set(['lo', 'kube-ipvs0']);
    expect(defaultRouterId('node-1', present, dummies)).to.equal(routerId('10.0.0.11'));
  });

  it("may be a host address on another interface: some providers give a machine's own as one", () => {
    const present = [LOOPBACK, VIP, on('eth0', '203.0.113.5/32')];
    expect(defaultRouterId('node-1', present)).to.equal(routerId('203.0.113.5'));
  });

  it('is a host address on lo where there is no other, never one of ours', () => {
    const ours = on('lo', '192.0.2.6/32', true);
    expect(defaultRouterId('node-1', [LOOPBACK, ours, VIP])).to.equal(routerId('192.0.2.7'));
    const named = defaultRouterId('node-1', [LOOPBACK]);
    expect(named)
      .to.be.greaterThan(0)
      .and.not.equal(defaultRouterId('node-2', [LOOPBACK]));
    expect(defaultRouterId('node-1', [LOOPBACK, ours])).to.equal(named);
  });
});
