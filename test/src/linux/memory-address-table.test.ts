import { address, formatAddress } from 'bgp-ts';
import { expect } from 'chai';
import { MemoryAddressTable, MemoryHost } from '../../../src/linux/memory-address-table.ts';
import { describeAddressTable, ofTable } from '../../compliance/address-table.ts';

function split(withLength: string): [string, number] {
  const [text = '', length = ''] = withLength.split('/');
  return [text, Number(length)];
}

describeAddressTable('in memory', async () => {
  const host = new MemoryHost(['lo', 'eth0']);
  return {
    open: async () => ofTable(new MemoryAddressTable({ host })),
    addresses: async () =>
      host.addresses
        .map((each) => `${formatAddress(each.address)}/${each.prefixLength} ${each.interface}`)
        .sort(),
    addByHand: async (withLength, name) => {
      const [text, prefixLength] = split(withLength);
      host.addAddress(address(text), name, { prefixLength });
    },
    removeByHand: async (withLength, name) => {
      const [text, prefixLength] = split(withLength);
      host.removeAddress(address(text), name, prefixLength);
    },
    addLink: async (name) => host.addLink(name),
    removeLink: async (name) => host.removeLink(name),
    destroy: async () => undefined,
  };
});

describe('an address table in memory', () => {
  it('tells at the time that the clock of the simulation gives, once for changes that come together', () => {
    const host = new MemoryHost();
    const later: (() => void)[] = [];
    const table = new MemoryAddressTable({ host, defer: (run) => later.push(run) });
    let told = 0;
    table.subscribe(() => {
      told += 1;
    });
    table.add(address('192.0.2.1'), 'lo');
    table.add(address('192.0.2.2'), 'lo');
    expect(told).to.equal(0);
    for (const run of later) run();
    expect(told).to.equal(1);
  });
});
