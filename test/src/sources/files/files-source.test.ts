/** FilesSource on real directories of a real file system, with the real clock and inotify. */

import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, nodeClock } from 'bgp-ts';
import { expect } from 'chai';
import type { BgpPeer } from '../../../../src/model/bgp-peer.ts';
import type { Documents, Sourced } from '../../../../src/model/documents.ts';
import type { IpPool } from '../../../../src/model/ip-pool.ts';
import {
  FilesSource,
  type FilesSourceOptions,
} from '../../../../src/sources/files/files-source.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { untilValue } from '../../../support/poll.ts';

const HEAD = 'apiVersion: herald.dev/v1alpha1\n';

function claim(name: string, spec = '{}'): string {
  return `${HEAD}kind: IPClaim\nmetadata:\n  name: ${name}\nspec: ${spec}\n`;
}

function peer(name: string, address: string): string {
  return `${HEAD}kind: BGPPeer\nmetadata: {name: ${name}}\nspec: {address: ${address}, asn: 65000}\n`;
}

function pool(name: string, range: string): string {
  return `${HEAD}kind: IPPool\nmetadata: {name: ${name}}\nspec: {addresses: [${range}]}\n`;
}

/** The real clock with sweeps twenty times as often; the pause after a change stays. */
const hurried: Clock = {
  ...nodeClock,
  startTimer: (ms, callback) => nodeClock.startTimer(ms > 100 ? ms / 20 : ms, callback),
};

/** The real clock, and no sweep while a test runs: what is seen is seen by a notice. */
const withoutSweeps: Clock = {
  ...nodeClock,
  startTimer: (ms, callback) => nodeClock.startTimer(ms > 100 ? ms * 1000 : ms, callback),
};

class Watched {
  readonly directory: string;
  readonly told: Documents[] = [];
  readonly source: FilesSource;

  constructor(directory: string, more: Partial<FilesSourceOptions> = {}) {
    this.directory = directory;
    this.source = new FilesSource({
      directory,
      clock: hurried,
      onChange: (documents) => this.told.push(documents),
      ...more,
    });
  }

  get now(): Documents {
    const last = this.told.at(-1);
    if (last === undefined) throw new Error('nothing has been told yet');
    return last;
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.directory, name), text);
  }

  async until(what: string, accept: (documents: Documents) => boolean): Promise<Documents> {
    return await untilValue(what, () => this.now, accept, { timeoutMs: 20_000, everyMs: 5 });
  }
}

/** a pause that has just begun, or what is left until the longest wait is over */
const isFresh = (ms: number | undefined) => ms === 10 || ms === 8;

const claimNames = ({ claims }: Documents) => claims.map(({ object }) => object.name);
const sentences = ({ faults }: Documents) => faults.map(({ sentence }) => sentence);

const textOf = ({ object }: Sourced<BgpPeer | IpPool>) =>
  'ranges' in object
    ? `${object.name} ${object.ranges[0]?.text}`
    : `${object.name} ${JSON.stringify(object.target)}`;

