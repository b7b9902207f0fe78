/**
 * A real dockerd of our own: it builds and runs with no registry, and when it has stopped, or whoever started it was killed, nothing of it is left on this
 * machine: processes, mounts, cgroups, folders, sockets.
 */

import { spawn } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { expect } from 'chai';
import { type Docker, startDocker, whyNoDocker, withDocker } from '../../lab/docker/docker.ts';
import { skipLoudly } from '../interop/require-lab.ts';
import { untilValue } from '../support/poll.ts';
import { run } from '../support/process.ts';

const IMAGE = 'herald-test:local';

describe('a Docker of our own', function () {
  this.timeout(400_000);
  let context = '';

  before(async function prepare() {
    const missing = whyNoDocker({ own: true });
    if (missing.length > 0) skipLoudly(this, `no Docker can be started: ${missing.join(' ')}`);
    context = mkdtempSync(join(tmpdir(), 'herald-docker-test-'));
    await writeContext(context);
  });

  after(() => rmSync(context, { recursive: true, force: true }));

  it('builds and runs with no registry, and leaves nothing behind', async () => {
    let folder = '';
    const said = await withDocker({ own: true }, async (docker) => {
      folder = folderOf(docker);
      expect(docker.isOwn).to.equal(true);
      await docker.run(['build', '--tag', IMAGE, context]);
      // one that goes on, with limits, so that there is a cgroup; nobody stops it
      await docker.run([...RUN, '--detach', '--memory', '64m', IMAGE, 'infinity']);
      expect(traces(folder), 'traces while it runs').to.include.members(['process', 'cgroup']);
      return docker.run([...RUN, IMAGE, '--version']);
    });
    expect(said).to.match(/^sleep \(GNU/);
    await leavesNothing(folder);
  });

  it('leaves nothing behind when the work fails', async () => {
    let folder = '';
    let thrown: unknown;
    try {
      await withDocker({ own: true }, async (docker) => {
        folder = folderOf(docker);
        await docker.run(['run', 'no-such-image:local']);
      });
    } catch (error) {
      thrown = error;
    }
    expect(String(thrown)).to.include('no-such-image');
    await leavesNothing(folder);
  });

  it('leaves nothing behind when whoever started it is killed', async () => {
    const script = join(import.meta.dirname, '../../lab/docker/docker.ts');
    const child = spawn(
      process.execPath,
      [
        '--input-type=module',
        '--eval',
        `const { startDocker } = await import(${JSON.stringify(script)});
         const docker = await startDocker({ own: true });
         await docker.run(['build', '--tag', '${IMAGE}', ${JSON.stringify(context)}]);
         await docker.run([...${JSON.stringify(RUN)}, '--detach', '${IMAGE}', 'infinity']);
         process.stdout.write(docker.env.DOCKER_HOST);
         setInterval(() => undefined, 1000);`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const said = await new Promise<string>((resolve, reject) => {
      child.stdout.once('data', (chunk) => resolve(String(chunk)));
      child.once('exit', (status) => reject(new Error(`it ended with ${status}`)));
    });
    const folder = dirname(said.replace('unix://', ''));
    expect(traces(folder)).to.include.members(['process', 'cgroup', 'folder']);
    child.kill('SIGKILL');
    await leavesNothing(folder);
  });

  it('is not started where one runs already', async () => {
    await withDocker({ own: true }, async (docker) => {
      const before = process.env['DOCKER_HOST'];
      process.env['DOCKER_HOST'] = docker.env['DOCKER_HOST'];
      try {
        const second = await startDocker();
        expect(second.isOwn).to.equal(false);
        await second.stop();
        // it was not ours to stop
        expect(await docker.run(['version', '--format', '{{.Server.Os}}'])).to.equal('linux\n');
      } finally {
        if (before === undefined) delete process.env['DOCKER_HOST'];
        else process.env['DOCKER_HOST'] = before;
      }
    });
  });
});

const RUN = ['run', '--rm', '--network', 'none'];

function folderOf(docker: Docker): string {
  return dirname((docker.env['DOCKER_HOST'] ?? '').replace('unix://', ''));
}

/** What there is of the daemon that lives in this folder, by kind. */
function traces(folder: string): readonly string[] {
  expect(folder).to.include('herald-docker-');
  const name = basename(folder);
  const found: string[] = [];
  if (readdirSync('/proc').some((pid) => belongsTo(pid, name))) found.push('process');
  if (readFileSync('/proc/mounts', 'utf8').includes(name)) found.push('mount');
  if (globSync(`/sys/fs/cgroup/{*/,}${name}`).length > 0) found.push('cgroup');
  if (existsSync(folder)) found.push('folder');
  return found;
}

/** What keeps a container ends by itself, a moment after it: it is no child of the daemon. */
async function leavesNothing(folder: string): Promise<void> {
  await untilValue(
    'nothing is left',
    () => traces(folder),
    (left) => left.length === 0,
    { timeoutMs: 60_000 },
  );
}

function belongsTo(pid: string, name: string): boolean {
  if (!/^\d+$/.test(pid)) return false;
  try {
    return ['cmdline', 'cgroup', 'mounts'].some((file) =>
      readFileSync(`/proc/${pid}/${file}`, 'utf8').includes(name),
    );
  } catch {
    // it has ended while we looked
    return false;
  }
}

/** `sleep` of this machine and the libraries that it names */
async function writeContext(folder: string): Promise<void> {
  const { stdout: sleep } = await run('sh', ['-c', 'command -v sleep']);
  const program = sleep.trim();
  const { stdout } = await run('ldd', [program]);
  const libraries = [...stdout.matchAll(/(\/\S+) \(0x/g)].map(([, path = '']) => path);
  for (const path of libraries) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    copyFileSync(path, join(folder, path));
  }
  copyFileSync(program, join(folder, 'sleep'));
  writeFileSync(join(folder, 'Dockerfile'), 'FROM scratch\nCOPY . /\nENTRYPOINT ["/sleep"]\n');
}
