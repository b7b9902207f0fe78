import { address } from 'bgp-ts';
import { expect } from 'chai';
import { remembered } from '../../../src/cli/agent-speaker.ts';
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
