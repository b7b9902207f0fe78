import { address, routerId } from 'bgp-ts';
import { expect } from 'chai';
import { addressRouterId, nameRouterId } from '../../../src/agent/router-id.ts';
import type { Link } from '../../../src/linux/address-table.ts';

const LOOPBACK = on('lo', '127.0.0.1/8');
const VIP = on('lo', '192.0.2.7/32');

function on(name: string, text: string, ours = false) {
  const [host = '', length] = text.split('/');
  return { interface: name, address: address(host), prefixLength: Number(length), ours };
}

function link(index: number, name: string, over: Partial<Link> = {}): Link {
  return { index, name, isUp: true, isLoopback: name === 'lo', hasArp: name !== 'lo', ...over };
}

const LO = link(1, 'lo');
const ETH0 = link(2, 'eth0');
const LINKS = [LO, ETH0];

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
    expect(addressRouterId({ present, links: LINKS })).to.equal(routerId('10.0.0.11'));
  });

  it('is the address that the machine speaks with, before others', () => {
    const present = [LOOPBACK, on('eth0', '10.0.0.11/24'), on('eth1', '10.1.0.11/24')];
    const uplink = address('10.1.0.11');
    expect(addressRouterId({ present, links: LINKS, uplink })).to.equal(routerId('10.1.0.11'));
    // one that is not there any more, or was never the machine's, is not taken
    const gone = address('10.9.0.1');
    expect(addressRouterId({ present, links: LINKS, uplink: gone })).to.equal(
      routerId('10.0.0.11'),
    );
  });

  it('is no address of a bridge that leads to guests alone: every machine has the same (B3)', () => {
    const docker = link(3, 'docker0', { kind: 'bridge' });
    const guest = link(4, 'veth1', { kind: 'veth', master: 3 });
    const links = [LO, ETH0, docker, guest];
    const bridged = on('docker0', '172.17.0.1/16');
    const own = on('eth0', '10.0.0.11/24');
    expect(addressRouterId({ present: [bridged, own], links })).to.equal(routerId('10.0.0.11'));
    // not even where there is no other: then the name tells machines apart
    const ipv6 = on('eth0', '2001:db8::1/64');
    expect(addressRouterId({ present: [bridged, ipv6], links })).to.equal(undefined);
    // whatever it is called
    const renamed = links.map((one) => (one === docker ? { ...one, name: 'br-7f3a' } : one));
    const there = on('br-7f3a', '172.17.0.1/16');
    expect(addressRouterId({ present: [there], links: renamed })).to.equal(undefined);
  });

  it('may be that of a bridge with a port of hardware, or with the default route', () => {
    const bridge = link(3, 'br0', { kind: 'bridge' });
    const present = [on('br0', '10.0.0.11/24')];
    const port = { ...ETH0, master: 3 };
    expect(addressRouterId({ present, links: [LO, port, bridge] })).to.equal(routerId('10.0.0.11'));
    const bond = link(5, 'bond0', { kind: 'bond', master: 3 });
    expect(addressRouterId({ present, links: [LO, bond, bridge] })).to.equal(routerId('10.0.0.11'));
    const uplink = address('10.0.0.11');
    expect(addressRouterId({ present, links: [LO, bridge], uplink })).to.equal(
      routerId('10.0.0.11'),
    );
  });

  it('is no address that a service has on many machines, put there by hand or by us', () => {
    const left = on('eth0', '192.0.2.8/32', true);
    const present = [LOOPBACK, VIP, left, on('eth0', '10.0.0.11/24')];
    expect(addressRouterId({ present, links: LINKS })).to.equal(routerId('10.0.0.11'));
  });

  it('is no address that a proxy binds on a dummy, also where there is no other', () => {
    const bound = on('kube-ipvs0', '10.96.0.1/32');
    const links = [LO, ETH0, link(3, 'kube-ipvs0', { kind: 'dummy', hasArp: false })];
    const present = [LOOPBACK, bound, on('eth0', '10.0.0.11/24')];
    expect(addressRouterId({ present, links })).to.equal(routerId('10.0.0.11'));
    expect(addressRouterId({ present: [LOOPBACK, bound], links })).to.equal(undefined);
  });

  it("may be a host address on another interface: some providers give a machine's own as one", () => {
    const present = [LOOPBACK, VIP, on('eth0', '203.0.113.5/32')];
    expect(addressRouterId({ present, links: LINKS })).to.equal(routerId('203.0.113.5'));
  });

  it('is a host address on lo where there is no other, never one of ours', () => {
    const ours = on('lo', '192.0.2.6/32', true);
    const present = [LOOPBACK, ours, VIP];
    expect(addressRouterId({ present, links: LINKS })).to.equal(routerId('192.0.2.7'));
    expect(addressRouterId({ present: [LOOPBACK, ours], links: LINKS })).to.equal(undefined);
  });

  it('is a number of the name in the end: another one for each, and never 0', () => {
    expect(nameRouterId('node-1')).to.be.greaterThan(0).and.not.equal(nameRouterId('node-2'));
  });
});
