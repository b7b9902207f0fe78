import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { type Address, address } from 'bgp-ts';
import { expect } from 'chai';
import { NetlinkError } from '../../../src/linux/netlink-calls.ts';
import { OwnedAddresses, parseOwned } from '../../../src/linux/owned-addresses.ts';
import { untilValue } from '../../support/poll.ts';

describe('the file of owned addresses', () => {
  let folder: string;
  const file = () => join(folder, 'owned');
  const [seven, eight] = [address('2001:db8::7'), address('2001:db8::8')];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'herald-owned-'));
  });

  afterEach(() => {
    // what was opened last may still write
    rmSync(folder, { recursive: true, maxRetries: 10 });
  });

  /** with what it tells each time */
  function open(bootId = 'one', path = file()) {
    let told = 0;
    const owned = new OwnedAddresses(path, { bootId, onChange: () => (told += 1) });
    return { owned, told: () => told };
  }

  const written = (owned: OwnedAddresses, ...wanted: Address[]) =>
    untilValue(
      'the file has them',
      () => wanted.map((each) => owned.intend(each, 'lo')),
      (answers) => !answers.includes(false),
      { everyMs: 1 },
    );

  const text = () => readFileSync(file(), 'utf8');
  const untilText = (wanted: string) =>
    untilValue('the file', text, (found) => found === wanted, { everyMs: 1 });

  it('has an address before it is added, is read by the next, and shorter then', async () => {
    const { owned, told } = open();
    expect(owned.intend(seven, 'lo'), 'before it is on disk').to.equal(false);
    expect(owned.intend(eight, 'lo')).to.equal(false);
    expect(told(), 'within the call').to.equal(0);
    await written(owned, seven, eight);
    expect(told(), 'both in one write').to.equal(1);
    expect(owned.has(seven, 'lo'), 'only intended').to.equal(false);
    owned.add(seven, 'lo');
    owned.add(eight, 'lo');
    owned.remove(seven, 'lo');
    await untilText('boot one\n+ 2001:db8::7 lo\n+ 2001:db8::8 lo\n- 2001:db8::7 lo\n');
    const next = open();
    expect([next.owned.has(seven, 'lo'), next.owned.has(eight, 'lo')]).to.deep.equal([false, true]);
    await untilText('boot one\n+ 2001:db8::8 lo\n');
    expect(next.owned.intend(eight, 'lo'), 'the file has it still').to.equal(true);
  });

  it('that is removed and wanted again is written again first', async () => {
    const { owned } = open();
    owned.intend(seven, 'lo');
    await written(owned, seven);
    owned.remove(seven, 'lo');
    expect(owned.intend(seven, 'lo')).to.equal(false);
    await written(owned, seven);
    expect(parseOwned(text(), 'one')).to.deep.equal(new Set(['2001:db8::7 lo']));
    owned.remove(seven, 'lo');
    // while that is on its way to the disk
    await undefined;
    await undefined;
    expect(owned.intend(seven, 'lo')).to.equal(false);
    await written(owned, seven);
    expect(parseOwned(text(), 'one')).to.deep.equal(new Set(['2001:db8::7 lo']));
  });

  it('knows interfaces apart', async () => {
    const { owned } = open();
    await written(owned, seven);
    owned.add(seven, 'lo');
    expect(owned.has(seven, 'eth0')).to.equal(false);
  });

  it('counts for one boot', async () => {
    const { owned } = open();
    await written(owned, seven);
    expect(open('one').owned.has(seven, 'lo')).to.equal(true);
    expect(open('two').owned.has(seven, 'lo')).to.equal(false);
    await untilText('boot two\n');
  });

  it('that cannot be written is an error with a name, told once, and owns nothing more', async () => {
    const { owned, told } = open();
    await written(owned, eight);
    rmSync(file());
    mkdirSync(file());
    const before = told();
    owned.intend(seven, 'lo');
    await untilTrouble(owned, 'EISDIR');
    expect(() => owned.intend(seven, 'lo'))
      .to.throw(NetlinkError)
      .with.property('code', 'EISDIR');
    await pause(50);
    expect(told() - before, 'whoever is told asks again').to.equal(1);
    expect(owned.has(seven, 'lo')).to.equal(false);
    rmdirSync(file());
    await untilValue(
      'it is tried again',
      () => attempt(owned),
      (answer) => answer === true,
    );
    expect(owned.trouble).to.equal(undefined);
  });

  it('on a disk that does not answer holds up nobody, and nothing is to be added meanwhile', () => {
    // in a process of its own, since what waits for the disk on the main thread can be ended by no test
    const program = `
      import { execFileSync } from 'node:child_process';
      import { readFile } from 'node:fs/promises';
      import { address } from 'bgp-ts';
      import { OwnedAddresses } from '${pathToFileURL(join(import.meta.dirname, '../../../src/linux/owned-addresses.ts'))}';
      const file = process.argv[1];
      // who writes this waits for a reader, as for a disk that hangs
      execFileSync('mkfifo', [file + '.new']);
      const owned = new OwnedAddresses(file, { bootId: 'one', onChange: () => say() });
      const intend = () => owned.intend(address('2001:db8::7'), 'lo');
      const said = [intend()];
      const say = () => console.log(JSON.stringify([...said, intend()]));
      setTimeout(() => {
        said.push(intend());
        void readFile(file + '.new');
      }, 100);`;
    const args = ['--conditions=bgp-ts-source', '--input-type=module', '-e', program, file()];
    const child = spawnSync(process.execPath, args, {
      cwd: import.meta.dirname,
      encoding: 'utf8',
      timeout: 10_000,
      killSignal: 'SIGKILL',
    });
    expect(child.stdout.trim(), child.stderr).to.equal('[false,false,true]');
  });

  it('owns nothing by a last line that was cut short', () => {
    const text = 'boot one\n+ 2001:db8::7 lo\n+ 2001:db8::8 l';
    expect([...parseOwned(text, 'one')]).to.deep.equal(['2001:db8::7 lo']);
    expect([...parseOwned('', 'one')]).to.deep.equal([]);
  });

  it('makes its folder, and is no reason to end where that cannot be (A8)', async () => {
    const deep = join(folder, 'not', 'there', 'yet');
    await written(open('one', deep).owned, seven);
    const { owned: nowhere } = open('one', '/proc/herald/addresses');
    await untilTrouble(nowhere, 'ENOENT');
    expect(nowhere.has(seven, 'lo')).to.equal(false);
    expect(() => nowhere.intend(seven, 'lo')).to.throw(NetlinkError);
    const late = join(folder, 'late');
    writeFileSync(late, '');
    const { owned, told } = open('one', join(late, 'addresses'));
    expect(owned.trouble).to.equal('ENOTDIR');
    await untilValue('it is told', told, (count) => count === 1);
    rmSync(late);
    await untilValue(
      'it is tried again',
      () => attempt(owned),
      (answer) => answer === true,
    );
    expect(open('one', join(late, 'addresses')).owned.has(seven, 'lo')).to.equal(true);
  });
});

const untilTrouble = (owned: OwnedAddresses, code: string) =>
  untilValue(
    'it fails',
    () => owned.trouble,
    (trouble) => trouble === code,
    { everyMs: 1 },
  );

function attempt(owned: OwnedAddresses): boolean {
  try {
    return owned.intend(address('2001:db8::7'), 'lo');
  } catch {
    return false;
  }
}
