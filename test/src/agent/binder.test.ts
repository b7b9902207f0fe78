import { expect } from 'chai';
import { Binder } from '../../../src/agent/binder.ts';
import { MemoryAddressTable, MemoryHost } from '../../../src/linux/memory-address-table.ts';
import { SILENT_LOG } from '../../../src/log/log.ts';
import { claim } from './scenery.ts';

describe('the binder', () => {
  const host = new MemoryHost(['lo', 'eth0']);
  const table = new MemoryAddressTable({ host });
  const binder = new Binder(table, SILENT_LOG);
  const wish = (at: string, name: string) => {
    const wanted = claim({ at });
    return [wanted.name, { claim: wanted, interface: name }] as const;
  };

  it('has the same addresses of the machine, as objects, until they change: decisions stand on them', () => {
    const before = binder.ownAddresses();
    const after = binder.ownAddresses();
    expect(after.ownAddresses).to.equal(before.ownAddresses);
    expect(after.hostAddresses).to.equal(before.hostAddresses);
  });

  it('waits for an interface that is missing without anything to decide', () => {
    const wishes = new Map([wish('198.51.100.7', 'lo'), wish('198.51.100.8', 'bond0')]);
    expect(binder.ensure(wishes)).to.equal(true);
    expect(binder.isBehind).to.equal(true);
    expect(binder.tryAgain(wishes), 'while nothing has changed').to.equal(false);
    host.addLink('bond0');
    expect(binder.tryAgain(wishes), 'once it is there').to.equal(true);
    expect(binder.isBehind).to.equal(false);
    expect(binder.tryAgain(wishes)).to.equal(false);
  });

  it('asks the kernel for one list, however many addresses are wanted', () => {
    const many = new Map(
      Array.from({ length: 300 }, (_, n) => wish(`198.51.${n >> 8}.${n & 255}`, 'lo')),
    );
    binder.ensure(many);
    let looks = 0;
    const known = table.list().map((one) =>
      Object.defineProperty({ ...one }, 'interface', {
        get: () => {
          looks += 1;
          return one.interface;
        },
      }),
    );
    const counted = new Binder(
      Object.assign(Object.create(table), { list: () => known }),
      SILENT_LOG,
    );
    counted.ensure(many);
    expect([...counted.facts.values()].every(({ kind }) => kind === 'present')).to.equal(true);
    expect(looks, 'looks at addresses').to.be.at.most(4 * known.length);
  });
});
