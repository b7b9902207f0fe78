import { address, formatAddress, resolveLocalAddresses } from 'bgp-ts';
import { expect } from 'chai';
import { lastRead, remembered, withBestFirst } from '../../../src/cli/agent-speaker.ts';
import { AddressFlag } from '../../../src/linux/address-message.ts';
import { LockedAddressTable } from '../../../src/linux/locked-address-table.ts';
import { MemoryAddressTable, MemoryHost } from '../../../src/linux/memory-address-table.ts';
import { ManualClock } from '../../support/manual-clock.ts';

describe('what the speaker knows of the addresses of its machine', () => {
  const vip = address('192.0.2.7');
  let host: MemoryHost;
  let table: LockedAddressTable;
  let clock: ManualClock;
  let later: (() => void)[];
  let looks: number;
  let look: () => number;

  beforeEach(() => {
    host = new MemoryHost();
    later = [];
    const inner = new MemoryAddressTable({ host, defer: (run) => later.push(run) });
    table = new LockedAddressTable(inner, () => ({ kind: 'held', release: () => undefined }));
    clock = new ManualClock();
    looks = 0;
    look = remembered(table, clock, () => {
      looks += 1;
      return table.list().length;
    });
  });

  it('is asked of the kernel once for all decisions within a second', () => {
    expect([look(), look(), looks]).to.deep.equal([0, 0, 1]);
    clock.advance(999);
    look();
    expect(looks).to.equal(1);
    clock.advance(1);
    look();
    expect(looks).to.equal(2);
  });

  it('is asked anew for what the agent decides because it was told of a change', () => {
    let seen = -1;
    table.subscribe(() => {
      seen = look();
    });
    expect(look()).to.equal(0);
    host.addAddress(vip, 'lo');
    for (const run of later.splice(0)) run();
    expect([seen, looks]).to.deep.equal([1, 2]);
  });

  it('is asked anew after an address was put on or taken off, told of or not', () => {
    expect(look()).to.equal(0);
    table.add(vip, 'lo');
    expect(look()).to.equal(1);
    table.remove(vip, 'lo');
    expect(look()).to.equal(0);
  });

  it('is not remembered when it could not be read', () => {
    let isDown = true;
    const shaky = remembered(table, clock, () => {
      if (isDown) throw new Error('no netlink');
      return 'read';
    });
    expect(shaky).to.throw('no netlink');
    isDown = false;
    expect(shaky()).to.equal('read');
  });
});

describe('what the system does not let us read', () => {
  it('is as it was when it last did', () => {
    let isFull = true;
    const read = lastRead(() => {
      if (isFull) throw Object.assign(new Error('out of descriptors'), { code: 'EMFILE' });
      return 'read';
    }, 'nothing yet');
    expect(read()).to.equal('nothing yet');
    isFull = false;
    expect(read()).to.equal('read');
    isFull = true;
    expect(read()).to.equal('read');
  });

  it('hides no mistake of ours', () => {
    const read = lastRead(() => {
      throw new TypeError('a mistake');
    }, undefined);
    expect(read).to.throw('a mistake');
  });
});

describe('which addresses of an interface make a next hop', () => {
  const LOCAL = '10.0.0.11';

  /** newest first, as the kernel lists them */
  function order(...listed: readonly (readonly [text: string, flags: number])[]): string[] {
    const known = listed.map(([text, flags]) => ({
      address: address(text),
      interface: 'eth0',
      flags,
    }));
    const eth0 = [LOCAL, ...listed.map(([text]) => text)].map((text) => ({ address: text }));
    const table = withBestFirst({ lo: [{ address: '::1' }], eth0 }, known);
    const found = resolveLocalAddresses(address(LOCAL), undefined, table);
    return (found?.ipv6 ?? []).map(formatAddress);
  }

  it('those that are ready and stay, before all others', () => {
    const { tentative, deprecated, secondary: temporary, permanent } = AddressFlag;
    expect(
      order(
        ['2001:db8::1', tentative | permanent],
        ['2001:db8::2', temporary],
        ['2001:db8::3', deprecated | permanent],
        ['2001:db8::4', permanent],
        ['2001:db8::5', permanent],
      ),
    ).to.deep.equal(['2001:db8::4', '2001:db8::5', '2001:db8::1', '2001:db8::2', '2001:db8::3']);
  });

  it('one that is not ready, where it is the only global one', () => {
    const listed = order(['fd00::1', 0], ['2001:db8::1', AddressFlag.tentative]);
    expect(listed).to.deep.equal(['2001:db8::1', 'fd00::1']);
  });

  it('never one that another machine has', () => {
    const { duplicate, tentative } = AddressFlag;
    expect(order(['2001:db8::1', duplicate | tentative])).to.deep.equal([]);
  });

  it('in IPv4 the order of the kernel, whose first one is the primary', () => {
    const eth0 = [{ address: LOCAL }, { address: '10.0.0.12' }];
    const known = [{ address: address(LOCAL), interface: 'eth0', flags: AddressFlag.secondary }];
    expect(withBestFirst({ eth0 }, known)).to.deep.equal({ eth0 });
  });

  it('by the interface: the same address may be ready on another', () => {
    const both = [{ address: 'fe80::1' }, { address: 'fe80::2' }];
    const flags = AddressFlag.tentative;
    const known = [{ address: address('fe80::1'), interface: 'eth0', flags }];
    expect(withBestFirst({ eth0: both, eth1: both }, known)).to.deep.equal({
      eth0: both.toReversed(),
      eth1: both,
    });
  });
});
