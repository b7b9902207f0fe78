/** dist/herald, as `make build` leaves it: works from anywhere, through a symlink, and without the sources beside it. */

import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');

describe('dist/herald', () => {
  let elsewhere = '';

  before(() => {
    expect(existsSync(join(root, 'dist/herald.mjs')), 'make build has run').to.equal(true);
    elsewhere = mkdtempSync(join(tmpdir(), 'herald-dist-'));
    cpSync(join(root, 'dist'), join(elsewhere, 'opt/herald'), { recursive: true });
    symlinkSync(join(elsewhere, 'opt/herald/herald'), join(elsewhere, 'herald'));
  });

  after(() => rmSync(elsewhere, { recursive: true, force: true }));

  it('runs where only it was copied to, on a Node 26 from PATH', async () => {
    const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin` };
    const { stdout } = await run(join(elsewhere, 'herald'), ['--help'], { env, cwd: '/' });
    expect(stdout).to.include('announce').and.include('decode');
  });

  it('says in one sentence that it has no Node 26, exit 1', async () => {
    const tools = join(elsewhere, 'bin');
    mkdirSync(tools);
    for (const tool of ['dirname', 'readlink']) {
      const found = ['/usr/bin', '/bin'].find((dir) => existsSync(join(dir, tool)));
      symlinkSync(join(found ?? '/bin', tool), join(tools, tool));
    }
    const failure = await run(join(elsewhere, 'herald'), ['--help'], {
      env: { PATH: tools },
      cwd: '/',
    }).catch((error) => error);
    expect(failure.code).to.equal(1);
    expect(String(failure.stderr).trim().split('\n')).to.have.length(1);
    expect(String(failure.stderr)).to.match(/Node\.js 26/);
  });

  it('has the native part of koffi with it: a session with a password dials', async () => {
    const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin` };
    const args = ['announce', '--peer', '127.0.0.1:9', '--peer-asn', '1', '--asn', '2'];
    const secret = join(elsewhere, 'key');
    await run('sh', ['-c', `umask 077; echo s3cret > '${secret}'`]);
    const failure = await run(
      join(elsewhere, 'herald'),
      [...args, '--password-file', secret, '--connect-timeout', '1', '198.51.100.7'],
      { env, cwd: '/' },
    ).catch((error) => error);
    expect(failure.code).to.equal(1);
    // a port that is closed answers without the key, which the kernel ignores: the dial ends in silence, not in "refused"
    expect(String(failure.stderr)).to.include('no session within 1 s');
    expect(String(failure.stderr)).not.to.match(/koffi|refused|s3cret/);
  });
});
