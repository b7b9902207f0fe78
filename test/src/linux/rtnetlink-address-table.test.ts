import { expect } from 'chai';
import { labelFor } from '../../../src/linux/address-table.ts';
import { NetlinkError } from '../../../src/linux/netlink-calls.ts';
import { refusedBy } from '../../../src/linux/refusal.ts';
import { kernelHasAddressProtocol } from '../../../src/linux/rtnetlink-address-table.ts';

describe('the marks of an address', () => {
  it('include the protocol from Linux 5.18 on', () => {
    const releases = [
      '4.19.0',
      '5.4.0-42-generic',
      '5.17.15',
      '5.18.0',
      '5.18-rc1',
      '6.1.0-13',
      '10.0',
    ];
    expect(releases.filter(kernelHasAddressProtocol)).to.deep.equal(releases.slice(3));
    expect(kernelHasAddressProtocol('strange')).to.equal(false);
  });

  it('include a label where it fits fifteen characters', () => {
    expect(labelFor('lo')).to.equal('lo:herald');
    expect(labelFor('enp0s31f')).to.equal('enp0s31f:herald');
    expect(labelFor('enp0s31f6')).to.equal(undefined);
  });
});

describe('a refusal of the kernel', () => {
  const attempt = {
    doing: 'cannot add 2001:db8::7 to eth0',
    interface: 'eth0',
    family: 'ipv6',
  } as const;

  it('is a sentence that says what to do', () => {
    const say = (code: string) => refusedBy(new NetlinkError(code, code), attempt);
    expect(say('EPERM').sentence).to.include('needs CAP_NET_ADMIN');
    expect(say('ENODEV').kind).to.equal('no-interface');
    expect(say('EACCES').sentence).to.include('disable_ipv6=0');
    expect(say('ENOMEM')).to.deep.equal({
      kind: 'failed',
      code: 'ENOMEM',
      sentence: 'cannot add 2001:db8::7 to eth0: ENOMEM',
    });
  });

  it('is not made of a fault of ours', () => {
    expect(() => refusedBy(new TypeError('ours'), attempt)).to.throw(TypeError);
  });
});
