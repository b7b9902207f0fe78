/** `herald announce` before it dials: what a user can get wrong is one sentence on stderr and exit status 2. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { announceCommand } from '../../../src/cli/announce.ts';
import {
  type AnnounceFlags,
  announceOptions,
  readPeer,
} from '../../../src/cli/announce-options.ts';
import { UsageError } from '../../../src/cli/command.ts';
import { parsePrefixList } from '../../../src/cli/prefix-list.ts';
import { run } from '../../support/process.ts';

const LAUNCHER = new URL('../../../src/cli/herald', import.meta.url).pathname;
const PEER = ['--peer', '127.0.0.1:1', '--peer-asn', '64500', '--asn', '64512'];

async function complaint(args: readonly string[], input = ''): Promise<string> {
  const output = await run(LAUNCHER, ['announce', ...args], { input, anyStatus: true });
  expect(output.status, output.stderr).to.equal(2);
  expect(output.stdout).to.equal('');
  expect(output.stderr).to.match(/^herald announce: [^\n]+\n$/);
  return output.stderr;
}

describe('herald announce, used wrongly', function () {
  this.timeout(120_000);
  let folder = '';
  const file = (name: string, content: string | Uint8Array) => {
    const path = join(folder, name);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  };
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'herald-announce-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('says one sentence, also where parseArgs has three', async () => {
    const said = await complaint([...PEER, '--med', '-1', '10.0.0.0/8']);
    expect(said).to.include(
      '--med needs a value; one that starts with a dash is written --med=VALUE',
    );
    const spelled = await complaint([...PEER, '--med=-1', '10.0.0.0/8']);
    expect(spelled).to.include("--med '-1' is not a number from 0 to 4294967295");
  });

  it('names what holds no prefix', async () => {
    expect(await complaint([...PEER, '--from', '-'])).to.include('standard input holds no prefix');
  });

  it('refuses a source of the other family instead of dialling for ever', async () => {
    const said = await complaint([...PEER, '--source', '::1', '10.0.0.0/8']);
    expect(said).to.include("--source '::1' cannot reach --peer '127.0.0.1:1'");
  });

  it('refuses addresses that no host can have', () => {
    const flags = { peer: '192.0.2.1', 'peer-asn': '64500', asn: '64512' };
    const read = (change: AnnounceFlags) => () =>
      announceOptions({ ...flags, ...change }, ['10.0.0.0/8']);
    for (const text of ['0.0.0.0', '224.0.0.5', '255.255.255.255', '::', 'ff02::5']) {
      const peer = text.includes(':') ? `[${text}]:179` : `${text}:179`;
      expect(read({ peer })).to.throw(UsageError, `--peer '${peer}' is no address of a host`);
      const hop = { 'next-hop': [text] };
      expect(read(hop)).to.throw(UsageError, `--next-hop '${text}' is no address of a host`);
    }
    for (const text of ['127.0.0.1', '223.255.255.254', '::1', '2001:db8::1']) {
      expect(read({ 'next-hop': [text] })).not.to.throw();
    }
  });

  it('counts a key in octets, as the kernel does', async () => {
    const password = (content: string | Uint8Array) =>
      complaint([...PEER, '--password-file', file('key', content), '10.0.0.0/8']);
    expect(await password(`${'ä'.repeat(41)}\n`)).to.include('1 to 80 octets');
    expect(await password('\r\n')).to.include('1 to 80 octets');
    expect(await password(Uint8Array.of(0xff, 0xfe, 0x0a))).to.include('in UTF-8');
  });

  it('writes nothing to the terminal that is not printable', async () => {
    const said = await complaint([...PEER, '--from', file('binary', '\u001b[2J\u0007\u0000x\n')]);
    expect(said).to.include("binary:1: '?[2J??x' is not");
  });
});

describe('what herald announce reads', () => {
  it('standard input as a stream, which need not be there at once', async () => {
    const stdin = new PassThrough();
    const nowhere = new PassThrough();
    const world = {
      stdin,
      stdout: nowhere,
      stderr: nowhere,
      env: {},
      pid: 1,
      version: 'test',
      onStopSignal: () => undefined,
      onReloadSignal: () => undefined,
      onSuddenEnd: () => undefined,
    };
    const running = announceCommand.run([...PEER, '--from', '-'], world).catch(String);
    stdin.write('10.0.0.0/8\n10.1.');
    await new Promise((resolve) => setTimeout(resolve, 20));
    stdin.end('0.0/16\nnonsense\n');
    expect(await running).to.include("standard input:3: 'nonsense' is not");
  });

  it('a list with a byte order mark and line ends of Windows', () => {
    const text = Buffer.from('\ufeff10.0.0.0/8\r\n2001:db8::/32\r\n').toString('latin1');
    expect(parsePrefixList(text, 'list').prefixes).to.have.length(2);
  });

  it('link-local neighbours with their interface, and no others', () => {
    expect(readPeer('[fe80::1%eth0]:1179')).to.include({ zone: 'eth0', port: 1179 });
    expect(readPeer('169.254.1.1')).to.not.have.property('zone');
    for (const wrong of ['fe80::1', 'fe80::1%', '2001:db8::1%eth0', '192.0.2.1%eth0']) {
      expect(() => readPeer(wrong), wrong).to.throw(/a link-local address needs its interface/);
    }
  });
});
