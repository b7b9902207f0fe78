/** `herald decode` through its launcher, as a user runs it. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import {
  concat,
  KEEPALIVE,
  mrtRecord,
  PEER_INDEX,
  PEERS_FOUR_OCTETS,
  PEERS_TWO_OCTETS,
  RIB_ADD_PATH,
  RIB_IPV4,
  RIB_IPV6,
  UPDATE_ADD_PATH,
  UPDATE_FOUR_OCTETS,
  UPDATE_TWO_OCTETS,
} from '../../support/mrt-file.ts';
import { type Output, run } from '../../support/process.ts';

const LAUNCHER = new URL('../../../src/cli/herald', import.meta.url).pathname;

function herald(args: readonly string[], input = ''): Promise<Output> {
  return run(LAUNCHER, args, { input, anyStatus: true });
}

async function decode(input: string, ...flags: string[]) {
  const { stdout, stderr, status } = await herald(['decode', ...flags], input);
  expect(stderr).to.equal('');
  return { lines: parseLines(stdout), status };
}

function parseLines(stdout: string) {
  expect(stdout === '' || stdout.endsWith('\n')).to.equal(true);
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

describe('herald decode', function () {
  this.timeout(120_000);

  it('prints one object for each line, in order, and skips blanks and comments', async () => {
    const input = `# a comment\n\n${KEEPALIVE}\n   \n  # another\n${UPDATE_FOUR_OCTETS}\n`;
    const { lines, status } = await decode(input);
    expect(status).to.equal(0);
    expect(lines).to.deep.equal([
      { ok: true, message: { kind: 'keepalive' }, issues: [] },
      {
        ok: true,
        message: {
          kind: 'update',
          withdrawn: [],
          attributes: {
            origin: 'igp',
            asPath: [{ type: 'sequence', asns: [65001] }],
            nextHop: '192.0.2.1',
          },
          nlri: ['203.0.113.0/24'],
        },
        issues: [],
      },
    ]);
  });

  it('ignores blanks, colons, case and carriage returns, and needs no last line end', async () => {
    const input = `FFFFffff:${'ff:'.repeat(12)}00 13\t04\r\n${KEEPALIVE}`;
    const { lines, status } = await decode(input);
    expect(lines.map(({ ok }) => ok)).to.deep.equal([true, true]);
    expect(status).to.equal(0);
  });

  it('says what is not hexadecimal, and exits 1', async () => {
    const { lines, status } = await decode(`${KEEPALIVE}\nff0\nffxy\n${KEEPALIVE}\n`);
    expect(status).to.equal(1);
    expect(lines.map(({ ok }) => ok)).to.deep.equal([true, false, false, true]);
    expect(lines[1].fault.detail).to.match(/odd number/);
    expect(lines[2].fault.detail).to.match(/'x' at column 3/);
    expect(lines[1].fault).to.have.all.keys([
      'code',
      'subcode',
      'data',
      'outcome',
      'withdrawn',
      'detail',
    ]);
  });

  it('reports a fault with all that a NOTIFICATION needs', async () => {
    const { lines, status } = await decode(UPDATE_FOUR_OCTETS.replace('40010100', '40010109'));
    expect(status).to.equal(1);
    expect(lines[0].ok).to.equal(false);
    expect(lines[0].fault).to.deep.include({
      code: 3,
      subcode: 6,
      data: '40010109',
      outcome: 'treat-as-withdraw',
      withdrawn: ['203.0.113.0/24'],
    });
  });

  it('takes a message shorter than its header for what it is', async () => {
    const { lines } = await decode('ffff\n');
    expect(lines[0].fault).to.include({ code: 1, subcode: 2, outcome: 'reset' });
  });

  it('--no-as4, --add-path, --extended and --ibgp change how octets are read', async () => {
    const two = await decode(UPDATE_TWO_OCTETS, '--no-as4');
    expect(two.lines[0].message.attributes.asPath[0].asns).to.deep.equal([65001]);
    expect((await decode(UPDATE_TWO_OCTETS, '--as4')).lines[0].ok).to.equal(false);

    const path = await decode(UPDATE_ADD_PATH, '--add-path');
    expect(path.lines[0].message.nlri).to.deep.equal([{ prefix: '203.0.113.0/24', pathId: 7 }]);

    const long = `${'ff'.repeat(16)}1388 02 0000 0000${'00'.repeat(5000 - 23)}`;
    expect((await decode(long)).lines[0].fault).to.include({ code: 1, subcode: 2 });
    expect((await decode(long, '--extended')).lines[0].fault).to.include({ code: 3, subcode: 3 });

    expect((await decode(UPDATE_FOUR_OCTETS, '--ibgp')).lines[0].fault).to.include({
      code: 3,
      subcode: 3,
      data: '05',
    });
  });

  it('reads 100,000 lines without piling them up', async () => {
    // what it cost the processors: how long others kept it from them is not its fault
    const command = '"$0" decode; status=$?; times >&2; exit $status';
    const { stdout, stderr, status } = await run('sh', ['-c', command, LAUNCHER], {
      input: `${UPDATE_FOUR_OCTETS}\n`.repeat(100_000),
      anyStatus: true,
    });
    expect(status).to.equal(0);
    expect(stdout.split('\n')).to.have.lengthOf(100_001);
    const ofChildren = stderr.trim().split('\n').at(-1) ?? '';
    const times = [...ofChildren.matchAll(/(\d+)m([\d.]+)s/g)];
    expect(times, stderr).to.have.lengthOf(2);
    const seconds = times.reduce((sum, [, minutes, rest]) => {
      return sum + Number(minutes) * 60 + Number(rest);
    }, 0);
    expect(seconds).to.be.above(0).and.below(15);
  });

  it('survives a line that never ends', async () => {
    const { lines, status } = await decode(`${'ab'.repeat(2_000_000)}\n${KEEPALIVE}\n`);
    expect(status).to.equal(1);
    expect(lines.map(({ ok }) => ok)).to.deep.equal([false, true]);
  });

  it('stops quietly when its reader goes away', async () => {
    const child = spawn(LAUNCHER, ['decode'], { stdio: ['pipe', 'pipe', 'pipe'] });
    let stderr = '';
    child.stderr.on('data', (chunk: Uint8Array) => {
      stderr += chunk.toString();
    });
    child.stdin.on('error', () => undefined);
    child.stdout.once('data', () => child.stdout.destroy());
    child.stdin.write(`${UPDATE_FOUR_OCTETS}\n`.repeat(50_000));
    child.stdin.end();
    const status = await new Promise((resolve) => child.on('close', resolve));
    expect(stderr).to.equal('');
    expect(status).to.equal(141);
  });

  it('says so when the disk is full', async () => {
    const command = '"$0" decode > /dev/full';
    const output = await run('sh', ['-c', command, LAUNCHER], {
      input: `${KEEPALIVE}\n`,
      anyStatus: true,
    });
    expect(output.status).to.equal(1);
    expect(output.stderr).to.match(/^herald: cannot write the output: ENOSPC[^\n]*\n$/);
  });

  describe('--mrt', () => {
    const folder = mkdtempSync(join(tmpdir(), 'herald-decode-'));
    after(() => rmSync(folder, { recursive: true }));

    function file(name: string, content: Uint8Array): string {
      const path = join(folder, name);
      writeFileSync(path, content);
      return path;
    }

    const UPDATES = concat([
      mrtRecord(16, 4, `${PEERS_FOUR_OCTETS}${UPDATE_FOUR_OCTETS}`),
      mrtRecord(17, 1, `0001e240 ${PEERS_TWO_OCTETS}${UPDATE_TWO_OCTETS}`),
      mrtRecord(16, 9, `${PEERS_FOUR_OCTETS}${UPDATE_ADD_PATH}`),
      mrtRecord(16, 5, `${PEERS_FOUR_OCTETS} 0006 0001`),
    ]);

    it('shows messages with time, type and peer', async () => {
      const { lines, status } = await decode('', '--mrt', file('updates', UPDATES));
      expect(status).to.equal(0);
      const peer = { address: '192.0.2.1', asn: 65001 };
      expect(lines.map(({ mrt }) => mrt)).to.deep.equal([
        { time: '2023-11-14T22:13:20Z', type: 'BGP4MP_MESSAGE_AS4', peer },
        { time: '2023-11-14T22:13:20.123456Z', type: 'BGP4MP_ET_MESSAGE', peer },
        { time: '2023-11-14T22:13:20Z', type: 'BGP4MP_MESSAGE_AS4_ADDPATH', peer },
        { time: '2023-11-14T22:13:20Z', type: 'BGP4MP_STATE_CHANGE_AS4', peer },
      ]);
      expect(lines[0].message.nlri).to.deep.equal(['203.0.113.0/24']);
      expect(lines[1].message.attributes.asPath[0].asns).to.deep.equal([65001]);
      expect(lines[2].message.nlri[0].pathId).to.equal(7);
      expect(lines[3].stateChange).to.deep.equal({ from: 'established', to: 'idle' });
    });

    it('reads gzip, whatever the name is', async () => {
      const { lines } = await decode('', '--mrt', file('updates.bin', gzipSync(UPDATES)));
      expect(lines).to.have.lengthOf(4);
    });

    it('shows the entries of a table, one line each', async () => {
      const table = concat([PEER_INDEX, RIB_IPV4, RIB_IPV6, RIB_ADD_PATH]);
      const { lines, status } = await decode('', '--mrt', file('rib', table));
      expect(status).to.equal(0);
      expect(lines.map(({ rib }) => [rib.prefix, rib.peer.asn, rib.pathId])).to.deep.equal([
        ['203.0.113.0/24', 65001, undefined],
        ['203.0.113.0/24', 4200000000, undefined],
        ['2001:db8::/32', 4200000000, undefined],
        ['203.0.113.0/24', 65001, 9],
      ]);
      expect(lines[0].rib.attributes.nextHop).to.equal('192.0.2.1');
      expect(lines[2].rib.attributes.mpReach.nextHops).to.deep.equal(['2001:db8::1']);
      expect(lines[0].mrt.type).to.equal('RIB_IPV4_UNICAST');
    });

    it('goes on behind bad records, and exits 1', async () => {
      const bad = concat([
        mrtRecord(16, 4, 'aabb'),
        mrtRecord(99, 1, 'aabb'),
        mrtRecord(16, 4, `${PEERS_FOUR_OCTETS}${UPDATE_FOUR_OCTETS}`),
        mrtRecord(16, 4, `${PEERS_FOUR_OCTETS}${KEEPALIVE}`).slice(0, -1),
      ]);
      const { lines, status } = await decode('', '--mrt', file('bad', bad));
      expect(status).to.equal(1);
      expect(lines.map(({ ok }) => ok)).to.deep.equal([false, false, true, false]);
      expect(lines[1].fault.detail).to.match(/type 99/);
      expect(lines[3].fault.detail).to.match(/the file ends/);
    });

    it('says where a broken gzip file ends', async () => {
      const many = gzipSync(concat(Array.from({ length: 50 }, () => UPDATES)));
      const { lines, status } = await decode('', '--mrt', file('cut.gz', many.subarray(0, -20)));
      expect(status).to.equal(1);
      expect(lines.at(-1).fault.detail).to.match(/cannot read .*cut\.gz/);
    });

    it('names a file that it cannot read, and exits 2', async () => {
      const { stderr, stdout, status } = await herald(['decode', '--mrt', join(folder, 'none')]);
      expect(status).to.equal(2);
      expect(stdout).to.equal('');
      expect(stderr).to.match(/^herald decode: .*none.* cannot be read: there is no such file\n$/);
    });

    it('reads what can be read only once: a pipe, or standard input', async () => {
      const path = file('piped.gz', gzipSync(UPDATES));
      const shell = (command: string) => run('sh', ['-c', command, LAUNCHER, path]);
      const piped = await shell('cat "$1" | "$0" decode --mrt /dev/stdin');
      const named = await shell('"$0" decode --mrt - < "$1"');
      expect(parseLines(piped.stdout)).to.have.length(4);
      expect(parseLines(piped.stdout)[0]).to.have.nested.property('message.kind', 'update');
      expect(named.stdout).to.equal(piped.stdout);
    });

    it('refuses bzip2 with a sentence', async () => {
      const path = file('updates.bz2', new TextEncoder().encode('BZh91AY'));
      const { stderr, status } = await herald(['decode', '--mrt', path]);
      expect(status).to.equal(2);
      expect(stderr).to.match(/bzip2/);
    });
  });

  describe('usage', () => {
    const wrong: readonly [string, readonly string[], RegExp][] = [
      ['an unknown flag', ['decode', '--nope'], /^herald decode: unknown flag '--nope'\n$/],
      ['a stray argument', ['decode', 'file'], /^herald decode: unexpected argument 'file'.*\n$/],
      ['a flag without its value', ['decode', '--mrt'], /^herald decode: --mrt needs a value\n$/],
      [
        'a value that is not wanted',
        ['decode', '--ibgp=yes'],
        /^herald decode: flag '--ibgp'.*\n$/,
      ],
      ['an unknown sub-command', ['fly'], /^herald: unknown sub-command 'fly'.*\n$/],
      ['an unknown global flag', ['--fly'], /^herald: unknown flag '--fly'.*\n$/],
    ];
    for (const [name, args, sentence] of wrong) {
      it(`${name}: one sentence, exit 2`, async () => {
        const { stdout, stderr, status } = await herald(args);
        expect(status).to.equal(2);
        expect(stdout).to.equal('');
        expect(stderr).to.match(sentence);
      });
    }

    it('--help is the same in all three forms', async () => {
      const { stdout: first, status } = await herald(['decode', '--help']);
      expect(status).to.equal(0);
      expect(first).to.match(/^usage: herald decode/);
      for (const flag of ['--as4', '--no-as4', '--add-path', '--extended', '--ibgp', '--mrt']) {
        expect(first).to.include(flag);
      }
      expect((await herald(['help', 'decode'])).stdout).to.equal(first);
      const { stdout: overview } = await herald(['--help']);
      expect(overview).to.match(/\n {2}decode +\S/);
    });

    it('--version names the version', async () => {
      const { stdout, status } = await herald(['--version']);
      expect(status).to.equal(0);
      expect(stdout).to.match(/^herald \d+\.\d+\.\d+\S*\n$/);
    });

    it('starts through a symbolic link from anywhere', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'herald-link-'));
      try {
        symlinkSync(LAUNCHER, join(folder, 'first'));
        symlinkSync('first', join(folder, 'second'));
        const { stdout } = await run(join(folder, 'second'), ['decode'], { input: KEEPALIVE });
        expect(stdout).to.match(/keepalive/);
      } finally {
        rmSync(folder, { recursive: true });
      }
    });
  });
});
