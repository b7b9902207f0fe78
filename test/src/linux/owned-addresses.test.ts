import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { address } from 'bgp-ts';
import { expect } from 'chai';
import { NetlinkError } from '../../../src/linux/netlink-calls.ts';
import { OwnedAddresses, parseOwned } from '../../../src/linux/owned-addresses.ts';

describe('the file of owned addresses', () => {
  let folder: string;
  const file = () => join(folder, 'owned');
  const [seven, eight] = [address('2001:db8::7'), address('2001:db8::8')];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'herald-owned-'));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  it('is written at once, read by the next, and shorter then', () => {
    const first = new OwnedAddresses(file(), 'one');
    first.add(seven, 'lo');
    first.add(eight, 'lo');
    first.remove(seven, 'lo');
    expect(readFileSync(file(), 'utf8').trim().split('\n')).to.have.length(4);
    const next = new OwnedAddresses(file(), 'one');
    expect([next.has(seven, 'lo'), next.has(eight, 'lo')]).to.deep.equal([false, true]);
    expect(readFileSync(file(), 'utf8')).to.equal('boot one\n+ 2001:db8::8 lo\n');
  });

  it('knows interfaces apart', () => {
    const owned = new OwnedAddresses(file(), 'one');
    owned.add(seven, 'lo');
    expect(owned.has(seven, 'eth0')).to.equal(false);
  });

  it('counts for one boot', () => {
    new OwnedAddresses(file(), 'one').add(seven, 'lo');
    expect(new OwnedAddresses(file(), 'two').has(seven, 'lo')).to.equal(false);
  });

  it('that cannot be written is an error with a name, and owns nothing more', () => {
    const owned = new OwnedAddresses(file(), 'one');
    rmSync(file());
    mkdirSync(file());
    expect(() => owned.add(seven, 'lo'))
      .to.throw(NetlinkError)
      .with.property('code', 'EISDIR');
    expect(owned.has(seven, 'lo')).to.equal(false);
  });

  it('owns nothing by a last line that was cut short', () => {
    const text = 'boot one\n+ 2001:db8::7 lo\n+ 2001:db8::8 l';
    expect([...parseOwned(text, 'one')]).to.deep.equal(['2001:db8::7 lo']);
    expect([...parseOwned('', 'one')]).to.deep.equal([]);
  });

  it('make their folder, and are no reason to end where that cannot be (A8)', () => {
    const deep = join(folder, 'not', 'there', 'yet');
    expect(new OwnedAddresses(deep, 'one').trouble).to.equal(undefined);
    const nowhere = new OwnedAddresses('/proc/herald/addresses', 'one');
    expect(nowhere.trouble).to.equal('ENOENT');
    expect(nowhere.has(seven, 'lo')).to.equal(false);
    expect(() => nowhere.add(seven, 'lo')).to.throw(NetlinkError);
    const late = join(folder, 'late');
    writeFileSync(late, '');
    const owned = new OwnedAddresses(join(late, 'addresses'), 'one');
    expect(owned.trouble).to.equal('ENOTDIR');
    rmSync(late);
    owned.add(seven, 'lo');
    expect(new OwnedAddresses(join(late, 'addresses'), 'one').has(seven, 'lo')).to.equal(true);
  });
});