describe('FilesSource', () => {
  let directory: string;
  let sources: FilesSource[];

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'herald-files-'));
    sources = [];
  });

  afterEach(() => {
    for (const source of sources) source.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  async function start(at = directory, more: Partial<FilesSourceOptions> = {}): Promise<Watched> {
    const watched = new Watched(at, more);
    sources.push(watched.source);
    await watched.source.start();
    return watched;
  }

  it('reads yaml, yml and json, several documents and lists, in the order of file names', async () => {
    const put = (name: string, text: string) => writeFileSync(join(directory, name), text);
    put('b.yaml', `# two\n${claim('192.0.2.2')}---\n${claim('192.0.2.3')}`);
    put('a.yml', `${claim('192.0.2.1')}`);
    put(
      'c.json',
      JSON.stringify({
        apiVersion: 'herald.dev/v1alpha1',
        kind: 'IPClaim',
        metadata: { name: '192.0.2.4' },
      }),
    );
    put(
      'd.yaml',
      `apiVersion: v1\nkind: List\nitems:\n- ${peer('r1', '192.0.2.9').replaceAll('\n', '\n  ')}`,
    );
    put('.hidden.yaml', claim('192.0.2.5'));
    put('backup.yaml~', claim('192.0.2.6'));
    put('notes.txt', 'nothing of ours');
    mkdirSync(join(directory, 'below'));
    writeFileSync(join(directory, 'below', 'e.yaml'), claim('192.0.2.7'));
    const { now } = await start();
    expect(sentences(now)).to.deep.equal([]);
    expect(claimNames(now)).to.deep.equal(['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4']);
    expect(now.peers.map(({ object }) => object.name)).to.deep.equal(['r1']);
    expect(now.claims.map(({ origin }) => origin)).to.deep.equal([
      'a.yml:1',
      'b.yaml:2',
      'b.yaml:8',
      'c.json:1',
    ]);
  });

  it('takes up a change, a new file, and a file that goes', async () => {
    const watched = await start();
    expect(claimNames(watched.now)).to.deep.equal([]);
    watched.write('a.yaml', claim('192.0.2.1'));
    await watched.until('it appears', ({ claims }) => claims.length === 1);
    watched.write('a.yaml', claim('192.0.2.1', '{pool: other}'));
    await watched.until('it changes', ({ claims }) => claims[0]?.object.pool === 'other');
    unlinkSync(join(directory, 'a.yaml'));
    const last = await watched.until('it goes', ({ claims }) => claims.length === 0);
    expect(last.faults).to.deep.equal([]);
  });

  it('gives the same objects again for what has not changed, faults too, so that nothing is decided anew', async () => {
    const watched = await start();
    watched.write('a.yaml', `${claim('192.0.2.1')}---\n${pool('a', '192.0.2.0/24')}`);
    watched.write('bad.yaml', claim('192.0.2.9', '{chekcs: []}'));
    const before = await watched.until(
      'all is read',
      ({ claims, faults }) => claims.length === 1 && faults.length === 1,
    );
    watched.write('b.yaml', claim('192.0.2.2'));
    const after = await watched.until('it appears', ({ claims }) => claims.length === 2);
    expect(after.claims[0]).to.equal(before.claims[0]);
    expect(after.pools[0]).to.equal(before.pools[0]);
    expect(after.faults).to.equal(before.faults);
  });

  it('takes a file that is renamed over another, as careful writers do', async () => {
    const watched = await start();
    watched.write('a.yaml', claim('192.0.2.1'));
    await watched.until('it appears', ({ claims }) => claims.length === 1);
    watched.write('.a.yaml.new', claim('192.0.2.2'));
    renameSync(join(directory, '.a.yaml.new'), join(directory, 'a.yaml'));
    await watched.until('it is replaced', (documents) => claimNames(documents)[0] === '192.0.2.2');
  });

  it('says nothing when nothing has changed', async () => {
    writeFileSync(join(directory, 'a.yaml'), claim('192.0.2.1'));
    const watched = await start();
    writeFileSync(join(directory, 'a.yaml'), claim('192.0.2.1'));
    await watched.source.reload();
    await watched.source.reload();
    expect(watched.told).to.have.length(1);
  });

  it('refuses a bad document with file and line, keeps its last good form and all others', async () => {
    const watched = await start();
    watched.write('a.yaml', `${claim('192.0.2.1', '{pool: x}')}---\n${claim('192.0.2.2')}`);
    await watched.until('both are there', ({ claims }) => claims.length === 2);
    watched.write(
      'a.yaml',
      `${claim('192.0.2.1', '{pol: y}')}---\n${claim('192.0.2.2', '{pool: z}')}`,
    );
    const bad = await watched.until('the fault is told', ({ faults }) => faults.length === 1);
    expect(bad.faults[0]).to.deep.equal({
      file: join(directory, 'a.yaml'),
      line: 5,
      subject: 'IPClaim/192.0.2.1',
      sentence: "spec.pol is not a field of IPClaim; did you mean 'pool'?",
      keepsLastGood: true,
    });
    const pools = bad.claims.map(({ object }) => [object.name, object.pool]);
    expect(pools).to.have.deep.members([
      ['192.0.2.1', 'x'],
      ['192.0.2.2', 'z'],
    ]);
    watched.write('a.yaml', claim('192.0.2.2'));
    const after = await watched.until('it is removed', ({ claims }) => claims.length === 1);
    expect(after.faults).to.deep.equal([]);
  });

  it('does not keep what never was good', async () => {
    writeFileSync(join(directory, 'a.yaml'), claim('192.0.2.1', '{pol: y}'));
    const { now } = await start();
    expect(now.claims).to.deep.equal([]);
    expect(now.faults.map(({ keepsLastGood }) => keepsLastGood)).to.deep.equal([false]);
  });

  it('removes nothing of a file that is cut off in the middle of a document', async () => {
    const whole = ['192.0.2.1', '192.0.2.2', '192.0.2.3'].map((name) => claim(name)).join('---\n');
    writeFileSync(join(directory, 'a.yaml'), whole);
    writeFileSync(join(directory, 'b.yaml'), claim('192.0.2.9'));
    const watched = await start();
    for (const end of [
      whole.indexOf('---') + 10,
      whole.lastIndexOf('metadata'),
      whole.lastIndexOf('192'),
    ]) {
      watched.write('a.yaml', whole.slice(0, end));
      const cut = await watched.until('the cut is seen', ({ faults }) => faults.length === 1);
      expect(claimNames(cut), `cut at ${end}`).to.have.members([
        '192.0.2.1',
        '192.0.2.2',
        '192.0.2.3',
        '192.0.2.9',
      ]);
      expect(cut.faults[0]?.keepsLastGood).to.equal(true);
      watched.write('a.yaml', whole);
      await watched.until('it is whole again', ({ faults }) => faults.length === 0);
    }
  });

  it('removes nothing for an empty file, and everything for one with comments only', async () => {
    writeFileSync(join(directory, 'a.yaml'), claim('192.0.2.1'));
    const watched = await start();
    watched.write('a.yaml', '');
    const empty = await watched.until('the fault is told', ({ faults }) => faults.length === 1);
    expect(claimNames(empty)).to.deep.equal(['192.0.2.1']);
    expect(sentences(empty)[0]).to.include('is empty');
    watched.write('a.yaml', '# nothing now\n');
    await watched.until('it is removed', ({ claims }) => claims.length === 0);
  });

  it('does not read a file while it is being written', async () => {
    // time stands still until it is moved, so a slow machine cannot make a pause where the writer made none
    const clock = new ManualClock();
    const watched = await start(directory, { clock });
    const whole = claim('192.0.2.1', '{pool: main}');
    for (let at = 0; at < whole.length; at += 20) {
      appendFileSync(join(directory, 'a.yaml'), whole.slice(at, at + 20));
      await untilValue(
        'the notice',
        () => clock.nextTimerMs,
        (ms) => ms === 10,
        { everyMs: 1 },
      );
      clock.advance(8);
    }
    expect(watched.told).to.have.length(1);
    // a late notice of the last write may begin the pause once more
    const later = () => {
      clock.advance(10);
      return watched.now;
    };
    await untilValue('it appears', later, ({ claims }) => claims.length === 1, { everyMs: 5 });
    expect(watched.now.claims[0]?.object.pool).to.equal('main');
    expect(watched.told).to.have.length(2);
  });

  it('reads a file that is written without a pause after a second', async () => {
    const clock = new ManualClock();
    const watched = await start(directory, { clock });
    const file = join(directory, 'a.yaml');
    writeFileSync(file, claim('192.0.2.1'));
    for (let passedMs = 0; passedMs < 992; passedMs += 8) {
      appendFileSync(file, '# more\n');
      await untilValue('the notice', () => clock.nextTimerMs, isFresh, { everyMs: 1 });
      clock.advance(8);
    }
    expect(watched.told).to.have.length(1);
    clock.advance(8);
    await watched.until('it appears', ({ claims }) => claims.length === 1);
  });

  it('says that the directory is missing, and picks it up when it appears', async () => {
    const missing = join(directory, 'later');
    const watched = await start(missing);
    expect(sentences(watched.now)[0]).to.include('cannot be read (ENOENT); create it');
    expect(watched.now.isUnread).to.equal(true);
    mkdirSync(missing);
    writeFileSync(join(missing, 'a.yaml'), claim('192.0.2.1'));
    const found = await watched.until('it is found', ({ claims }) => claims.length === 1);
    expect(found.faults).to.deep.equal([]);
    expect(found.isUnread).to.equal(undefined);
    watched.write('a.yaml', claim('192.0.2.2'));
    await watched.until('it is watched', (documents) => claimNames(documents)[0] === '192.0.2.2');
  });

  it('keeps everything when the directory vanishes, and goes on when it is back', async () => {
    const inner = join(directory, 'inner');
    mkdirSync(inner);
    writeFileSync(join(inner, 'a.yaml'), claim('192.0.2.1'));
    const watched = await start(inner);
    renameSync(inner, `${inner}.away`);
    const gone = await watched.until('it is missed', ({ faults }) => faults.length === 1);
    expect(claimNames(gone)).to.deep.equal(['192.0.2.1']);
    expect(gone.faults[0]?.keepsLastGood).to.equal(true);
    mkdirSync(inner);
    writeFileSync(join(inner, 'a.yaml'), claim('192.0.2.2'));
    const back = await watched.until('it is back', ({ faults }) => faults.length === 0);
    expect(claimNames(back)).to.deep.equal(['192.0.2.2']);
  });

  it('follows the swap of a ConfigMap mount', async () => {
    const version = (name: string, text: string) => {
      mkdirSync(join(directory, name));
      writeFileSync(join(directory, name, 'a.yaml'), text);
    };
    version('..v1', claim('192.0.2.1'));
    symlinkSync('..v1', join(directory, '..data'));
    symlinkSync('..data/a.yaml', join(directory, 'a.yaml'));
    const watched = await start(directory, { clock: withoutSweeps });
    expect(claimNames(watched.now)).to.deep.equal(['192.0.2.1']);
    version('..v2', claim('192.0.2.2'));
    symlinkSync('..v2', join(directory, '..data_tmp'));
    renameSync(join(directory, '..data_tmp'), join(directory, '..data'));
    await watched.until(
      'the swap is seen',
      (documents) => claimNames(documents)[0] === '192.0.2.2',
    );
  });

  it('sees a change behind a link to a file elsewhere, by its sweep', async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'herald-elsewhere-'));
    try {
      writeFileSync(join(elsewhere, 'x'), claim('192.0.2.1'));
      symlinkSync(join(elsewhere, 'x'), join(directory, 'a.yaml'));
      const watched = await start();
      writeFileSync(join(elsewhere, 'x'), claim('192.0.2.2'));
      await watched.until('it is seen', (documents) => claimNames(documents)[0] === '192.0.2.2');
      // a link that leads nowhere is a file that cannot be read: nothing goes
      unlinkSync(join(elsewhere, 'x'));
      const cut = await watched.until('it is missed', ({ faults }) => faults.length === 1);
      expect(claimNames(cut)).to.deep.equal(['192.0.2.2']);
    } finally {
      rmSync(elsewhere, { recursive: true, force: true });
    }
  });

  it('says what is no text and what is no file', async () => {
    writeFileSync(join(directory, 'a.yaml'), Uint8Array.of(0xff, 0xfe, 0x80));
    mkdirSync(join(directory, 'b.yaml'));
    const { now } = await start();
    expect(sentences(now)).to.deep.equal([
      'the file is not UTF-8 text',
      'this is not a file; move it elsewhere',
    ]);
  });

  it('keeps the first of two documents of one name, and says where it stands', async () => {
    writeFileSync(join(directory, 'a.yaml'), claim('192.0.2.1', '{pool: a}'));
    writeFileSync(join(directory, 'b.yaml'), `\n\n${claim('192.0.2.1', '{pool: b}')}`);
    const { now } = await start();
    expect(now.claims.map(({ object }) => object.pool)).to.deep.equal(['a']);
    expect(now.faults).to.deep.equal([
      {
        file: join(directory, 'b.yaml'),
        line: 3,
        subject: 'IPClaim/192.0.2.1',
        sentence: 'it stands in a.yaml:1 already; remove one of the two',
        keepsLastGood: false,
      },
    ]);
  });

  it('keeps pools that stand when another one comes to overlap them, old or new', async () => {
    writeFileSync(join(directory, 'a.yaml'), pool('old', '192.0.2.0/25'));
    writeFileSync(join(directory, 'b.yaml'), pool('other', '198.51.100.0/25'));
    const watched = await start();
    const ranges = ({ pools }: Documents) =>
      Object.fromEntries(pools.map(({ object }) => [object.name, object.ranges[0]?.text]));
    const standing = { old: '192.0.2.0/25', other: '198.51.100.0/25' };

    // the older one is edited: it is the edit that is refused
    watched.write('a.yaml', pool('old', '198.51.100.0/24'));
    const edited = await watched.until('the edit is refused', ({ faults }) => faults.length === 1);
    expect(ranges(edited)).to.deep.equal(standing);
    expect(edited.faults[0]).to.include({ subject: 'IPPool/old', keepsLastGood: true });
    expect(edited.faults[0]?.sentence).to.include("overlaps '198.51.100.0/25' of IPPool/other");

    // a new one has nothing to go back to
    watched.write('c.yaml', pool('new', '198.51.100.64/26'));
    const added = await watched.until(
      'the new one is refused',
      ({ faults }) => faults.length === 2,
    );
    expect(ranges(added)).to.deep.equal(standing);
    expect(added.faults.find(({ subject }) => subject === 'IPPool/new')?.keepsLastGood).to.equal(
      false,
    );

    // once there is room both edits count
    unlinkSync(join(directory, 'b.yaml'));
    const free = await watched.until(
      'there is room',
      ({ pools }) => 'other' in pools || pools.length === 1,
    );
    expect(ranges(free)).to.deep.equal({ old: '198.51.100.0/24' });
  });

  it('refuses a second peer that is the same session', async () => {
    writeFileSync(
      join(directory, 'a.yaml'),
      `${peer('r2', '192.0.2.1')}---\n${peer('r1', '192.0.2.1')}`,
    );
    const { now } = await start();
    expect(now.peers.map(({ object }) => object.name)).to.deep.equal(['r1']);
    expect(sentences(now)[0]).to.include('the same session as BGPPeer/r1');
  });

  it('keeps over a restart what stood beside an edit that is refused, in its last good form', async () => {
    const [far, near] = ['192.0.2.77', '192.0.2.1'];
    const [stood, taken] = ['198.51.100.0/24', '203.0.113.0/24'];
    const edited = `${pool('a', taken)}---\n${peer('old', near)}`;
    const firstSeen = new Map(
      [
        ['IPPool/a', 1],
        ['IPPool/b', 2],
        ['BGPPeer/old', 1],
        ['BGPPeer/tor', 2],
      ].map(([subject, ms]) => [String(subject), Number(ms)] as const),
    );
    writeFileSync(join(directory, 'a.yaml'), `${pool('a', stood)}---\n${peer('old', far)}`);
    writeFileSync(join(directory, 'b.yaml'), `${pool('b', taken)}---\n${peer('tor', near)}`);
    const first = await start(directory, { firstSeen });
    first.write('a.yaml', edited);
    const before = await first.until('it is refused', ({ faults }) => faults.length === 2);
    first.source.stop();
    const lastGood = JSON.parse(JSON.stringify(before)) as Documents;
    const inForce = ({ peers, pools }: Documents) => [...peers, ...pools].map(textOf).toSorted();
    const refused = ({ faults }: Documents) =>
      faults.map(({ subject, keepsLastGood }) => `${subject} ${keepsLastGood}`);

    const next = await start(directory, { firstSeen, lastGood });
    expect(inForce(next.now)).to.deep.equal(inForce(lastGood));
    expect(refused(next.now)).to.deep.equal(['IPPool/a true', 'BGPPeer/old true']);
    expect(inForce(next.now).join(), 'the edit').to.not.include(`a ${taken}`);

    // and not longer than there is a reason for it
    unlinkSync(join(directory, 'b.yaml'));
    const free = await next.until('there is room', ({ faults }) => faults.length === 0);
    expect(free.pools.map(textOf)).to.deep.equal([`a ${taken}`]);
  });

  it('takes whatever a saved View has for nothing new where the files say the same', async () => {
    writeFileSync(join(directory, 'a.yaml'), pool('a', '198.51.100.0/24'));
    const first = await start();
    first.source.stop();
    const lastGood = JSON.parse(JSON.stringify(first.now)) as Documents;
    // another line, and a document that is gone
    const [one] = lastGood.pools;
    if (one === undefined) throw new Error('no pool');
    const gone = { ...one, object: { ...one.object, name: 'gone' } };
    writeFileSync(join(directory, 'a.yaml'), `\n# why\n${pool('a', '198.51.100.0/24')}`);
    const next = await start(directory, { lastGood: { ...lastGood, pools: [one, gone] } });
    expect(
      next.now.pools.map(({ object, origin, createdMs }) => [object.name, origin, createdMs]),
    ).to.deep.equal([['a', 'a.yaml:3', one.createdMs]]);
  });

  it('remembers when an object was first seen, over edits and from an earlier run', async () => {
    writeFileSync(join(directory, 'a.yaml'), claim('192.0.2.1'));
    const watched = await start(directory, { firstSeen: new Map([['IPClaim/192.0.2.1', 1234]]) });
    expect(watched.now.claims[0]?.createdMs).to.equal(1234);
    watched.write('a.yaml', `${claim('192.0.2.1', '{pool: x}')}---\n${claim('192.0.2.2')}`);
    const { claims } = await watched.until('both', (documents) => documents.claims.length === 2);
    expect(claims[0]?.createdMs).to.equal(1234);
    expect(claims[1]?.createdMs).to.be.within(Date.now() - 5000, Date.now());
  });

  it('tells nothing after it has been stopped', async () => {
    const watched = await start();
    watched.write('a.yaml', claim('192.0.2.1'));
    watched.source.stop();
    await watched.source.reload();
    expect(watched.told).to.have.length(1);
  });

  it('parses again only the documents that changed, in a file of 10,000', async () => {
    const texts = Array.from({ length: 10_000 }, (_, i) => claim(`10.${i >> 8}.${i & 255}.1`));
    writeFileSync(join(directory, 'a.yaml'), texts.join('---\n'));
    const watched = await start();
    expect(watched.now.claims).to.have.length(10_000);
    const before = new Set(watched.now.claims.map(({ object }) => object));
    texts[5000] = claim('10.200.0.1');
    watched.write('a.yaml', texts.join('---\n'));
    const after = await watched.until(
      'the change',
      ({ claims }) => claims[5000]?.object.name === '10.200.0.1',
    );
    expect(after.claims.filter(({ object }) => !before.has(object))).to.have.length(1);
  }).timeout(60_000);

  it('gives the event loop its turn while it parses many', async () => {
    const texts = Array.from({ length: 10_000 }, (_, i) => claim(`10.${i >> 8}.${i & 255}.1`));
    writeFileSync(join(directory, 'a.yaml'), texts.join('---\n'));
    const started = process.threadCpuUsage();
    let turns = 0;
    const ticking = setInterval(() => {
      turns += 1;
    }, 1);
    const watched = await start();
    clearInterval(ticking);
    expect(watched.now.claims).to.have.length(10_000);
    // every 10 ms it means to; time in which others have the processors gives nobody a turn
    const { user, system } = process.threadCpuUsage(started);
    expect(turns).to.be.above((user + system) / 1000 / 50);
  }).timeout(60_000);

  it('refuses one document that is too large, and takes those beside it', async () => {
    const large = `${HEAD}kind: IPClaim\nmetadata: {name: 192.0.2.9}\nspec: {node: ${'x'.repeat(5e6)}}\n`;
    writeFileSync(join(directory, 'a.yaml'), `${large}---\n${claim('192.0.2.1')}`);
    const { now } = await start();
    expect(sentences(now)).to.deep.equal(['a document is larger than 4 MB; split it']);
    expect(now.claims.map(({ object }) => object.name)).to.deep.equal(['192.0.2.1']);
  });
});
